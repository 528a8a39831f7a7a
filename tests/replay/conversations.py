"""Small conversations, and strategies that do what a test says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from context_builder.replay import Player, Transcript
from context_builder.testing import tool_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.replay.ruler import Ruler

__all__ = ["Fixed", "record", "said", "transcript"]

Request = dict[str, Any]


def said(role: str, content: str) -> dict[str, Any]:
    """Return a message."""
    return {"role": role, "content": content}


def record(turns: int = 6, **more: Any) -> dict[str, Any]:
    """Return a record: each turn asks, calls a tool, and answers."""
    messages = [said("system", "You sell tickets.")]
    for number in range(turns):
        call = tool_call(
            f"call_{number}", "find", json.dumps({"order": f"A{number}77"})
        )
        messages += [
            said("user", f"Where is order A{number}77, please? " + "It is late. " * 20),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": json.dumps({"depot": f"D-{number}", "note": "x y " * 60}),
            },
            said("assistant", f"It lies in depot D-{number}."),
        ]
    return {"id": "tickets", "messages": messages, **more}


def transcript(turns: int = 6, **more: Any) -> Transcript:
    """Return the record, read."""
    return Transcript.read(record(turns, **more), source="test")


class Fixed:
    """A strategy that makes each request from all that was heard."""

    name = "fixed"

    def __init__(self, make: Callable[[list[Any]], Request]) -> None:
        self._make = make

    def start(  # the budget does not matter to it
        self,
        transcript: Transcript,  # noqa: ARG002
        max_tokens: int,  # noqa: ARG002
        ruler: Ruler,  # noqa: ARG002
    ) -> Player:
        """Return a player that has heard nothing."""
        return _FixedPlayer(self._make)


class _FixedPlayer:
    compactions = 0

    def __init__(self, make: Callable[[list[Any]], Request]) -> None:
        self._make = make
        self._heard: list[Any] = []

    def hear(self, message: Any) -> None:
        self._heard.append(message)

    def request(self) -> Request:
        return self._make(self._heard)

    def asked(self, question: str) -> Request:
        return self._make([*self._heard, said("user", question)])
