"""What became of one item, in full."""

from __future__ import annotations

import dataclasses
from typing import Any

from context_builder.report.report import Outcome

__all__ = ["ItemOutcome"]


@dataclasses.dataclass(frozen=True, slots=True)
class ItemOutcome(Outcome):
    """What became of one item, and where it stands now."""

    message_index: int | None
    """Its place in what `build()` returns; None: nothing of it is shown there."""
    target: str
    model: str | None
    revision: int
    """The revision of the session that this is about."""

    @property
    def handle(self) -> str:
        """What `recall(handle=...)` and the recall tool bring it back by."""
        return self.item_id

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return dataclasses.asdict(self) | {"handle": self.handle}

    def __str__(self) -> str:
        place = (
            "not in the request"
            if self.message_index is None
            else f"messages[{self.message_index}]"
        )
        why = f"; {self.reason}" if self.reason else ""
        return (
            f"{self.item_id} ({self.role}, {self.source}): {self.action}, "
            f"{self.tokens_before:,} -> {self.tokens_after:,} tokens, priority "
            f"{self.priority}, {place}{why}"
        )
