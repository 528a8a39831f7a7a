"""What is true for one message only: when it goes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from context_builder.decide.passing import (
    belongs_to_latest,
    drop_latest_values,
    drop_passing,
    is_stale_value,
)
from context_builder.items import Plan, Unit
from context_builder.passing import CONTEXT_PREFIX
from tests.decide.test_rungs import RULES, memory, tools, user


def value(number: int, turn: int, **fields: Any) -> Unit:
    """Return a value that came with the message of the turn behind it."""
    unit = memory(number, turn, **fields)
    item = dataclasses.replace(
        unit.items[0], source=f"{CONTEXT_PREFIX}clock", optional=True
    )
    return dataclasses.replace(unit, items=(item,), originals=(item,))


def plan(target: int, *units: Unit) -> Plan:
    """Return a plan of which the third turn is the current one."""
    return Plan(units, 0, target, target, current_turn=3)


@pytest.mark.parametrize(
    ("turn", "latest", "stale"),
    [(1, False, True), (2, True, False), (3, True, False)],
)
def test_a_value_belongs_to_the_message_behind_it(
    turn: int, *, latest: bool, stale: bool
) -> None:
    """It stands at the end of the turn before."""
    unit = value(0, turn)
    assert belongs_to_latest(unit, 3) is latest
    assert is_stale_value(unit, 3) is stale
    assert not belongs_to_latest(memory(0, turn), 3)
    assert not is_stale_value(memory(0, turn), 3)
    message = dataclasses.replace(unit, kind="message")
    assert not belongs_to_latest(message, 3)


def test_stale_values_go_at_the_first_compaction() -> None:
    """All of them, whether there is room or not; but none that is pinned."""
    units = (value(0, 1), value(1, 1, pinned=True), value(2, 2), memory(3), user(4, 3))
    result = drop_passing(plan(999, *units), RULES)
    assert [unit.id for unit in result.units if not unit.is_shown] == [0]
    assert result.units[0].reason == (
        "a value of an earlier message: it goes at the first compaction"
    )
    kept = plan(999, *units[1:])
    assert drop_passing(kept, RULES) is kept
    rounds = plan(999, tools(0, 1, 5), tools(2, 3, 5))
    assert drop_passing(rounds, RULES) is rounds


@pytest.mark.parametrize(
    ("target", "gone"), [(31, []), (30, [0]), (21, [0]), (20, [0, 2])]
)
def test_the_latest_values_go_when_nothing_else_is_left(
    target: int, gone: list[int]
) -> None:
    """The first before the next, and no more than has to."""
    units = (
        value(0, 2, words=9),
        value(1, 2, words=0, pinned=True),
        value(2, 3, words=9),
        user(3, 3, 9),
    )
    result = drop_latest_values(plan(target, *units), RULES)
    assert sum(unit.tokens for unit in units) == 31
    assert [unit.id for unit in result.units if not unit.is_shown] == gone
    assert {unit.reason for unit in result.units if not unit.is_shown} <= {
        "over budget: not even the values of this message fit"
    }
