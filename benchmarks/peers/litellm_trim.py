"""litellm's `trim_messages`, before each request.

It is told the tokens that it may use, so its ratio of the model's window is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm.utils import trim_messages

from benchmarks.peers.session import REPLY_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]


class _Trimmed:
    def __init__(self, budget_tokens: int) -> None:
        self._max_tokens = budget_tokens - REPLY_TOKENS
        self._messages: list[Message] = []

    def extend(self, messages: Iterable[Message]) -> None:
        self._messages.extend(messages)

    def build(self) -> list[Message]:
        return trim_messages(
            self._messages, model="gpt-4o", max_tokens=self._max_tokens
        )

    def shown(self, built: list[Message]) -> list[Message]:
        return built


def open_session(variant: str, budget_tokens: int) -> _Trimmed:  # noqa: ARG001 - one kind
    """Open a conversation that is trimmed before each request."""
    return _Trimmed(budget_tokens)
