"""Reads OpenAI Chat Completions: messages, answers, streams and tool definitions."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_builder.collect.content import is_blank, read_content
from context_builder.collect.imports.reading import Reply, Usage, need_mapping, need_str
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart, Role, ToolCall

__all__ = ["read_message", "read_messages", "read_response", "read_tool", "tool_name"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


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
        raise InvalidItemError(
            f"{field}.role {asked!r} is none of {known}", field=f"{field}.role", value=asked
        )
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
        raise InvalidItemError(
            f"{field}.tool_call_id is missing", field=f"{field}.tool_call_id"
        )
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
        reasoning=_reasoning(data, field),
    )


def _reasoning(data: Mapping[str, Any], field: str) -> tuple[ReasoningPart, ...]:
    """Read the reasoning field of OpenAI-compatible vendors; OpenAI itself has none."""
    for key in ("reasoning_content", "reasoning"):
        text = data.get(key)
        if isinstance(text, str) and text:
            return (ReasoningPart(provider="openai-compatible", text=text),)
    return ()


def _calls(data: Mapping[str, Any], field: str) -> tuple[ToolCall, ...]:
    calls = data.get("tool_calls") or ()
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        path = f"{field}.tool_calls"
        raise InvalidItemError(f"{path} must be a list", field=path, value=calls)
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
        InvalidItemError: If it has no name, or its arguments are no JSON text or object.
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
    if isinstance(arguments, Mapping):
        arguments = json.dumps(dict(arguments), ensure_ascii=False)
    return ToolCall(
        id=call_id,
        name=need_str(function.get("name"), f"{field}.name"),
        arguments=need_str(arguments or "", f"{field}.arguments", allow_empty=True),
    )


# --- answers --------------------------------------------------------------------------


def read_response(
    answer: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Reply | None:
    """Read a completion, or the chunks of a stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        return _read_completion(answer)
    if not answer or not all(_is_chunk(chunk) for chunk in answer):
        return None
    return _read_completion(_joined(answer), is_stream=True)


def _is_chunk(chunk: Mapping[str, Any]) -> bool:
    return "choices" in chunk and (
        chunk.get("object") == "chat.completion.chunk"
        or not chunk["choices"]
        or "delta" in chunk["choices"][0]
    )


def _read_completion(answer: Mapping[str, Any], *, is_stream: bool = False) -> Reply | None:
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
    is_partial = (is_stream and stop_reason is None) or stop_reason == "length"
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
    of_input = data.get("prompt_tokens_details") or {}
    of_output = data.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=data["prompt_tokens"],
        output_tokens=data.get("completion_tokens") or 0,
        cached_tokens=of_input.get("cached_tokens")
        or data.get("prompt_cache_hit_tokens")
        or 0,
        cache_write_tokens=of_input.get("cache_write_tokens") or 0,
        reasoning_tokens=of_output.get("reasoning_tokens") or 0,
    )


def _joined(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the chunks of a stream into the completion that they make up."""
    texts: dict[str, list[str]] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish: str | None = None
    usage: object = None
    model: str | None = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        model = chunk.get("model") or model
        for choice in chunk["choices"]:
            if choice.get("index", 0) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            _join_delta(choice.get("delta") or {}, texts, calls)
    message: dict[str, Any] = {key: "".join(parts) for key, parts in texts.items()}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": usage,
        "model": model,
    }


def _join_delta(
    delta: Mapping[str, Any], texts: dict[str, list[str]], calls: dict[int, dict[str, Any]]
) -> None:
    for key in ("content", "refusal", "reasoning_content", "reasoning"):
        if isinstance(delta.get(key), str):
            texts.setdefault(key, []).append(delta[key])
    for number, piece in enumerate(delta.get("tool_calls") or ()):
        kind = "custom" if piece.get("custom") else "function"
        call = calls.setdefault(piece.get("index", number), {"id": "", "type": kind})
        call["id"] = piece.get("id") or call["id"]
        call["type"] = piece.get("type") or call["type"]
        said = piece.get(kind) or {}
        target = call.setdefault(kind, {"name": ""})
        target["name"] += said.get("name") or ""
        key = "input" if kind == "custom" else "arguments"
        target[key] = target.get(key, "") + (said.get(key) or "")


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
    data.setdefault("type", kind)
    return copy.deepcopy(data)


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool that was read."""
    said = tool.get("function") or tool.get("custom") or {}
    return str(said.get("name", ""))
