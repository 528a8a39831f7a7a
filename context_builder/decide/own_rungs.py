"""Holds rungs that somebody else wrote to what every rung has to keep.

A rung may show a unit shorter, or leave it out. What it may not do is undone, unit by
unit: touch what is pinned or the latest user message, show more than before, part calls
from their results, or change the figures of the plan. Sizes are measured here. A rung
that raises has done nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from context_builder.decide.current import latest_user_index
from context_builder.decide.plan import LADDER, Rung
from context_builder.items import LADDER_ORDER

if TYPE_CHECKING:
    from context_builder.decide.rules import Rules, Step
    from context_builder.items import ContextItem, Plan, Unit

__all__ = ["Refusal", "held", "name_of"]

Refusal = Callable[[str, Exception], None]
"""Told by name of the function that raised, and what."""

_USUAL = frozenset(rung.step for rung in LADDER)


def name_of(function: object) -> str:
    """Return the name that a function is told of by."""
    return getattr(function, "__name__", type(function).__name__)


def held(ladder: tuple[Rung, ...], refuse: Refusal) -> tuple[Rung, ...]:
    """Return a ladder whose foreign rungs keep what every rung has to keep."""
    return tuple(
        rung
        if rung.step in _USUAL
        else dataclasses.replace(rung, step=_held(rung.step, refuse))
        for rung in ladder
    )


def _held(step: Step, refuse: Refusal) -> Step:
    name = name_of(step)

    def hold(plan: Plan, rules: Rules) -> Plan:
        try:
            lower = step(plan, rules)
            return _within(plan, lower.units, rules, name)
        except Exception as error:
            refuse(name, error)
            return plan

    return hold


def _within(plan: Plan, wanted: tuple[Unit, ...], rules: Rules, name: str) -> Plan:
    """Return a plan with the units as they are wanted, as far as that is allowed.

    Raises:
        ValueError: If they are not the same units in the same order.
    """
    if [unit.id for unit in wanted] != [unit.id for unit in plan.units]:
        message = "a rung returns the plan's units, each once and in their order"
        raise ValueError(message)
    latest = latest_user_index(plan)
    units = tuple(
        before
        if before.pinned or index == latest or after is before
        else _lowered(before, after, rules, name)
        for index, (before, after) in enumerate(zip(plan.units, wanted, strict=True))
    )
    gone = any(
        old.is_shown and not new.is_shown and new.kind != "background"
        for old, new in zip(plan.units, units, strict=True)
    )
    return dataclasses.replace(plan, units=units, has_gap=plan.has_gap or gone)


def _lowered(before: Unit, after: Unit, rules: Rules, name: str) -> Unit:
    """Return a unit as a rung wants it; as it was, where that is not allowed."""
    reason = after.reason or f"lowered by the rung {name}"
    if not before.is_shown or not after.is_shown or not after.items:
        return before.leave_out(reason) if before.is_shown else before
    if not _answers_the_same(before.items, after.items):
        return before
    sizes = tuple(
        size if new is old else rules.ruler.item(new, calls=before.calls)
        for old, new, size in zip(before.items, after.items, before.sizes, strict=True)
    )
    if after.items == before.items or sum(sizes) > before.tokens:
        return before
    wanted = "shortened" if after.rendition == "whole" else after.rendition
    rendition = max(before.rendition, wanted, key=LADDER_ORDER.__getitem__)
    return before.show(after.items, sizes, rendition=rendition, reason=reason)


def _answers_the_same(
    before: tuple[ContextItem, ...], after: tuple[ContextItem, ...]
) -> bool:
    """Say whether items are the same messages, calls and answers in other words."""
    return list(map(_bones, before)) == list(map(_bones, after))


def _bones(item: ContextItem) -> tuple[object, ...]:
    calls = tuple((call.id, call.name) for call in item.tool_calls)
    return item.id, item.role, item.source, item.tool_call_id, calls
