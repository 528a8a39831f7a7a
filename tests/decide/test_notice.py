from __future__ import annotations

import pytest

from context_builder.decide.digest import notice_parts


@pytest.mark.parametrize(
    ("count", "is_marker", "text"),
    [
        (1, False, "1 earlier message was left out to save space"),
        (1_200, False, "1,200 earlier messages were left out to save space"),
        (1, True, "[snipped 1 message]"),
        (1_200, True, "[snipped 1,200 messages]"),
    ],
)
def test_the_model_is_told_how_many_messages_left(
    count: int, *, is_marker: bool, text: str
) -> None:
    """In one line, where nothing else is told of them."""
    assert notice_parts(count, is_marker=is_marker) == [text]
