"""Limits of tools, thinking and marks with Anthropic: on both sides of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.render.bodies_anthropic import (
    ANSWER,
    ASKED,
    CALL,
    HOUR,
    MARK,
    TEXT,
    THOUGHT,
    TOOL,
    body,
)
from tests.render.limits_anthropic import BLANK, HIDDEN, Body, last, says

if TYPE_CHECKING:
    from collections.abc import Mapping

BUDGET = {"type": "enabled", "budget_tokens": 1_024}
THINKS: Mapping[str, Any] = {"thinking": BUDGET, "max_tokens": 1_025}


def _tools(*tools: Any, **fields: Any) -> Body:
    return body(tools=[*tools], **fields)


def _schema(**schema: Any) -> Body:
    return _tools({"name": "s", "input_schema": schema})


def _loop(*blocks: Any, **fields: Any) -> Body:
    """Return a loop that runs: the assistant says blocks, of which one calls."""
    said = [("user", "Go."), ("assistant", [*blocks]), ("user", [ANSWER])]
    return body(*said, **{**THINKS, **fields})


SETTINGS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    "chars of a tool's name": (
        _tools({**TOOL, "name": "t" * 128}),
        _tools({**TOOL, "name": "t" * 129}),
    ),
    "signs in a tool's name": (
        _tools({**TOOL, "name": "_t-9"}),
        _tools({**TOOL, "name": "t.u"}),
    ),
    "a tool of the vendor's own": (
        _tools({"type": "bash_20250124", "name": "bash"}),
        _tools({"type": "custom", "name": "b sh", "input_schema": {}}),
    ),
    "tools without a name": (
        _tools({"type": "mcp"}, {"type": "mcp"}),
        _tools({"input_schema": TOOL["input_schema"]}),
    ),
    **{
        f"{word} in a schema": (
            _schema(type="object", properties={word: {}, "a": {word: []}}),
            _schema(**{"type": "object", word: []}),
        )
        for word in ("oneOf", "allOf", "anyOf")
    },
    "the type of a schema": (_schema(type="object"), _schema(type="array")),
    **{
        f"the choice {kind}": (
            _tools(TOOL, tool_choice={"type": kind, "name": "s"}),
            _tools(TOOL, tool_choice={"type": f"{kind}X", "name": "s"}),
        )
        for kind in ("auto", "any", "tool", "none")
    },
    **{
        f"the forced choice {kind}": (
            _tools(
                TOOL, tool_choice={"type": kind, "name": "s"}, model="claude-opus-5"
            ),
            _tools(
                TOOL, tool_choice={"type": kind, "name": "s"}, model="claude-fable-5-1"
            ),
        )
        for kind in ("any", "tool")
    },
    "a choice of nobody": (None, _tools(TOOL, tool_choice={"type": "tool"})),
    "the budget": (
        body(**THINKS),
        body(thinking={**BUDGET, "budget_tokens": 1_023}, max_tokens=2_000),
    ),
    "the budget and the answer": (
        body(**THINKS),
        body(thinking=BUDGET, max_tokens=1_024),
    ),
    "no budget": (None, body(thinking={"type": "enabled"})),
    **{
        f"a budget with {model}": (
            body(**THINKS, model="claude-sonnet-4-6"),
            body(**THINKS, model=model),
        )
        for model in ("claude-opus-4-7", "claude-sonnet-5")
    },
    "to decide itself": (
        body(thinking={"type": "adaptive"}, model="claude-sonnet-4-6"),
        body(thinking={"type": "adaptive"}, model="claude-opus-4-5"),
    ),
    "not to think": (
        body(thinking={"type": "disabled"}),
        body(thinking={"type": "disabled"}, model="claude-fable-5-1"),
    ),
    "not to think, of a newer one": (
        body(thinking={"type": "disabled"}, model="claude-sonnet-5"),
        None,
    ),
    "a temperature beside thinking": (
        body(**THINKS, temperature=1),
        body(**THINKS, temperature=0),
    ),
    "a choice beside thinking": (
        _tools(TOOL, **THINKS, tool_choice={"type": "auto"}),
        _tools(TOOL, **THINKS, tool_choice={"type": "tool", "name": "s"}),
    ),
    **{
        f"sampling by {name}": (
            body(**{name: 1}, model="claude-opus-4-6"),
            body(**{name: 1}, model="claude-opus-4-7"),
        )
        for name in ("temperature", "top_k", "top_p")
    },
    "a loop begins with a thought": (_loop(THOUGHT, CALL), _loop(TEXT, THOUGHT, CALL)),
    "a loop begins with a hidden thought": (_loop(HIDDEN, CALL), _loop(CALL)),
    "a loop that is over": (
        body(*ASKED, ("assistant", "a"), ("user", "b"), **THINKS),
        body(*ASKED, **THINKS),
    ),
    "a loop with a word of the user's": (
        body(*ASKED[:2], ("user", [ANSWER, TEXT]), **THINKS),
        None,
    ),
    "thoughts at the end": (
        says(THOUGHT, TEXT),
        says(TEXT, HIDDEN),
    ),
    "thoughts at the end of a half": (
        body(
            ("user", "a"), ("assistant", [THOUGHT]), ("assistant", "b"), ("user", "c")
        ),
        body(("user", "a"), ("assistant", [THOUGHT]), ("user", "c")),
    ),
    "thoughts to be continued": (
        last(THOUGHT, TEXT, **THINKS),
        last(HIDDEN, TEXT, thinking={"type": "disabled"}),
    ),
    "thoughts to be continued, unasked": (
        says(THOUGHT, TEXT),
        last(THOUGHT, TEXT, model="claude-opus-4-5"),
    ),
    "marks": (
        body(("user", [{**TEXT, **MARK}] * 3), system=[{**TEXT, **MARK}]),
        body(("user", [{**TEXT, **MARK}] * 3), tools=[{**TOOL, **MARK}], **MARK),
    ),
    "marks of an hour": (
        body(
            ("user", [{**TEXT, **MARK}]),
            tools=[{**TOOL, **HOUR}],
            system=[{**TEXT, **HOUR}],
        ),
        body(
            ("user", [{**TEXT, **HOUR}]),
            tools=[{**TOOL, **MARK}],
            system=[{**TEXT, **HOUR}],
        ),
    ),
    "a mark on a hidden thought": (None, says({**HIDDEN, **MARK}, TEXT)),
    "a mark on a tool": (
        _tools({**TOOL, **MARK}),
        _tools({**TOOL, **MARK, "defer_loading": True}),
    ),
    "a mark in a message": (says({**TEXT, **MARK}), says(TEXT, {**BLANK, **MARK})),
}
