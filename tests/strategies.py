"""Hypothesis strategies: conversations whole and broken, budgets, counters.

A conversation is a list of steps (`tests.operations`), so that a failing one can be
read, and shrunk step by step. Every text that is not blank begins with a mark of its
own (`#7#`), by which it is found again in a request.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from context_builder.testing import WordCounter, tool_call
from tests.operations import Op
from tests.texts import BLANK, FACTS, repeated, results, texts, user_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from context_builder import TokenCounter

__all__ = [
    "budgets",
    "conversations",
    "counters",
    "logs",
    "marked",
    "odd_ops",
    "tool_sets",
]

Json = Any
"""What a caller may hand in."""

IDS: tuple[Callable[[int, int, int], str], ...] = (
    lambda turn, step, place: f"call_{turn}_{step}_{place}",
    lambda _turn, _step, place: f"call_{place}",  # used again once it is answered
    lambda turn, step, place: f"tool:{turn}|{step} {place}/" + "x" * 40,
)
NAMES = ("search", "read_file", "weather", "os.list files", "n" * 70)
ARGUMENTS = (
    "{}",
    '{"q": "where"}',
    json.dumps({"path": "a.txt", "mode": "new", "content": "row of data; " * 30}),
    json.dumps({"ids": list(range(30)), "deep": {"name": "stone", "note": "x" * 90}}),
    '{"emoji": "\\ud83d\\ude00", "half": "\\ud83d"}',
)
BROKEN_ARGUMENTS = ("", "[1, 2]", '{"q": "cut', "nonsense", "null")
KEYS = ("price", "menu")


# --- conversations --------------------------------------------------------------------


@st.composite
def rounds(draw: st.DrawFn, turn: int, step: int, choose_id: int) -> list[Op]:
    """Generate one answer that calls tools, and all the results."""
    number = draw(st.integers(1, 3))
    ids = [IDS[choose_id](turn, step, place) for place in range(number)]
    calls = [
        tool_call(
            call_id, draw(st.sampled_from(NAMES)), draw(st.sampled_from(ARGUMENTS))
        )
        for call_id in ids
    ]
    said = draw(st.one_of(st.just(""), repeated(8)))
    asked = Op("add_assistant_message", {"content": said, "tool_calls": calls})
    answers = [
        Op(
            "add_tool_result",
            {"tool_name": None, "result": draw(results()), "tool_call_id": call_id},
        )
        for call_id in draw(st.permutations(ids))
    ]
    return [asked, *answers]


@st.composite
def turns(draw: st.DrawFn, turn: int, choose_id: int) -> list[Op]:
    """Generate one turn: the user, rounds of tools, the answer."""
    ops = [Op("add_user_message", {"content": draw(user_contents())})]
    for step in range(draw(st.sampled_from((0, 0, 1, 1, 2, 3)))):
        ops += draw(rounds(turn, step, choose_id))
    if draw(st.booleans()):
        ops.append(Op("add_assistant_message", {"content": draw(texts())}))
    return ops


@st.composite
def conversations(draw: st.DrawFn) -> list[Op]:
    """Generate a whole conversation in which nothing is broken."""
    choose_id = draw(st.integers(0, len(IDS) - 1))
    ops: list[Op] = []
    if draw(st.booleans()):
        ops.append(Op("add_system_prompt", {"prompt": draw(repeated(30))}))
    if draw(st.booleans()):
        ops.append(Op("set_tools", {"tools": draw(tool_sets())}))
    for turn in range(draw(st.integers(1, 4))):
        ops += draw(turns(turn, choose_id))
        for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
            ops.append(draw(odd_ops()))
    return marked(ops)


@functools.cache
def tool_sets() -> st.SearchStrategy[list[Json]]:
    """Generate tool definitions; also none."""
    none: list[str] = []
    sets = (none, ["search"], ["search", "read_file"], ["os.list files"])
    return st.sampled_from([[_tool(name) for name in names] for names in sets])


def _tool(name: str) -> Json:
    parameters = {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "What to look for."}},
        "required": ["q"],
    }
    said = {"name": name, "description": f"Use {name}.", "parameters": parameters}
    return {"type": "function", "function": said}


# --- what seldom happens --------------------------------------------------------------


@functools.cache
def odd_ops() -> st.SearchStrategy[Op]:
    """Generate steps that happen beside the plain talk, none of which is a mistake."""
    return st.one_of(
        memories(), cached(), notes(), rated(), settings_changes(), takebacks()
    )


@functools.cache
def memories() -> st.SearchStrategy[Op]:
    """Generate background."""
    return st.builds(
        lambda content, source, priority: Op(
            "add_memory", {"content": content, "source": source, "priority": priority}
        ),
        texts(),
        st.sampled_from(("memory", "catalog")),
        st.sampled_from((20, 20, 5, 60)),
    )


@functools.cache
def cached() -> st.SearchStrategy[Op]:
    """Generate items under a key, with content that others may have as well."""
    return st.builds(
        lambda door, content, key: Op(door, {"content": content, "cache_key": key}),
        st.sampled_from(("add_memory", "add_memory", "add_user_message")),
        st.sampled_from(FACTS),
        st.sampled_from(KEYS),
    )


@functools.cache
def notes() -> st.SearchStrategy[Op]:
    """Generate system messages in mid-conversation, and events."""
    return st.builds(
        lambda content, fields: Op("add_message", {"content": content, **fields}),
        repeated(10),
        st.sampled_from(
            (
                {"role": "system"},
                {"role": "system", "priority": 40},
                {"role": "user", "source": "event"},
                {"role": "user", "name": "ann b"},
            )
        ),
    )


@functools.cache
def rated() -> st.SearchStrategy[Op]:
    """Generate messages with a priority of their own, optional ones, pinned ones."""
    return st.builds(
        lambda role, content, fields: Op(
            "add_message", {"role": role, "content": content, **fields}
        ),
        st.sampled_from(("user", "assistant")),
        repeated(40),
        st.sampled_from(
            (
                {"priority": 0},
                {"priority": 85},
                {"priority": 100},
                {"optional": True},
                {"pinned": True},
            )
        ),
    )


@functools.cache
def settings_changes() -> st.SearchStrategy[Op]:
    """Generate another system prompt, or other tools."""
    prompts = st.one_of(repeated(20), st.just(" "))
    return st.one_of(
        st.builds(lambda prompt: Op("add_system_prompt", {"prompt": prompt}), prompts),
        st.builds(lambda tools: Op("set_tools", {"tools": tools}), tool_sets()),
    )


@functools.cache
def takebacks() -> st.SearchStrategy[Op]:
    """Generate edits, removals and rewinds."""
    at = st.integers(0, 40)
    edits = st.one_of(
        st.builds(lambda text: {"content": text}, texts()),
        st.sampled_from(({"priority": 90}, {"priority": 10}, {"pinned": False})),
    )
    return st.one_of(
        st.builds(lambda at, given: Op("edit", given, at), at, edits),
        st.builds(lambda at: Op("remove", at=at), at),
        st.builds(lambda at: Op("rewind", at=at), at),
        st.just(Op("clear")),
    )


@functools.cache
def mistakes() -> st.SearchStrategy[Op]:
    """Generate steps that leave something broken behind."""
    ids = st.sampled_from(
        ("call_0", "call_0_0_0", "call_1_0_1", "unheard-of", "c" * 50)
    )
    broken = st.builds(
        tool_call,
        ids,
        st.sampled_from(NAMES),
        st.sampled_from(BROKEN_ARGUMENTS),
    )
    return st.one_of(
        st.builds(
            lambda result, call_id: Op(
                "add_tool_result",
                {"tool_name": "search", "result": result, "tool_call_id": call_id},
            ),
            results(),
            st.one_of(ids, st.none()),
        ),
        st.builds(
            lambda text, calls, partial: Op(
                "add_assistant_message",
                {"content": text, "tool_calls": calls, "partial": partial},
            ),
            st.one_of(st.just(""), repeated(20)),
            st.lists(broken, max_size=3),
            st.booleans(),
        ),
        st.builds(
            lambda text: Op("add_user_message", {"content": text}),
            st.sampled_from(BLANK),
        ),
        st.builds(
            lambda text: Op(
                "add_assistant_message", {"content": text, "partial": True}
            ),
            texts(),
        ),
    )


@st.composite
def broken_conversations(draw: st.DrawFn) -> list[Op]:
    """Generate conversations in which steps are lost, doubled, moved or wrong."""
    ops = draw(conversations())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(ops)))
        kind = draw(st.sampled_from(("lose", "double", "move", "mistake", "mistake")))
        if kind == "mistake":
            ops.insert(at, draw(mistakes()))
        elif kind == "lose" and len(ops) > 1:
            ops.pop(at % len(ops))
        elif kind == "double":
            ops.insert(at, ops[draw(st.integers(0, len(ops) - 1))])
        else:
            ops.insert(at, ops.pop(draw(st.integers(0, len(ops) - 1))))
    return marked(ops)


@functools.cache
def logs() -> st.SearchStrategy[list[Op]]:
    """Generate what may happen in a session, whole or broken."""
    return st.one_of(conversations(), broken_conversations())


def marked(ops: Sequence[Op]) -> list[Op]:
    """Put a mark of its own before every text but blank ones and facts."""
    return [_marked(op, number) for number, op in enumerate(ops)]


def _marked(op: Op, number: int) -> Op:
    said = op.given.get("content")
    if isinstance(said, list):
        first = {**said[0], "text": _mark(said[0]["text"], number)}
        return dataclasses.replace(
            op, given={**op.given, "content": [first, *said[1:]]}
        )
    if isinstance(said, str):
        return dataclasses.replace(
            op, given={**op.given, "content": _mark(said, number)}
        )
    return op


def _mark(text: str, number: int) -> str:
    bare = text[1:].partition("#")[2].lstrip() if text[:1] == "#" else text
    return text if not bare.strip() or bare in FACTS else f"#{number}# {bare}"


# --- settings -------------------------------------------------------------------------


@functools.cache
def budgets() -> st.SearchStrategy[int]:
    """Generate budgets in tokens, from hardly anything to more than there is."""
    return st.one_of(
        st.sampled_from((60, 120, 200, 350, 600, 1_200, 200_000)),
        st.integers(10, 1_500),
    )


@functools.cache
def counters() -> st.SearchStrategy[TokenCounter | None]:
    """Generate counters; None: the model's own."""
    return st.sampled_from((None, None, WordCounter()))
