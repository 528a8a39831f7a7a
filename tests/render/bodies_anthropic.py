"""Bodies that Anthropic's API takes, and bodies that it refuses, each for one rule."""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.render.conversations_anthropic import PNG

CALL = {"type": "tool_use", "id": "a", "name": "s", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Hello."}
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOL = {"name": "s", "input_schema": {"type": "object"}}
HUGE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    + struct.pack(">II", 9_000, 2)
    + b"\x08\x02" * 9
).decode()


def picture(data: str = PNG, media_type: str = "image/png") -> dict[str, Any]:
    """Return an image block."""
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def body(*messages: tuple[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request."""
    request = {"model": "claude-sonnet-4-5", "max_tokens": 100, **fields}
    said = [{"role": role, "content": content} for role, content in messages]
    return {**request, "messages": said or [{"role": "user", "content": "Hello."}]}


ASKED = (("user", "Go."), ("assistant", [CALL]), ("user", [ANSWER]))

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    # name: (body, where, words of the rule)
    "no messages": (
        {"model": "m", "max_tokens": 1, "messages": []},
        "messages",
        "at least",
    ),
    "unknown field": (body(n=1), "n", "extra inputs"),
    "no limit": (body(max_tokens=None), "max_tokens", "required"),
    "too large a limit": (body(max_tokens=64_001), "max_tokens", "64,000"),
    "no model": (body(model=""), "model", "required"),
    "temperature": (body(temperature=1.5), "temperature", "between"),
    "unknown role": (
        body(("user", "a"), ("tool", "b"), ("user", "c")),
        "messages[1].role",
        "role",
    ),
    "a name": (
        {**body(), "messages": [{"role": "user", "content": "a", "name": "Bo"}]},
        "messages[0].name",
        "extra",
    ),
    "message of no kind": ({**body(), "messages": ["hello"]}, "messages[0]", "object"),
    "assistant first": (
        body(("assistant", "a"), ("user", "b")),
        "messages[0].role",
        "first",
    ),
    "assistant last": (
        body(("user", "a"), ("assistant", "b"), model="claude-opus-4-6"),
        "messages[1]",
        "end with a user",
    ),
    "prefill with a space": (
        body(("user", "a"), ("assistant", "b ")),
        "messages[1].content",
        "whitespace",
    ),
    "note on an older model": (
        body(("user", "a"), ("system", "b")),
        "messages[1].role",
        "not supported",
    ),
    "note first": (
        body(("system", "a"), ("user", "b"), model="claude-opus-5"),
        "messages[0]",
        "follow",
    ),
    "note before a user": (
        body(("user", "a"), ("system", "b"), ("user", "c"), model="claude-opus-5"),
        "messages[1]",
        "precede",
    ),
    "picture in a note": (
        body(("user", "a"), ("system", [picture()]), model="claude-opus-5"),
        "messages[1].content[0]",
        "may not stand",
    ),
    "blank user": (body(("user", "\n")), "messages[0].content", "non-whitespace"),
    "empty user": (body(("user", "")), "messages[0]", "non-empty"),
    "user without blocks": (body(("user", [])), "messages[0]", "non-empty"),
    "blank assistant": (
        body(
            ("user", "a"), ("assistant", [{"type": "text", "text": " "}]), ("user", "b")
        ),
        "messages[1].content",
        "non-whitespace",
    ),
    "empty text block": (
        body(("user", [TEXT, {"type": "text", "text": ""}])),
        "messages[0].content[1]",
        "non-empty",
    ),
    "empty text before a call": (
        body(
            ("user", "a"), ("assistant", [{"type": "text", "text": ""}, CALL]), ASKED[2]
        ),
        "messages[1].content[0]",
        "non-empty",
    ),
    "null content": (body(("user", None)), "messages[0]", "non-empty"),
    "blank system": (body(system="  "), "system", "non-whitespace"),
    "blank system block": (
        body(system=[{"type": "text", "text": ""}]),
        "system[0]",
        "non-white",
    ),
    "picture in system": (body(system=[picture()]), "system[0]", "text blocks"),
    "no result": (body(*ASKED[:2], ("user", "b")), "messages[2]", "immediately after"),
    "no result at the end": (body(*ASKED[:2]), "messages[1]", "immediately after"),
    "orphan result": (body(("user", [ANSWER])), "messages[0]", "unexpected"),
    "text before results": (
        body(*ASKED[:2], ("user", [TEXT, ANSWER])),
        "messages[2]",
        "begin",
    ),
    "two results": (
        body(*ASKED[:2], ("user", [ANSWER, ANSWER])),
        "messages[2]",
        "single",
    ),
    "repeated id": (body(*ASKED, *ASKED[1:]), "messages[3]", "unique"),
    "bad id": (
        body(("user", "a"), ("assistant", [{**CALL, "id": "a:b"}]), ("user", "b")),
        "messages[1].content[0].tool_use.id",
        "matches",
    ),
    "bad id of a result": (
        body(("user", [{**ANSWER, "tool_use_id": "a|b"}])),
        "messages[0].content[0].tool_use_id",
        "matches",
    ),
    "no name": (
        body(("user", "a"), ("assistant", [{**CALL, "name": ""}]), ("user", [ANSWER])),
        "messages[1].content[0].tool_use.name",
        "name",
    ),
    "arguments as text": (
        body(
            ("user", "a"), ("assistant", [{**CALL, "input": "{}"}]), ("user", [ANSWER])
        ),
        "messages[1].content[0].tool_use.input",
        "dictionary",
    ),
    "block of no kind": (
        body(("user", [{"text": "a"}])),
        "messages[0].content[0]",
        "type",
    ),
    "picture of the assistant's": (
        body(("user", "a"), ("assistant", [picture()]), ("user", "b")),
        "messages[1].content[0]",
        "may not stand",
    ),
    "call of the user's": (
        body(("user", [CALL])),
        "messages[0].content[0]",
        "may not stand",
    ),
    "sound in a result": (
        body(*ASKED[:2], ("user", [{**ANSWER, "content": [{"type": "audio"}]}])),
        "messages[2].content[0].content[0]",
        "may not stand",
    ),
    "picture of a strange kind": (
        body(("user", [picture(media_type="image/bmp")])),
        "messages[0].content[0].source.media_type",
        "one of",
    ),
    "picture without data": (
        body(("user", [picture("")])),
        "messages[0].content[0].source.data",
        "",
    ),
    "picture from nowhere": (
        body(("user", [{"type": "image", "source": {"type": "s3"}}])),
        "messages[0].content[0].source",
        "base64",
    ),
    "huge picture": (
        body(("user", [picture(HUGE)])),
        "messages[0].content[0]",
        "8,000",
    ),
    "document of a strange kind": (
        body(
            (
                "user",
                [
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "a/b"},
                    }
                ],
            )
        ),
        "messages[0].content[0].source.media_type",
        "application/pdf",
    ),
    "document from nowhere": (
        body(("user", [{"type": "document", "source": {}}])),
        "messages[0].content[0].source",
        "base64",
    ),
    "surrogate": (body(("user", "a\ud800")), "messages[0].content", "unicode"),
    "NUL": (body(system="a\0"), "system", "NUL"),
    "tool name": (body(tools=[{**TOOL, "name": "a b"}]), "tools[0].name", "matches"),
    "two tools of one name": (body(tools=[TOOL, TOOL]), "tools[1].name", "unique"),
    "tool without schema": (
        body(tools=[{"name": "a"}]),
        "tools[0].input_schema",
        "object",
    ),
    "alternatives at the root": (
        body(tools=[{"name": "a", "input_schema": {"type": "object", "anyOf": []}}]),
        "tools[0].input_schema",
        "anyOf",
    ),
    "strange choice": (
        body(tools=[TOOL], tool_choice={"type": "x"}),
        "tool_choice",
        "none of",
    ),
    "choice of nothing": (
        body(tool_choice={"type": "auto"}),
        "tool_choice",
        "no tools",
    ),
    "choice of a stranger": (
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "x"}),
        "tool_choice.name",
        "no tool",
    ),
    "forced choice": (
        body(model="claude-opus-5-5", tools=[TOOL], tool_choice={"type": "any"}),
        "tool_choice",
        "forced",
    ),
    "small budget": (
        body(thinking={"type": "enabled", "budget_tokens": 10}),
        "thinking.budget_tokens",
        "1,024",
    ),
    "large budget": (
        body(thinking={"type": "enabled", "budget_tokens": 2_000}),
        "thinking.budget_tokens",
        "max_tokens",
    ),
    "budget on a newer model": (
        body(
            model="claude-opus-4-8",
            thinking={"type": "enabled", "budget_tokens": 1_024},
        ),
        "thinking.budget_tokens",
        "not supported",
    ),
    "adaptive on an older model": (
        body(thinking={"type": "adaptive"}),
        "thinking.type",
        "not supported",
    ),
    "disabled where it cannot be": (
        body(model="claude-opus-5-5", thinking={"type": "disabled"}),
        "thinking",
        "can't be disabled",
    ),
    "sampling on a newer model": (
        body(model="claude-opus-4-7", top_p=0.5),
        "top_p",
        "no sampling",
    ),
    "temperature with thinking": (
        body(temperature=0.5, thinking={"type": "enabled", "budget_tokens": 1_024}),
        "temperature",
        "only be 1",
    ),
    "forced with thinking": (
        body(
            tools=[TOOL],
            tool_choice={"type": "any"},
            thinking={"type": "enabled", "budget_tokens": 1_024},
        ),
        "tool_choice",
        "thinking",
    ),
    "loop without a thought": (
        body(*ASKED, thinking={"type": "enabled", "budget_tokens": 1_024}),
        "messages[1].content[0]",
        "start with a thinking block",
    ),
    "thought in a prefill": (
        body(("user", "a"), ("assistant", [THOUGHT, TEXT])),
        "messages[1]",
        "final message",
    ),
    "thought at the end of a turn": (
        body(("user", "a"), ("assistant", [TEXT, THOUGHT]), ("user", "b")),
        "messages[1]",
        "final block",
    ),
    "thought without signature": (
        body(
            ("user", "a"),
            ("assistant", [{**THOUGHT, "signature": ""}, TEXT]),
            ("user", "b"),
        ),
        "messages[1].content[0].signature",
        "signature",
    ),
    "thought without text": (
        body(
            ("user", "a"),
            ("assistant", [{"type": "thinking", "signature": "c"}, TEXT]),
            ("user", "b"),
        ),
        "messages[1].content[0]",
        "field thinking",
    ),
    "hidden thought without data": (
        body(
            ("user", "a"),
            ("assistant", [{"type": "redacted_thinking"}, TEXT]),
            ("user", "b"),
        ),
        "messages[1].content[0].data",
        "data",
    ),
    "five marks": (
        body(("user", [{**TEXT, **MARK}] * 4), system=[{**TEXT, **MARK}]),
        "messages",
        "maximum of 4",
    ),
    "four marks and the automatic": (
        body(("user", [{**TEXT, **MARK}] * 4), **MARK),
        "messages",
        "maximum of 4",
    ),
    "a longer mark behind a shorter": (
        body(("user", [{**TEXT, **MARK}, {**TEXT, **HOUR}])),
        "messages[0].content[1]",
        "before",
    ),
    "marked thought": (
        body(("user", "a"), ("assistant", [{**THOUGHT, **MARK}, TEXT]), ("user", "b")),
        "messages[1].content[0]",
        "cannot carry",
    ),
    "marked blank": (
        body(("user", [TEXT, {"type": "text", "text": " ", **MARK}])),
        "messages[0].content[1]",
        "cannot carry",
    ),
    "marked deferred tool": (
        body(tools=[{**TOOL, "defer_loading": True, **MARK}]),
        "tools[0]",
        "deferred",
    ),
}
