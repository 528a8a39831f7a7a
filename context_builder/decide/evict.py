"""The rungs that leave units out: background, history, the summary of history."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.budget import allowances, demand
from context_builder.decide.passing import belongs_to_latest
from context_builder.decide.rules import (
    Rules,
    class_of,
    eviction_order,
    rating,
)
from context_builder.decide.shorten import MIN_TOKENS, shorten_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.items import Plan, Unit
    from context_builder.settings import ContextClass

__all__ = ["drop_optional", "drop_summary", "evict_least_important", "evict_units"]

_EVICTED = "over budget: the least important goes first, then the oldest"
_LEAST_FRAGMENT_TOKENS = 2 * MIN_TOKENS
_YIELDING: tuple[ContextClass, ...] = ("tool_results", "history")


def drop_optional(plan: Plan, rules: Rules) -> Plan:
    """Leave out optional background, the least important first, until the plan fits."""
    background = [
        n
        for n, unit in enumerate(plan.units)
        if unit.kind == "background" and not belongs_to_latest(unit, plan.current_turn)
    ]
    if not background:
        return plan
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index in sorted(background, key=eviction_order(plan, rules)):
        if excess_tokens <= 0:
            break
        if not units[index].pinned:
            excess_tokens -= units[index].tokens
            units[index] = units[index].leave_out("over budget: optional background")
    return dataclasses.replace(plan, units=tuple(units))


def evict_least_important(plan: Plan, rules: Rules) -> Plan:
    """Leave out units of earlier turns until the plan fits.

    The class that is furthest over its share yields first; within a class the least
    important, oldest first. What is important enough is shortened to what is left.
    """
    queues = _queues(plan, rules)
    if not any(queues.values()):
        return plan
    units = list(plan.units)
    plan = dataclasses.replace(plan, has_gap=True)
    tokens = demand(plan)
    allowed = allowances(tokens, rules.settings.shares, plan.target_tokens)
    over = {name: tokens[name] - allowed[name] for name in _YIELDING}
    excess_tokens = plan.excess_tokens
    while excess_tokens > 0 and any(queues.values()):
        name = max((n for n in _YIELDING if queues[n]), key=lambda n: over[n])
        index = queues[name].pop()
        unit = units[index]
        rated = rating(unit, plan.current_turn, rules)
        over_tokens = excess_tokens
        if rated >= rules.settings.truncate_at:
            over_tokens -= plan.reserve_tokens  # the digest is worth less than this
            if over_tokens <= 0:
                continue
        units[index] = _shortened_or_out(unit, over_tokens, rated, rules)
        freed_tokens = unit.tokens - units[index].tokens
        excess_tokens -= freed_tokens
        over[name] -= freed_tokens
    return dataclasses.replace(plan, units=tuple(units))


def drop_summary(plan: Plan, rules: Rules) -> Plan:
    """Leave out the summary: less important than what the current turn holds."""
    del rules
    summaries = [n for n, unit in enumerate(plan.units) if unit.kind == "summary"]
    return evict_units(plan, summaries, "over budget: the current turn comes first")


def _queues(plan: Plan, rules: Rules) -> dict[ContextClass, list[int]]:
    """Return for each class the places of what may go; the next to go stands last."""
    queues: dict[ContextClass, list[int]] = {name: [] for name in _YIELDING}
    for index, unit in enumerate(plan.units):
        name = class_of(unit, plan.current_turn)
        may_go = unit.turn < plan.current_turn and unit.kind != "summary"
        if name in queues and not unit.pinned and may_go:
            queues[name].append(index)
    key = eviction_order(plan, rules)
    return {
        name: sorted(places, key=key, reverse=True) for name, places in queues.items()
    }


def _shortened_or_out(unit: Unit, excess_tokens: int, rated: int, rules: Rules) -> Unit:
    """Leave a unit out; one of high priority is shortened to what is left instead."""
    room_tokens = unit.tokens - excess_tokens
    if (
        rated >= rules.settings.truncate_at
        and unit.rendition == "whole"
        and room_tokens >= _LEAST_FRAGMENT_TOKENS
        and unit.kind != "tool"
        and isinstance(unit.items[0].content, str)
    ):
        return _shortened(unit, room_tokens, rules)
    return rules.once("evicted", unit, lambda: unit.leave_out(_EVICTED), lasts=True)


def _shortened(unit: Unit, room_tokens: int, rules: Rules) -> Unit:
    item = unit.items[0]
    framing_tokens = unit.tokens - rules.ruler.text(item.text)
    limit_tokens = max(MIN_TOKENS, room_tokens - framing_tokens)
    short = item.with_content(shorten_text(item.text, limit_tokens, rules.ruler.text))
    return unit.show(
        (short,),
        (rules.ruler.item(short),),
        rendition="shortened",
        reason="over budget: too important to be left out",
    )


def evict_units(plan: Plan, order: Sequence[int], reason: str) -> Plan:
    """Leave out these units, in this order, until the plan fits."""
    units = list(plan.units)
    gap_tokens = 0 if plan.has_gap else plan.notice_tokens
    excess_tokens = plan.excess_tokens
    has_gap = plan.has_gap
    for index in order:
        if excess_tokens <= 0:
            break
        if units[index].pinned or units[index].rendition == "absent":
            continue
        excess_tokens += gap_tokens - units[index].tokens
        gap_tokens, has_gap = 0, True
        units[index] = units[index].leave_out(reason)
    return dataclasses.replace(plan, units=tuple(units), has_gap=has_gap)
