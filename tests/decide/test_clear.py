"""References in place of results: which, in which order, and what they say."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from context_builder.decide.clear import (
    clear_units,
    keep_newest_results,
    reference_text,
)
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Mark, Plan
from context_builder.settings import Settings
from tests.decide.test_rungs import RULES, Ruler, answer, tools

if TYPE_CHECKING:
    from context_builder.items import Unit

HANDLE = "it can be fetched again as"


def plan(target: int, *units: Unit) -> Plan:
    """Return a plan of which the third turn is the current one."""
    return Plan(units, 0, target, target, current_turn=3)


def whole(result: Plan) -> list[str]:
    """Return the ids of the results that are not references."""
    return [
        item.id
        for unit in result.units
        for item in unit.items
        if item.role == "tool" and HANDLE not in item.text
    ]


def keep(most: int | None) -> Rules:
    """Return rules that keep so many results."""
    return Rules(Ruler(), Settings(keep_tool_results=most))


ROUNDS = (tools(0, 1, 80, 80), answer(3, 1), tools(4, 2, 80, 80, 80), tools(8, 3, 80))


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (0, []),
        (1, ["i9"]),
        (2, ["i7", "i9"]),
        (4, ["i5", "i6", "i7", "i9"]),
        (5, ["i2", "i5", "i6", "i7", "i9"]),
        (6, ["i1", "i2", "i5", "i6", "i7", "i9"]),
    ],
)
def test_the_newest_results_stay_whole(most: int, kept: list[str]) -> None:
    """Counted one by one from the newest, not round by round."""
    assert whole(keep_newest_results(plan(9_999, *ROUNDS), keep(most))) == kept


def test_without_a_number_or_with_enough_nothing_changes() -> None:
    """The very same plan comes back."""
    before = plan(9_999, *ROUNDS)
    assert keep_newest_results(before, keep(None)) is before
    assert keep_newest_results(before, keep(6)) is before
    small = plan(9_999, tools(0, 1, 3, 3))
    assert keep_newest_results(small, keep(0)) is small


def test_pinned_results_count_and_stay_and_stand_ins_do_not_count() -> None:
    """Nor does what is not shown, or is a reference already."""
    pinned = dataclasses.replace(ROUNDS[3], pinned=True)
    assert whole(keep_newest_results(plan(9_999, *ROUNDS[:3], pinned), keep(1))) == [
        "i9"
    ]
    assert whole(keep_newest_results(plan(9_999, *ROUNDS[:3], pinned), keep(0))) == [
        "i9"
    ]
    stand_in = dataclasses.replace(ROUNDS[3].items[1], source="repair")
    unit = dataclasses.replace(
        ROUNDS[3],
        items=(ROUNDS[3].items[0], stand_in),
        originals=(ROUNDS[3].items[0], stand_in),
    )
    found = whole(keep_newest_results(plan(9_999, *ROUNDS[:3], unit), keep(1)))
    assert found == ["i7", "i9"]
    gone = ROUNDS[3].leave_out("why")
    found = whole(keep_newest_results(plan(9_999, *ROUNDS[:3], gone), keep(1)))
    assert found == ["i7"]


def test_what_became_a_reference_says_so() -> None:
    """In its mark, and in the unit's name."""
    unit = keep_newest_results(plan(9_999, *ROUNDS), keep(5)).units[0]
    assert unit.rendition == "shortened"
    assert unit.reason == "older results became references"
    reason = "older than the newest results that are kept"
    assert unit.marks == (Mark("i1", "referenced", reason),)
    assert unit.items[1].text == reference_text(unit.originals[1], 81, RULES)
    again = keep_newest_results(plan(9_999, unit, *ROUNDS[1:]), keep(5))
    assert again.units[0] is unit
    referenced = dataclasses.replace(ROUNDS[0], rendition="reference")
    kept = plan(9_999, referenced)
    assert keep_newest_results(kept, keep(0)) is kept


def test_rounds_are_cleared_in_the_order_given_until_it_fits() -> None:
    """Pinned rounds and references are passed over."""
    total = sum(unit.tokens for unit in ROUNDS)
    order = [2, 0, 3]
    assert whole(clear_units(plan(total, *ROUNDS), RULES, order)) == whole(
        plan(1, *ROUNDS)
    )
    one = clear_units(plan(total - 1, *ROUNDS), RULES, order)
    assert whole(one) == ["i1", "i2", "i9"]
    assert one.units[2].reason == (
        "over budget: an older result, replaced by a reference"
    )
    freed = total - one.tokens
    assert whole(clear_units(plan(total - freed, *ROUNDS), RULES, order)) == [
        "i1", "i2", "i9",
    ]  # fmt: skip
    more = clear_units(plan(total - freed - 1, *ROUNDS), RULES, order)
    assert whole(more) == ["i9"]
    pinned = dataclasses.replace(ROUNDS[2], pinned=True)
    spared = clear_units(plan(total - 1, *ROUNDS[:2], pinned, ROUNDS[3]), RULES, order)
    assert whole(spared) == ["i5", "i6", "i7", "i9"]


def said(room: int | None, facts: list[tuple[str, float]], whole_tokens: int) -> str:
    """Return the reference of a result that holds these facts."""
    rules = Rules(
        Ruler(), Settings(reference_facts_tokens=10), facts=lambda _: list(facts)
    )
    item = ContextItem(role="tool", content="It says this.", id="i1")
    return reference_text(item, whole_tokens, rules, room)


FACTS = [("a b", 1.0), ("c", 3.0), ("d e f", 2.0)]


@pytest.mark.parametrize(
    ("room", "whole_tokens", "kept"),
    [
        (None, 1_000, "In it: a b, c, d e f"),
        (9, 1_000, "In it: a b, c, d e f"),
        (8, 1_000, "In it: c, d e f"),
        (5, 1_000, "In it: a b, c"),
        (4, 1_000, "In it: c"),
        (1, 1_000, "It began: It says this."),
        (None, 20, "In it: c, d e f"),
        (None, 4, "It began: It says this."),
    ],
)
def test_a_reference_holds_the_facts_that_are_worth_most(
    room: int | None, whole_tokens: int, kept: str
) -> None:
    """In their order; where there is room for none, how the result began."""
    assert said(room, FACTS, whole_tokens) == (
        f"[Result of {whole_tokens:,} tokens left out; it can be fetched again as "
        f"i1. {kept}]"
    )


def test_an_empty_result_is_told_by_its_size_alone() -> None:
    """There is nothing else to say."""
    item = ContextItem(role="tool", content="", id="i1")
    assert reference_text(item, 1, RULES) == (
        "[Result of 1 tokens left out; it can be fetched again as i1.]"
    )
