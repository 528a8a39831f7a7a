"""How the service is set up: what `context-builder serve` says to its workers.

Workers are processes of their own, so the settings travel in the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ENVIRONMENT", "SYSTEM_PROMPT", "WebSettings"]

ENVIRONMENT = "CONTEXT_BUILDER_WEB"
"""The variable that holds the settings, as JSON."""

SYSTEM_PROMPT = (
    "You are a helpful assistant. Use the tools where they help, and say plainly what "
    "you do not know."
)


class WebSettings(BaseModel):
    """What the service is and how much it takes at a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str = "sqlite:"
    """Where conversations are kept, as for `SessionManager`."""
    users: Path | None = None
    """The file of users; None: only those of `tokens`."""
    accounts: tuple[tuple[str, str, str], ...] = ()
    """Further tokens: user, key and digest of each."""
    target: str = "openai"
    """The vendor that is spoken to."""
    model: str | None = None
    """None: the local scripted model."""
    summary_model: str | None = None
    """Who writes summaries, at OpenAI's interface; None: an extractive digest tells."""
    max_tokens: int | None = Field(default=None, gt=0)
    """The input budget of a request, in tokens; None: by the model's window."""
    context_window: int | None = Field(default=None, gt=0)
    system_prompt: str = SYSTEM_PROMPT
    """What a new conversation begins with; it keeps it."""
    tools: str | None = None
    """`module:name` of a list of tools; None: the built-in ones."""
    max_rounds: int = Field(default=5, ge=1)
    """Rounds of tool calls in one turn."""
    is_offline: bool = False
    """Whether the local scripted model answers; the page says so."""
    offline_delay_seconds: float = Field(default=0.02, ge=0)
    """How long it takes for each piece of an answer."""
    max_awake: int = Field(default=256, gt=0)
    """Conversations of a worker that stay ready between their turns; of the others the
    next turn begins with their waking up, a few milliseconds."""
    wait_seconds: float = Field(default=3.0, ge=0)
    """How long a turn waits for another one of the same conversation."""
    turn_seconds: float = Field(default=300.0, gt=0)
    """How long a turn may take."""
    max_body_bytes: int = Field(default=1_000_000, gt=0)
    """Of a request to the service."""
    max_message_chars: int = Field(default=200_000, gt=0)
    """Of one message of a user."""
    gc_full_every: int = Field(default=1_000, gt=0)
    """How many passes of Python's garbage collector over its middle generation come
    before one over all objects, the third number of `gc.set_threshold`; Python's own is
    10. Such a pass holds up all turns for 20 to 100 ms. Where Python collects in small
    steps (3.14), this has no effect."""
    keep_alive_seconds: float = Field(default=15.0, gt=0)
    """How often an answer that takes long gives a sign of life."""

    @classmethod
    def from_environment(cls) -> Self:
        """Read what `to_environment` wrote; nothing there: the defaults."""
        return cls.model_validate_json(os.environ.get(ENVIRONMENT) or "{}")

    def to_environment(self) -> None:
        """Tell the processes that this one starts."""
        os.environ[ENVIRONMENT] = self.model_dump_json()
