"""What each piece of a Responses request costs, family by family.

Text is counted by its characters here, so that every figure is a sum that can be read.
"""

from __future__ import annotations

from typing import Any

import pytest

from context_builder.render.openai_responses_tokens import (
    body_tokens,
    fixed_tokens,
    said_tokens,
)
from context_builder.tokens.openai_schemas import functions_text

CHAT, SERIES, NEW = "gpt-4o", "o3", "gpt-5"
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    "strict": False,
}
SHOWN = len(functions_text([TOOL]))
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
CALLED = 1 + len("functions.f") + 2
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "abc"}


def _bill(model: str | None, *items: Any, **fields: Any) -> int:
    named = {"model": model} if model else {}
    return body_tokens({**named, "input": [*items], **fields}, len)


@pytest.mark.parametrize(
    ("model", "begin", "spoken"),
    [
        (CHAT, 3, 4), (None, 3, 4), ("gpt-4.1-mini", 3, 4), (SERIES, 2, 4),
        ("o4-mini", 2, 4), (NEW, 2, 6), ("openai/gpt-5.4-nano", 2, 6),
        ("gpt-6-sol", 2, 6),
    ],
)  # fmt: skip
def test_messages_cost_as_with_chat(model: str | None, begin: int, spoken: int) -> None:
    """Three or two for the answer's beginning, four around each message."""
    asked = {"role": "user", "content": "abc"}
    assert _bill(model, asked) == begin + 4 + 3
    assert body_tokens({"model": model, "input": "abc"}, len) == begin + 4 + 3
    assert body_tokens({"model": model, "input": None}, len) == begin
    said = {"type": "message", "role": "assistant", "content": "ab"}
    assert _bill(model, said) == begin + spoken + 2
    parts = [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]
    assert _bill(model, {**said, "content": parts}) == begin + spoken + 2
    assert _bill(model, asked, instructions="1234") == begin + 4 + 3 + 4 + 4
    assert said_tokens([asked, said], len, model) == 4 + 3 + spoken + 2


@pytest.mark.parametrize(
    ("model", "around"), [(CHAT, 10), (None, 10), (SERIES, 10), (NEW, 16)]
)
def test_calls_cost_one_more_than_with_chat(model: str | None, around: int) -> None:
    """The name counts twice: in the call, and as the author of the result."""
    assert said_tokens([CALL], len, model) == around + CALLED
    custom = {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "ab"}
    assert said_tokens([custom], len, model) == around + CALLED
    bare = {"type": "function_call", "call_id": "a"}
    assert said_tokens([bare], len, model) == around + len("functions.")
    both = [CALL, {**CALL, "call_id": "b"}]
    assert said_tokens(both, len, model) == 2 * (around + CALLED)


def test_a_result_is_counted_as_the_dearer_of_two() -> None:
    """Alone, or as an element of a list; in a finished body it is known."""
    alone, listed = 3 + len("abc"), len(' "abc",')
    assert listed > alone
    assert said_tokens([OUTPUT], len, CHAT) == listed
    assert _bill(CHAT, CALL, OUTPUT) == 3 + 10 + CALLED + alone
    longer = {**OUTPUT, "output": "{}"}
    assert said_tokens([longer], len, CHAT) == max(3 + 2, len(" {},"))
    custom = {**OUTPUT, "type": "custom_tool_call_output"}
    assert said_tokens([custom], len, CHAT) == listed
    parts = {**OUTPUT, "output": [{"type": "input_text", "text": "abc"}]}
    assert said_tokens([parts], len, CHAT) == listed


@pytest.mark.parametrize(("model", "above"), [(CHAT, 3), (SERIES, 4), (NEW, 9)])
def test_tools_cost_less_than_with_chat(model: str, above: int) -> None:
    """Two less above them, or the 82 of an instruction that Chat gives."""
    asked = {"role": "user", "content": "abc"}
    bare = _bill(model, asked)
    assert _bill(model, asked, tools=[TOOL]) == bare + above + SHOWN
    told = _bill(model, asked, instructions="1234")
    gap = 0 if model == NEW else 1
    assert _bill(model, asked, instructions="1234", tools=[TOOL]) == (
        told + above + SHOWN + gap
    )
    built_in = {"type": "web_search"}
    assert _bill(model, asked, tools=[built_in]) == bare + above + len(
        functions_text([])
    ) + len('{"type":"web_search"}')


