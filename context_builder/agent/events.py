"""What a turn tells while it runs, and what came of it in the end: plain values."""

from __future__ import annotations

import dataclasses
from typing import Literal

from context_builder.collect import Usage

__all__ = [
    "AgentEvent",
    "ReasoningDelta",
    "RequestSent",
    "StopReason",
    "TextDelta",
    "ToolFinished",
    "ToolStarted",
    "TurnFinished",
    "TurnResult",
    "UsageReported",
]

StopReason = Literal[
    "answered",
    "max_rounds",
    "output_limit",
    "refused",
    "content_filter",
    "paused",
    "no_answer",
]
"""Why a turn ended.

- `answered`: the model said what it had to say.
- `max_rounds`: it wanted tools once too often; the text, if any, is its last word.
- `output_limit`: the answer was cut at the output's limit, or at the window.
- `refused`: the model declined.
- `content_filter`: the vendor withheld the answer, or broke it off.
- `paused`: the vendor paused a long turn of its own tools; run again to go on.
- `no_answer`: the model said nothing and called nothing.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class TurnResult:
    """What came of one turn."""

    text: str
    """The answer; empty where there is none."""
    stop_reason: StopReason
    rounds: int
    """Rounds of tool calls, 0 where the model answered at once."""
    tool_calls: int
    """Calls that were made, failed ones included."""
    usage: Usage
    """Billed tokens of all requests of the turn together; 0 where nobody said."""
    item_ids: tuple[str, ...]
    """What entered the session, in order: the user's message first, if there was one"""
    duration_seconds: float = dataclasses.field(default=0.0, compare=False)
    """From the start to this result."""
    waited_seconds: float = dataclasses.field(default=0.0, compare=False)
    """How much of it the model and the tools took; the rest is the builder's work, and
    the store's."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks, where the vendor shows it."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is being run."""

    call_id: str
    name: str
    arguments: str
    """JSON text, as the model wrote it."""


@dataclasses.dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool is done, or was given up."""

    call_id: str
    name: str
    is_error: bool
    text: str
    """What the model is told, whole."""
    duration_seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class RequestSent:
    """A request goes out; one that was too large is followed by a smaller one."""

    tokens: int
    """Of its input, by our count."""
    budget_tokens: int
    round: int
    """From 1, in this turn."""


@dataclasses.dataclass(frozen=True, slots=True)
class UsageReported:
    """What the vendor billed for one request. Input includes cached tokens."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int


@dataclasses.dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over: the last event of it."""

    result: TurnResult


AgentEvent = (
    TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolFinished
    | RequestSent
    | UsageReported
    | TurnFinished
)
"""What `Agent.astream` yields."""
