"""Reads Cohere's chat, version 2: messages, answers and the events of a stream."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.content import is_blank, read_content
from context_builder.collect.imports import openai_chat
from context_builder.collect.imports.chat_requests import SETTINGS, read_chat_request
from context_builder.collect.imports.reading import Imported, Reply, Usage, need_mapping
from context_builder.messages import ReasoningPart

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["read_messages", "read_request", "read_response"]

PROVIDER = "cohere"

_CUT_OFF = frozenset({"MAX_TOKENS", "ERROR", "TIMEOUT", "ERROR_LIMIT"})
_FIELDS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "tool_plan"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
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
    return read_chat_request(
        request, read_messages, fields=_FIELDS, settings=SETTINGS | {"thinking"}
    )


def _message(
    data: Mapping[str, Any], field: str, *, model: str | None = None
) -> ContextItem:
    blocks = _blocks(data)
    said = [
        _document(block) if block.get("type") == "document" else block
        for block in blocks
        if block.get("type") != "thinking"
    ]
    plan = data.get("tool_plan")
    content = said if blocks else data.get("content")
    if isinstance(plan, str) and not is_blank(plan):
        rest = [content] if isinstance(content, str) and content else said
        content = [plan, *rest]
    item = openai_chat.read_message({**data, "content": ""}, field=field)
    return dataclasses.replace(
        item,
        content=read_content(content, field=f"{field}.content"),
        reasoning=tuple(
            ReasoningPart(
                provider=PROVIDER,
                text=block.get("thinking") or "",
                model=model,
                data=dict(block),
            )
            for block in blocks
            if block.get("type") == "thinking"
        ),
    )


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if not isinstance(content, Sequence) or isinstance(content, str):
        return []
    return [block for block in content if isinstance(block, Mapping)]


def _document(block: Mapping[str, Any]) -> str:
    """Say a document of a tool's result as the JSON that the model reads."""
    document = block.get("document") or {}
    return json.dumps(document.get("data", document), ensure_ascii=False)


# --- answers --------------------------------------------------------------------------


def read_response(answer: _Answer) -> Reply | None:
    """Read an answer, or the events of a stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        is_ours = "finish_reason" in answer and isinstance(
            answer.get("message"), Mapping
        )
        return _reply(answer) if is_ours else None
    if not answer or not all(map(_is_event, answer)):
        return None
    return _reply(_joined(answer))


def _is_event(event: Mapping[str, Any]) -> bool:
    kind = str(event.get("type"))
    return kind == "debug" or kind.startswith(
        ("message-", "content-", "tool-call-", "tool-plan-", "citation-")
    )


def _reply(answer: Mapping[str, Any]) -> Reply:
    message = {"role": "assistant", **answer["message"]}
    item = _message(message, "response.message", model=answer.get("model"))
    stop_reason = answer.get("finish_reason")
    if stop_reason is None or stop_reason in _CUT_OFF:
        item = dataclasses.replace(item, partial=True)
    says_something = item.content or item.tool_calls or item.reasoning
    return Reply(
        items=(item,) if says_something else (),
        usage=_usage(answer.get("usage")),
        stop_reason=stop_reason,
        model=answer.get("model"),
    )


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping):
        return None
    tokens = data.get("tokens") or data.get("billed_units") or {}
    if tokens.get("input_tokens") is None:
        return None
    return Usage(
        input_tokens=int(tokens["input_tokens"]),
        output_tokens=int(tokens.get("output_tokens") or 0),
        cached_tokens=int(data.get("cached_tokens") or 0),
    )


def _joined(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the events of a stream into the answer that they make up."""
    stream = _Stream()
    for event in events:
        stream.take(event)
    return stream.answer()


class _Stream:
    """Gathers what the events of one stream say."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._plan = ""
        self._end: Mapping[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        delta = event.get("delta") or {}
        said = delta.get("message") or {}
        index = event.get("index") or 0
        match event.get("type"):
            case "content-start" | "content-delta":
                self._content(index, said.get("content") or {})
            case "tool-plan-delta":
                self._plan += said.get("tool_plan") or ""
            case "tool-call-start" | "tool-call-delta":
                self._call(index, said.get("tool_calls") or {})
            case "message-end":
                self._end = delta

    def _content(self, index: int, said: Mapping[str, Any]) -> None:
        kind = "thinking" if said.get("thinking") is not None else "text"
        kind = said.get("type") or self._blocks.get(index, {}).get("type") or kind
        block = self._blocks.setdefault(index, {"type": kind, kind: ""})
        block[kind] += said.get(kind) or ""

    def _call(self, index: int, said: Mapping[str, Any]) -> None:
        function = said.get("function") or {}
        call = self._calls.setdefault(
            index, {"id": "", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = call["id"] or said.get("id") or ""
        for key in ("name", "arguments"):
            call["function"][key] += function.get(key) or ""

    def answer(self) -> Mapping[str, Any]:
        message: dict[str, Any] = {
            "content": [self._blocks[index] for index in sorted(self._blocks)]
        }
        if self._plan:
            message["tool_plan"] = self._plan
        if self._calls:
            message["tool_calls"] = [
                self._calls[index] for index in sorted(self._calls)
            ]
        return {
            "message": message,
            "finish_reason": self._end.get("finish_reason"),
            "usage": self._end.get("usage"),
        }
