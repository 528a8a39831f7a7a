"""Joins the events of a Converse stream into the answer that they make up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["joined", "looks_like_events"]

Event = Mapping[str, Any]

_EVENTS = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    }
)


def looks_like_events(events: Sequence[Event]) -> bool:
    """Say whether a list is this vendor's stream; its first event tells."""
    return bool(events) and len(events[0]) == 1 and next(iter(events[0])) in _EVENTS


def joined(events: Sequence[Event]) -> dict[str, Any]:
    """Return the answer; `stopReason` stays None where the stream broke off."""
    blocks: dict[int, dict[str, Any]] = {}
    answer: dict[str, Any] = {"stopReason": None, "usage": None}
    for event in events:
        kind, value = next(iter(event.items()))
        if kind == "messageStop":
            answer["stopReason"] = value.get("stopReason")
        elif kind == "metadata":
            answer["usage"] = value.get("usage")
        elif kind == "contentBlockStart":
            _start(blocks, value)
        elif kind == "contentBlockDelta":
            _take(
                blocks.setdefault(value.get("contentBlockIndex", 0), {}), value["delta"]
            )
    content = [blocks[index] for index in sorted(blocks) if blocks[index]]
    answer["output"] = {"message": {"role": "assistant", "content": content}}
    return answer


def _start(blocks: dict[int, dict[str, Any]], value: Event) -> None:
    call = (value.get("start") or {}).get("toolUse")
    if call:
        blocks[value.get("contentBlockIndex", 0)] = {"toolUse": {**call, "input": ""}}


def _take(block: dict[str, Any], delta: Event) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        if "toolUse" in block:  # else: the call's name and id were not received
            block["toolUse"]["input"] += delta["toolUse"].get("input") or ""
    elif "reasoningContent" in delta:
        _take_reasoning(block.setdefault("reasoningContent", {}), delta)


def _take_reasoning(reasoning: dict[str, Any], delta: Event) -> None:
    said = delta["reasoningContent"]
    if "redactedContent" in said:
        hidden = reasoning.get("redactedContent", b"")
        reasoning["redactedContent"] = hidden + said["redactedContent"]
        return
    text = reasoning.setdefault("reasoningText", {"text": ""})
    for key in ("text", "signature"):
        if key in said:
            text[key] = text.get(key, "") + said[key]
