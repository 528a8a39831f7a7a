"""What OpenAI bills for a Responses request: the same as for Chat, said differently.

A body is rewritten as the Chat body that the model would see, and counted as that. The
two bills agree on recorded requests, so there is nothing to fit but reasoning.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Count
from context_builder.tokens import (
    OpenAIFraming,
    framing_for,
    message_tokens,
    request_overhead,
    request_tokens,
    response_format_tokens,
    tools_tokens,
)

__all__ = ["body_tokens", "fixed_tokens", "said_tokens"]

_DEFAULT_MODEL = "gpt-4o"
"""Whose framing counts while no model is named."""

_ENCRYPTED_OVERHEAD_CHARS = 700
_ENCRYPTED_CHARS_PER_TOKEN = 5.5
"""Of an encrypted block: its wrapping, and what a token of reasoning grows to."""

_Object = Mapping[str, Any]


def body_tokens(request: _Object, count: Count) -> int:
    """Count a finished request from nothing but its body."""
    chat, others = _as_chat(request)
    framing = _framing(request.get("model"))
    hidden = sum(_opaque_tokens(item, count) for item in others)
    return hidden + request_tokens(chat, count, framing)


def said_tokens(said: Sequence[_Object], count: Count, model: str | None) -> int:
    """Count the pieces of one item, at the most that its neighbours can make of them."""
    messages, others = _as_messages(said)
    framing = _framing(model)
    return sum(_opaque_tokens(item, count) for item in others) + sum(
        _dearest(message, count, framing) for message in messages
    )


def fixed_tokens(request: _Object, count: Count) -> Mapping[str, int]:
    """Count what a request without a conversation costs, by what it is for."""
    chat, _ = _as_chat(request)
    framing = _framing(request.get("model"))
    system = chat["messages"][0] if request.get("instructions") else None
    tools = chat["tools"]
    return {
        "system": message_tokens(system, count, framing) if system else 0,
        "tools": tools_tokens(
            tools,
            count,
            framing,
            has_system=system is not None,
            tool_choice=chat["tool_choice"],
        ),
        "overhead": request_overhead(framing)
        + response_format_tokens(
            chat["response_format"],
            count,
            framing,
            has_system=system is not None or bool(tools),
        ),
    }


def _framing(model: object) -> OpenAIFraming:
    return framing_for(model if isinstance(model, str) else _DEFAULT_MODEL)


def _dearest(message: _Object, count: Count, framing: OpenAIFraming) -> int:
    """Count a message; a result as the dearer of alone and one of several."""
    alone = message_tokens(message, count, framing)
    if message["role"] != "tool":
        return alone
    return max(alone, message_tokens(message, count, framing, is_parallel_result=True))


# --- the same body as Chat would have it ----------------------------------------------


def _as_chat(request: _Object) -> tuple[dict[str, Any], list[_Object]]:
    said = request.get("input")
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said or ()
    messages, others = _as_messages(items)
    if request.get("instructions"):
        system = {"role": "system", "content": request["instructions"]}
        messages.insert(0, system)
    chat = {
        "messages": messages,
        "tools": [_nested(tool) for tool in request.get("tools") or ()],
        "tool_choice": request.get("tool_choice"),
        "response_format": _chat_format(request.get("text")),
    }
    return chat, others


def _as_messages(
    items: Iterable[_Object],
) -> tuple[list[dict[str, Any]], list[_Object]]:
    messages: list[dict[str, Any]] = []
    others: list[_Object] = []
    for item in items:
        match item.get("type", "message"):
            case "message":
                keys = ("role", "content")
                messages.append({key: item.get(key) for key in keys})
            case "function_call" | "custom_tool_call":
                _add_call(messages, item)
            case "function_call_output" | "custom_tool_call_output":
                result = {"tool_call_id": item.get("call_id")}
                messages.append(
                    {"role": "tool", "content": item.get("output"), **result}
                )
            case _:
                others.append(item)
    return messages, others


def _add_call(messages: list[dict[str, Any]], item: _Object) -> None:
    arguments = item.get("arguments", item.get("input", ""))
    function = {"name": item.get("name", ""), "arguments": arguments}
    call = {"id": item.get("call_id"), "type": "function", "function": function}
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant":
        last.setdefault("tool_calls", []).append(call)
    else:
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        messages.append(message)


def _nested(tool: _Object) -> _Object:
    if tool.get("type") != "function":
        return tool
    return {"type": "function", "function": tool}


def _chat_format(text: object) -> _Object | None:
    asked = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(asked, Mapping) or asked.get("type") != "json_schema":
        return None
    return {"type": "json_schema", "json_schema": asked}


# --- what only Responses has ----------------------------------------------------------


def _opaque_tokens(item: _Object, count: Count) -> int:
    """Estimate a block that only the vendor can read."""
    encrypted = item.get("encrypted_content")
    if isinstance(encrypted, str):
        inner = max(0, len(encrypted) - _ENCRYPTED_OVERHEAD_CHARS)
        return math.ceil(inner / _ENCRYPTED_CHARS_PER_TOKEN)
    if item.get("type") == "reasoning":
        return sum(count(str(part.get("text"))) for part in item.get("content") or ())
    return count(json.dumps(dict(item), ensure_ascii=False, default=str))
