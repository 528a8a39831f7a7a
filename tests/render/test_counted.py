"""What a request costs is made of all that it says, each piece once."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from context_builder.messages import TextPart, ToolCall
from context_builder.render import adapter_for, adapter_names
from tests.render.conversations_chat import (
    TOOLS,
    assistant,
    note,
    prompt,
    result,
    user,
)

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

PIECES = (
    "asked", "answered", "sea", "seen", "told", "remembered", "here", "system", "does",
    "last",
)  # fmt: skip
LONGER = " more" * 10
every = pytest.mark.parametrize("target", adapter_names())


def said(longer: str = "") -> Prompt:
    """Return a conversation, in which one piece is longer than usual."""
    word = {piece: piece for piece in PIECES} | {longer: longer + LONGER}
    call = ToolCall("call1abcd", "look", json.dumps({"at": word["sea"]}))
    function = {**TOOLS[0]["function"], "description": word["does"]}
    return prompt(
        user(word["asked"]),
        assistant(word["answered"], call),
        result(call, word["seen"]),
        assistant(word["told"]),
        user(word["remembered"], source="memory"),
        user((TextPart(text=word["here"]),)),
        assistant("Well."),
        note("A note."),
        user(word["last"]),
        system=word["system"],
        tools=({**TOOLS[0], "function": function},),
    )


def tokens(target: str, longer: str = "") -> int:
    """Return what the finished request costs, where a character is a token."""
    adapter = adapter_for(target)
    return adapter.request_tokens(adapter.render(said(longer)).request, len)


@every
def test_each_piece_is_counted_once(target: str) -> None:
    """A piece that is so much longer makes the request cost so much more."""
    usual = tokens(target)
    grown = {piece: tokens(target, piece) - usual for piece in PIECES}
    assert grown == dict.fromkeys(PIECES, len(LONGER))


@every
def test_what_is_fixed_is_counted_by_its_name(target: str) -> None:
    """The system prompt and the tools, each in its own part."""
    adapter = adapter_for(target)
    usual = dict(adapter.fixed_tokens(said(), len))
    assert set(usual) <= {"system", "tools", "overhead"}
    for piece, part in (("system", "system"), ("does", "tools")):
        longer = adapter.fixed_tokens(said(piece), len)
        assert longer[part] - usual[part] == len(LONGER)
        assert {n: t for n, t in longer.items() if n != part} == {
            n: t for n, t in usual.items() if n != part
        }
    bare = dataclasses.replace(said(), system=None, tools=())
    assert sum(adapter.fixed_tokens(bare, len).values()) < sum(usual.values()) - 10


@every
def test_items_and_what_is_fixed_are_never_less_than_the_request(target: str) -> None:
    """So that what fits by its parts fits as a whole."""
    adapter = adapter_for(target)
    parts = sum(adapter.fixed_tokens(said(), len).values())
    parts += sum(adapter.item_tokens(one, len, model=None) for one in said().items)
    assert tokens(target) <= parts <= tokens(target) + 400
