"""Another version of a unit: whole again, or changed with what was decided kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.copies import changed
from context_builder.items import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.decide.rules import Rules
    from context_builder.items import ContextItem, Unit

__all__ = [
    "as_shown",
    "is_double",
    "is_history",
    "marks_of_both",
    "whole",
    "with_references",
]


def whole(unit: Unit) -> Unit:
    """Return a unit as it came in."""
    return changed(
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
    return changed(
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


def with_references(
    unit: Unit, shorts: Iterable[tuple[int, ContextItem]], rules: Rules, reason: str
) -> Unit:
    """Return a unit with these items in their places, each where it is smaller.

    Args:
        unit: A unit that is shown.
        shorts: The place of each item, and what shall stand there.
        rules: What to measure with.
        reason: Why, for the mark of each. What the unit is called stays as it is where
            it was not whole any more.

    Returns:
        The same unit if none is smaller.
    """
    items, sizes, marks = list(unit.items), list(unit.sizes), list(unit.marks)
    for place, short in shorts:
        size = rules.ruler.item(short, calls=unit.calls)
        if size < sizes[place]:
            items[place], sizes[place] = short, size
            marks.append(Mark(short.id, "referenced", reason))
    if len(marks) == len(unit.marks):
        return unit
    return changed(
        unit,
        items=tuple(items),
        sizes=tuple(sizes),
        rendition="shortened" if unit.rendition == "whole" else unit.rendition,
        reason=unit.reason or reason,
        marks=tuple(marks),
    )
