from __future__ import annotations

import pytest

from tests.render.refusals import TARGETS, kept, refusals


@pytest.mark.parametrize("target", TARGETS)
def test_a_refusal_says_place_rule_and_cure(target: str) -> None:
    """Word for word: a reader mends a request by these words alone."""
    told = refusals(target)
    assert told == kept()[target]
    assert all(told.values())
