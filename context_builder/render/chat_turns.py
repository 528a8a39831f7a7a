"""Lines up messages as a vendor wants them to follow one another.

It joins neighbours of one role, puts in what a vendor demands between or before
messages, and remembers which message holds which item. Every message is placed by what
stands before it alone, so that a longer conversation begins with the shorter one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.items import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIRST_USER", "Turns", "join_content"]

FIRST_USER = "(the conversation begins with the assistant)"
"""Stands where a vendor wants a user message first and there is none."""

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
    content = message.get("content")
    if last["role"] == "assistant" and isinstance(content, list):
        # Reasoning may only open a message: behind other content it is left out.
        content = [part for part in content if part.get("type") != "thinking"]
    both = {**last, **message}
    both["content"] = join_content(last.get("content"), content)
    if both["content"] is None:
        del both["content"]
    return both


def join_content(
    first: str | list[dict[str, Any]] | None, second: str | list[dict[str, Any]] | None
) -> str | list[dict[str, Any]] | None:
    """Join two contents: texts by a blank line, anything else part by part."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
