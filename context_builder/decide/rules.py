"""What a step of the ladder may use besides the plan: a ruler and the settings.

`decide` is pure. It measures with what it is given and knows no tokenizer, no vendor
and no clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

from context_builder.items import (
    PRIORITY_BACKGROUND,
    PRIORITY_CURRENT_TOOL,
    PRIORITY_HISTORY,
    PRIORITY_LATEST_USER,
    ContextItem,
    Plan,
    Unit,
)
from context_builder.settings import ContextClass, Settings

__all__ = ["Ruler", "Rules", "Step", "class_of", "eviction_order", "importance"]


class Ruler(Protocol):
    """Measures in the tokens of one target. Nothing is measured twice."""

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs in a request, framing included.

        Args:
            item: The item as it would be shown.
            calls: How many calls were made at once where it is a call or its result:
                some vendors show several in another way than one.
        """

    def whole(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs as it came in; remembered for the session."""

    def text(self, text: str) -> int:
        """Return the tokens of a text alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What the steps go by."""

    ruler: Ruler
    settings: Settings


Step = Callable[[Plan, Rules], Plan]
"""One rung of the ladder: takes a plan, returns one that costs less, or the same
plan."""


def class_of(unit: Unit, current_turn: int) -> ContextClass:
    """Say which share of the budget a unit counts in."""
    match unit.kind:
        case "background":
            return "background"
        case "note":
            return "system"
        case "tool" if unit.turn < current_turn:
            return "tool_results"
        case _ if unit.turn < current_turn or unit.kind == "summary":
            return "history"
        case _:
            return "latest_turn"


def importance(unit: Unit, current_turn: int, settings: Settings) -> int:
    """Return the priority of a unit now, from 0 to 100.

    A given priority wins and never decays. Everything of an earlier turn is history:
    calls and their results with one priority.
    """
    if unit.priority is not None:
        return unit.priority
    if unit.kind == "background":
        return PRIORITY_BACKGROUND
    if unit.kind == "summary":
        return PRIORITY_HISTORY
    age = current_turn - max(unit.turn, unit.refreshed_turn or 0)
    if age <= 0 and unit.starts_turn:
        return PRIORITY_LATEST_USER
    if age <= 0 and unit.kind == "tool":
        return PRIORITY_CURRENT_TOOL
    return max(settings.history_floor, PRIORITY_HISTORY - settings.decay_per_turn * age)


def eviction_order(plan: Plan, rules: Rules) -> Callable[[int], tuple[int, float]]:
    """Return the sort key by which units yield: the least important, oldest first.

    It takes the unit's place in `plan.units`.
    """

    def key(index: int) -> tuple[int, float]:
        unit = plan.units[index]
        return importance(unit, plan.current_turn, rules.settings), unit.id

    return key
