"""What comes in and goes out of the service, as OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from context_builder.unicode import repair_text

__all__ = [
    "Conversation",
    "Me",
    "NewMessage",
    "NewSession",
    "Requests",
    "SaidItem",
    "SessionLine",
    "SessionList",
    "WindowAnswer",
]


def _repaired(value: object) -> object:
    return repair_text(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_repaired)]
"""Text that may hold half a character: JSON can say that, and UTF-8 cannot."""


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewSession(_Asked):
    """A conversation to be begun."""

    system_prompt: Text | None = Field(default=None, max_length=100_000)
    """None: the service's."""


class NewMessage(_Asked):
    """What a user says."""

    text: Text = Field(min_length=1)


class SessionLine(BaseModel):
    """A conversation, in a list."""

    id: str
    title: str
    """How the user's first message begins; empty where there is none yet."""
    created_at: float
    """Seconds since the epoch."""
    updated_at: float
    records: int
    """How many things happened in it."""


class SessionList(BaseModel):
    """A user's conversations, the one used last first."""

    sessions: list[SessionLine]
    total: int
    """How many there are; not all need be listed."""


class SaidItem(BaseModel):
    """Something in a conversation."""

    id: str
    role: str
    source: str
    text: str
    tool: str | None = None
    """Whose result it is."""
    tool_call_id: str | None = None
    tool_calls: list[dict[str, str]] = []
    """`id`, `name` and `arguments` of each, the arguments as JSON text."""
    is_error: bool = False
    partial: bool = False
    timestamp: float | None = None


class Conversation(BaseModel):
    """All that is in a conversation now."""

    id: str
    items: list[SaidItem]
    was_interrupted: bool
    """Whether the last turn ended before its time."""


class Me(BaseModel):
    """Who asks, and what is served."""

    user: str
    is_offline: bool
    """Whether a local scripted model answers, which is no language model."""
    target: str
    model: str | None
    budget_tokens: int
    targets: list[str]
    """The vendors whose requests can be shown."""
    tools: list[str]
    version: str


class Requests(BaseModel):
    """The timeline of a conversation."""

    requests: list[dict[str, Any]]


class WindowAnswer(BaseModel):
    """All items of a conversation, and their fates. See the pages of the library."""

    model_config = ConfigDict(extra="allow")

    target: str
    plan: dict[str, Any]
    items: list[dict[str, Any]]
    actions: list[str]
    reasons: list[str]