@pytest.mark.parametrize(("model", "named"), [(CHAT, 7), (SERIES, 7), (NEW, None)])
def test_a_named_choice_costs_its_name(model: str, named: int | None) -> None:
    """But with the newest, which are not billed for it."""
    choice = {"type": "function", "name": "look"}
    free = _bill(model, tools=[TOOL])
    paid = 0 if named is None else named + len("look")
    assert _bill(model, tools=[TOOL], tool_choice=choice) == free + paid
    assert _bill(model, tools=[TOOL], tool_choice="required") == free
    fixed = fixed_tokens({"model": model, "tools": [TOOL]}, len)["tools"]
    chosen = {"model": model, "tools": [TOOL], "tool_choice": choice}
    assert fixed_tokens(chosen, len)["tools"] == fixed + paid


def test_one_call_at_a_time_is_told() -> None:
    """Sixteen tokens, where there are tools."""
    free = _bill(CHAT, tools=[TOOL])
    assert _bill(CHAT, tools=[TOOL], parallel_tool_calls=False) == free + 16
    assert _bill(CHAT, tools=[TOOL], parallel_tool_calls=True) == free
    assert _bill(CHAT, parallel_tool_calls=False) == _bill(CHAT)
    single = {"model": CHAT, "tools": [TOOL], "parallel_tool_calls": False}
    free = fixed_tokens({"model": CHAT, "tools": [TOOL]}, len)["tools"]
    assert fixed_tokens(single, len)["tools"] == free + 16


@pytest.mark.parametrize(
    ("model", "hidden"), [(CHAT, 216), (None, 216), (SERIES, 216), (NEW, 0)]
)
def test_empty_instructions_call_up_a_prompt(model: str | None, hidden: int) -> None:
    """Beside tools, and with models that do not get the long instruction."""
    free = _bill(model, tools=[TOOL])
    assert _bill(model, tools=[TOOL], instructions="") == free + hidden
    assert _bill(model, tools=[TOOL], instructions=None) == free
    assert _bill(model, instructions="") == _bill(model)


def test_headings_of_parameters_are_shown() -> None:
    """A title and a description, each on a line of its own; Chat leaves them out."""
    schema = {**TOOL["parameters"], "title": "Ti", "description": "Des"}
    headed = {**TOOL, "parameters": schema}
    more = len("// Ti\n") + len("// Des\n")
    assert _bill(CHAT, tools=[headed]) == _bill(CHAT, tools=[TOOL]) + more
    fixed = [
        fixed_tokens({"model": CHAT, "tools": [tool]}, len)["tools"]
        for tool in (headed, TOOL)
    ]
    assert fixed[0] == fixed[1] + more
    empty = {**TOOL, "parameters": {**TOOL["parameters"], "title": ""}}
    assert _bill(CHAT, tools=[empty]) == _bill(CHAT, tools=[TOOL])
    assert _bill(CHAT, tools=[{**TOOL, "parameters": None}]) > 0


FORMAT = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("model", "carried"), [(CHAT, 0), (SERIES, 0), (NEW, 0)]
)  # fmt: skip
def test_the_shape_of_the_answer(model: str, carried: int) -> None:
    """Its name twice, its schema, one around it; text is free."""
    shown = '\n\n# Response Formats\n\n## answer\n\n{"type":"object"}'
    asked = {"role": "user", "content": "abc"}
    free = _bill(model, asked)
    due = len(shown) + len("answer") + 1 + carried
    assert _bill(model, asked, text={"format": FORMAT}) == free + due
    assert _bill(model, asked, text={"format": {"type": "json_object"}}) == free
    assert _bill(model, asked, text={"verbosity": "low"}) == free
    told = _bill(model, asked, instructions="1234")
    both = _bill(model, asked, instructions="1234", text={"format": FORMAT})
    assert both == told + due + 1
    overhead = fixed_tokens({"model": model}, len)["overhead"]
    fixed = fixed_tokens({"model": model, "text": {"format": FORMAT}}, len)
    assert fixed["overhead"] == overhead + due + 1


