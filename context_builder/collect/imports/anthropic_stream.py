"""Joins the events of Anthropic's stream into the message that they make up.

A stream may break off anywhere: what came in is kept, and arguments that were cut stay
the text that they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["joined", "looks_like_events"]

Block = dict[str, Any]
Event = Mapping[str, Any]

_BEGINNINGS = frozenset({"message_start", "content_block_start", "content_block_delta"})
_NOTHING = frozenset({"ping", "error"})


def looks_like_events(events: Sequence[Event]) -> bool:
    """Say whether a list is this vendor's stream; its first events tell."""
    for event in events:
        kind = event.get("type")
        if kind not in _NOTHING:
            return kind in _BEGINNINGS
    return False


def joined(events: Sequence[Event]) -> dict[str, Any]:
    """Return the message; `stop_reason` stays None where the stream broke off."""
    message: dict[str, Any] = {"stop_reason": None, "usage": {}}
    blocks: dict[int, Block] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            started = event.get("message") or {}
            message["model"] = started.get("model")
            message["usage"] = dict(started.get("usage") or {})
        elif kind == "message_delta":
            message["stop_reason"] = (event.get("delta") or {}).get("stop_reason")
            _update_usage(message["usage"], event.get("usage"))
        else:
            _take_block_event(blocks, event)
    message["content"] = [_finished(blocks[index]) for index in sorted(blocks)]
    return message


def _update_usage(usage: dict[str, Any], more: Any) -> None:
    """Take later figures over: they are running totals."""
    usage |= {key: value for key, value in (more or {}).items() if value is not None}


def _take_block_event(blocks: dict[int, Block], event: Event) -> None:
    index = event.get("index", 0)
    if event.get("type") == "content_block_start":
        blocks[index] = dict(event.get("content_block") or {})
    elif event.get("type") == "content_block_delta":
        delta = event.get("delta") or {}
        join = _DELTAS.get(delta.get("type"))
        if join is not None:
            join(blocks.setdefault(index, _block_of(delta)), delta)


def _block_of(delta: Event) -> Block:
    """Begin a block whose start was not received."""
    is_thought = delta.get("type") in {"thinking_delta", "signature_delta"}
    kind, said = ("thinking", "thinking") if is_thought else ("text", "text")
    return {"type": kind, said: ""}


def _text(block: Block, delta: Event) -> None:
    block["text"] = (block.get("text") or "") + delta["text"]


def _thinking(block: Block, delta: Event) -> None:
    block["thinking"] = (block.get("thinking") or "") + delta["thinking"]


def _signature(block: Block, delta: Event) -> None:
    block["signature"] = (block.get("signature") or "") + delta["signature"]


def _arguments(block: Block, delta: Event) -> None:
    block["partial_json"] = block.get("partial_json", "") + delta["partial_json"]


def _citation(block: Block, delta: Event) -> None:
    block["citations"] = [*(block.get("citations") or ()), delta["citation"]]


def _compaction(block: Block, delta: Event) -> None:
    block["content"] = (block.get("content") or "") + (delta.get("content") or "")


_DELTAS: Mapping[Any, Callable[[Block, Event], None]] = {
    "text_delta": _text,
    "thinking_delta": _thinking,
    "signature_delta": _signature,
    "input_json_delta": _arguments,
    "citations_delta": _citation,
    "compaction_delta": _compaction,
}


def _finished(block: Block) -> Block:
    """Turn the pieces of a call's arguments into its input."""
    written = block.pop("partial_json", "")
    if not written:
        return block
    if block.get("type") == "tool_use":
        return {**block, "input": written}
    if block.get("type") == "text":
        return block  # arguments of a call that nobody named
    try:
        return {**block, "input": json.loads(written)}
    except (ValueError, RecursionError):
        return block
