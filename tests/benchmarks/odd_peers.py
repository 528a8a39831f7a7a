"""Peers that do one thing wrong each, for the driver and the judge to notice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.peers.session import tokens
from context_builder.tokens import counter_for

if TYPE_CHECKING:
    from collections.abc import Iterable

Message = dict[str, Any]


class Odd:
    """Sends the system prompt and the turns that fit, and makes one mistake."""

    def __init__(self, mistake: str, budget_tokens: int) -> None:
        self.mistake = mistake
        self.budget_tokens = budget_tokens
        self.count = counter_for("o200k_base").count
        self.messages: list[Message] = []

    def extend(self, messages: Iterable[Message]) -> None:
        """Take in messages, if the mistake is not here."""
        if self.mistake == "slow":
            time.sleep(60)
        if self.mistake == "raises":
            msg = "no room"
            raise ValueError(msg)
        self.messages.extend(messages)

    def build(self) -> list[Message]:
        """Return a window with the mistake in it."""
        print("what a peer prints does not mix with the answers")
        system, window = self.messages[:1], self._window()
        match self.mistake:
            case "fits":
                window = self.messages[1:]
            case "pairs":
                window = [each for each in window if not each.get("tool_calls")]
            case "system":
                system = []
            case "latest user":
                window = []
            case "order":
                window = [*window[4:], *window[:4]]
        return [*system, *window]

    def _window(self) -> list[Message]:
        """Return the newest whole turns that fit."""
        left = self.budget_tokens - 3 - tokens(self.messages[0], self.count)
        first = len(self.messages)
        for place in range(len(self.messages) - 1, 0, -1):
            left -= tokens(self.messages[place], self.count)
            if left < 0:
                break
            if self.messages[place]["role"] == "user":
                first = place
        return self.messages[first:]

    def shown(self, built: list[Message]) -> list[Message]:
        """Return what was built."""
        return built


def open_session(variant: str, budget_tokens: int) -> Odd:
    """Open one that makes the mistake that is named."""
    return Odd(variant, budget_tokens)
