"""langchain-core's `trim_messages`, with three counters that its callers give it.

The counter with a memo is the fastest peer that is correct: the other figures are
ratios of it. The caller keeps LangChain's messages and trims before each request.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from benchmarks.peers.session import CALL_TOKENS, FRAMING_TOKENS, REPLY_TOKENS, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.peers.session import Message

__all__ = ["open_session"]


def _sizes(count: Callable[[str], int]) -> Callable[[BaseMessage], int]:
    """Return what counts one message."""

    def size(message: BaseMessage) -> int:
        total = FRAMING_TOKENS + count(message.text)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                arguments = json.dumps(call["args"])
                total += CALL_TOKENS + count(call["name"]) + count(arguments)
        return total

    return size


def _plain() -> Callable[[Sequence[BaseMessage]], int]:
    """Count every message whenever it is asked for."""
    size = _sizes(counter())
    return lambda messages: sum(map(size, messages))


def _memoised() -> Callable[[Sequence[BaseMessage]], int]:
    """Count every message once: the session keeps them, so an id stays theirs."""
    size = _sizes(counter())
    known: dict[int, int] = {}

    def counted(messages: Sequence[BaseMessage]) -> int:
        try:
            return sum([known[id(message)] for message in messages])
        except KeyError:
            for message in messages:
                if id(message) not in known:
                    known[id(message)] = size(message)
            return sum([known[id(message)] for message in messages])

    return counted


_COUNTERS = {
    "tiktoken": _plain,
    "memo": _memoised,
    "approximate": lambda: count_tokens_approximately,
}


class _Trimmed:
    def __init__(self, variant: str, budget_tokens: int) -> None:
        self._count = _COUNTERS[variant]()
        self._max_tokens = budget_tokens - REPLY_TOKENS
        self._messages: list[BaseMessage] = []

    def extend(self, messages: Iterable[Message]) -> None:
        self._messages += convert_to_messages(list(messages))

    def build(self) -> list[BaseMessage]:
        return trim_messages(
            self._messages,
            max_tokens=self._max_tokens,
            token_counter=self._count,
            strategy="last",
            include_system=True,
            start_on="human",
        )

    def shown(self, built: list[BaseMessage]) -> list[Message]:
        return convert_to_openai_messages(built)


def open_session(variant: str, budget_tokens: int) -> _Trimmed:
    """Open a conversation that is trimmed before each request."""
    return _Trimmed(variant, budget_tokens)
