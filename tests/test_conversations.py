from __future__ import annotations

import pytest

from context_builder.render import validate
from tests.conversations import CONVERSATIONS, conversation

MODEL = "gpt-4o"


def test_there_are_ten() -> None:
    """The table has the ten conversations that every adapter is shown."""
    assert len(CONVERSATIONS) == 10


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_is_a_valid_request(name: str) -> None:
    """Broken or whole, each goes out as a request that the vendor takes."""
    ctx = conversation(name)
    assert validate(ctx.request(model=MODEL), "openai") == []
    assert {each.action for each in ctx.explain(model=MODEL).outcomes} <= {
        "kept",
        "repaired",
        "deduplicated",
    }
