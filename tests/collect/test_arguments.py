"""Arguments of calls: which go out as they are, and which have to be made fit."""

from __future__ import annotations

import json

import pytest

from context_builder.collect.arguments import tidy_arguments
from context_builder.collect.plain import MOST_NESTED
from context_builder.items import ContextItem
from context_builder.messages import ToolCall

DEEP = '{"a":' * MOST_NESTED + "1" + "}" * MOST_NESTED
LESS = '{"a":' * (MOST_NESTED - 1) + "1" + "}" * (MOST_NESTED - 1)
WIDE = json.dumps({"rows": [[n] for n in range(2 * MOST_NESTED)]})
SAID = json.dumps({"text": "{[" * MOST_NESTED})


@pytest.mark.parametrize(
    ("arguments", "is_kept"), [(LESS, True), (WIDE, True), (SAID, True), (DEEP, False)]
)
def test_only_what_is_nested_deep_is_too_deep(
    arguments: str,
    is_kept: bool,
) -> None:
    """Not what has many brackets side by side, or in a text."""
    call = ToolCall(id="c1", name="f", arguments=arguments)
    item = ContextItem(role="assistant", id="i1", tool_calls=(call,))
    marks: list[object] = []
    tidy = tidy_arguments(call, item, marks)  # type: ignore[arg-type]
    assert (tidy is arguments) is is_kept
    assert bool(marks) is not is_kept


def test_arguments_with_half_a_pair_are_repaired_and_said() -> None:
    """The mark says what was wrong with them."""
    call = ToolCall(id="c1", name="f", arguments='{"a": "b\0"}')
    item = ContextItem(role="assistant", id="i1", tool_calls=(call,))
    marks: list[object] = []
    assert tidy_arguments(call, item, marks) == '{"a": "b"}'  # type: ignore[arg-type]
    assert len(marks) == 1
