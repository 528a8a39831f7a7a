"""Conversations with Gemini's signatures and its own parts, by hand and generated."""

from __future__ import annotations

import base64
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

__all__ = ["NAME", "SIGNED", "TABLE", "block", "pieces", "replays", "steps"]

NAME = "gemini"
SIGNED = base64.b64encode(b"a signature").decode()
PICTURE = ImagePart(data=PIXEL, media_type="image/png")


def _marks(**marks: Any) -> dict[str, Any]:
    return {NAME: marks}


def block(model: str | None = None, **data: Any) -> ReasoningPart:
    """Return a part that goes back as it is."""
    said = data or {"text": "Hm.", "thought": True}
    return ReasoningPart(NAME, text=said.get("text", ""), model=model, data=said)


_SEA = ToolCall("1", "look", '{"at": "sea"}', extra=_marks(thought_signature=SIGNED))
_LAND = ToolCall("2", "look", '{"at": "land"}')
_UNNAMED = ToolCall("call_1_0", "look", extra=_marks(has_no_id=True))

TABLE: dict[str, Prompt] = {
    "everything": EVERYTHING,
    "own signatures": prompt(
        user("Look."),
        assistant("", _SEA, _LAND, reasoning=(block(),)),
        result(_SEA, "wet"),
        result(_LAND, "dry"),
        user("Thanks."),
        assistant((TextPart(text="", extra=_marks(thoughtSignature="YWdhaW4=")),)),
        user("And?"),
        model="gemini-3-pro-preview",
    ),
    "another vendor's calls": prompt(
        user("Look."),
        assistant("On it.", _LAND, _UNNAMED),
        result(_LAND, '{"is": "dry"}'),
        result(_UNNAMED, '{"is":"dry"}', is_error=True),
        assistant("", _LAND),
        result(_LAND, '{"error": "gone"}'),
        model="gemini-3.5-flash",
    ),
    "an older model": prompt(
        user("Look."),
        assistant("", _LAND),
        result(_LAND, (TextPart(text="see"), PICTURE)),
        user("What is it?"),
        model="gemini-2.5-flash",
    ),
    "the signature of another generation": prompt(
        user("Look."),
        assistant(
            "",
            replace(
                _SEA, extra=_marks(thought_signature=SIGNED, model="gemini-2.5-pro")
            ),
            reasoning=(block("gemini-2.5-pro"),),
        ),
        result(_SEA, "wet"),
        model="gemini-3-pro-preview",
    ),
    "the vendor's own parts": prompt(
        user("Count."),
        assistant(
            (TextPart(text="So:"), TextPart(text="Two.")),
            reasoning=(
                block(executable_code={"language": "PYTHON", "code": "1 + 1"}),
                block(code_execution_result={"outcome": "OUTCOME_OK", "output": "2"}),
            ),
            metadata={"extra": _marks(order="prrp")},
        ),
        user("Thanks."),
    ),
    "media": prompt(
        user(
            (
                PICTURE,
                ImagePart(url="https://example.com/a.png"),
                ImagePart(data="R0lG", media_type="image/gif"),
                ImagePart(file_id="file-1"),
                FilePart(data="AAAA", media_type="application/pdf", filename="a.pdf"),
                FilePart(text="plain", filename="a.txt"),
                FilePart(
                    url="https://youtu.be/x",
                    media_type="video/mp4",
                    extra=_marks(video_metadata={"fps": 1}),
                ),
            )
        ),
        assistant("", _SEA),
        result(_SEA, (PICTURE, AudioPart(data="AAAA"))),
        model="gemini-3-pro-preview",
    ),
    "only a picture": prompt(user((PICTURE,)), user("What is it?")),
    "assistant first": prompt(assistant("Welcome."), note("Be brief."), user("Hi.")),
    "neighbours": prompt(
        user("One."),
        user("Two."),
        assistant("Three."),
        assistant("Four."),
        user("Five."),
    ),
    "gemma": prompt(user("Hi."), system="You look.", model="gemma-3-27b-it"),
    "gemma, assistant first": prompt(
        assistant("Welcome."), user("Hi."), system="You look.", model="gemma-3-27b-it"
    ),
    "custom call": prompt(
        user("Patch."),
        assistant("", ToolCall("c", "patch", "*** Begin\n", type="custom")),
        result(ToolCall("c", "patch"), ""),
        tools=({"type": "custom", "custom": {"name": "patch"}},),
    ),
}

# --- generated ------------------------------------------------------------------------

_TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()))
_NAMES = st.sampled_from(["look", "find_it", "server.tool:run", "_x-1"])
_OBJECTS = st.dictionaries(_TEXTS, st.integers() | _TEXTS | st.none(), max_size=2)
_RESULTS = st.one_of(
    _TEXTS,
    _OBJECTS.map(lambda value: json.dumps(value, ensure_ascii=False)),
    _OBJECTS.map(lambda value: json.dumps(value, separators=(",", ":"))),
    st.sampled_from(['{"error": "x"}', '{"output": "x"}', '{"error": {}}', "[1]"]),
)


def _signature(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@st.composite
def steps(draw: st.DrawFn, number: int = 0) -> list[ContextItem]:
    """Draw an answer as this vendor gives it, with results for its calls."""
    names = draw(st.lists(_NAMES, max_size=2))
    signature = _signature(f"call {number}")
    calls = [
        ToolCall(
            f"id{place}",
            name,
            json.dumps(draw(_OBJECTS), ensure_ascii=False),
            extra=None if place else _marks(thought_signature=signature),
        )
        for place, name in enumerate(names)
    ]
    text = draw(_TEXTS) if not calls else draw(st.just("") | _TEXTS)
    blocks = (block(text=draw(_TEXTS), thought=True),) if draw(st.booleans()) else ()
    content = text
    if text and draw(st.booleans()):
        marks = _marks(thought_signature=_signature(f"text {number}"))
        return [
            assistant(
                (TextPart(text=text), TextPart(text="", extra=marks)),
                *calls,
                reasoning=blocks,
            ),
            *_results(draw, calls),
        ]
    return [assistant(content, *calls, reasoning=blocks), *_results(draw, calls)]


def _results(draw: st.DrawFn, calls: list[ToolCall]) -> list[ContextItem]:
    return [
        result(call, draw(_RESULTS), is_error=False)
        if draw(st.booleans())
        else result(call, draw(_TEXTS), is_error=True)
        for call in calls
    ]


@st.composite
def replays(draw: st.DrawFn) -> Prompt:
    """Draw a conversation that this vendor can carry without loss."""
    items = [user("Go.")]
    for number in range(draw(st.integers(0, 5))):
        items += draw(steps(number) | _TEXTS.map(lambda text: [user(text)]))
        if items[-1].role == "assistant":  # two in a row would become one
            items.append(user(draw(_TEXTS)))
    items.append(user("So?"))
    system = "You look." if draw(st.booleans()) else None
    model = "gemini-3-pro-preview"
    return prompt(*items, system=system, tools=TOOLS, model=model)


def pieces(items: tuple[ContextItem, ...]) -> list[Any]:
    """Return what items say, piece by piece, however they are cut."""
    said: list[Any] = []
    for item in items:
        said += [dict(part.data or {}) for part in item.reasoning]
        content = item.content
        parts = (TextPart(text=content),) if isinstance(content, str) else content
        said += [(item.role, part) for part in parts if part != TextPart(text="")]
        said += [
            (call.id, call.name, json.loads(call.arguments), call.extra)
            for call in item.tool_calls
        ]
        if item.tool_call_id:
            said.append((item.tool_call_id, item.tool_name, item.is_error))
    return said
