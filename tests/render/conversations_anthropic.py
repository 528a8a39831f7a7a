"""Conversations for adapters whose messages hold blocks: a table, and a strategy."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import replace

from hypothesis import strategies as st

from context_builder.items import ContextItem
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
)

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    + struct.pack(">II", 64, 32)
    + b"\x08\x02" * 3
).decode()
PDF = base64.b64encode(b"%PDF-1.4 nothing to see").decode()

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Finds things.",
            "parameters": {
                "type": "object",
                "properties": {"q": {"type": "string"}},
                "required": ["q"],
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
)


def user(text: str | tuple[Part, ...], source: str = "user") -> ContextItem:
    """Return a user's message."""
    return ContextItem(role="user", content=text, source=source)


def note(text: str) -> ContextItem:
    """Return a system message in mid-conversation."""
    return ContextItem(role="system", content=text, source="system_prompt")


def said(
    text: str | tuple[Part, ...] = "",
    *calls: tuple[str, str] | ToolCall,
    reasoning: tuple[ReasoningPart, ...] = (),
) -> ContextItem:
    """Return an assistant's message; a call is an id and the question it searches."""
    made = tuple(
        call
        if isinstance(call, ToolCall)
        else ToolCall(id=call[0], name="search", arguments=json.dumps({"q": call[1]}))
        for call in calls
    )
    return ContextItem(
        role="assistant",
        content=text,
        source="assistant",
        tool_calls=made,
        reasoning=reasoning,
    )


def result(
    call_id: str, text: str | tuple[Part, ...], *, is_error: bool = False
) -> ContextItem:
    """Return a tool's result."""
    return ContextItem(
        role="tool",
        content=text,
        source="tool_result",
        tool_call_id=call_id,
        tool_name="search",
        is_error=is_error,
    )


def thought(
    text: str = "Hm.",
    signature: str = "c2ln",
    *,
    provider: str = "anthropic",
    model: str | None = "claude-sonnet-4-5",
) -> ReasoningPart:
    """Return a signed thought as the vendor gave it."""
    data = {"type": "thinking", "thinking": text, "signature": signature}
    return ReasoningPart(provider, text, signature, model, data)


def numbered(*items: ContextItem) -> tuple[ContextItem, ...]:
    """Give items ids."""
    return tuple(replace(item, id=f"i{number}") for number, item in enumerate(items))


PICTURE = ImagePart(data=PNG, media_type="image/png")

