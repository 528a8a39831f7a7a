"""Helpers for tests of applications: a counter without a vocabulary, conversations.

And a summariser that does what a real one may do, good and bad.
"""

from __future__ import annotations

import asyncio
import re
import threading
from typing import TYPE_CHECKING, Any, Literal

from context_builder.summarizers import (
    SummaryText,
    items_tokens,
    prompt_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_builder.summarizers import SummaryRequest

__all__ = ["FakeSummarizer", "WordCounter", "tool_call", "turns"]

_WORD = re.compile(r"\w+|[^\w\s]")


class WordCounter:
    """Counts words and punctuation marks: fast, exact by definition, no download."""

    name = "words"
    is_exact = True

    def count(self, text: str) -> int:
        """Return the number of words and marks in a text."""
        return sum(1 for _ in _WORD.finditer(text))


def tool_call(
    call_id: str, name: str = "search", arguments: str = "{}"
) -> dict[str, Any]:
    """Return a call in OpenAI's format."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def turns(
    count: int, *, words: int = 20, tools: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the messages of so many turns, in OpenAI's format; each says its number.

    Args:
        count: How many turns.
        words: How long each message is.
        tools: Whether each turn calls a tool before it answers.
    """
    for number in range(count):
        yield {"role": "user", "content": f"question {number} " + "why " * words}
        if tools:
            call_id = f"call_{number}"
            yield {
                "role": "assistant",
                "content": None,
                "tool_calls": [tool_call(call_id)],
            }
            yield {
                "role": "tool",
                "tool_call_id": call_id,
                "content": f"result {number} " + "row " * words,
            }
        yield {"role": "assistant", "content": f"answer {number} " + "because " * words}


Behaviour = Literal["ok", "record", "raise", "empty", "longer", "cut", "hang"]


class FakeSummarizer:
    """A summariser without a model; it keeps what it was asked, and does as told.

    Args:
        behaviour: `ok` and `record` return `returns`. `raise` raises a RuntimeError
            that says `error`. `empty` returns blank text, `longer` more than it
            replaces, `cut` half an object. `hang` answers after `seconds`, or when
            it is released.
        returns: The summary.
        error: What the error says.
        seconds: How long it hangs.
    """

    def __init__(
        self,
        behaviour: Behaviour = "ok",
        *,
        returns: str = "SUMMARY of earlier talk",
        error: str = "backend 503 busy",
        seconds: float = 60.0,
    ) -> None:
        self.behaviour = behaviour
        """May be changed at any time."""
        self.returns = returns
        self.error = error
        self.seconds = seconds
        self.requests: list[SummaryRequest] = []
        """What it was asked, in order."""
        self._released = threading.Event()

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    @property
    def prompts(self) -> list[str]:
        """What a model would have been sent, in order."""
        return [prompt_text(request) for request in self.requests]

    def release(self) -> None:
        """Let a summariser that hangs in a thread answer now."""
        self._released.set()

    def summarize(self, request: SummaryRequest) -> str:
        """Do as told.

        Raises:
            RuntimeError: If it was told to raise.
        """
        self.requests.append(request)
        if self.behaviour == "hang":
            self._released.wait(self.seconds)
        return self._answer(request)

    async def asummarize(self, request: SummaryRequest) -> str:
        """Do as told, as `summarize`.

        Raises:
            RuntimeError: If it was told to raise.
        """
        self.requests.append(request)
        if self.behaviour == "hang":
            await asyncio.sleep(self.seconds)
        return self._answer(request)

    def _answer(self, request: SummaryRequest) -> str:
        match self.behaviour:
            case "raise":
                raise RuntimeError(self.error)
            case "empty":
                return " \n"
            case "longer":
                tokens = items_tokens(request.items, request.count)
                return "longer " * (max(tokens, request.max_tokens) + 1)
            case "cut":
                return SummaryText('{"goal": "' + self.returns, is_cut_off=True)
            case _:
                return self.returns
