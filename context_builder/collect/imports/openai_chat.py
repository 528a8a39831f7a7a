"""Reads OpenAI Chat Completions: messages, answers, streams and tool definitions."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.collect.content import is_blank, read_content
from context_builder.collect.imports.openai_stream import joined_chunks
from context_builder.collect.imports.reading import (
    Reply,
    Usage,
    need_mapping,
    need_str,
)
from context_builder.collect.plain import to_json, wrong
from context_builder.copies import changed
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart, Role, ToolCall
from context_builder.unicode import quoted

__all__ = ["read_message", "read_messages", "read_response", "read_tool", "tool_name"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CALL = ToolCall(id="", name="")
_CUT_OFF = ("length", "content_filter")
"""Reasons to stop that leave an answer unfinished."""


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of Chat Completions messages."""
    return [
        read_message(message, field=f"messages[{number}]")
        for number, message in enumerate(messages)
    ]


def read_message(message: object, *, field: str) -> ContextItem:
    """Read one message.

    Raises:
        InvalidItemError: If it is not what the API takes; `field` is the path.
    """
    data = need_mapping(message, field)
    asked = data.get("role")
    role = _ROLES.get(asked) if isinstance(asked, str) else None
    if role is None:
        known = ", ".join(_ROLES)
        message_ = f"{field}.role {quoted(asked)} is none of {known}"
        raise InvalidItemError(message_, field=f"{field}.role", value=asked)
    name = data.get("name")
    if name is not None:
        name = need_str(name, f"{field}.name", allow_empty=True) or None
    match role:
        case "tool":
            return _tool_message(data, name, field)
        case "assistant":
            return _assistant_message(data, name, field)
        case _:
            content = read_content(data.get("content"), field=f"{field}.content")
            source = "system_prompt" if role == "system" else "user"
            return ContextItem(role=role, content=content, source=source, name=name)


def _tool_message(data: Mapping[str, Any], name: str | None, field: str) -> ContextItem:
    call_id = data.get("tool_call_id")
    if call_id is None and data["role"] == "tool":
        message = f"{field}.tool_call_id is missing"
        raise InvalidItemError(message, field=f"{field}.tool_call_id")
    if call_id is not None:
        call_id = need_str(call_id, f"{field}.tool_call_id")
    return ContextItem(
        role="tool",
        content=read_content(data.get("content"), field=f"{field}.content"),
        source="tool_result",
        tool_call_id=call_id,
        tool_name=name,
    )


def _assistant_message(
    data: Mapping[str, Any], name: str | None, field: str
) -> ContextItem:
    content = read_content(data.get("content"), field=f"{field}.content")
    if is_blank(content) and data.get("refusal"):
        content = need_str(data["refusal"], f"{field}.refusal")
    return ContextItem(
        role="assistant",
        content="" if is_blank(content) else content,
        source="assistant",
        name=name,
        tool_calls=_calls(data, field),
        reasoning=_reasoning(data),
    )


def _reasoning(data: Mapping[str, Any]) -> tuple[ReasoningPart, ...]:
    """Read the reasoning field of OpenAI-compatible vendors; OpenAI itself has none."""
    for key in ("reasoning_content", "reasoning"):
        text = data.get(key)
        if isinstance(text, str) and text:
            return (ReasoningPart(provider="openai-compatible", text=text),)
    return ()


def _calls(data: Mapping[str, Any], field: str) -> tuple[ToolCall, ...]:
    calls = data.get("tool_calls") or ()
    if type(calls) is not list and (
        not isinstance(calls, Sequence) or isinstance(calls, str)
    ):
        raise wrong(calls, f"{field}.tool_calls", "a list")
    read = [
        read_call(call, field=f"{field}.tool_calls[{number}]")
        for number, call in enumerate(calls)
    ]
    old_style = data.get("function_call")
    if old_style is not None and not read:
        function = need_mapping(old_style, f"{field}.function_call")
        read = [_function_call("", function, f"{field}.function_call")]
    return tuple(read)


def read_call(call: object, *, field: str) -> ToolCall:
    """Read one tool call, function or custom.

    Raises:
        InvalidItemError: If it has no name, or its arguments are no JSON text or
        object.
    """
    data = need_mapping(call, field)
    call_id = need_str(data.get("id") or "", f"{field}.id", allow_empty=True)
    if data.get("type") == "custom":
        custom = need_mapping(data.get("custom"), f"{field}.custom")
        return ToolCall(
            id=call_id,
            name=need_str(custom.get("name"), f"{field}.custom.name"),
            arguments=need_str(
                custom.get("input", ""), f"{field}.custom.input", allow_empty=True
            ),
            type="custom",
        )
    function = need_mapping(data.get("function"), f"{field}.function")
    return _function_call(call_id, function, f"{field}.function")


