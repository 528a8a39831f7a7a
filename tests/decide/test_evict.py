"""The rungs that leave units out: whom they take, and when they stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from context_builder.decide.evict import (
    drop_optional,
    drop_summary,
    evict_least_important,
    evict_units,
)
from context_builder.decide.rules import Rules
from context_builder.items import Plan
from context_builder.settings import Settings
from tests.decide.test_rungs import RULES, Ruler, answer, memory, tools, user

if TYPE_CHECKING:
    from context_builder.items import Unit


def plan(target: int, *units: Unit, current: int = 3, **fields: Any) -> Plan:
    """Return a plan that shall come down to so many tokens."""
    return Plan(units, 0, target, target, current_turn=current, **fields)


def left(result: Plan) -> list[float]:
    """Return the numbers of the units that are out."""
    return [unit.id for unit in result.units if not unit.is_shown]


@pytest.mark.parametrize(
    ("target", "gone"), [(33, []), (32, [1]), (22, [1]), (21, [1, 0])]
)
def test_background_goes_one_by_one(target: int, gone: list[int]) -> None:
    """The least important first; and no more than has to."""
    units = (memory(0, priority=9), memory(1, priority=2), user(2, 3))
    result = drop_optional(plan(target, *units), RULES)
    assert left(result) == sorted(gone)
    assert {unit.reason for unit in result.units if not unit.is_shown} <= {
        "over budget: optional background"
    }


def test_pinned_background_stays_and_the_next_goes() -> None:
    """A pinned unit does not end the search."""
    units = (memory(0, priority=1, pinned=True), memory(1, priority=5))
    assert left(drop_optional(plan(15, *units), RULES)) == [1]


def test_the_class_furthest_over_its_share_yields_first() -> None:
    """Results over theirs leave before talk under its own, whatever the priority."""
    units = (
        user(0, 1, priority=1),
        tools(1, 1, 60, priority=30),
        tools(4, 1, 60, priority=20),
        user(7, 3),
    )
    total = sum(unit.tokens for unit in units)
    result = evict_least_important(plan(total - 20, *units), RULES)
    assert left(result) == [4]
    assert result.has_gap
    assert result.units[2].reason == (
        "over budget: the least important goes first, then the oldest"
    )


def test_neither_the_current_turn_nor_what_is_pinned_nor_a_summary_leaves() -> None:
    """They are no part of what may go here; without others the plan is the same."""
    units = (
        user(0, 1, pinned=True),
        answer(1, 1, kind="summary"),
        memory(2),
        user(3, 3),
        tools(4, 3, 50),
    )
    before = plan(1, *units)
    assert evict_least_important(before, RULES) is before


def test_no_more_leaves_than_has_to() -> None:
    """The first place that is enough is where it stops."""
    units = (answer(0, 1), answer(1, 1), answer(2, 1), user(3, 3))
    total = sum(unit.tokens for unit in units)
    one = units[0].tokens
    assert left(evict_least_important(plan(total, *units), RULES)) == []
    assert left(evict_least_important(plan(total - one, *units), RULES)) == [0]
    assert left(evict_least_important(plan(total - one - 1, *units), RULES)) == [0, 1]


def test_the_notice_of_a_gap_counts() -> None:
    """What leaves has to make room for the line that says so, once."""
    units = (answer(0, 1), answer(1, 1), user(2, 3))
    total = sum(unit.tokens for unit in units)
    one = units[0].tokens
    result = evict_least_important(plan(total - one, *units, notice_tokens=2), RULES)
    assert left(result) == [0, 1]
    result = evict_units(plan(total - one, *units, notice_tokens=2), [0, 1, 2], "why")
    assert left(result) == [0, 1]
    gone = plan(total - one, *units, notice_tokens=2, has_gap=True)
    assert left(evict_units(gone, [0, 1, 2], "why")) == [0, 1]
    exact = plan(total - one + 2, *units, notice_tokens=2)
    assert left(evict_units(exact, [0, 1, 2], "why")) == [0]


def test_an_order_is_kept_and_stops_in_time() -> None:
    """Pinned units and those that are out already are passed over."""
    units = (
        answer(0, 1),
        answer(1, 1, pinned=True),
        answer(2, 1).leave_out("before"),
        answer(3, 1),
    )
    result = evict_units(plan(15, *units), [2, 1, 3, 0], "why")
    assert left(result) == [0, 2, 3]
    assert [unit.reason for unit in result.units] == ["why", "", "before", "why"]
    assert result.has_gap
    same = evict_units(plan(99, *units), [3, 0], "why")
    assert left(same) == [2]
    assert not same.has_gap


def test_the_summary_leaves_and_says_why() -> None:
    """Only where it has to."""
    units = (answer(0, 1, kind="summary"), answer(1, 1))
    result = drop_summary(plan(11, *units), RULES)
    assert left(result) == [0]
    assert result.units[0].reason == "over budget: the current turn comes first"
    assert left(drop_summary(plan(22, *units), RULES)) == []


def important(target: int, words: int, **fields: Any) -> Unit:
    """Return what becomes of one important message of an earlier turn."""
    rules = Rules(Ruler(), Settings(truncate_at=60))
    unit = answer(0, 1, words, **fields)
    units = (unit, user(1, 3))
    total = sum(one.tokens for one in units)
    return evict_least_important(plan(total - target, *units), rules).units[0]


def test_what_is_important_enough_is_shortened_to_what_is_left() -> None:
    """And says so; below that rating it leaves."""
    shown = important(50, 200, priority=60)
    assert shown.rendition == "shortened"
    assert shown.reason == "over budget: too important to be left out"
    assert 100 < shown.tokens <= 151
    assert important(50, 200, priority=59).rendition == "absent"


def test_a_fragment_too_small_to_be_worth_it_is_not_left() -> None:
    """Nor is one shortened twice, or a call with its results."""
    assert important(195, 200, priority=60).rendition == "absent"
    assert important(50, 200, priority=60, rendition="shortened").rendition == "absent"
    rules = Rules(Ruler(), Settings(truncate_at=60))
    units = (tools(0, 1, 200, priority=70), user(3, 3))
    total = sum(one.tokens for one in units)
    result = evict_least_important(plan(total - 50, *units), rules)
    assert left(result) == [0]


def test_what_is_important_does_not_make_way_for_the_digest() -> None:
    """The room that is kept for it is worth less than such a message."""
    rules = Rules(Ruler(), Settings(truncate_at=60))
    units = (answer(0, 1, 20, priority=60), answer(1, 1, 20, priority=61), user(2, 3))
    total = sum(one.tokens for one in units)
    spared = plan(total, *units, reserve_tokens=10)
    assert left(evict_least_important(spared, rules)) == []
    needed = plan(total - 1, *units, reserve_tokens=10)
    assert left(evict_least_important(needed, rules)) == [0]
