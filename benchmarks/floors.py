"""The least work that a correct window needs: what the library is measured against.

Both keep the system prompt and the newest messages within a budget, never part a call
from its results, and hand out copies. They do nothing else: no priorities, no digest,
no recall, no report, no repairs. The eager one counts each text once, when it comes in.
The lazy one counts from the newest message back, until the budget is full.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EagerFloor", "LazyFloor", "copied_by_hand"]

_FRAMING_TOKENS = 4
"""About what a message takes besides its texts."""


def copied_by_hand(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copy Chat Completions messages down to dicts and lists, and nothing more."""
    copied = []
    for message in messages:
        one = dict(message)
        calls = one.get("tool_calls")
        if calls:
            one["tool_calls"] = [
                {**call, "function": dict(call["function"])} for call in calls
            ]
        content = one.get("content")
        if type(content) is list:
            one["content"] = [dict(part) for part in content]
        copied.append(one)
    return copied


def _tokens(message: dict[str, Any], count: Callable[[str], int]) -> int:
    tokens = _FRAMING_TOKENS + count(message["content"] or "")
    for call in message.get("tool_calls", ()):
        tokens += count(call["function"]["name"])
        tokens += count(call["function"]["arguments"])
    return tokens


class EagerFloor:
    """Counts each message when it comes in; the oldest leave when there is no room."""

    def __init__(self, budget_tokens: int, count: Callable[[str], int]) -> None:
        self._budget_tokens = budget_tokens
        self._count = count
        self._system: list[dict[str, Any]] = []
        self._window: deque[tuple[dict[str, Any], int]] = deque()
        self._tokens = 0

    def append(self, message: dict[str, Any]) -> None:
        """Take in a message."""
        tokens = _tokens(message, self._count)
        self._tokens += tokens
        if message["role"] == "system":
            self._system.append(message)
        else:
            self._window.append((message, tokens))

    def build(self) -> list[dict[str, Any]]:
        """Return what fits."""
        window = self._window
        while self._tokens > self._budget_tokens or (
            window and window[0][0]["role"] == "tool"
        ):
            self._tokens -= window.popleft()[1]
        return copied_by_hand([*self._system, *(message for message, _ in window)])


class LazyFloor:
    """Counts only what may fit, and each message once."""

    def __init__(self, budget_tokens: int, count: Callable[[str], int]) -> None:
        self._budget_tokens = budget_tokens
        self._count = count
        self._messages: list[dict[str, Any]] = []
        self._sizes: dict[int, int] = {}

    def append(self, message: dict[str, Any]) -> None:
        """Take in a message."""
        self._messages.append(message)

    def _size(self, place: int) -> int:
        if place not in self._sizes:
            self._sizes[place] = _tokens(self._messages[place], self._count)
        return self._sizes[place]

    def build(self) -> list[dict[str, Any]]:
        """Return what fits."""
        has_system = self._messages[0]["role"] == "system"
        left_tokens = self._budget_tokens - (self._size(0) if has_system else 0)
        first = len(self._messages)
        while first > has_system and self._size(first - 1) <= left_tokens:
            first -= 1
            left_tokens -= self._size(first)
        while first < len(self._messages) and self._messages[first]["role"] == "tool":
            first += 1
        return copied_by_hand([*self._messages[:has_system], *self._messages[first:]])
