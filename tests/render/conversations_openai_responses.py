"""Conversations with the reasoning of the Responses API, by hand and generated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from tests.render.conversations_chat import (
    EVERYTHING,
    PIXEL,
    TOOLS,
    assistant,
    note,
    prompt,
    result,
    user,
)

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.render.adapter import Prompt

__all__ = ["NAME", "TABLE", "answers", "block", "pieces", "replays"]

NAME = "openai-responses"


def block(number: int = 1, *, model: str | None = None, **data: Any) -> ReasoningPart:
    """Return a block of encrypted reasoning."""
    said = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [],
        "encrypted_content": f"secret {number}",
    }
    return ReasoningPart(NAME, model=model, data={**said, **data})


def _call(call_id: str, name: str = "look", **marks: Any) -> ToolCall:
    return ToolCall(
        call_id, name, '{"at": "sea"}', extra={NAME: marks} if marks else None
    )


_SEA = _call("call_1", id="fc_1")
_LAND = _call("call_2", id="fc_2", reasoning_before=1)
_PATCH = ToolCall("call_3", "patch", "*** Begin\n", type="custom")
_MARKED = {"extra": {NAME: {"id": "msg_1", "phase": "commentary"}}}

TABLE: dict[str, Prompt] = {
    "everything": EVERYTHING,
    "reasoning in a loop": prompt(
        user("Look."),
        assistant("On it.", _SEA, reasoning=(block(),), metadata=_MARKED),
        result(_SEA, "wet"),
        model="gpt-5.4",
        tools=TOOLS,
    ),
    "reasoning between parallel calls": prompt(
        user("Look."),
        assistant("", _SEA, _LAND, reasoning=(block(1), block(2))),
        result(_SEA, "wet"),
        result(_LAND, "dry"),
    ),
    "reasoning of another model": prompt(
        user("Look."),
        assistant("", _SEA, reasoning=(block(model="gpt-5-2025-08-07"),)),
        result(_SEA, "wet"),
        model="gpt-5.4",
    ),
    "reasoning without the ids of what followed": prompt(
        user("Look."), assistant("Done.", reasoning=(block(),)), user("And?")
    ),
    "reasoning alone": prompt(
        user("Look."), assistant("", reasoning=(block(),)), user("And?")
    ),
    "reasoning that was never encrypted": prompt(
        user("Look."),
        assistant("Done.", reasoning=(block(encrypted_content=None),)),
        user("And?"),
    ),
    "a search of the vendor's": prompt(
        user("Search."),
        assistant(
            "Found.",
            reasoning=(
                block(),
                ReasoningPart(
                    NAME,
                    data={
                        "type": "web_search_call",
                        "id": "ws_1",
                        "status": "completed",
                        "action": {"type": "search", "query": "sea"},
                    },
                ),
            ),
            metadata={"extra": {NAME: {"id": "msg_2"}}},
        ),
        user("Thanks."),
    ),
    "custom call": prompt(
        user("Patch."),
        assistant("", _PATCH),
        result(_PATCH, "done"),
        tools=(
            {
                "type": "custom",
                "custom": {
                    "name": "patch",
                    "format": {
                        "type": "grammar",
                        "grammar": {"syntax": "lark", "definition": "start: /.+/"},
                    },
                },
            },
        ),
    ),
    "media in results": prompt(
        user((TextPart(text="See:"), ImagePart(data=PIXEL, media_type="image/png"))),
        assistant("", _SEA),
        result(
            _SEA,
            (
                TextPart(text="a picture"),
                ImagePart(url="https://example.com/a.png", detail="low"),
                FilePart(data="AAAA", media_type="application/pdf"),
                AudioPart(data="AAAA"),
            ),
            is_error=True,
        ),
    ),
    "assistant first and last": prompt(assistant("Welcome."), assistant("Well?")),
    "notes": prompt(note("First."), user("Hi."), note("Be brief."), user("Go on.")),
}

# --- generated ------------------------------------------------------------------------

_TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()))
_NAMES = st.sampled_from(["look", "find_it", "a-b"])
_OBJECTS = st.dictionaries(_TEXTS, st.integers() | _TEXTS | st.none(), max_size=2)


@st.composite
def answers(draw: st.DrawFn) -> list[ContextItem]:
    """Draw an answer as this vendor gives it, with results for its calls."""
    number = draw(st.integers(1, 99))
    names = draw(st.lists(_NAMES, max_size=2))
    calls = [
        ToolCall(
            f"call_{number}_{place}",
            name,
            json.dumps(draw(_OBJECTS)),
            extra={NAME: {"id": f"fc_{number}_{place}"}},
        )
        for place, name in enumerate(names)
    ]
    blocks = tuple(block(number) for _ in range(draw(st.integers(0, 2))))
    text = draw(_TEXTS) if not calls else draw(st.just("") | _TEXTS)
    marks = {"id": f"msg_{number}"} | (
        {"phase": "commentary"} if draw(st.booleans()) else {}
    )
    said = assistant(
        text,
        *calls,
        reasoning=blocks,
        metadata={"extra": {NAME: marks}} if text else None,
    )
    return [said, *(result(call, draw(_TEXTS)) for call in calls)]


_UNITS = st.one_of(
    answers(),
    _TEXTS.map(lambda text: [user(text)]),
    _TEXTS.map(lambda text: [note(text)]),
)


@st.composite
def replays(draw: st.DrawFn) -> Prompt:
    """Draw a conversation that this vendor can carry without loss."""
    units = draw(st.lists(_UNITS, max_size=5))
    items = [item for unit in [[user("Go.")], *units] for item in unit]
    system = draw(st.none() | _TEXTS)
    said = prompt(*items, system="x" if system else None, tools=TOOLS, model="gpt-5.4")
    if system and said.system:
        return replace(said, system=said.system.with_content(system))
    return said


def pieces(items: tuple[ContextItem, ...]) -> list[Any]:
    """Return what items say, piece by piece, however they are cut."""
    said: list[Any] = []
    for item in items:
        said += [dict(part.data or {}) for part in item.reasoning]
        if item.content:
            said.append((item.role, item.content, item.is_error))
        said += [
            (call.id, call.name, json.loads(call.arguments), call.type)
            for call in item.tool_calls
        ]
        if item.tool_call_id:
            said.append(item.tool_call_id)
    return said
