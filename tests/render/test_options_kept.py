from __future__ import annotations

import pytest

from tests.render.options import cases, kept, sayings


@pytest.mark.parametrize(("target", "model"), cases())
def test_each_setting_is_said_as_vendor_and_model_have_it(
    target: str, model: str | None
) -> None:
    """Word for word: what is sent, what is reported, and what it costs."""
    assert sayings(target, model) == kept()[f"{target} {model}"]
