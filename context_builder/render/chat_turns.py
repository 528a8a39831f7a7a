"""Lines up messages as a vendor wants them to follow one another.

It joins neighbours of one role, puts in what a vendor demands between or before
messages, and remembers which message holds which item. Every message is placed by what
stands before it alone, so that a longer conversation begins with the shorter one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder.items import ContextItem, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FIRST_USER", "Turns", "in_turn"]

FIRST_USER = "(the conversation begins with the assistant)"
"""Stands where a vendor wants a user message first and there is none."""

Parts = list[dict[str, Any]]

_JOINED = frozenset({"user", "assistant"})


class Turns:
    """The messages of one request, in the making."""

    def __init__(
        self,
        *,
        merges: bool = False,
        user_first: bool = False,
        bridge: str | None = None,
    ) -> None:
        self._merges = merges
        self._user_first = user_first
        self._bridge = bridge
        self.messages: list[dict[str, Any]] = []
        self.spans: list[tuple[str, int]] = []
        self.repairs: list[Mark] = []

    def add(self, item_id: str, message: dict[str, Any]) -> None:
        """Put a message behind the others, or join it to the last one."""
        role = message["role"]
        self._put_first_user(item_id, role)
        self._put_bridge(item_id, role)
        last = self.messages[-1] if self.messages else None
        if last is not None and self._joins(last, role):
            self.messages[-1] = _joined(last, message)
        else:
            self.messages.append(message)
        self.spans.append((item_id, len(self.messages) - 1))

    def repair(self, item_id: str, reason: str) -> None:
        """Remember what was done to an item because of the vendor."""
        self.repairs.append(Mark(item_id, "repaired", reason))

    def _joins(self, last: Mapping[str, Any], role: str) -> bool:
        same = self._merges and role in _JOINED and last["role"] == role
        return same and not last.get("tool_calls")

    def _put_first_user(self, item_id: str, role: str) -> None:
        if not self._user_first or role in {"system", "user"}:
            return
        if all(message["role"] == "system" for message in self.messages):
            self.messages.append({"role": "user", "content": FIRST_USER})
            self.repair(item_id, "a placeholder before it: the user has to be first")

    def _put_bridge(self, item_id: str, role: str) -> None:
        if self._bridge is None or role != "user" or not self.messages:
            return
        if self.messages[-1]["role"] == "tool":
            self.messages.append({"role": "assistant", "content": self._bridge})
            self.repair(
                item_id, f"an assistant's {self._bridge!r} before it: results need one"
            )


def _joined(last: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    first, second = last.get("content"), message.get("content")
    if last["role"] == "assistant":
        first, second = _opened(first, second)
    both = {**last, **message}
    both["content"] = _join_content(first, second)
    if both["content"] is None:
        del both["content"]
    return both


def _opened(
    first: str | Parts | None, second: str | Parts | None
) -> tuple[str | Parts | None, str | Parts | None]:
    """Prepare an assistant's contents: reasoning opens a message, and one text ends it.

    Reasoning behind other content is left out, as no vendor has a place for it there.
    """
    if isinstance(second, list):
        texts = [part["text"] for part in second if part.get("type") == "text"]
        second = "\n".join(texts)
    if isinstance(first, list) and second and first[-1].get("type") == "text":
        ending = {"type": "text", "text": f"{first[-1]['text']}\n\n{second}"}
        return [*first[:-1], ending], None
    return first, second


def _join_content(
    first: str | Parts | None, second: str | Parts | None
) -> str | Parts | None:
    """Join two contents: texts by a blank line, anything else part by part."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | Parts) -> Parts:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def in_turn(
    items: Sequence[ContextItem],
) -> Iterator[tuple[ContextItem, ContextItem | None]]:
    """Yield each item with the one that follows; every result names its tool."""
    names: dict[str, str] = {}
    for number, item in enumerate(items):
        if item.tool_calls:
            names = {call.id: call.name for call in item.tool_calls}
        named = item
        if item.role == "tool" and item.tool_name is None:
            name = names.get(item.tool_call_id or "")
            named = dataclasses.replace(item, tool_name=name)
        yield named, items[number + 1] if number + 1 < len(items) else None
