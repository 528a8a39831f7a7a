"""Reads the pieces of an answer of OpenAI Responses into items.

What only the vendor can read (encrypted reasoning, calls of its own tools, a
compaction) becomes a block of reasoning, kept word for word in its place.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.collect.content import is_blank, read_content
from context_builder.items import ContextItem
from context_builder.messages import Content, ReasoningPart, TextPart, ToolCall

__all__ = ["CALLS", "NAME", "output_items"]

NAME = "openai-responses"
CALLS = frozenset({"function_call", "custom_tool_call"})

_Object = Mapping[str, Any]


@dataclasses.dataclass(slots=True)
class _Answer:
    """What of an answer goes into one item."""

    blocks: list[_Object] = dataclasses.field(default_factory=list)
    message: _Object | None = None
    calls: list[ToolCall] = dataclasses.field(default_factory=list)


def output_items(
    said: Sequence[_Object], *, model: str | None = None
) -> list[ContextItem]:
    """Read the pieces of an answer, in order, into as few items as keep that order.

    Reasoning belongs to what follows it. A second message begins another item, and so
    does reasoning behind a message that nothing was called after.
    """
    answers: list[_Answer] = []
    waiting: list[_Object] = []
    for piece in said:
        kind = piece.get("type") or "message"
        if kind != "message" and kind not in CALLS:
            waiting.append(piece)
            continue
        answer = answers[-1] if answers else None
        if answer is None or _begins_another(answer, kind, waiting):
            answer = _Answer()
            answers.append(answer)
        if kind == "message":
            answer.message = piece
        else:
            is_first = not answer.calls and answer.message is None
            answer.calls.append(_call(piece, 0 if is_first else len(waiting)))
        answer.blocks += waiting
        waiting = []
    if waiting:
        answers.append(_Answer(blocks=waiting))
    items = (_item(answer, model) for answer in answers)
    return [item for item in items if item is not None]


def _begins_another(answer: _Answer, kind: str, waiting: Sequence[_Object]) -> bool:
    if kind == "message":
        return answer.message is not None or bool(answer.calls)
    return bool(waiting) and answer.message is not None and not answer.calls


def _item(answer: _Answer, model: str | None) -> ContextItem | None:
    message = answer.message or {}
    content = _joined(read_content(message.get("content"), field="output.content"))
    if is_blank(content) and not answer.blocks and not answer.calls:
        return None
    marks = {key: message[key] for key in ("id", "phase") if message.get(key)}
    return ContextItem(
        role="assistant",
        content="" if is_blank(content) else content,
        source="assistant",
        tool_calls=tuple(answer.calls),
        reasoning=tuple(_block(block, model) for block in answer.blocks),
        metadata={"extra": {NAME: marks}} if marks else None,
    )


def _joined(content: Content) -> Content:
    """Join the parts of a message: they are pieces of one text, cut for footnotes."""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, TextPart))


def _block(block: _Object, model: str | None) -> ReasoningPart:
    shown = block.get("content") or block.get("summary") or ()
    texts = [part.get("text") for part in shown if isinstance(part, Mapping)]
    return ReasoningPart(
        provider=NAME,
        text="\n\n".join(text for text in texts if isinstance(text, str)),
        model=model,
        data=json.loads(json.dumps(dict(block), default=str)),
    )


def _call(piece: _Object, blocks_before: int) -> ToolCall:
    marks = {key: piece[key] for key in ("id", "namespace") if piece.get(key)}
    if blocks_before:
        marks["reasoning_before"] = blocks_before
    extra = {NAME: marks} if marks else None
    name, call_id = str(piece["name"]), str(piece["call_id"])
    if piece.get("type") == "custom_tool_call":
        text = str(piece.get("input") or "")
        return ToolCall(
            id=call_id, name=name, arguments=text, type="custom", extra=extra
        )
    arguments = piece.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = json.dumps(dict(arguments), ensure_ascii=False)
    return ToolCall(id=call_id, name=name, arguments=str(arguments or ""), extra=extra)