@pytest.mark.parametrize(
    ("model", "begin", "tools"), [(CHAT, 3, 4), (SERIES, 2, 5), (NEW, 2, 9)]
)
def test_what_a_request_costs_without_a_conversation(
    model: str, begin: int, tools: int
) -> None:
    """With a system prompt or without, tools cost the dearer of both."""
    assert fixed_tokens({"model": model}, len) == {
        "system": 0, "tools": 0, "overhead": begin,
    }  # fmt: skip
    asked = {"model": model, "instructions": "1234", "tools": [TOOL]}
    assert fixed_tokens(asked, len) == {
        "system": 4 + 4, "tools": tools + SHOWN, "overhead": begin,
    }  # fmt: skip
    alone = fixed_tokens({"model": model, "tools": [TOOL]}, len)
    assert alone["tools"] == tools + SHOWN


# --- reasoning ------------------------------------------------------------------------

THOUGHT = {"type": "reasoning", "encrypted_content": "x" * (1_050 + 560), "summary": []}


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (THOUGHT, 100),
        ({**THOUGHT, "encrypted_content": "x" * 1_050}, 0),
        ({**THOUGHT, "encrypted_content": "x" * 1_051}, 1),
        ({**THOUGHT, "encrypted_content": "x" * 10}, 0),
        ({**THOUGHT, "encrypted_content": None}, 0),
        ({"type": "reasoning"}, 0),
        (
            {
                "type": "reasoning",
                "summary": [{"text": "ab"}, {"text": None}],
                "content": [{"text": "cde"}, {}],
            },
            5,
        ),
        ({"type": "compaction", "encrypted_content": "x" * (1_050 + 57)}, 11),
        ({"type": "shell_call"}, len('{"type": "shell_call"}')),
        (
            {"type": "compaction", "encrypted_content": 7},
            len('{"type": "compaction", "encrypted_content": 7}'),
        ),
    ],
)
def test_what_only_the_vendor_can_read(block: dict[str, Any], tokens: int) -> None:
    """5.6 characters a token, less the wrapping; what can be read counts as text."""
    assert said_tokens([block], len, CHAT) == tokens
    assert _bill(CHAT, {"role": "user", "content": ""}, block) == 3 + 4 + tokens


ASKED = {"role": "user", "content": ""}


@pytest.mark.parametrize(
    ("model", "forgets"),
    [
        ("o1", True), ("o3-mini", True), ("o4-mini", True), ("openai/o3", True),
        ("gpt-5", True), ("gpt-5-mini", True), ("gpt-5.1", True), ("GPT-5.5", True),
        ("openai/gpt-5.4-nano", True), ("gpt-5.0", True),
        ("gpt-5.6", False), ("gpt-5.6-sol", False), ("gpt-5.9", False),
        ("gpt-5.10", False), ("gpt-50", False), ("gpt-6-sol", False),
        ("gpt-4o", False), ("my-gpt-5", False), (None, False),
    ],
)  # fmt: skip
def test_who_forgets_the_reasoning_of_turns_that_are_over(
    model: str | None, *, forgets: bool
) -> None:
    """Left alone; either can be asked for by name."""

    def due(*items: Any, **fields: Any) -> int:
        without = [item for item in items if item is not THOUGHT]
        return _bill(model, *items, **fields) - _bill(model, *without, **fields)

    over = (ASKED, THOUGHT, ASKED)
    assert due(*over) == (0 if forgets else 100)
    assert due(*over, reasoning={}) == (0 if forgets else 100)
    assert due(*over, reasoning={"context": "auto"}) == (0 if forgets else 100)
    assert due(*over, reasoning={"context": "all_turns"}) == 100
    assert due(*over, reasoning={"context": "current_turn"}) == 0
    running = (ASKED, THOUGHT, CALL, OUTPUT)
    assert due(*running) == 100
    assert due(*running, THOUGHT, CALL, OUTPUT) == 200
    assert due(*over, THOUGHT) == (100 if forgets else 200)
    assert due(THOUGHT, CALL, OUTPUT) == 100


def test_other_blocks_of_turns_that_are_over_are_read() -> None:
    """A compaction stands for all that went before it."""
    block = {"type": "compaction", "encrypted_content": "x" * (1_050 + 560)}
    asked = _bill("gpt-5", ASKED, ASKED)
    assert _bill("gpt-5", ASKED, block, ASKED) == asked + 100
    assert body_tokens({"model": "gpt-5", "input": "abc"}, len) == 2 + 4 + 3
