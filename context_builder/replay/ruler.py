"""Counts requests and budgets from their bodies alone, the same for every strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.tokens import (
    counter_for,
    framing_for,
    messages_tokens,
    request_overhead,
    tools_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_builder.replay.transcripts import Message, Transcript

__all__ = ["MODEL", "Ruler"]

MODEL = "gpt-4o"
"""The model whose encoding and framing count."""


class Ruler:
    """Counts with OpenAI's framing, and each text once. It is a `TokenCounter`, too."""

    def __init__(self) -> None:
        self._counter = counter_for("o200k_base")
        self._framing = framing_for(MODEL)
        self._counts: dict[str, int] = {}
        self._fixed: dict[tuple[int, str | None], int] = {}
        self.name = self._counter.name
        self.is_exact = self._counter.is_exact

    def count(self, text: str) -> int:
        """Count a text exactly."""
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._counts[text] = self._counter.count(text)
        return tokens

    def messages(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Count each message of a conversation, framing included."""
        return messages_tokens(messages, self.count, self._framing)

    @property
    def overhead(self) -> int:
        """What is billed once a request."""
        return request_overhead(self._framing)

    def tools(self, tools: Sequence[Message], messages: Sequence[Message]) -> int:
        """Count the tool definitions as they stand behind the system prompt."""
        if not tools:
            return 0
        system = _system_text(messages)
        return tools_tokens(
            tools,
            self.count,
            self._framing,
            has_system=system is not None,
            system_text=system,
        )

    def request(self, request: Mapping[str, Any]) -> int:
        """Count a finished request."""
        messages, tools = request["messages"], request.get("tools") or ()
        counted = self.messages(messages)
        return self.overhead + self.tools(tools, messages) + sum(counted)

    def head(self, transcript: Transcript) -> int:
        """Count what every request of a transcript begins with: prompt and tools."""
        opening = transcript.messages[: transcript.head]
        tools = self.tools(transcript.tools, opening)
        return self.overhead + tools + sum(self.messages(opening))

    def budget(
        self, transcript: Transcript, share: float, *, upto: int | None = None
    ) -> int:
        """Return the head and a share of everything else.

        Args:
            transcript: The conversation.
            share: Which part of the tokens behind the head fits.
            upto: Count only the messages before this index; None: all.
        """
        counted = self.messages(transcript.messages[:upto])
        return self.head(transcript) + int(share * sum(counted[transcript.head :]))


def _system_text(messages: Sequence[Message]) -> str | None:
    for message in messages[:1]:
        content = message.get("content")
        if message.get("role") in {"system", "developer"} and isinstance(content, str):
            return content
    return None
