"""Reads Mistral's chat completions: messages made of chunks, answers and streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.content import read_content, split_data_url
from context_builder.collect.imports import openai_chat
from context_builder.collect.imports.chat_requests import SETTINGS, read_chat_request
from context_builder.collect.imports.reading import Imported, Reply, need_mapping
from context_builder.messages import AudioPart, FilePart, Part, ReasoningPart

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["read_messages", "read_request", "read_response"]

PROVIDER = "mistral"

_MODELS = (
    "mistral",
    "magistral",
    "ministral",
    "codestral",
    "devstral",
    "pixtral",
    "voxtral",
    "open-mistral",
    "open-mixtral",
    "labs-",
)
_CUT_OFF = frozenset({"length", "model_length", "error"})
_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}

_Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of messages.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    return [
        _message(need_mapping(message, f"messages[{number}]"), f"messages[{number}]")
        for number, message in enumerate(messages)
    ]


def read_request(request: Mapping[str, Any]) -> Imported:
    """Read a whole request.

    Raises:
        InvalidItemError: If a message is not understood.
    """
    imported = read_chat_request(
        request, read_messages, fields=_FIELDS, settings=SETTINGS | {"prompt_mode"}
    )
    references = tuple(
        f"messages[{number}].content[{place}]"
        for number, message in enumerate(request["messages"])
        for place, chunk in enumerate(_chunks(message))
        if chunk.get("type") == "reference"
    )
    return dataclasses.replace(imported, lost=(*imported.lost, *references))


def _message(
    data: Mapping[str, Any], field: str, *, model: str | None = None
) -> ContextItem:
    chunks = _chunks(data)
    if not chunks:
        return openai_chat.read_message(data, field=field)
    parts = [
        _part(chunk)
        for chunk in chunks
        if chunk.get("type") not in {"thinking", "reference"}
    ]
    bare = openai_chat.read_message({**data, "content": ""}, field=field)
    return dataclasses.replace(
        bare,
        content=read_content(parts, field=f"{field}.content"),
        reasoning=tuple(
            _reasoning(chunk, model)
            for chunk in chunks
            if chunk.get("type") == "thinking"
        ),
    )


def _chunks(message: object) -> list[Mapping[str, Any]]:
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, Sequence) or isinstance(content, str):
        return []
    return [chunk for chunk in content if isinstance(chunk, Mapping)]


def _part(chunk: Mapping[str, Any]) -> Part | Mapping[str, Any]:
    """Read the chunks that are Mistral's own; the others are read like OpenAI's."""
    match chunk.get("type"):
        case "document_url":
            return _document(chunk["document_url"], chunk.get("document_name"))
        case "file" if "file_id" in chunk:
            return FilePart(file_id=chunk["file_id"])
        case "input_audio" if isinstance(chunk.get("input_audio"), str):
            split = split_data_url(chunk["input_audio"])
            if split is None:
                return AudioPart(data=chunk["input_audio"])
            return AudioPart(data=split[1], media_type=split[0])
        case _:
            return chunk


def _document(url: str, name: str | None) -> FilePart:
    split = split_data_url(url)
    if split is None:
        return FilePart(url=url, filename=name)
    return FilePart(data=split[1], media_type=split[0], filename=name)


def _reasoning(chunk: Mapping[str, Any], model: str | None) -> ReasoningPart:
    thinking = chunk.get("thinking") or ()
    if isinstance(thinking, str):
        text = thinking
    else:
        text = "".join(piece.get("text") or "" for piece in thinking)
    return ReasoningPart(
        provider=PROVIDER,
        text=text,
        signature=chunk.get("signature"),
        model=model,
        data=dict(chunk),
    )


# --- answers --------------------------------------------------------------------------


def read_response(answer: _Answer) -> Reply | None:
    """Read a completion, or the events of a stream; None for other vendors' shapes."""
    pieces = [_bare(piece) for piece in _pieces(answer)]
    if not pieces or not any(map(_is_ours, pieces)):
        return None
    if isinstance(answer, Mapping):
        return _completion(pieces[0])
    if not all("choices" in piece for piece in pieces):
        return None
    return _completion(_joined(pieces))


def _pieces(answer: _Answer) -> Sequence[Mapping[str, Any]]:
    return [answer] if isinstance(answer, Mapping) else answer


