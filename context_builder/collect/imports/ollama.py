"""Reads Ollama's own chat: messages, answers and streams.

Calls have no ids in older versions, and none in the official SDK: results are joined
to calls by their order and name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.content import read_content
from context_builder.collect.imports import openai_chat
from context_builder.collect.imports.chat_requests import read_chat_request
from context_builder.collect.imports.reading import Imported, Reply, Usage, need_mapping
from context_builder.messages import Content, ImagePart, ReasoningPart, TextPart

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["read_messages", "read_request", "read_response"]

PROVIDER = "ollama"

_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content", "images"}),
    "assistant": frozenset({"role", "content", "thinking", "tool_calls"}),
    "tool": frozenset(
        {"role", "content", "images", "tool_name", "name", "tool_call_id"}
    ),
}
_SETTINGS = frozenset(
    {"format", "keep_alive", "messages", "model", "options", "stream", "think", "tools"}
)
# What the data of a picture begins with, in base64, tells its type.
_MEDIA_TYPES = {"/9j/": "image/jpeg", "R0lG": "image/gif", "UklG": "image/webp"}

_Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of messages; calls without ids get one, and so do their results.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    items: list[ContextItem] = []
    waiting: list[tuple[str, str]] = []
    for number, message in enumerate(messages):
        field = f"messages[{number}]"
        item = _message(need_mapping(message, field), field, number)
        if item.role == "tool":
            item = _answering(item, waiting)
        elif item.tool_calls:
            waiting = [(call.id, call.name) for call in item.tool_calls]
        items.append(item)
    return items


def read_request(request: Mapping[str, Any]) -> Imported:
    """Read a whole request.

    Raises:
        InvalidItemError: If a message is not understood.
    """
    return read_chat_request(request, read_messages, fields=_FIELDS, settings=_SETTINGS)


def _message(
    data: Mapping[str, Any], field: str, number: int | None, *, model: str | None = None
) -> ContextItem:
    plain = {"role": data.get("role"), "content": data.get("content") or ""}
    if data.get("role") == "tool":
        item = openai_chat.read_message(
            {**plain, "tool_call_id": data.get("tool_call_id") or "?"}, field=field
        )
        return dataclasses.replace(
            item,
            content=_with_images(item.content, data, field),
            tool_call_id=data.get("tool_call_id"),
            tool_name=data.get("tool_name") or data.get("name"),
        )
    item = openai_chat.read_message(
        {**plain, "tool_calls": _calls(data, number)}, field=field
    )
    thinking = data.get("thinking") or ""
    reasoning = (ReasoningPart(provider=PROVIDER, text=thinking, model=model),)
    return dataclasses.replace(
        item,
        content=_with_images(item.content, data, field),
        reasoning=reasoning if thinking else (),
    )


def _calls(data: Mapping[str, Any], number: int | None) -> list[dict[str, Any]]:
    """Return the calls; in a history, each with an id."""
    calls = []
    for place, call in enumerate(data.get("tool_calls") or ()):
        made = "" if number is None else f"call_{number}_{place}"
        calls.append({**call, "id": call.get("id") or made, "type": "function"})
    return calls


def _answering(item: ContextItem, waiting: list[tuple[str, str]]) -> ContextItem:
    """Give a result the id of its call: the first that waits for its tool."""
    for place, (call_id, name) in enumerate(waiting):
        if item.tool_call_id == call_id or (
            item.tool_call_id is None and item.tool_name in (None, name)
        ):
            del waiting[place]
            return dataclasses.replace(item, tool_call_id=call_id, tool_name=name)
    return item


def _with_images(content: Content, data: Mapping[str, Any], field: str) -> Content:
    images = data.get("images") or ()
    if not images:
        return content
    parts = [TextPart(text=content)] if isinstance(content, str) else [*content]
    pictures = [
        ImagePart(data=image, media_type=_MEDIA_TYPES.get(image[:4], "image/png"))
        for image in images
        if isinstance(image, str)
    ]
    return read_content([*parts, *pictures], field=f"{field}.content")


# --- answers --------------------------------------------------------------------------


def read_response(answer: _Answer) -> Reply | None:
    """Read an answer, or the chunks of a stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        return _reply(answer) if _is_ours(answer) else None
    if not answer or not all(map(_is_ours, answer)):
        return None
    return _reply(_joined(answer))


def _is_ours(piece: Mapping[str, Any]) -> bool:
    return isinstance(piece.get("message"), Mapping) and "done" in piece


def _reply(answer: Mapping[str, Any]) -> Reply:
    message = {**answer["message"], "role": "assistant"}
    model = answer.get("model")
    item = _message(message, "response.message", None, model=model)
    stop_reason = answer.get("done_reason") or ("stop" if answer.get("done") else None)
    if stop_reason in {None, "length"}:
        item = dataclasses.replace(item, partial=True)
    says_something = item.content or item.tool_calls or item.reasoning
    return Reply(
        items=(item,) if says_something else (),
        usage=_usage(answer),
        stop_reason=stop_reason,
        model=model,
    )


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    if answer.get("prompt_eval_count") is None:
        return None
    return Usage(
        input_tokens=answer["prompt_eval_count"],
        output_tokens=answer.get("eval_count") or 0,
    )


def _joined(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the chunks of a stream into the answer that they make up."""
    texts = {"content": "", "thinking": ""}
    calls: list[Mapping[str, Any]] = []
    last: dict[str, Any] = {}
    for chunk in chunks:
        message = chunk["message"]
        for key in texts:
            texts[key] += message.get(key) or ""
        calls += message.get("tool_calls") or ()
        last |= {key: value for key, value in chunk.items() if value is not None}
    return {**last, "message": {**texts, "tool_calls": calls}}
