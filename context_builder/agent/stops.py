"""Why a model stopped: each vendor's word, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_builder.agent.events import StopReason
    from context_builder.collect import Reply

__all__ = ["Answer", "stop_of", "was_cut"]

Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A vendor's answer as plain data, or the pieces of its stream."""

_WORDS: Mapping[StopReason, frozenset[str]] = {
    "output_limit": frozenset(
        {
            "length",
            "max_output_tokens",
            "max_tokens",
            "model_context_window_exceeded",
        }
    ),
    "refused": frozenset({"refusal"}),
    "content_filter": frozenset(
        {
            "blocklist",
            "content_filter",
            "image_safety",
            "prohibited_content",
            "recitation",
            "safety",
            "sensitive",
            "spii",
        }
    ),
    "paused": frozenset({"pause_turn"}),
}
_BY_WORD: Mapping[str, StopReason] = {
    word: reason for reason, words in _WORDS.items() for word in words
}


def stop_of(reply: Reply, answer: Answer) -> StopReason:
    """Return why a model stopped that called nothing."""
    named = _named(reply)
    if named is not None:
        return named
    if _is_refusal(answer):
        return "refused"
    said = any(item.content for item in reply.items)
    return "answered" if said else "no_answer"


def was_cut(reply: Reply) -> bool:
    """Say whether an answer ended before its time: its last call may be half of one."""
    return _named(reply) in {"output_limit", "content_filter"}


def _named(reply: Reply) -> StopReason | None:
    word = str(reply.stop_reason or "").rpartition(".")[2].lower()
    return _BY_WORD.get(word)


def _is_refusal(answer: Answer) -> bool:
    """Say whether OpenAI's field or part for a refusal is filled."""
    pieces = [answer] if isinstance(answer, Mapping) else answer
    return any(_refuses(one) for piece in pieces for one in _spoken(piece))


def _refuses(said: Mapping[str, Any]) -> bool:
    return bool(said.get("refusal"))


def _spoken(piece: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield where an answer of OpenAI's could refuse."""
    for choice in piece.get("choices") or ():
        yield choice.get("message") or choice.get("delta") or {}
    response = piece.get("response") or piece
    for item in response.get("output") or ():
        yield from (part for part in item.get("content") or () if part)
