"""Another version of a unit: whole again, or changed with what was decided kept."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_builder.items import Mark, Unit

__all__ = ["as_shown", "is_double", "is_history", "marks_of_both", "whole"]


def whole(unit: Unit) -> Unit:
    """Return a unit as it came in."""
    return dataclasses.replace(
        unit,
        items=unit.originals,
        sizes=unit.whole_sizes,
        rendition="whole",
        reason="",
    )


def is_double(unit: Unit) -> bool:
    """Say whether something of a unit gave way to another item of the same key."""
    return any(mark.action == "deduplicated" for mark in unit.marks)


def is_history(unit: Unit) -> bool:
    """Say whether a unit is part of the talk, not background or a summary of it."""
    return unit.kind not in {"background", "summary"}


def as_shown(unit: Unit, old: Unit) -> Unit:
    """Return a new version of a unit; what did not change is shown as before."""
    if old.rendition == "whole" and not old.marks:
        return unit
    shown = {
        id(original): (item, size)
        for original, item, size in zip(
            old.originals, old.items, old.sizes, strict=True
        )
    }
    pairs = [
        shown.get(id(item), (item, size))
        for item, size in zip(unit.originals, unit.sizes, strict=True)
    ]
    return dataclasses.replace(
        unit,
        items=tuple(item for item, _ in pairs),
        sizes=tuple(size for _, size in pairs),
        rendition=old.rendition,
        reason=old.reason,
        priority=unit.priority if unit.priority is not None else old.priority,
        refreshed_turn=old.refreshed_turn,
        marks=marks_of_both(old, unit),
    )


def marks_of_both(old: Unit, new: Unit) -> tuple[Mark, ...]:
    """Return the marks of both versions that speak of items still there."""
    still = {id(item) for item in new.originals}
    ids = {item.id for item in old.originals if id(item) in still}
    kept = [mark for mark in old.marks if mark.item_id in ids and mark not in new.marks]
    return (*kept, *new.marks)
