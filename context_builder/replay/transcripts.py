"""What is replayed: a transcript, when the model was called, and what is asked of it.

Evidence says what a later call or question needs from before. It is read from the
record that holds the transcript; nothing here knows how it was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["CallNeeds", "Evidence", "Message", "Question", "Transcript", "units"]

Message = Mapping[str, Any]
"""A message in OpenAI's format."""


@dataclasses.dataclass(frozen=True, slots=True)
class CallNeeds:
    """A real tool call, and the argument values that it took from the conversation."""

    at: int
    """Index of the assistant message that made the call."""
    values: tuple[str, ...]
    kind: str = "tool_args"


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A question about the conversation, and the messages that answer it."""

    kind: str
    question: str
    message_ids: tuple[int, ...]
    answer: str | None = None


Evidence = CallNeeds | Question


@dataclasses.dataclass(frozen=True, slots=True)
class Transcript:
    """One recorded conversation in OpenAI's format."""

    id: str
    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    source: str = ""
    """Where it is from, such as a file's name; figures are pooled by it."""

    @classmethod
    def read(cls, record: Mapping[str, Any], *, source: str = "") -> Transcript:
        """Read a record: `id`, `messages`, and if they are there `tools`, `evidence`.

        Evidence of a kind that is not known is left out.
        """
        read = map(_evidence, record.get("evidence") or ())
        return cls(
            id=str(record.get("id", "")),
            messages=tuple(record["messages"]),
            tools=tuple(record.get("tools") or ()),
            evidence=tuple(one for one in read if one is not None),
            source=source,
        )

    @property
    def head(self) -> int:
        """How many messages open the conversation as its system prompt: 0 or 1."""
        roles = [message.get("role") for message in self.messages[:1]]
        return int(roles in (["system"], ["developer"]))

    @property
    def calls(self) -> tuple[int, ...]:
        """The indices of the messages that the model wrote, having heard something."""
        return tuple(
            index
            for index, message in enumerate(self.messages)
            if message.get("role") == "assistant" and index > self.head
        )


def _evidence(record: Mapping[str, Any]) -> Evidence | None:
    match record.get("kind"):
        case "tool_args":
            values = tuple(str(need["value"]) for need in record["needs"])
            return CallNeeds(at=int(record["at"]), values=values)
        case "qa" | "qa_span" | "constraint" as kind:
            answer = record.get("answer")
            return Question(
                kind=kind,
                question=str(record["question"]),
                message_ids=tuple(map(int, record["message_ids"])),
                answer=None if answer is None else str(answer),
            )
        case _:
            return None


def units(messages: Iterable[Message]) -> list[list[int]]:
    """Group the indices of messages: calls and the results behind them are one."""
    groups: list[list[int]] = []
    is_open = False
    for index, message in enumerate(messages):
        if message.get("role") == "tool" and is_open:
            groups[-1].append(index)
            continue
        groups.append([index])
        is_open = bool(message.get("tool_calls"))
    return groups
