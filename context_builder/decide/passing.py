"""The first rung: what passes goes before anything else.

Values that context providers gave for earlier messages are stale. What the recall tool
answered in an earlier round can be recalled again. The values of the latest message
stay with it, as long as there is room at all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.versions import with_references
from context_builder.passing import (
    Excerpt,
    excerpts_in,
    is_echo,
    is_momentary,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from context_builder.decide.rules import Rules
    from context_builder.items import ContextItem, Plan, Unit

__all__ = [
    "belongs_to_latest",
    "drop_latest_values",
    "drop_passing",
    "is_stale_value",
    "shown_excerpts",
    "without_echo",
]

_STALE = "a value of an earlier message: it goes at the first compaction"
_OF_LATEST = "over budget: not even the values of this message fit"
_ECHO = "recalled text goes first: it stands in the session, and can be recalled again"
_PASSING = frozenset({"background", "tool"})
"""The kinds of units that values and echoes stand in."""
_LEFT_OUT = "[What was recalled here was left out again.]"


def _is_value(unit: Unit) -> bool:
    return unit.kind == "background" and is_momentary(unit.originals[0])


def belongs_to_latest(unit: Unit, current_turn: int) -> bool:
    """Say whether a unit is a value that came with the latest user message.

    It stands before that message, at the end of the turn before.
    """
    return _is_value(unit) and unit.turn >= current_turn - 1


def is_stale_value(unit: Unit, current_turn: int) -> bool:
    """Say whether a unit is a value that came with an earlier user message."""
    return _is_value(unit) and unit.turn < current_turn - 1


def drop_passing(plan: Plan, rules: Rules) -> Plan:
    """Leave out stale values, and what was recalled in earlier rounds."""
    rounds = [index for index, unit in enumerate(plan.units) if unit.kind == "tool"]
    newest = rounds[-1] if rounds else None
    passed: dict[int, Unit] = {}
    for index, unit in enumerate(plan.units):
        if unit.kind not in _PASSING or unit.pinned:
            continue
        if is_stale_value(unit, plan.current_turn):
            passed[index] = unit.leave_out(_STALE)
        elif unit.kind == "tool" and (index != newest or unit.turn < plan.current_turn):
            bare = _without_echoes(unit, rules)
            if bare is not unit:
                passed[index] = bare
    if not passed:
        return plan
    units = tuple(passed.get(index, unit) for index, unit in enumerate(plan.units))
    return dataclasses.replace(plan, units=units)


def drop_latest_values(plan: Plan, rules: Rules) -> Plan:
    """Leave out even the values of the latest message, until the plan fits."""
    del rules
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index, unit in enumerate(plan.units):
        if excess_tokens <= 0:
            break
        if _is_value(unit) and not unit.pinned:
            excess_tokens -= unit.tokens
            units[index] = unit.leave_out(_OF_LATEST)
    return dataclasses.replace(plan, units=tuple(units))


def without_echo(item: ContextItem) -> ContextItem:
    """Return a result of the recall tool without what it says."""
    return item.with_content(_LEFT_OUT)


def _without_echoes(unit: Unit, rules: Rules) -> Unit:
    shorts = (
        (place, without_echo(item))
        for place, item in enumerate(unit.items)
        if is_echo(item)
    )
    return with_references(unit, shorts, rules, _ECHO)


def shown_excerpts(units: Iterable[Unit]) -> Mapping[str, tuple[Excerpt, ...]]:
    """Return what the recall tool's answers say that stand whole among these units."""
    said: dict[str, tuple[Excerpt, ...]] = {}
    for unit in units:
        if unit.kind != "tool":
            continue
        for item, original in zip(unit.items, unit.originals, strict=True):
            if item is original and is_echo(item):
                for excerpt in excerpts_in(item.text):
                    known = said.get(excerpt.handle, ())
                    said[excerpt.handle] = (*known, excerpt)
    return said
