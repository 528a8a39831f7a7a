"""What one compaction did: kept until somebody asks, for those who want to be told."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.items import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Lowered", "changed_units"]


@dataclasses.dataclass(frozen=True, slots=True)
class Lowered:
    """A compaction. All figures are input tokens of the whole request."""

    reason: str
    tokens_before: int
    tokens_after: int
    limit_tokens: int
    units: tuple[Unit, ...]
    """What is shown in another way since then, in order."""


def changed_units(before: Iterable[Unit], after: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return the units that are not shown as before, as they are now."""
    return tuple(new for old, new in zip(before, after, strict=True) if new is not old)