def _bare(piece: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take the SDK's events out of their wrapping."""
    inner = piece.get("data")
    return inner if isinstance(inner, Mapping) and "choices" in inner else piece


def _is_ours(piece: Mapping[str, Any]) -> bool:
    choices = piece.get("choices")
    if not isinstance(choices, Sequence):
        return False
    model = str(piece.get("model") or "").lower().rpartition("/")[2]
    if model:
        return model.startswith(_MODELS)
    said = (
        choice.get("message") or choice.get("delta")
        for choice in choices
        if isinstance(choice, Mapping)
    )
    return any(
        chunk.get("type") == "thinking"
        for message in said
        for chunk in _chunks(message)
    )


def _completion(answer: Mapping[str, Any]) -> Reply | None:
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or not choices:
        return None
    choice = need_mapping(choices[0], "response.choices[0]")
    if "message" not in choice:
        return None
    message = need_mapping(choice["message"], "response.choices[0].message")
    model = answer.get("model")
    said = {key: message[key] for key in ("content", "tool_calls") if key in message}
    item = _message(
        {"role": "assistant", **said}, "response.choices[0].message", model=model
    )
    stop_reason = choice.get("finish_reason")
    if stop_reason is None or stop_reason in _CUT_OFF:
        item = dataclasses.replace(item, partial=True)
    is_empty = not (item.content or item.tool_calls or item.reasoning)
    counted = openai_chat.read_response(
        {"choices": [{"message": {}}], "usage": answer.get("usage")}
    )
    return Reply(
        items=() if is_empty else (item,),
        usage=counted.usage if counted else None,
        stop_reason=stop_reason,
        model=model,
    )


def _joined(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the chunks of a stream into the completion that they make up."""
    content: list[dict[str, Any]] = []
    calls: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {"usage": None, "model": None}
    finish: str | None = None
    for chunk in chunks:
        whole |= {key: chunk[key] for key in ("usage", "model") if chunk.get(key)}
        for choice in chunk["choices"]:
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            _join_content(delta.get("content"), content)
            _join_calls(delta.get("tool_calls") or (), calls)
    message: dict[str, Any] = {"content": content}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def _join_content(said: object, content: list[dict[str, Any]]) -> None:
    if isinstance(said, str):
        said = [{"type": "text", "text": said}]
    if not isinstance(said, Sequence):
        return
    for chunk in said:
        last = content[-1] if content else None
        if last is None or last["type"] != chunk["type"] or last.get("signature"):
            content.append(_copied(chunk))
        elif chunk["type"] == "text":
            last["text"] += chunk["text"]
        elif chunk["type"] == "thinking":
            _join_thinking(last, chunk)
        else:
            content.append(_copied(chunk))


def _copied(chunk: Mapping[str, Any]) -> dict[str, Any]:
    copied = dict(chunk)
    if isinstance(copied.get("thinking"), Sequence):
        copied["thinking"] = [dict(piece) for piece in copied["thinking"]]
    return copied


def _join_thinking(last: dict[str, Any], chunk: Mapping[str, Any]) -> None:
    for piece in chunk.get("thinking") or ():
        said = last["thinking"]
        if said and said[-1].get("type") == piece.get("type") == "text":
            said[-1]["text"] += piece["text"]
        else:
            said.append(dict(piece))
    for key in ("signature", "closed"):
        if chunk.get(key) is not None:
            last[key] = chunk[key]


def _join_calls(
    pieces: Iterable[Mapping[str, Any]], calls: dict[int, dict[str, Any]]
) -> None:
    for piece in pieces:
        index = piece.get("index") or 0
        function = piece.get("function") or {}
        call_id = piece.get("id") or ""
        # Whole calls come one a chunk, and not every model numbers them.
        if index in calls and call_id not in ("", "null", calls[index]["id"]):
            index = max(calls) + 1
        call = calls.setdefault(
            index, {"id": call_id, "function": {"name": "", "arguments": ""}}
        )
        call["function"]["name"] += function.get("name") or ""
        arguments = function.get("arguments") or ""
        if isinstance(arguments, Mapping):
            call["function"]["arguments"] = arguments
        else:
            call["function"]["arguments"] += arguments
