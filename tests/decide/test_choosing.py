"""Where a choice begins and ends: passages to bring back, units too old to look at."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.decide.archive import Archive, Search
from context_builder.decide.dedup import drop_superseded
from context_builder.decide.horizon import BEYOND, beyond_horizon, unit_id_of
from context_builder.decide.plan import Rung, descend
from context_builder.decide.recall import Found, choose_passages
from context_builder.decide.rules import Rules
from context_builder.items import Mark, Plan, Unit, UnitChanged, UnitDropped
from context_builder.settings import Settings
from tests.decide.test_digest import looked_up, said
from tests.decide.test_rungs import (
    RULES,
    Ruler,
    answer,
    fates,
    memory,
    plan,
    tools,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.decide.passages import Passage
    from context_builder.items import Change

# --- Passages


TEXT = "so it was then and there " * 2


def choose(
    ranked: Sequence[tuple[float, int]], limit: int, **fields: Any
) -> tuple[list[float], int]:
    """Return the units of which something is chosen, and what that takes.

    Six units left, of one passage each: number n is of unit n + 1.
    """
    units = {float(n): said(n, TEXT).leave_out("why") for n in range(1, 7)}
    units |= fields.pop("units", {})
    archive = Archive()
    for unit in units.values():
        archive.add(unit)
    given: dict[str, Any] = {"least": 0.0, **fields}
    search = Search(tuple(ranked), 1.0, given.pop("least"))
    found = choose_passages(
        search,
        archive,
        limit_tokens=limit,
        is_said=given.pop("is_said", lambda _: False),
        unit_of=given.pop("unit_of", units.get),
        texts=1,
    )
    return [passage.unit_id for passage in found.passages], found.tokens


EACH = 12 + 1 - 3
"""What a passage takes that is all of its item: without the frame of a message."""


@pytest.mark.parametrize(
    ("limit", "chosen"),
    [
        (EACH - 1, []),
        (EACH, [6]),
        (2 * EACH, [3, 6]),
        (3 * EACH, [1, 3, 6]),
        (1_000, [1, 3, 6]),
    ],
)
def test_the_best_are_chosen_as_far_as_they_fit(limit: int, chosen: list[int]) -> None:
    """They come in the order of the conversation."""
    ranked = [(3.0, 5), (2.0, 2), (1.0, 0)]
    found, tokens = choose(ranked, limit)
    assert found == chosen
    assert tokens == EACH * len(chosen)


@pytest.mark.parametrize(("limit", "looked_at"), [(11, 1), (12, 3)])
def test_nothing_more_is_looked_at_once_nearly_all_room_is_used(
    limit: int, looked_at: int
) -> None:
    """Nine tenths of it."""
    seen: list[float] = []

    def is_said(passage: Passage) -> bool:
        seen.append(passage.unit_id)
        return False

    choose([(3.0, 5), (2.0, 2), (1.0, 0)], limit, is_said=is_said)
    assert len(seen) == looked_at


def test_nothing_found_is_nothing_chosen() -> None:
    """It takes nothing."""
    assert choose([], 100) == ([], 0)
    archive = Archive()
    empty = choose_passages(
        Search((), 0.0),
        archive,
        limit_tokens=9,
        is_said=lambda _: False,
        unit_of=lambda _: None,
        texts=0,
    )
    assert empty == Found((), 0)


@pytest.mark.parametrize(("least", "chosen"), [(1.0, [1, 6]), (1.1, [6])])
def test_what_ranks_too_low_ends_the_search(least: float, chosen: list[int]) -> None:
    """At exactly the least it is still chosen."""
    assert choose([(3.0, 5), (1.0, 0), (0.5, 1)], 1_000, least=least)[0] == chosen


def test_without_a_least_it_is_a_tenth_of_the_best() -> None:
    """A passage that matches much worse is not worth its tokens."""
    ranked = [(300.0, 5), (31.0, 0), (29.0, 1)]
    assert choose(ranked, 1_000, least=None)[0] == [1, 6]


def test_what_is_said_or_shown_or_not_known_is_passed_over() -> None:
    """The next one is looked at."""
    ranked = [(3.0, 5), (2.0, 2), (1.0, 0)]
    assert choose(ranked, 1_000, is_said=lambda p: p.unit_id == 6)[0] == [1, 3]
    shown = {3.0: said(3, TEXT)}
    assert choose(ranked, 1_000, units=shown)[0] == [1, 6]
    assert choose(ranked, 1_000, unit_of=lambda _: None) == ([], 0)


@pytest.mark.parametrize(
    ("result", "is_chosen"), [("eleven char", False), ("twelve chars", True)]
)
def test_a_result_of_a_word_says_nothing_without_its_call(
    result: str, is_chosen: bool
) -> None:
    """From twelve characters on it may."""
    one = looked_up(1, "{}", result).leave_out("why")
    archive = Archive()
    archive.add(one)
    found = choose_passages(
        Search(((1.0, 0),), 1.0, 0.0),
        archive,
        limit_tokens=100,
        is_said=lambda _: False,
        unit_of={1.0: one}.get,
        texts=1,
    )
    assert bool(found.passages) is is_chosen


# --- Units too old to look at


def many(count: int, words: int = 30, **fields: Any) -> list[Unit]:
    """Return so many answers of an earlier turn, and a question behind them."""
    older = [answer(n, 1, words, **fields) for n in range(1, count)]
    return [*older, user(count, 2, words)]


def far(units: Sequence[Unit], limit: int, **settings: Any) -> set[float]:
    """Return what leaves unmeasured."""
    rules = Rules(Ruler(), Settings(**settings))
    return set(beyond_horizon(units, (), limit, rules))


@pytest.mark.parametrize(("count", "gone"), [(63, 0), (64, 54), (100, 90)])
def test_what_would_fill_the_request_is_looked_at(count: int, gone: int) -> None:
    """Of sixty-four units and more; each item counts a sixty-fourth at most."""
    assert far(many(count), 10) == {float(n) for n in range(1, gone + 1)}


def test_small_units_count_as_what_they_take() -> None:
    """Unless that is more than a sixty-fourth of the budget."""
    assert far(many(100, words=2), 640) == set()
    each = 1 + 2
    looked_at = -(-64 // min(each, 64 // 64))
    assert far(many(200, words=2), 64) == {float(n) for n in range(1, 201 - looked_at)}


def test_the_current_turn_is_always_looked_at() -> None:
    """However long it is."""
    turn = [user(1, 1), *[answer(n, 2, 30) for n in range(2, 120)]]
    assert far(turn, 10) == {1}


@pytest.mark.parametrize(
    "special", [{"pinned": True}, {"priority": 40}, {"kind": "note"}]
)
def test_what_somebody_asked_for_does_not_leave_unmeasured(
    special: dict[str, Any],
) -> None:
    """A pin, a priority of its own, a note of the system."""
    units = many(100)
    units[3] = dataclasses.replace(units[3], **special)
    gone = far(units, 10)
    if "priority" in special:  # what is rated lower goes with the others
        assert 4.0 in gone
        units[3] = dataclasses.replace(units[3], priority=90)
        gone = far(units, 10)
    assert 4.0 not in gone
    assert {3.0, 5.0} <= gone


def test_what_has_a_key_does_not_leave_unmeasured() -> None:
    """Another item may stand in for it."""
    units = many(100)
    keyed = dataclasses.replace(units[3].items[0], cache_key="k")
    units[3] = dataclasses.replace(units[3], items=(keyed,), originals=(keyed,))
    assert 4.0 not in far(units, 10)


@pytest.mark.parametrize(
    "settings", [{"keep_first_messages": 2}, {"keep_last_turns": 5}]
)
def test_with_rules_of_another_kind_all_is_looked_at(settings: dict[str, Any]) -> None:
    """The oldest may not be the first to go."""
    assert far(many(100), 10, **settings) == set()
    asked = Rules(Ruler(), Settings(), priority_rule=lambda *_: 5)
    assert not beyond_horizon(many(100), (), 10, asked)
    own = Rules(Ruler(), Settings(), ladder=(Rung(drop_superseded),))
    assert not beyond_horizon(many(100), (), 10, own)


def test_a_change_names_the_unit_that_it_brings() -> None:
    """What takes one out brings none."""
    unit = answer(4, 1)
    assert unit_id_of(unit) == 4
    assert unit_id_of(UnitChanged(unit, "edited", moves_prefix=True)) == 4
    assert unit_id_of(UnitDropped(4, "removed")) is None
    assert BEYOND == "over budget: far older than what fits"


def test_a_unit_counts_in_its_last_version() -> None:
    """One that was pinned since it came in stays."""
    units = many(100)
    pinned = dataclasses.replace(units[3], pinned=True)
    changes: list[Change] = [*units, UnitChanged(pinned, "edited", moves_prefix=True)]
    gone = beyond_horizon(changes, (), 10, RULES)
    assert 4.0 not in gone
    assert gone[5.0] == units[4]


def test_what_is_shown_and_older_leaves_with_what_came_in() -> None:
    """The live units are older than all that comes."""
    live = [answer(-1, 0, 30), answer(0, 0, 30, pinned=True)]
    gone = beyond_horizon(many(100), live, 10, RULES)
    assert -1.0 in gone
    assert 0.0 not in gone


# --- Rounds that say nothing any more


def stale(number: int, turn: int, *items: str, **fields: Any) -> Unit:
    """Return a round of two results of which these gave way."""
    marks = tuple(Mark(name, "deduplicated", "superseded") for name in items)
    return tools(number, turn, 10, 10, marks=marks, **fields)


def test_old_rounds_leave_where_every_result_is_stale() -> None:
    """Neither of the current turn, nor pinned, nor where one result still holds."""
    units = (
        stale(1, 1, "i2", "i3"),
        stale(4, 1, "i5"),
        stale(7, 1, "i8", "i9", pinned=True),
        answer(10, 1, marks=(Mark("i10", "deduplicated", "x"),)),
        user(11, 2),
        stale(12, 2, "i13", "i14"),
        tools(15, 1, 5, marks=(Mark("i16", "shortened", "x"),)),
    )
    after = drop_superseded(plan(*units, target=1), RULES)
    gone = {n for n, fate in fates(after).items() if fate == "absent"}
    assert gone == {1}
    assert after.units[0].reason == "superseded by a newer item with the same key"


@pytest.mark.parametrize(("spare", "gone"), [(0, 0), (-1, 1), (-25, 1), (-26, 2)])
def test_no_more_stale_rounds_leave_than_have_to(spare: int, gone: int) -> None:
    """The oldest first."""
    units = (stale(1, 1, "i2", "i3"), stale(4, 1, "i5", "i6"), user(7, 2))
    each = units[0].tokens
    assert each == 25
    total = sum(unit.tokens for unit in units)
    after = drop_superseded(plan(*units, target=total + spare), RULES)
    assert [n for n, fate in fates(after).items() if fate == "absent"] == [1, 4][:gone]


# --- The ladder


def test_a_rung_that_frees_little_is_skipped_where_a_later_one_reaches_the_mark() -> (
    None
):
    """But not where nothing else does."""
    rules = Rules(Ruler(), Settings(min_gain_share=0.1))
    before = plan(memory(1), answer(2, 1, 90), user(3, 2), target=40, limit=200)
    assert fates(descend(before, rules)) == {1: "whole", 2: "absent", 3: "whole"}
    alone = plan(memory(1), user(3, 2), target=15, limit=200)
    assert fates(descend(alone, rules)) == {1: "absent", 3: "whole"}
    enough = Rules(Ruler(), Settings(min_gain_share=11 / 200))
    assert fates(descend(before, enough))[1] == "absent"


def test_where_an_own_ladder_ends_over_the_limit_the_usual_one_goes_on() -> None:
    """Under the limit it is the last word."""

    def idle(plan: Plan, rules: Rules) -> Plan:
        return plan

    before = plan(memory(1), answer(2, 1, 90), user(3, 2), target=40, limit=60)
    assert descend(before, RULES, (Rung(idle),)).fits
    roomy = dataclasses.replace(before, limit_tokens=200)
    assert descend(roomy, RULES, (Rung(idle),)) is roomy
