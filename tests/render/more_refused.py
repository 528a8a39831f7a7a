"""More bodies that break one rule each: those whose rule no other table names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tests.render.bodies_anthropic import ASKED, TOOL, body, picture
from tests.render.test_cohere import GOOD as COHERE
from tests.render.test_mistral import GOOD as MISTRAL
from tests.render.test_ollama import GOOD as OLLAMA
from tests.render.test_validate_openai import sound
from tests.render.wire import broken

if TYPE_CHECKING:
    from collections.abc import Mapping

HI = {"role": "user", "content": "Hi."}
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
REASONING = {"type": "reasoning", "summary": []}


def _part(**part: Any) -> dict[str, Any]:
    """Return a Responses body with one part."""
    return {"input": [{"role": "user", "content": [part]}]}


def _said(*parts: Any, **fields: Any) -> dict[str, Any]:
    """Return a Gemini body with these parts of the user."""
    return {"contents": [{"role": "user", "parts": [*parts]}], **fields}


def _declared(*tools: dict[str, Any]) -> dict[str, Any]:
    config = {"tools": [{"function_declarations": [*tools]}]}
    return _said({"text": "Hi."}, config=config)


_RESPONSES: dict[str, Any] = {
    "empty input": {"input": ""},
    "an item is a number": {"input": [7]},
    "call id with a bar": {
        "input": [
            HI,
            {**CALL, "call_id": "a|b"},
            {"type": "function_call_output", "call_id": "a|b", "output": "1"},
        ]
    },
    "reasoning without content, nothing stored": {
        "input": [HI, REASONING, {"role": "assistant", "content": "a"}],
        "store": False,
    },
    "reference, nothing stored": {
        "input": [HI, {"type": "item_reference", "id": "msg_1"}],
        "store": False,
    },
    "content is a number": {"input": [{"role": "user", "content": 7}]},
    "sound": _part(type="input_audio"),
    "no text": _part(type="input_text"),
    "detail": _part(
        type="input_image", image_url="https://a.test/b.png", detail="huge"
    ),
    "two files": _part(type="input_file", file_id="f", file_url="https://a.test/b"),
    "an odd address": _part(type="input_file", file_url="ftp://a.test/b"),
    "bare data": _part(type="input_file", file_data="JVBERi0=", filename="a.pdf"),
    "broken arguments": {
        "input": [
            HI,
            {**CALL, "arguments": "{"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ]
    },
    "instructions": {"input": [HI], "instructions": 7},
    "tool name": {"input": [HI], "tools": [{"type": "custom", "name": "a b"}]},
}
_GEMINI: dict[str, Any] = {
    "blank": {"contents": " "},
    "the model answers a call": {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi."}]},
            {
                "role": "model",
                "parts": [{"function_response": {"name": "f", "response": {}}}],
            },
            {"role": "user", "parts": [{"text": "Hi."}]},
        ]
    },
    "infinite": {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi."}]},
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "args": {"n": math.inf}}}],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"name": "f", "response": {}}}],
            },
        ],
        "model": "gemini-2.5-flash",
    },
    "blank system": _said({"text": "Hi."}, config={"system_instruction": " "}),
    "two schemas": _declared(
        {"name": "f", "parameters": {}, "parameters_json_schema": {}}
    ),
    "two tools of a name": _declared({"name": "f"}, {"name": "f"}),
    "deep in a schema": _declared(
        {
            "name": "f",
            "parameters": {"type": "OBJECT", "anyOf": [{"const": 1}]},
        }
    ),
}

MORE: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {
        "601 pictures": body(("user", [picture()] * 601)),
        "a message without content": body(("user", "a"), ("assistant", "b"))
        | {"messages": [{"role": "user"}]},
        "a value of the wrong kind": body(tools=[7]),
        "unknown block in a result": body(
            *ASKED[:2],
            (
                "user",
                [{"type": "tool_result", "tool_use_id": "a", "content": [{}]}],
            ),
            tools=[TOOL],
        ),
    },
    "cohere": {
        "null content": broken(
            COHERE, "messages.2", {**COHERE["messages"][2], "content": None}
        ),
        "parts of an unknown role": broken(
            COHERE,
            "messages.1",
            {"role": "judge", "content": [{"type": "text", "text": "a"}]},
        ),
    },
    "gemini": _GEMINI,
    "mistral": {
        "a blank system message": broken(MISTRAL, "messages.0.content", " "),
        "parts of an unknown role": broken(
            MISTRAL,
            "messages.1",
            {"role": "judge", "content": [{"type": "text", "text": "a"}]},
        ),
        "two tools of a name": {**MISTRAL, "tools": MISTRAL["tools"][:1] * 2},
        "broken arguments": broken(
            MISTRAL, "messages.2.tool_calls.0.function.arguments", "{"
        ),
    },
    "ollama": {"open at the end": {**OLLAMA, "messages": OLLAMA["messages"][:3]}},
    "openai": {
        "a choice of another tool": {
            **sound(), "tool_choice": {"type": "function", "function": {"name": "x"}},
        },
    },
    "openai-responses": _RESPONSES,
}  # fmt: skip