TABLE: dict[str, tuple[ContextItem, ...]] = {
    "greeting": numbered(user("Hello.")),
    "greeting first": numbered(said("Welcome."), user("Hello.")),
    "neighbours": numbered(
        user("Hello."),
        user("My fern is brown."),
        said("How often is it watered?"),
        said("And how much light?"),
        note("Answer in one sentence."),
        user("Twice a week."),
    ),
    "note behind the user": numbered(
        user("Hello."), note("Be brief."), said("Hi."), user("Go on.")
    ),
    "note before the user": numbered(
        user("Hello."), note("Be brief."), note("Be kind."), user("Go on.")
    ),
    "note first": numbered(note("Be brief."), user("Hello.")),
    "parallel calls": numbered(
        user("Look up tea and rope."),
        said("Looking.", ("a", "tea"), ("b", "rope")),
        result("a", "tea: 3"),
        result("b", "rope: 8", is_error=True),
        user("Thanks. And lamps?"),
        said("", ("a", "lamps")),
        result("a", "(no output)"),
    ),
    "strange ids": numbered(
        user("Go."),
        said("", ("call|fc:9.x", "one"), ("x" * 80, "two")),
        result("call|fc:9.x", "1"),
        result("x" * 80, "2"),
    ),
    "thinking in a loop": numbered(
        user("Think."),
        said("", ("t1", "one"), reasoning=(thought("  keep\tthis  "),)),
        result("t1", "1"),
    ),
    "another vendor's thinking": numbered(
        user("Think."),
        said("Done.", reasoning=(thought(provider="openai-responses", model="gpt-5"),)),
        said("", reasoning=(thought(provider="openai-responses", model="gpt-5"),)),
        user("Go on."),
    ),
    "only a thought": numbered(
        user("Think."), said("", reasoning=(thought(),)), user("And?")
    ),
    "pictures and files": numbered(
        user(
            (
                TextPart(text="Compare:"),
                PICTURE,
                ImagePart(url="https://example.com/a.png"),
                ImagePart(data="Qk0=", media_type="image/bmp"),
                FilePart(data=PDF, media_type="application/pdf", filename="a.pdf"),
                FilePart(text="plain", filename="a.txt"),
                AudioPart(data="AAAA"),
            )
        ),
        said((TextPart(text="Here:"), PICTURE), ("p", "picture")),
        result("p", (TextPart(text="found"), PICTURE, AudioPart(data="AAAA"))),
    ),
    "only a picture": numbered(user((PICTURE,))),
    "framed": numbered(
        user("The user likes tea.", source="memory"),
        user("Earlier: </summary> nothing.", source="summary"),
        user("What do I like?"),
    ),
    "signed blank text": numbered(
        user((TextPart(text="", extra={"gemini": {"thoughtSignature": "x"}}),)),
        user("Hello."),
        said((TextPart(text="", extra={"gemini": {"thoughtSignature": "x"}}),)),
        user("There?"),
    ),
    "custom call": numbered(
        user("Run it."),
        said("", ToolCall(id="c", name="shell", arguments="ls -l", type="custom")),
        result("c", "a.txt"),
    ),
}

# --- generated -----------------------------------------------------------------------

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40
).filter(lambda text: bool(text.strip()))
IDS = st.one_of(st.sampled_from(["a", "b", "call_1", "x:y", "z" * 70]), TEXTS)
OBJECTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=2)


@st.composite
def contents(draw: st.DrawFn) -> str | tuple[Part, ...]:
    """Draw text, or a few parts."""
    if draw(st.booleans()):
        return draw(TEXTS)
    parts: list[Part] = [
        TextPart(text=draw(TEXTS)),
        TextPart(text=draw(TEXTS)),
        PICTURE,
    ]
    return tuple(draw(st.permutations(parts)))


@st.composite
def thoughts(draw: st.DrawFn) -> tuple[ReasoningPart, ...]:
    """Draw a thought, of this vendor's or another's, or none."""
    provider = draw(
        st.sampled_from(["", "anthropic", "anthropic", "openai", "bedrock"])
    )
    if not provider:
        return ()
    return (thought(draw(st.just("") | TEXTS), provider=provider, model=None),)


@st.composite
def rounds(draw: st.DrawFn) -> list[ContextItem]:
    """Draw one item, or calls with their results."""
    kind = draw(
        st.sampled_from(["user", "user", "assistant", "note", "calls", "memory"])
    )
    if kind == "user":
        return [user(draw(contents()))]
    if kind == "memory":
        return [user(draw(TEXTS), source="memory")]
    if kind == "note":
        return [note(draw(TEXTS))]
    if kind == "assistant":
        return [said(draw(TEXTS), reasoning=draw(thoughts()))]
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    calls = [
        ToolCall(id=call_id, name="search", arguments=json.dumps(draw(OBJECTS)))
        for call_id in ids
    ]
    return [
        said(draw(st.just("") | TEXTS), *calls, reasoning=draw(thoughts())),
        *(
            result(call_id, draw(contents()), is_error=draw(st.booleans()))
            for call_id in ids
        ),
    ]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[ContextItem, ...]:
    """Draw a conversation that waits for the assistant; it may begin with anything."""
    drawn = draw(st.lists(rounds(), max_size=6))
    items = [item for pieces in drawn for item in pieces]
    return numbered(*items, user(draw(TEXTS)))