def _function_call(call_id: str, function: Mapping[str, Any], field: str) -> ToolCall:
    arguments = function.get("arguments")
    if type(arguments) is not str and isinstance(arguments, Mapping):
        arguments = to_json(dict(arguments), f"{field}.arguments")
    name = need_str(function.get("name"), f"{field}.name")
    arguments = need_str(arguments or "", f"{field}.arguments", allow_empty=True)
    texts = (call_id, name, arguments)
    if all(type(text) is str and text.isascii() for text in texts):
        # Nothing is left that a check could find.
        return changed(_CALL, id=call_id, name=name, arguments=arguments)
    return ToolCall(id=call_id, name=name, arguments=arguments)


# --- answers --------------------------------------------------------------------------


def read_response(
    answer: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Reply | None:
    """Read a completion, or the chunks of a stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        return _read_completion(answer)
    if not answer or not all(_is_chunk(chunk) for chunk in answer):
        return None
    return _read_completion(joined_chunks(answer))


def _is_chunk(chunk: Mapping[str, Any]) -> bool:
    if "choices" not in chunk:
        return False
    choices = chunk["choices"]
    if chunk.get("object") == "chat.completion.chunk" or not choices:
        return True
    first = choices[0] if isinstance(choices, Sequence) else None
    return isinstance(first, Mapping) and "delta" in first


def _read_completion(answer: Mapping[str, Any]) -> Reply | None:
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or not choices:
        return None
    choice = need_mapping(choices[0], "response.choices[0]")
    if "message" not in choice:
        return None
    message = need_mapping(choice["message"], "response.choices[0].message")
    item = read_message(
        {"role": "assistant", **message}, field="response.choices[0].message"
    )
    stop_reason = choice.get("finish_reason")
    is_partial = stop_reason is None or stop_reason in _CUT_OFF
    items: tuple[ContextItem, ...] = ()
    if item.tool_calls or item.reasoning or not is_blank(item.content):
        items = (_with_partial(item, is_partial=is_partial),)
    return Reply(
        items=items,
        usage=_usage(answer.get("usage")),
        stop_reason=stop_reason,
        model=answer.get("model"),
    )


def _with_partial(item: ContextItem, *, is_partial: bool) -> ContextItem:
    return dataclasses.replace(item, partial=True) if is_partial else item


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or "prompt_tokens" not in data:
        return None
    of_input = _figures(data.get("prompt_tokens_details"))
    of_output = _figures(data.get("completion_tokens_details"))
    return Usage(
        input_tokens=_figure(data["prompt_tokens"]),
        output_tokens=_figure(data.get("completion_tokens")),
        cached_tokens=_figure(of_input.get("cached_tokens"))
        or _figure(data.get("prompt_cache_hit_tokens")),
        cache_write_tokens=_figure(of_input.get("cache_write_tokens")),
        reasoning_tokens=_figure(of_output.get("reasoning_tokens")),
    )


def _figures(value: object) -> Mapping[str, Any]:
    """Return the details of a bill; none where they are of no known shape."""
    return value if isinstance(value, Mapping) else {}


def _figure(value: object) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and math.isfinite(value) else 0  # type: ignore[arg-type, call-overload]


# --- tools ----------------------------------------------------------------------------


def read_tool(tool: object, number: int) -> Mapping[str, Any]:
    """Read one tool definition; `{"name": ..., "parameters": ...}` alone is wrapped.

    Raises:
        InvalidItemError: If it has no name.
    """
    field = f"tools[{number}]"
    data = dict(need_mapping(tool, field))
    if "function" not in data and "custom" not in data and "name" in data:
        function = {key: value for key, value in data.items() if key != "type"}
        data = {"type": "function", "function": function}
    kind = "custom" if "custom" in data else "function"
    said = need_mapping(data.get(kind), f"{field}.{kind}")
    need_str(said.get("name"), f"{field}.{kind}.name")
    if said.get("description") is not None:
        need_str(said["description"], f"{field}.{kind}.description", allow_empty=True)
    data.setdefault("type", kind)
    return copy.deepcopy(data)


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool that was read."""
    said = tool.get("function") or tool.get("custom") or {}
    return str(said.get("name", ""))
