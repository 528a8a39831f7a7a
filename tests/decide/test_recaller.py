"""How much may be recalled, in what room, and when what was recalled goes again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from context_builder.decide.own_rungs import held, name_of
from context_builder.decide.passages import Passage
from context_builder.decide.plan import Rung
from context_builder.decide.recall import Found, passage_text
from context_builder.decide.recaller import (
    FRAME_TOKENS,
    HALF,
    Recaller,
    is_recalled,
    weight_of,
)
from context_builder.decide.shown import Shown
from context_builder.messages import ToolCall
from tests.decide.test_digest import said
from tests.decide.test_rungs import RULES, answer, memory, plan, tools, user

if TYPE_CHECKING:
    from context_builder.decide.rules import Rules
    from context_builder.items import Plan, Unit


def recaller(limit_tokens: int = 1_000, *units: Unit) -> tuple[Recaller, Shown]:
    """Return what keeps what is recalled among these units."""
    shown = Shown(lambda units: units)
    for unit in units:
        shown.append(unit)
    return Recaller(shown, RULES, limit_tokens), shown


@pytest.mark.parametrize(
    ("need", "weight"),
    [
        (-1, 0),
        (-0.2, 0),
        (-0.095, 0.5),
        (-0.1475, 0.25),
        (0.01, 1),
        (0.5, 1),
    ],
)
def test_a_need_is_worth_more_and_more(need: float, weight: float) -> None:
    """Nothing at first, and all of it where the archive has more than the request."""
    assert weight_of(need) == pytest.approx(weight)


@pytest.mark.parametrize(
    ("has_tools", "free", "usable"),
    [(True, 100, 75), (False, 100, 97), (True, 0, 0), (False, 1, 0)],
)
def test_what_is_recalled_leaves_room_for_the_answer(
    has_tools: bool, free: int, usable: int
) -> None:
    """More where tools may be called; what has to be free is the reverse of it."""
    one, _ = recaller()
    one.has_tools = has_tools
    assert one.usable(free) == usable
    assert one.free_for(usable) in range(
        free - 2 + FRAME_TOKENS, free + 1 + FRAME_TOKENS
    )
    assert one.free_for(0) == FRAME_TOKENS


@pytest.mark.parametrize(
    ("weight", "free", "room"),
    [
        (1, 424, 300),  # three quarters of what is free behind the frame
        (1, 24, 0),
        (1, 10, 0),
        (0.9, 424, 300),
        (0.9, 1_024, 500),  # half of the room there was
        (0.9, 10, 0),
        (1, 1_024, 750),
    ],
)
def test_what_is_needed_less_takes_half_of_the_room_at_most(
    weight: float, free: int, room: int
) -> None:
    """So that the next compaction does not come much sooner."""
    one, _ = recaller(1_000)
    one.has_tools = True
    assert one.room(weight, free) == room


def test_after_a_compaction_there_is_as_much_room_as_it_made() -> None:
    """What is spent of it is spent."""
    one, shown = recaller(1_000, user(9, 3))
    one.has_tools = True
    one.start(800, 1_000)
    assert one.room(0.9, 1_000) == 100
    put(one, said(1, "so it was then " * 4), user(9, 3))
    spent = shown.live[0].tokens
    assert one.room(0.9, 1_000) == 100 - spent
    one.start(1_200, 1_000)
    assert one.room(0.9, 1_000) == 0


@pytest.mark.parametrize(("tokens", "has_grown"), [(809, False), (810, True)])
def test_another_compaction_comes_once_enough_came_in(
    tokens: int, has_grown: bool
) -> None:
    """A twentieth of the room; what was recalled does not count."""
    one, shown = recaller(1_000, user(9, 3))
    one.start(800, 1_000)
    assert one.has_grown(tokens) is has_grown
    put(one, said(1, "so it was then " * 4), user(9, 3))
    assert one.has_grown(tokens + shown.live[0].tokens) is has_grown


def put(one: Recaller, old: Unit, newest: Unit, free: int = 500) -> bool:
    """Recall what an older unit said, for a newer one."""
    gone = old.leave_out("over budget")
    one._shown.put(gone)
    one.keep([gone])
    numbers = one.archive.passages.spans.numbers(old.id)
    found = Found(tuple(one.archive.passages[n] for n in numbers), 0)
    return one.put(newest, found, free)


def test_what_is_recalled_stands_half_a_place_before_the_message() -> None:
    """Where it fits, to the token; else nothing is there."""
    newest = user(9, 3)
    one, shown = recaller(1_000, newest)
    assert put(one, said(1, "so it was then"), newest)
    (recalled, _) = shown.live
    assert (recalled.id, recalled.turn) == (9 - HALF, 3)
    assert is_recalled(recalled)
    assert not is_recalled(newest)
    assert not is_recalled(memory(1))
    for free, fits in ((recalled.tokens, True), (recalled.tokens - 1, False)):
        one, shown = recaller(1_000, newest)
        assert put(one, said(1, "so it was then"), newest, free) is fits
        assert len(shown.live) == 1 + fits
    one, shown = recaller(1_000, newest)
    assert one.put(newest, Found((), 0), 0)
    assert len(shown.live) == 1


def test_what_repeats_a_units_words_goes_with_it() -> None:
    """Whether it is the one that was repeated, or the one it was recalled for."""
    for forgotten, is_left in ((1, False), (9, False), (2, True)):
        newest = user(9, 3)
        one, shown = recaller(1_000, newest)
        put(one, said(1, "so it was then"), newest)
        one.forget(forgotten)
        assert (len(shown.live) == 2) is is_left
        assert (one._spent_tokens > 0) is is_left


def test_what_was_recalled_for_a_message_can_be_chosen_anew() -> None:
    """And what was recalled earlier is let go where there was any."""
    newest = user(9, 3)
    one, shown = recaller(1_000, newest)
    assert not one.let_go_of_older()
    put(one, said(1, "so it was then"), newest)
    one.let_go_for(user(8, 3))
    assert len(shown.live) == 2
    one.let_go_for(newest)
    assert len(shown.live) == 1
    put(one, said(1, "so it was then"), newest)
    assert one.let_go_of_older()
    assert len(shown.live) == 1
    assert not one.let_go_of_older()


def test_tools_are_known_from_the_first_call_on() -> None:
    """They may be set later, or never."""
    one, _ = recaller()
    one.see(user(1, 1))
    assert not one.has_tools
    one.see(tools(2, 1, 5))
    one.see(user(4, 2))
    assert one.has_tools


def test_a_passage_is_a_piece_of_an_item() -> None:
    """From one place to another."""
    unit = said(1, "so it was then")
    assert passage_text(Passage(1, 0, 3, 9), unit) == "it was"


# --- Rungs of somebody's own


class Asked:
    """A rung that is an object: told of by the name of its class."""

    def __call__(self, plan: Plan, rules: Rules) -> Plan:
        """Leave the plan as it is."""
        del rules
        return plan


def taken(before: Plan, *wanted: Unit) -> tuple[Plan, list[str]]:
    """Return what becomes of a plan that a rung wants so, and who was refused."""
    refused: list[str] = []

    def wish(plan: Plan, rules: Rules) -> Plan:
        return dataclasses.replace(plan, units=wanted)

    (rung,) = held(
        (Rung(wish),), lambda name, error: refused.append(f"{name}: {error}")
    )
    return rung.step(before, RULES), refused


def test_a_rung_is_told_of_by_its_name() -> None:
    """Or by that of its class."""
    assert name_of(taken) == "taken"
    assert name_of(Asked()) == "Asked"


def test_a_rung_that_loses_units_has_done_nothing() -> None:
    """Nor one that parts them or changes their order; it is told what it has to do."""
    before = plan(answer(1, 1), answer(2, 1), user(3, 2), target=5)
    after, refused = taken(before, *before.units[:2])
    assert after is before
    assert refused == [
        "wish: a rung returns the plan's units, each once and in their order"
    ]
    after, _ = taken(before, before.units[1], before.units[0], before.units[2])
    assert after is before


def test_what_a_rung_leaves_out_says_why() -> None:
    """In its words, or by its name; background leaves no gap."""
    before = plan(memory(1), answer(2, 1), user(3, 2), target=5)
    out = [unit.leave_out("") for unit in before.units]
    after, refused = taken(before, out[0], before.units[1], before.units[2])
    assert not refused
    assert after.units[0].reason == "lowered by the rung wish"
    assert not after.has_gap
    after, _ = taken(before, before.units[0], out[1], before.units[2])
    assert after.has_gap
    after, _ = taken(
        before, *before.units[:1], before.units[1].leave_out("mine"), out[2]
    )
    assert [unit.reason for unit in after.units] == ["", "mine", ""]
    assert after.units[2] is before.units[2]


def test_a_rung_cannot_bring_back_or_touch_what_is_pinned() -> None:
    """Nor count for itself: sizes are measured."""
    gone = answer(1, 1).leave_out("before")
    pinned = answer(2, 1, pinned=True)
    before = plan(gone, pinned, answer(4, 1), user(3, 2), target=5)
    short = before.units[2].items[0].with_content("so")
    wanted = before.units[2].show((short,), (999,), rendition="whole", reason="")
    after, _ = taken(
        before, answer(1, 1), pinned.leave_out("x"), wanted, before.units[3]
    )
    assert after.units[:2] == (gone, pinned)
    shown = after.units[2]
    assert (shown.sizes, shown.rendition) == ((2,), "shortened")
    assert shown.reason == "lowered by the rung wish"
    longer = before.units[2].items[0].with_content("so " * 11)
    wanted = before.units[2].show((longer,), (1,), rendition="shortened", reason="")
    after, _ = taken(before, *before.units[:2], wanted, before.units[3])
    assert after.units[2] is before.units[2]
    equal = before.units[2].items[0].with_content("as " * 10)
    wanted = before.units[2].show((equal,), (1,), rendition="reference", reason="r")
    after, _ = taken(before, *before.units[:2], wanted, before.units[3])
    assert (after.units[2].tokens, after.units[2].rendition) == (11, "reference")


def test_a_rung_cannot_make_other_calls_of_calls() -> None:
    """Nor answers to others, nor another speaker: then it has done nothing."""
    before = plan(tools(1, 1, 20), user(9, 2), target=5)
    call, result = before.units[0].items
    short = result.with_content("so")
    other = dataclasses.replace(call, tool_calls=(ToolCall(id="c9", name="f"),))
    named = dataclasses.replace(call, tool_calls=(ToolCall(id="c0", name="g"),))
    for items in (
        (other, short),
        (named, short),
        (call, dataclasses.replace(short, tool_call_id="c9")),
        (call, dataclasses.replace(short, id="i9")),
        (call,),
        (result, call),
    ):
        wanted = before.units[0].show(items, (1,), rendition="shortened", reason="")
        after, _ = taken(before, wanted, before.units[1])
        assert after.units[0] is before.units[0]
    wanted = before.units[0].show((call, short), (1,), rendition="shortened", reason="")
    after, _ = taken(before, wanted, before.units[1])
    assert after.units[0].items == (call, short)
