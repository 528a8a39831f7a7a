"""What somebody else's rung may do to a unit, and what is undone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from context_builder.decide.own_rungs import held
from context_builder.decide.plan import Rung
from context_builder.items import Plan
from tests.decide.test_rungs import RULES, answer, memory, tools, user

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.decide.rules import Rules
    from context_builder.items import Unit

UNITS = (
    memory(0),
    answer(1, 1, 40),
    answer(2, 1, 40, pinned=True),
    tools(3, 1, 40),
    user(6, 3, 40),
)
BEFORE = Plan(UNITS, 0, 10, 10, current_turn=3)


def after(
    change: Callable[[Unit], Unit], *units: Unit, has_gap: bool = False
) -> tuple[Plan, list[tuple[str, str]]]:
    """Return the plan behind a rung that changes every unit, and what it raised."""
    told: list[tuple[str, str]] = []

    def rung(plan: Plan, rules: Rules) -> Plan:
        del rules
        return dataclasses.replace(
            plan, units=tuple(map(change, plan.units)), target_tokens=99
        )

    before = dataclasses.replace(BEFORE, units=units or UNITS, has_gap=has_gap)
    (only,) = held((Rung(rung),), lambda name, error: told.append((name, str(error))))
    return only.step(before, RULES), told


def shorter(unit: Unit, words: str = "less", **fields: str) -> Unit:
    """Say something else in each item."""
    items = tuple(item.with_content(words) for item in unit.items)
    return dataclasses.replace(unit, items=items, **fields)  # type: ignore[arg-type]


def test_pinned_units_and_the_latest_message_stay() -> None:
    """Everything else may be left out; the figures of the plan are not the rung's."""
    plan, told = after(lambda unit: unit.leave_out("mine"))
    assert [unit.is_shown for unit in plan.units] == [False, False, True, False, True]
    assert {unit.reason for unit in plan.units if not unit.is_shown} == {"mine"}
    assert (plan.target_tokens, plan.has_gap, told) == (10, True, [])
    unnamed, _ = after(lambda unit: dataclasses.replace(unit.leave_out(""), reason=""))
    assert unnamed.units[0].reason == "lowered by the rung rung"


@pytest.mark.parametrize(("units", "gap"), [((UNITS[0],), False), ((UNITS[1],), True)])
def test_a_gap_is_where_the_talk_has_one(units: tuple[Unit, ...], *, gap: bool) -> None:
    """Background is no part of it; a gap that was there stays."""
    plan, _ = after(lambda unit: unit.leave_out("mine"), *units)
    assert plan.has_gap is gap
    plan, _ = after(lambda unit: unit, *units, has_gap=True)
    assert plan.has_gap


def test_what_is_said_shorter_is_measured_here() -> None:
    """Whatever the rung says of its sizes; it is no longer whole."""
    plan, _ = after(lambda unit: shorter(unit, reason="mine"))
    short = plan.units[1]
    assert (short.rendition, short.reason, short.sizes) == ("shortened", "mine", (2,))
    assert plan.units[3].sizes == (3, 2)
    named, _ = after(lambda unit: shorter(unit, rendition="reference"))
    assert named.units[1].rendition == "reference"
    lower, _ = after(shorter, dataclasses.replace(UNITS[1], rendition="reference"))
    assert lower.units[0].rendition == "reference"


@pytest.mark.parametrize(
    "change",
    [
        lambda unit: shorter(unit, "more " * 99),
        lambda unit: dataclasses.replace(unit, reason="nothing else"),
        lambda unit: dataclasses.replace(unit, items=unit.items[::-1]),
        lambda unit: dataclasses.replace(
            unit,
            items=tuple(
                dataclasses.replace(item, role="system", content="x")
                for item in unit.items
            ),
        ),
        lambda unit: dataclasses.replace(unit, items=unit.items[:1], sizes=(1,)),
    ],
)
def test_what_is_no_loss_or_not_the_same_messages_is_undone(
    change: Callable[[Unit], Unit],
) -> None:
    """Longer, equal, in another order, by somebody else, or parted."""
    plan, told = after(change, UNITS[3])
    assert plan.units == (UNITS[3],)
    assert told == []


def test_what_left_does_not_come_back() -> None:
    """Not by a rung; and what has no items any more has left."""
    gone = UNITS[1].leave_out("before")
    plan, _ = after(lambda unit: dataclasses.replace(unit, rendition="whole"), gone)
    assert plan.units == (gone,)
    plan, _ = after(lambda unit: dataclasses.replace(unit, items=()), UNITS[1])
    assert not plan.units[0].is_shown


def test_a_rung_that_parts_with_units_or_raises_has_done_nothing() -> None:
    """It is told of by its name."""
    told: list[tuple[str, str]] = []

    def losing(plan: Plan, rules: Rules) -> Plan:
        del rules
        return dataclasses.replace(plan, units=plan.units[1:])

    def raising(plan: Plan, rules: Rules) -> Plan:
        raise KeyError(len(plan.units), rules.ladder)

    rungs = held(
        (Rung(losing), Rung(raising)), lambda name, e: told.append((name, str(e)))
    )
    assert [rung.step(BEFORE, RULES) for rung in rungs] == [BEFORE, BEFORE]
    assert told == [
        ("losing", "a rung returns the plan's units, each once and in their order"),
        ("raising", "(5, None)"),
    ]
