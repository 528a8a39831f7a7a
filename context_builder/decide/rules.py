"""What a step of the ladder may use besides the plan: a ruler and the settings.

`decide` is pure. It measures with what it is given and knows no tokenizer, no vendor
and no clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from context_builder.decide.facts import facts
from context_builder.decide.passing import belongs_to_latest, is_stale_value
from context_builder.items import (
    PRIORITY_BACKGROUND,
    PRIORITY_CURRENT_TOOL,
    PRIORITY_HISTORY,
    PRIORITY_LATEST_USER,
    ContextItem,
    Plan,
    Unit,
    UnitKind,
)
from context_builder.settings import ContextClass, Settings

__all__ = [
    "Memo",
    "PriorityRule",
    "Ruler",
    "Rules",
    "Rung",
    "Step",
    "class_of",
    "eviction_order",
    "importance",
    "rating",
]

PriorityRule = Callable[[ContextItem, int, UnitKind], int | None]
"""Rates a unit by its first item, its age in turns and its kind: 0 to 100, or None for
the usual priority. It has to be pure."""

_T = TypeVar("_T")
Memo = dict[tuple[str, int], tuple[object, Any]]
"""What was worked out, by what was asked and the object that it is about."""


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

    def composed(
        self, item: ContextItem, parts: Sequence[str], known: Mapping[int, int]
    ) -> tuple[int, Mapping[int, int]]:
        """Return what an item costs whose text is put together from parts.

        It is what `item` says, and known parts are not counted again, where the counts
        of parts add up.

        Args:
            item: The item. Its content is all parts, one after another.
            parts: The parts, in order.
            known: What parts take, by the hash of their text.

        Returns:
            The tokens, and what each part takes; nothing where they do not add up.
        """

    def prepare(self, items: Iterable[tuple[ContextItem, int]]) -> None:
        """Count what will be measured soon, on all processors: items and calls."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What the steps go by."""

    ruler: Ruler
    settings: Settings
    ladder: tuple[Rung, ...] | None = None
    """Somebody's own rungs; None: the usual ones."""
    priority_rule: PriorityRule | None = None
    """Rates what nobody gave a priority; None: by kind and age."""
    facts: Callable[[str], list[tuple[str, float]]] = facts
    """Finds what a text holds that cannot be reworded; see there."""
    lasting: Memo | None = dataclasses.field(default=None, compare=False, repr=False)
    """What holds longer than one compaction, for those who take the same session over
    again and again; None: nothing does."""
    memo: Memo = dataclasses.field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """What was worked out in this compaction; see `once`."""

    def once(
        self, name: str, about: object, work: Callable[[], _T], *, lasts: bool = False
    ) -> _T:
        """Return what `work` says about an object, and ask once a compaction.

        A plan goes down the ladder more than once until it fits, over the same units.

        Args:
            name: What is asked.
            about: The object.
            work: Works it out.
            lasts: Whether it says the same in every compaction.
        """
        memo = self.lasting if lasts and self.lasting is not None else self.memo
        known = memo.get((name, id(about)))
        if known is None:
            known = memo[name, id(about)] = (about, work())
        found: _T = known[1]
        return found


Step = Callable[[Plan, Rules], Plan]
"""One rung of the ladder: takes a plan, returns one that costs less, or the same
plan."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rung:
    """A step of the ladder, and when it may be taken."""

    step: Step
    needs_limit: bool = False
    """Only while the plan is over the budget itself, not just over the low mark."""
    may_be_skipped: bool = True
    """Whether it is skipped for a small gain. Not where the less important would then
    outlive the more important."""


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
        return _background(unit, current_turn)
    if unit.kind == "summary":
        return PRIORITY_HISTORY
    age = _age(unit, current_turn)
    if age <= 0 and unit.starts_turn:
        return PRIORITY_LATEST_USER
    if age <= 0 and unit.kind == "tool":
        return PRIORITY_CURRENT_TOOL
    rated = PRIORITY_HISTORY - settings.decay_per_turn * age
    return rated if rated > settings.history_floor else settings.history_floor


def _age(unit: Unit, current_turn: int) -> int:
    """Return for how many turns nothing equal has come in."""
    if unit.refreshed_turn is None:
        return current_turn - unit.turn
    return current_turn - max(unit.turn, unit.refreshed_turn)


def _background(unit: Unit, current_turn: int) -> int:
    """Return the priority of background: values go with the message they came with."""
    if belongs_to_latest(unit, current_turn):
        return PRIORITY_LATEST_USER
    return 0 if is_stale_value(unit, current_turn) else PRIORITY_BACKGROUND


def rating(unit: Unit, current_turn: int, rules: Rules) -> int:
    """Return the priority of a unit now, by somebody's own rule where there is one.

    A given priority wins over every rule.
    """
    if rules.priority_rule is not None and unit.priority is None:
        age = max(0, _age(unit, current_turn))
        rated = rules.priority_rule(unit.originals[0], age, unit.kind)
        if rated is not None:
            return rated
    return importance(unit, current_turn, rules.settings)


def eviction_order(
    plan: Plan, rules: Rules
) -> Callable[[int], tuple[bool, int, float]]:
    """Return the sort key by which units yield: the least important, oldest first.

    The first messages go last, where they are to stay. It takes the unit's place in
    `plan.units`.
    """
    units, turn, head = plan.units, plan.current_turn, plan.head

    def key(index: int) -> tuple[bool, int, float]:
        unit = units[index]
        return unit.id in head, rating(unit, turn, rules), unit.id

    return key
