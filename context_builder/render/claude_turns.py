"""Puts blocks into turns: user and assistant alternate, and the user begins.

The rules are Anthropic's and Bedrock's alike. A turn is decided from what stands before
it and never changes by what follows, but for blocks that join its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from context_builder.errors import AdapterError
from context_builder.items import ContextItem, Mark

__all__ = ["BRIDGE", "MOVED", "NOT_TAKEN", "OPENING", "Turns"]

Block = dict[str, Any]

OPENING = "(The conversation begins here.)"
"""Said by the user where the assistant would begin."""
BRIDGE = "OK"
"""Said by the assistant where the vendor demands a turn of its own."""

NOT_TAKEN = "reasoning that this model does not take was left out"
MOVED = "reasoning was left out: it is bound to what stood before it, and that changed"
"""Reasons that the report gives."""


@dataclasses.dataclass(slots=True)
class Turns:
    """The messages of one request, in the making."""

    say_text: Callable[[str], Block]
    takes_notes: bool
    messages: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    spans: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    repairs: list[Mark] = dataclasses.field(default_factory=list)
    ends: list[tuple[int, int] | None] = dataclasses.field(default_factory=list)
    """For each item: the place of its last block, as (message, block)."""
    _after_folded_note: bool = False

    @property
    def last_role(self) -> str | None:
        """Who spoke last."""
        return self.messages[-1]["role"] if self.messages else None

    def note_role(self) -> str:
        """Say in which role a note at this place is said.

        The role system has to stand behind a user's turn. What follows does not matter:
        it cannot be known yet.
        """
        if self.last_role == "system":
            return "system"
        fits = self.last_role == "user" and not self._after_folded_note
        return "system" if self.takes_notes and fits else "user"

    def add(self, item: ContextItem, role: str, blocks: Sequence[Block]) -> None:
        """Add what an item says to the end."""
        if not blocks:
            self.repair(
                item, "left out: it holds nothing that this vendor can be shown"
            )
            self.ends.append(self.ends[-1] if self.ends else None)
            return
        self._open(item, role)
        if role == "user" and self.last_role == "system":
            self.bridge(item, "the vendor wants an assistant's turn behind a note")
        if self.last_role == role:
            self.messages[-1]["content"].extend(blocks)
        else:
            self.messages.append({"role": role, "content": list(blocks)})
        self._after_folded_note = item.role == "system" and role == "user"
        place = len(self.messages) - 1
        self.spans.append((item.id, place))
        self.ends.append((place, len(self.messages[-1]["content"]) - 1))

    def _open(self, item: ContextItem, role: str) -> None:
        if not self.messages and role != "user":
            self.repair(item, "a user's turn was put before it: the user has to begin")
            self.messages.append({"role": "user", "content": [self.say_text(OPENING)]})

    def bridge(self, item: ContextItem, reason: str) -> None:
        """Put a turn of the assistant's in."""
        self.repair(item, f"{BRIDGE!r} was put before it: {reason}")
        self.messages.append({"role": "assistant", "content": [self.say_text(BRIDGE)]})

    def repair(self, item: ContextItem, reason: str) -> None:
        """Remember what had to be done to an item."""
        self.repairs.append(Mark(item.id, "repaired", reason))

    def require_end(self, *, adapter: str, may_end_with_assistant: bool) -> None:
        """Check that there is something to answer.

        Raises:
            AdapterError: If there is nothing, or the assistant has the last word where
                the model does not go on from there.
        """
        if not self.messages:
            empty = "nothing is left that can be said; add a user message"
            raise AdapterError(empty, adapter=adapter)
        if self.last_role != "assistant" or may_end_with_assistant:
            return
        ending = (
            "the conversation ends with the assistant, and this model does not go on "
            "from its own message; add a user message"
        )
        raise AdapterError(ending, adapter=adapter, item_id=self.spans[-1][0])
