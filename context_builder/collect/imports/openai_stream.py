"""Joins the chunks of a Chat Completions stream into the answer that they make up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_builder.collect.imports.reading import need_mapping, need_str
from context_builder.collect.plain import wrong

__all__ = ["joined_chunks"]

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_Calls = dict[int, dict[str, Any]]


def joined_chunks(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join the chunks of a stream; only the first choice is read.

    Raises:
        InvalidItemError: If one is no piece of a stream.
    """
    texts: dict[str, list[str]] = {}
    calls: _Calls = {}
    old_call: dict[str, str] = {}
    whole: dict[str, Any] = {"usage": None, "model": None}
    finish: str | None = None
    for number, chunk in enumerate(chunks):
        whole |= {key: chunk[key] for key in whole if chunk.get(key)}
        for choice in _list(chunk["choices"], f"response[{number}].choices"):
            field = f"response[{number}].choices[0]"
            piece = need_mapping(choice, field)
            if piece.get("index", 0) != 0:
                continue
            finish = piece.get("finish_reason") or finish
            delta = need_mapping(piece.get("delta") or {}, f"{field}.delta")
            _join_texts(delta, texts)
            _join_old_call(delta, old_call, f"{field}.delta")
            _join_calls(delta, calls, f"{field}.delta.tool_calls")
    message: dict[str, Any] = {key: "".join(parts) for key, parts in texts.items()}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    if old_call:
        message["function_call"] = old_call
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def _list(value: object, field: str) -> Sequence[Any]:
    if value is None or isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong(value, field, "a list")
    return value


def _join_texts(delta: Mapping[str, Any], texts: dict[str, list[str]]) -> None:
    for key in _TEXTS:
        if isinstance(delta.get(key), str):
            texts.setdefault(key, []).append(delta[key])


def _join_old_call(delta: Mapping[str, Any], call: dict[str, str], field: str) -> None:
    """Join a call in the form that came before `tool_calls`."""
    said = delta.get("function_call")
    if said is not None:
        where = f"{field}.function_call"
        _join_said(need_mapping(said, where), call, "arguments", where)


def _join_calls(delta: Mapping[str, Any], calls: _Calls, field: str) -> None:
    pieces = _list(delta.get("tool_calls") or (), field)
    for number, one in enumerate(pieces):
        where = f"{field}[{number}]"
        piece = need_mapping(one, where)
        kind = "custom" if piece.get("custom") else "function"
        call = calls.setdefault(_index(piece, calls, number), {"id": "", "type": kind})
        call["id"] = piece.get("id") or call["id"]
        call["type"] = piece.get("type") or call["type"]
        said = need_mapping(piece.get(kind) or {}, f"{where}.{kind}")
        key = "input" if kind == "custom" else "arguments"
        _join_said(said, call.setdefault(kind, {}), key, f"{where}.{kind}")


def _index(piece: Mapping[str, Any], calls: _Calls, number: int) -> int:
    """Say which call a piece belongs to.

    Some vendors number none: then another id is another call, and no id the last one.
    """
    index = piece.get("index")
    if isinstance(index, int):
        return index
    call_id = piece.get("id")
    if not call_id:
        return max(calls, default=number)
    known = (place for place, call in calls.items() if call["id"] == call_id)
    return next(known, max(calls, default=-1) + 1)


def _join_said(
    said: Mapping[str, Any], call: dict[str, Any], key: str, field: str
) -> None:
    for name in ("name", key):
        more = need_str(said.get(name) or "", f"{field}.{name}", allow_empty=True)
        call[name] = call.get(name, "") + more
