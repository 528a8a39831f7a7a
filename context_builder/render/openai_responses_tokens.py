"""What OpenAI bills for a Responses request: the same as for Chat, said differently.

A body is rewritten as the Chat body that the model would see, and counted as that. The
two bills agree on recorded requests, so there is nothing to fit but reasoning.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.tokens import (
    OpenAIFraming,
    framing_for,
    message_tokens,
    request_overhead,
    request_tokens,
    response_format_tokens,
    tools_tokens,
)

if TYPE_CHECKING:
    from context_builder.render.adapter import Count

__all__ = ["body_tokens", "fixed_tokens", "said_tokens"]

_DEFAULT_MODEL = "gpt-4o"
"""Whose framing counts while no model is named."""

_ENCRYPTED_OVERHEAD_CHARS = 1_050
_ENCRYPTED_CHARS_PER_TOKEN = 5.6
"""Of an encrypted block: its wrapping, and what a token of reasoning grows to."""

_FORGETS = re.compile(r"(?:^|/)(?:o\d|gpt-5(?:\.[0-5])?(?![.\d]))")
"""Models that, left alone, read the reasoning of the current turn only."""

_CHAT_MANUAL_TOKENS = 82
"""What Chat tells the reasoning models about calling tools, and Responses does not."""

_CHAT_HEADER_TOKENS = 2
"""By how much the heading above the tools is shorter with the other models."""

_HIDDEN_PROMPT_TOKENS = 216
"""A prompt of the vendor's own, which empty instructions call up beside tools, with
models that do not reason. Requests of ours leave empty instructions out."""

_Object = Mapping[str, Any]


_ONE_AT_A_TIME_TOKENS = 16
"""What the model is told where it may not make several calls at once: both recorded
requests of this kind were billed as much more. Chat Completions does not tell it."""


def body_tokens(request: _Object, count: Count) -> int:
    """Count a finished request from nothing but its body."""
    chat, _ = _as_chat(request)
    framing = _framing(request.get("model"))
    return (
        request_tokens(chat, count, framing)
        + _headings_tokens(request.get("tools"), count)
        + _single_tokens(request)
        + sum(_opaque_tokens(item, count) for item in _read_blocks(request))
        + _hidden_tokens(request)
    )


def _single_tokens(request: _Object) -> int:
    is_single = request.get("parallel_tool_calls") is False
    return _ONE_AT_A_TIME_TOKENS if is_single and request.get("tools") else 0


def _hidden_tokens(request: _Object) -> int:
    is_empty = request.get("instructions") == "" and bool(request.get("tools"))
    return _HIDDEN_PROMPT_TOKENS if is_empty and not _has_manual(request) else 0


def _has_manual(request: _Object) -> bool:
    """Say whether Chat would explain calling tools: to the models that reason."""
    model = request.get("model")
    framing = framing_for(model if isinstance(model, str) else _DEFAULT_MODEL)
    return framing.tools_header > _CHAT_MANUAL_TOKENS


def _read_blocks(request: _Object) -> list[_Object]:
    """Return the blocks of a body that the model reads: not all read old reasoning."""
    items = request.get("input")
    if not isinstance(items, Sequence) or isinstance(items, str):
        return []
    start = 0
    if _forgets(request):
        asked = [number for number, item in enumerate(items) if _is_asked(item)]
        start = asked[-1] if asked else 0
    _, old = _as_messages(items[:start])
    _, current = _as_messages(items[start:])
    return [*(item for item in old if item.get("type") != "reasoning"), *current]


def _is_asked(item: _Object) -> bool:
    return item.get("role") == "user"


def _forgets(request: _Object) -> bool:
    context = (request.get("reasoning") or {}).get("context", "auto")
    if context == "auto":
        return _FORGETS.search(str(request.get("model") or "").lower()) is not None
    return bool(context == "current_turn")


def said_tokens(said: Sequence[_Object], count: Count, model: str | None) -> int:
    """Count the pieces of one item, at the most that its neighbours make of them."""
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
    # A note in mid-conversation carries the tools where no system prompt does: what
    # follows is counted as the dearer of the two.
    carried = (True,) if system else (True, False)
    tools, asked = chat["tools"], chat["response_format"]
    return {
        "system": message_tokens(system, count, framing) if system else 0,
        "tools": _headings_tokens(request.get("tools"), count)
        + _single_tokens(request)
        + max(
            tools_tokens(
                tools,
                count,
                framing,
                has_system=has_system,
                tool_choice=chat["tool_choice"],
            )
            for has_system in carried
        ),
        "overhead": request_overhead(framing)
        + max(
            response_format_tokens(asked, count, framing, has_system=has_system)
            for has_system in carried
        ),
    }


def _framing(model: object) -> OpenAIFraming:
    """Return the framing of Chat, less what this API does not put around tools."""
    framing = framing_for(model if isinstance(model, str) else _DEFAULT_MODEL)
    has_manual = _has_manual({"model": model})
    less = _CHAT_MANUAL_TOKENS if has_manual else _CHAT_HEADER_TOKENS
    return dataclasses.replace(
        framing,
        tools_header=framing.tools_header - less,
        extra_message=0,
        per_call_message=framing.per_call_message + 1,
    )


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
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})


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


def _headings_tokens(tools: object, count: Count) -> int:
    """Count what stands above the arguments of a tool; Chat leaves it out."""
    schemas = [
        tool.get("parameters") or {}
        for tool in (tools if isinstance(tools, list | tuple) else ())
        if tool.get("type") == "function"
    ]
    return sum(
        count(f"// {schema[key]}\n")
        for schema in schemas
        for key in ("title", "description")
        if schema.get(key)
    )


def _opaque_tokens(item: _Object, count: Count) -> int:
    """Estimate a block that only the vendor can read."""
    encrypted = item.get("encrypted_content")
    if isinstance(encrypted, str) or item.get("type") == "reasoning":
        inner = max(0, len(encrypted or "") - _ENCRYPTED_OVERHEAD_CHARS)
        shown = [*(item.get("summary") or ()), *(item.get("content") or ())]
        return math.ceil(inner / _ENCRYPTED_CHARS_PER_TOKEN) + sum(
            count(str(part.get("text") or "")) for part in shown
        )
    return count(json.dumps(dict(item), ensure_ascii=False, default=str))
