"""The tools that a model has over its own context: recall and compact."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from context_builder import ContextBuilder, ToolCall
from context_builder.builtin_tools import (
    BUILTIN_TOOLS,
    COMPACT_TOOL,
    RECALL_TOOL,
    aanswer,
    answer,
)
from context_builder.passing import excerpts_in
from context_builder.render import adapter_names, validate
from context_builder.testing import WordCounter, tool_call, turns
from tests.trials import MODEL, reloaded


def builder(max_tokens: int = 1_500, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words and has the tools."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), tools=BUILTIN_TOOLS, **settings
    )


def call(name: str, **arguments: Any) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall("c", name, json.dumps(arguments))


def use(ctx: ContextBuilder, name: str, call_id: str, **arguments: Any) -> str:
    """Have the model call a tool, and log what it answers."""
    said = json.dumps(arguments)
    asked = ToolCall(call_id, name, said)
    ctx.add_assistant_message(tool_calls=[tool_call(call_id, name, said)])
    text = answer(ctx, asked)
    assert text is not None
    ctx.add_tool_result(name, text, tool_call_id=call_id)
    return text


def with_facts(count: int = 30, **settings: Any) -> ContextBuilder:
    """Return a session whose first turns, long gone, hold a fact each."""
    ctx = builder(**settings)
    for number in range(count):
        ctx.add_user_message(
            f"Note {number}: the code of room r{number} is K{number}7."
        )
        ctx.add_assistant_message(f"Noted {number}. " + "so " * 40)
    return ctx


@pytest.mark.parametrize("target", adapter_names())
def test_every_vendor_takes_the_tools_and_a_round_of_them(target: str) -> None:
    """As it takes any function tool."""
    ctx = with_facts(10, max_tokens=4_000)
    ctx.add_user_message("Which code has r1?")
    use(ctx, "recall", "call_0001", query="room r1 code")
    ctx.add_assistant_message("K17")
    ctx.add_user_message("Thanks")
    request = ctx.request(target, model=MODEL)
    assert validate(request, target) == []
    assert "recall" in json.dumps(request, default=str)


def test_what_left_is_recalled_by_words_handle_and_lines() -> None:
    """And any form of call is read."""
    ctx = with_facts()
    assert "K37" in (answer(ctx, call("recall", query="code of room r3")) or "")
    assert "K37" in (answer(ctx, call("recall", handle="i7", lines="1-1")) or "")
    openai = tool_call("c", "recall", '{"handle": "i7", "lines": "1"}')
    assert "K37" in (answer(ctx, openai) or "")
    assert answer(ctx, call("search", query="x")) is None
    assert answer(ctx, "nonsense") is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ("{}", "words to look for, or a handle such as i7"),
        ('{"handle": "i999"}', "there is no item 'i999'"),
        ('{"handle": "i1", "lines": "5-9"}', "i1 has lines 1-1"),
        ('{"handle": "i1", "lines": "all"}', "two numbers, such as 10-40"),
        ('{"id": "i1"}', "there is no argument id"),
        ('{"query": 7}', "query must be text"),
        ('{"query": "zebra"}', "Nothing in this session matches"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(arguments: str, said: str) -> None:
    """In words that the model can act on; nothing raises."""
    text = answer(with_facts(5), ToolCall("c", "recall", arguments))
    assert text is not None
    assert text.startswith("<recalled>")
    assert said in text


def test_what_is_shown_already_is_not_said_again() -> None:
    """Neither by the tool, nor by what is recalled for a user message."""
    ctx = with_facts(60)
    ctx.compact()  # there is room for what is recalled
    ctx.add_user_message("Go on.")
    first = use(ctx, "recall", "a", query="code of room r3")
    assert "K37" in first
    second = use(ctx, "recall", "b", query="code of room r3")
    shown = set(excerpts_in(first))
    assert not shown & set(excerpts_in(second))
    handle = next(iter(shown)).handle
    assert "stands above" in use(ctx, "recall", "c", handle=handle)
    ctx.add_assistant_message("K37")
    ctx.add_user_message("Once more: which code has room r3?")
    said = json.dumps(ctx.build()[1:])
    assert said.count("is K37.") <= 1 + ("earlier messages" in said)


def test_what_was_recalled_goes_first_and_is_not_found_again() -> None:
    """At a compaction, before any result of another tool; the handle helps nobody."""
    ctx = builder(1_000)
    ctx.add_user_message("Note: the code is K47.")
    ctx.add_assistant_message("so " * 300)
    ctx.add_user_message("search and recall")
    ctx.add_assistant_message(tool_calls=[tool_call("s", "search")])
    ctx.add_tool_result("search", "found " * 60, tool_call_id="s")
    use(ctx, "recall", "r", handle="i2")
    echo = ctx.items[-1]
    ctx.add_assistant_message("done")
    for message in turns(3, words=100):
        ctx.extend([message])
    report = {outcome.item_id: outcome for outcome in ctx.explain().outcomes}
    assert report[echo.id].action == "referenced"
    assert "can be recalled again" in report[echo.id].reason
    assert "taken" not in (answer(ctx, call("recall", handle="i1")) or "")
    refused = answer(ctx, call("recall", handle=echo.id)) or ""
    assert "only passed" in refused
    found = ctx.recall("so so so")
    assert echo.id not in {one.handle for one in excerpts_in(found)}


def test_a_tool_of_one_s_own_with_that_name_is_history() -> None:
    """Only the library's own answers are told apart, by their form."""
    ctx = builder(5_000)
    ctx.add_user_message("Which cars are recalled?")
    ctx.add_assistant_message(tool_calls=[tool_call("c", "recall")])
    ctx.add_tool_result("recall", "Model T, 1908", tool_call_id="c")
    assert "Model T" in ctx.recall("Model T")


