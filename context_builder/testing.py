"""Helpers for tests of applications: a counter without a vocabulary, conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["WordCounter", "tool_call", "turns"]

_WORD = re.compile(r"\w+|[^\w\s]")


class WordCounter:
    """Counts words and punctuation marks: fast, exact by definition, no download."""

    name = "words"
    is_exact = True

    def count(self, text: str) -> int:
        """Return the number of words and marks in a text."""
        return sum(1 for _ in _WORD.finditer(text))


def tool_call(call_id: str, name: str = "search", arguments: str = "{}") -> dict[str, Any]:
    """Return a call in OpenAI's format."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def turns(count: int, *, words: int = 20, tools: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the messages of so many turns, in OpenAI's format; each turn says its number.

    Args:
        count: How many turns.
        words: How long each message is.
        tools: Whether each turn calls a tool before it answers.
    """
    for number in range(count):
        yield {"role": "user", "content": f"question {number} " + "why " * words}
        if tools:
            call_id = f"call_{number}"
            yield {"role": "assistant", "content": None, "tool_calls": [tool_call(call_id)]}
            yield {
                "role": "tool",
                "tool_call_id": call_id,
                "content": f"result {number} " + "row " * words,
            }
        yield {"role": "assistant", "content": f"answer {number} " + "because " * words}
