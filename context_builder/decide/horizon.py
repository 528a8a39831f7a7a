"""What of a history that comes in at once is too old to be looked at.

A history of ten thousand messages need not be measured to find out that the oldest do
not fit. From the newest on, units are measured until they would fill the request even
with all tool results as the references that they would become. What is older, and
nothing but ordinary, leaves as it came: unmeasured.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.rules import rating
from context_builder.items import Unit, UnitChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from context_builder.decide.rules import Rules
    from context_builder.items import Change, UnitKind

__all__ = [
    "BEYOND",
    "LEAST_UNITS",
    "beyond_horizon",
    "measured",
    "unit_id_of",
]

BEYOND = "over budget: far older than what fits"

LEAST_UNITS = 64
"""Fewer units than this are measured one by one."""
_FILLING = frozenset({"message", "tool"})
"""What a request is filled with: the rest goes first, or stays anyway."""
_MOST_COUNTED_SHARE = 1 / 64
"""An item counts as so much of the budget at most: a huge one leaves by itself."""
_REFERENCE_TOKENS = 24
"""About what a reference takes beside the facts that it keeps."""


def beyond_horizon(
    changes: Sequence[Change], live: Iterable[Unit], limit_tokens: int, rules: Rules
) -> Mapping[float, Unit]:
    """Return the units that leave at once, as they are when all has come in, by id.

    No unit leaves while a less important one of its kind stays: what is rated lower
    leaves with them, wherever it stands.

    Args:
        changes: What one log entry changes.
        live: The units that are shown; they are older than what comes in.
        limit_tokens: The budget.
        rules: What to measure with.
    """
    come = _as_they_end(changes)
    if len(come) < LEAST_UNITS or not _is_usual(rules):
        return {}
    turn = max(unit.turn for unit in come)
    cut = _cut(come, turn, limit_tokens, rules)
    far = {
        unit.id: unit
        for unit in (*live, *come)
        if unit.id < cut and _is_ordinary(unit, turn)
    }
    most: dict[UnitKind, int] = {}
    for unit in far.values():
        most[unit.kind] = max(most.get(unit.kind, 0), rating(unit, turn, rules))
    for unit in (*live, *come):
        is_rated_lower = rating(unit, turn, rules) < most.get(unit.kind, 0)
        if is_rated_lower and _may_leave(unit, turn):
            far[unit.id] = unit
    return far


def unit_id_of(change: Change) -> float | None:
    """Return the unit that a change brings or changes; None: it does neither."""
    if isinstance(change, UnitChanged):
        return change.unit.id
    return change.id if isinstance(change, Unit) else None


def _is_usual(rules: Rules) -> bool:
    """Say whether the oldest goes first: nobody has rules of another kind."""
    settings = rules.settings
    return (
        rules.ladder is None
        and rules.priority_rule is None
        and not settings.has_standing_rules
        and not settings.keep_first_messages
    )


def measured(units: Sequence[Unit], rules: Rules) -> Iterator[Unit]:
    """Yield units that left unmeasured with the sizes that they have whole."""
    _prepare(units, rules)
    for unit in units:
        sizes = (rules.ruler.whole(item, calls=unit.calls) for item in unit.originals)
        yield dataclasses.replace(unit, whole_sizes=tuple(sizes))


def _prepare(units: Iterable[Unit], rules: Rules) -> None:
    rules.ruler.prepare((item, unit.calls) for unit in units for item in unit.originals)


def _as_they_end(changes: Sequence[Change]) -> list[Unit]:
    """Return the units that come in, in order, each in its last version."""
    come: dict[float, Unit] = {}
    for change in changes:
        if isinstance(change, Unit):
            come[change.id] = change
        elif isinstance(change, UnitChanged) and change.unit.id in come:
            come[change.unit.id] = change.unit
    return list(come.values())


def _cut(come: Sequence[Unit], turn: int, limit_tokens: int, rules: Rules) -> float:
    """Return the id of the oldest unit that is near enough to be measured."""
    most_tokens = max(1, int(limit_tokens * _MOST_COUNTED_SHARE))
    reference_tokens = _REFERENCE_TOKENS + rules.settings.reference_facts_tokens
    left_tokens = limit_tokens
    prepared = len(come)
    for place in range(len(come) - 1, -1, -1):
        unit = come[place]
        if left_tokens <= 0 and unit.turn < turn:
            return come[place + 1].id
        if place < prepared:
            prepared = max(0, place + 1 - LEAST_UNITS)
            _prepare(come[prepared : place + 1], rules)
        if unit.kind in _FILLING and not _has_key(unit):
            for item in unit.originals:
                tokens = min(most_tokens, rules.ruler.whole(item, calls=unit.calls))
                is_result = item.role == "tool"
                left_tokens -= min(tokens, reference_tokens) if is_result else tokens
    return come[0].id


def _is_ordinary(unit: Unit, turn: int) -> bool:
    """Say whether nobody asked for anything special for a unit."""
    return (
        unit.priority is None
        and unit.refreshed_turn is None
        and unit.kind in _FILLING
        and _may_leave(unit, turn)
    )


def _may_leave(unit: Unit, turn: int) -> bool:
    return not unit.pinned and unit.turn < turn and not _has_key(unit)


def _has_key(unit: Unit) -> bool:
    """Say whether another item may stand in for one of a unit's."""
    return any(item.cache_key is not None for item in unit.originals)