def compactions_of(turns_count: int, *, recalls: bool) -> int:
    """Have a long session in which the model recalls in every turn, or never."""
    ctx = builder(2_000)
    for number in range(turns_count):
        ctx.add_user_message(
            f"Note {number}: the code of room r{number} is K{number}7."
        )
        if recalls:
            use(ctx, "recall", f"c{number}", query=f"code of room r{number // 2}")
        ctx.add_assistant_message(f"Noted {number}. " + "so " * 40)
        request = ctx.request(model=MODEL)
        assert validate(request) == []
        assert ctx.explain(model=MODEL).tokens <= 2_000
    again = reloaded(ctx, max_tokens=2_000, counter=WordCounter())
    assert again.request(model=MODEL) == request
    return ctx.explain(model=MODEL).compactions


def test_recalling_in_every_turn_does_not_thrash() -> None:
    """Fifty turns: each compaction makes room for several turns, recalled text and all.

    One answer takes at most 15 % of the budget, so that some fit between two marks.
    """
    compactions = compactions_of(50, recalls=True)
    assert compactions <= 50 // 2
    assert compactions_of(50, recalls=False) <= compactions


def test_the_compact_tool_compacts_once_its_result_is_in() -> None:
    """It says what happens, and does nothing where there is room."""
    ctx = with_facts(14, max_tokens=1_200)
    ctx.build()
    before = ctx.explain()
    assert not before.compactions
    ctx.add_user_message("Tidy up.")
    assert "as soon as this result is in" in use(ctx, "compact", "c1")
    after = ctx.explain()
    assert after.compactions == 1
    assert after.tokens < before.tokens
    revision = ctx.revision
    assert "there is room" in (answer(ctx, call("compact")) or "")
    assert ctx.revision == revision


def test_the_awaitable_twin_answers_the_same() -> None:
    """For both tools."""
    one, other = (with_facts(14, max_tokens=1_200) for _ in range(2))
    for asked in (call("recall", query="room r3"), call("compact"), call("search")):
        assert asyncio.run(aanswer(one, asked)) == answer(other, asked)
    assert one.build() == other.build()


def test_the_tools_are_plain_functions() -> None:
    """Named, described, without arguments that are required."""
    for tool, name in ((RECALL_TOOL, "recall"), (COMPACT_TOOL, "compact")):
        assert tool["type"] == "function"
        assert tool["function"]["name"] == name
        assert tool["function"]["description"]
        assert tool["function"]["parameters"]["required"] == []
