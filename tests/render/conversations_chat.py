"""Conversations that the adapters of chat-shaped vendors are tested with.

A few are written by hand, one for each difficulty; the rest is generated: whole, paired
items, as the decision hands them to an adapter.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from context_builder.items import ContextItem
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from context_builder.render.adapter import Prompt
from context_builder.settings import RequestOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from context_builder.messages import Content

__all__ = [
    "EVERYTHING",
    "PIXEL",
    "TOOLS",
    "assistant",
    "chats",
    "closed_chats",
    "note",
    "numbered",
    "plain_chats",
    "prompt",
    "result",
    "user",
]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Looks.",
            "parameters": {
                "type": "object",
                "properties": {"at": {"type": "string"}},
            },
            "strict": True,
        },
    },
)


def user(content: Content, **fields: Any) -> ContextItem:
    """Return what a user says."""
    return ContextItem("user", content, source=fields.pop("source", "user"), **fields)


def assistant(content: Content = "", *calls: ToolCall, **fields: Any) -> ContextItem:
    """Return what an assistant says and calls."""
    return ContextItem(
        "assistant", content, source="assistant", tool_calls=calls, **fields
    )


def result(call: ToolCall, content: Content, **fields: Any) -> ContextItem:
    """Return the answer to a call."""
    return ContextItem(
        "tool",
        content,
        source="tool_result",
        tool_call_id=call.id,
        tool_name=call.name,
        **fields,
    )


def note(text: str) -> ContextItem:
    """Return a system message in mid-conversation."""
    return ContextItem("system", text, source="system_prompt")


def numbered(items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
    """Give items the ids that the log would give them."""
    return tuple(
        dataclasses.replace(item, id=f"i{number}")
        for number, item in enumerate(items, start=1)
    )


def prompt(*items: ContextItem, system: str | None = None, **fields: Any) -> Prompt:
    """Return a prompt of these items."""
    options = fields.pop("options", {})
    return Prompt(
        items=numbered(items),
        system=ContextItem("system", system, id="i0") if system else None,
        options=RequestOptions(**options),
        **fields,
    )


_YEAR = ToolCall("call|1", "look", '{"at": "sea"}')
_MAP = ToolCall("call:2", "look at", "{}")

EVERYTHING = prompt(
    user("Look.", name="Ann B"),
    assistant(
        "Looking.",
        _YEAR,
        _MAP,
        reasoning=(
            ReasoningPart("anthropic", "foreign", signature="sig"),
            ReasoningPart("openai-compatible", "own"),
        ),
    ),
    result(_YEAR, "gone", is_error=True),
    result(_MAP, (TextPart(text="seen"), ImagePart(data="aW1n"))),
    note("Be brief."),
    user("A memory.", source="memory"),
    user((TextPart(text="And this?"), AudioPart(data="AAAA"))),
    system="You look.",
    tools=TOOLS,
    options={"max_output_tokens": 100, "tool_choice": "auto"},
)
"""One of everything that vendors differ in."""


# --- generated ----------------------------------------------------------------------

_WORDS = st.sampled_from(
    ["sea", "two words", 'quote "q"', "日本", "a\nb", "{}", "</x>"]
)
_IDS = st.sampled_from(
    ["a", "call_1", "call|2", "functions.look:0", "x" * 64, "Abc123xyz", "ü"]
)
_NAMES = st.sampled_from(["look", "look at", "n" * 70])
_ARGUMENTS = st.sampled_from(["{}", '{"at": "sea"}', '{"n": [1, {"m": null}]}'])
_REASONS = st.lists(
    st.builds(
        ReasoningPart,
        st.sampled_from(
            [
                "openai-compatible",
                "deepseek",
                "mistral",
                "cohere",
                "ollama",
                "anthropic",
            ]
        ),
        _WORDS,
    ),
    max_size=2,
).map(tuple)
_IMAGES = st.sampled_from(
    [
        ImagePart(data=PIXEL, media_type="image/png"),
        ImagePart(url="https://example.com/a.png", detail="original"),
        ImagePart(file_id="file-1"),
    ]
)
_PARTS = st.one_of(
    _WORDS.map(lambda text: TextPart(text=text)),
    _IMAGES,
    st.just(FilePart(data="AAAA", media_type="application/pdf", filename="a.pdf")),
    st.just(FilePart(text="plain", filename="a.txt")),
    st.just(AudioPart(data="AAAA")),
)
_CONTENTS = st.one_of(_WORDS, st.lists(_PARTS, min_size=1, max_size=3).map(tuple))


@st.composite
def _rounds(draw: st.DrawFn, *, contents: st.SearchStrategy[Any]) -> list[ContextItem]:
    ids = draw(st.lists(_IDS, min_size=1, max_size=3, unique=True))
    calls = tuple(ToolCall(each, draw(_NAMES), draw(_ARGUMENTS)) for each in ids)
    said = draw(st.sampled_from(["", "Looking."]))
    results = [
        result(call, draw(contents), is_error=draw(st.booleans())) for call in calls
    ]
    return [assistant(said, *calls, reasoning=draw(_REASONS)), *results]


def _says(role: str, contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    if role == "assistant":
        return st.builds(assistant, contents, reasoning=_REASONS).map(
            lambda item: [item]
        )
    return contents.map(lambda content: [user(content)])


_UNITS = st.one_of(
    _says("user", _CONTENTS),
    _says("assistant", _CONTENTS),
    _rounds(contents=_CONTENTS),
    _WORDS.map(lambda text: [note(text)]),
    _WORDS.map(lambda text: [user(text, source="memory")]),
    st.just([assistant("", reasoning=(ReasoningPart("openai-compatible", "only"),))]),
)


def _joined(units: Sequence[Sequence[ContextItem]], system: str | None) -> Prompt:
    items = [item for unit in units for item in unit]
    return prompt(*items, system=system, tools=TOOLS)


_SYSTEMS = st.sampled_from([None, "You look."])

closed_chats = st.builds(
    _joined,
    st.lists(_UNITS, max_size=7).map(lambda units: [*units, [user("Well?")]]),
    _SYSTEMS,
)
"""Any conversation that ends with the user."""

chats = st.lists(_UNITS, min_size=1, max_size=7)
"""Conversations as units: calls stay with their results."""

_TURNS = st.builds(
    lambda asks, rounds, says: [asks, *rounds, says],
    _says("user", _WORDS),
    st.lists(_rounds(contents=_WORDS), max_size=2),
    _says("assistant", _WORDS),
)
plain_chats = st.builds(
    lambda turns: _joined(
        [unit for turn in turns for unit in turn] + [[user("Well?")]], "You look."
    ),
    st.lists(_TURNS, max_size=3),
)
"""Conversations in text alone, in an order that every vendor takes."""


def arguments_of(call: ToolCall) -> Any:
    """Return the arguments of a call as data."""
    return json.loads(call.arguments)
