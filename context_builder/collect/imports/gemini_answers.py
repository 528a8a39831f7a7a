"""Reads the answers of Gemini's generateContent: whole, or the pieces of a stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_builder.collect.imports.gemini_parts import (
    answer_item,
    in_snake_case,
    is_plain,
    single_parts,
)
from context_builder.collect.imports.reading import Reply, Usage

__all__ = ["read_response"]

_Object = Mapping[str, Any]
_OURS = frozenset(
    {
        "candidates",
        "usageMetadata",
        "usage_metadata",
        "promptFeedback",
        "prompt_feedback",
    }
)
_CUT = frozenset({"MAX_TOKENS"})


def read_response(answer: _Object | Sequence[_Object]) -> Reply | None:
    """Read an answer, or the pieces of its stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        return _read([answer]) if _is_ours(answer) else None
    if not answer or not all(map(_is_ours, answer)):
        return None
    return _read(answer)


def _is_ours(piece: _Object) -> bool:
    return not _OURS.isdisjoint(piece) and "choices" not in piece


def _read(pieces: Sequence[_Object]) -> Reply:
    parts: list[dict[str, Any]] = []
    stop_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    for piece in map(in_snake_case, pieces):
        model = piece.get("model_version") or model
        usage = _usage(piece.get("usage_metadata")) or usage
        stop_reason = _blocked(piece) or stop_reason
        for candidate in piece.get("candidates") or ():
            if candidate.get("index", 0) != 0:
                continue
            stop_reason = candidate.get("finish_reason") or stop_reason
            for part in (candidate.get("content") or {}).get("parts") or ():
                _add(parts, single_parts(part))
    item = answer_item(parts, prefix=None, model=model)
    if item is not None and (stop_reason is None or stop_reason in _CUT):
        item = dataclasses.replace(item, partial=True)
    return Reply(
        items=(item,) if item is not None else (),
        usage=usage,
        stop_reason=stop_reason,
        model=model,
    )


def _blocked(piece: _Object) -> str | None:
    reason = (piece.get("prompt_feedback") or {}).get("block_reason")
    return reason if isinstance(reason, str) else None


def _add(parts: list[dict[str, Any]], more: Iterable[_Object]) -> None:
    """Add the parts of a piece; text goes on where it stopped, unless it is signed."""
    for part in more:
        last = parts[-1] if parts else {}
        goes_on = is_plain(last) and is_plain(part)
        if goes_on and bool(last.get("thought")) == bool(part.get("thought")):
            last["text"] += part["text"]
        else:
            parts.append(dict(part))


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or data.get("prompt_token_count") is None:
        return None
    thoughts = data.get("thoughts_token_count") or 0
    of_tools = data.get("tool_use_prompt_token_count") or 0
    return Usage(
        input_tokens=data["prompt_token_count"] + of_tools,
        output_tokens=(data.get("candidates_token_count") or 0) + thoughts,
        cached_tokens=data.get("cached_content_token_count") or 0,
        reasoning_tokens=thoughts,
    )
