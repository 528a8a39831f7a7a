"""Reads the answers of OpenAI Responses: whole, or as the events of a stream.

A stream that broke off is pieced together from what had arrived. A block of reasoning
counts only once it is done: the encrypted text of an unfinished one is not whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.collect.imports.openai_responses_pieces import output_items
from context_builder.collect.imports.reading import Reply, Usage

__all__ = ["read_response"]

_Object = Mapping[str, Any]
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_CUT = frozenset({"incomplete", "failed", "cancelled", "in_progress", "queued"})
"""States of a response that is not whole, or not yet."""
_BESIDE = frozenset({"error", "keepalive", "ping"})
"""Events of a stream that are no piece of the response."""
_DELTAS: Mapping[str, tuple[str, str]] = {
    "response.output_text.delta": ("message", "text"),
    "response.refusal.delta": ("message", "text"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
}
"""Event -> the kind of piece it belongs to, and where its text goes."""


def read_response(answer: _Object | Sequence[_Object]) -> Reply | None:
    """Read a response, or the events of its stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        is_ours = answer.get("object") == "response" and "output" in answer
        return _read_whole(answer) if is_ours else None
    if not answer or not all(_is_event(event) for event in answer):
        return None
    return _read_stream(answer)


def _is_event(event: _Object) -> bool:
    kind = event.get("type")
    return isinstance(kind, str) and (kind.startswith("response.") or kind in _BESIDE)


def _read_whole(answer: _Object, *, is_cut: bool = False) -> Reply:
    model = answer.get("model")
    items = output_items(answer.get("output") or (), model=model)
    status = answer.get("status")
    reason = (answer.get("incomplete_details") or {}).get("reason")
    if items and (is_cut or status in _CUT):
        items[-1] = dataclasses.replace(items[-1], partial=True)
    return Reply(
        items=tuple(items),
        usage=_usage(answer.get("usage")),
        stop_reason=None if is_cut else reason or status,
        model=model,
    )


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or "input_tokens" not in data:
        return None
    of_input = data.get("input_tokens_details") or {}
    of_output = data.get("output_tokens_details") or {}
    return Usage(
        input_tokens=data["input_tokens"],
        output_tokens=data.get("output_tokens") or 0,
        cached_tokens=of_input.get("cached_tokens") or 0,
        cache_write_tokens=of_input.get("cache_write_tokens") or 0,
        reasoning_tokens=of_output.get("reasoning_tokens") or 0,
    )


def _read_stream(events: Sequence[_Object]) -> Reply:
    """Read a stream by its last word, or by what had come until it broke off."""
    last: _Object = {}
    end: _Object | None = None
    pieces: dict[int, dict[str, Any]] = {}
    for event in events:
        if isinstance(event.get("response"), Mapping):
            last = event["response"]
            end = last if event["type"] in _ENDS else end
        _take(event, pieces)
    said = [pieces[index] for index in sorted(pieces)]
    if end is None:
        return _read_whole({**last, "output": said}, is_cut=True)
    # Some gateways send the end without the output that led to it.
    return _read_whole({**end, "output": end.get("output") or said})


def _take(event: _Object, pieces: dict[int, dict[str, Any]]) -> None:
    index = event.get("output_index", 0)
    kind = event["type"]
    if kind == "response.output_item.done":
        pieces[index] = dict(event["item"])
    elif kind == "response.output_item.added":
        begun = dict(event["item"])
        if begun.get("type") in _OF_USE_UNFINISHED:
            pieces[index] = begun | ({"content": []} if "content" in begun else {})
    elif kind in _DELTAS:
        of, key = _DELTAS[kind]
        piece = pieces.setdefault(index, {"type": of})
        _grow(piece, key, str(event.get("delta") or ""), event.get("content_index", 0))


_OF_USE_UNFINISHED = frozenset({"message", "function_call", "custom_tool_call"})


def _grow(piece: dict[str, Any], key: str, delta: str, content_index: object) -> None:
    if key != "text":
        piece[key] = (piece.get(key) or "") + delta
        return
    parts = piece.setdefault("content", [])
    # By its number, never up to it: numbers come from outside.
    part = next((one for one in parts if one.get("at") == content_index), None)
    if part is None:
        part = {"type": "output_text", "text": "", "at": content_index}
        parts.append(part)
    part["text"] += delta
