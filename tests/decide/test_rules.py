"""How much a unit matters, which share it counts in, and who goes first."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.decide.rules import (
    Rules,
    class_of,
    eviction_order,
    importance,
    rating,
)
from context_builder.items import ContextItem, Plan
from context_builder.settings import Settings
from tests.decide.test_rungs import RULES, Ruler, answer, memory, tools, user

if TYPE_CHECKING:
    from context_builder.items import Unit

SUMMARY = dataclasses.replace(answer(0, 1), kind="summary")
NOTE = dataclasses.replace(answer(0, 1), kind="note")


def plan(*units: Unit, current: int = 3, **fields: Any) -> Plan:
    """Return a plan with room for nothing."""
    return Plan(units, 0, 0, 0, current_turn=current, **fields)


@pytest.mark.parametrize(
    ("unit", "share"),
    [
        (memory(0, 3), "background"),
        (NOTE, "system"),
        (tools(0, 2, 5), "tool_results"),
        (tools(0, 3, 5), "latest_turn"),
        (user(0, 2), "history"),
        (user(0, 3), "latest_turn"),
        (dataclasses.replace(SUMMARY, turn=3), "history"),
    ],
)
def test_each_unit_counts_in_one_share(unit: Unit, share: str) -> None:
    """By what it is, and by whether its turn is over."""
    assert class_of(unit, 3) == share


@pytest.mark.parametrize(
    ("unit", "priority"),
    [
        (user(0, 1, priority=7), 7),
        (memory(0, 3, priority=0), 0),
        (SUMMARY, 70),
        (user(0, 3), 90),
        (answer(0, 3), 70),
        (tools(0, 3, 5), 80),
        (user(0, 2), 69),
        (tools(0, 2, 5), 69),
        (dataclasses.replace(tools(0, 1, 5), refreshed_turn=3), 80),
        (dataclasses.replace(answer(0, 1), refreshed_turn=2), 69),
    ],
)
def test_a_priority_fades_with_the_turns(unit: Unit, priority: int) -> None:
    """But for one that was given; shown again is as new."""
    settings = Settings(decay_per_turn=1, history_floor=10)
    assert importance(unit, 3, settings) == priority


def test_history_fades_to_its_floor() -> None:
    """And not below it."""
    settings = Settings(decay_per_turn=10, history_floor=31)
    assert importance(answer(0, 1), 50, settings) == 31


def test_a_rule_of_ones_own_rates_what_nobody_did() -> None:
    """It is given the first item, the age in turns and the kind."""
    seen = []

    def rule(item: ContextItem, age: int, kind: str) -> int | None:
        seen.append((item.id, age, kind))
        return 3 if kind == "message" else None

    rules = Rules(Ruler(), Settings(), priority_rule=rule)
    assert rating(user(0, 1), 4, rules) == 3
    assert rating(user(1, 6), 4, rules) == 3
    assert rating(user(2, 1, priority=8), 4, rules) == 8
    tool = tools(3, 2, 5)
    assert rating(tool, 4, rules) == importance(tool, 4, rules.settings)
    refreshed = dataclasses.replace(user(5, 1), refreshed_turn=3)
    assert rating(refreshed, 4, rules) == 3
    assert seen == [
        ("i0", 3, "message"),
        ("i1", 0, "message"),
        ("i3", 2, "tool"),
        ("i5", 1, "message"),
    ]


def test_the_least_important_yields_first_then_the_oldest_the_first_messages_last() -> (
    None
):
    """The order in which units leave."""
    units = (
        user(0, 1, priority=5),
        user(1, 1, priority=9),
        user(2, 1, priority=5),
        user(3, 1, priority=1),
    )
    order = sorted(
        range(4), key=eviction_order(plan(*units, head=frozenset({3})), RULES)
    )
    assert order == [0, 2, 1, 3]


def test_what_was_worked_out_is_not_worked_out_again() -> None:
    """For the same object; another one is asked for anew."""
    rules = Rules(Ruler(), Settings())
    first, second = object(), object()
    asked: list[int] = []

    def work() -> int:
        asked.append(1)
        return len(asked)

    assert [rules.once("size", first, work) for _ in range(3)] == [1, 1, 1]
    assert rules.once("size", second, work) == 2
    assert rules.once("other", first, work) == 3
    assert rules.once("size", first, work) == 1
