"""What the report says became of an item: every field of it, for each kind of fate."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from context_builder import ContextBuilder, Outcome, Settings
from context_builder.decide.budget import allowances, demand
from context_builder.decide.evict import evict_least_important
from context_builder.decide.outcomes import _fate, _of_unit, _summary_fate
from context_builder.decide.summaries import Summaries, SummaryTry
from context_builder.items import ContextItem, Mark, SummaryAdded, Unit
from context_builder.report import ClassUse
from context_builder.settings import Shares
from context_builder.testing import WordCounter, tool_call
from tests.decide.test_rungs import RULES, answer, plan, tools, user


def builder(max_tokens: int = 1_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), settings=Settings(**settings)
    )


def outcomes(ctx: ContextBuilder) -> dict[str, Outcome]:
    """Return what became of each item."""
    return {one.item_id: one for one in ctx.explain().outcomes}


# --- Every field


def test_the_system_prompt_is_told_with_all_that_is_known_of_it() -> None:
    """It is kept, always, and first."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_system_prompt("be brief and kind")
    report = ctx.explain()
    tokens = report.parts["system"]
    assert report.outcomes[0] == Outcome(
        item_id="i2",
        role="system",
        source="system_prompt",
        action="kept",
        tokens_before=tokens,
        tokens_after=tokens,
        reason="",
        context_class="system",
        priority=100,
    )
    assert [one.item_id for one in report.outcomes] == ["i2", "i1"]


def test_a_kept_item_is_told_with_all_that_is_known_of_it() -> None:
    """It takes what it took."""
    (told,) = _of_unit(answer(4, 1, 10), 1, RULES)
    assert told == Outcome(
        item_id="i4",
        role="assistant",
        source="message",
        action="kept",
        tokens_before=11,
        tokens_after=11,
        reason="",
        context_class="latest_turn",
        priority=70,
    )


def test_what_left_takes_nothing_and_says_why() -> None:
    """Of a round, each of its items."""
    gone = tools(4, 1, 10, 20).leave_out("over budget")
    told = _of_unit(gone, 3, RULES)
    assert [one.item_id for one in told] == ["i4", "i5", "i6"]
    assert [one.tokens_before for one in told] == [3, 11, 21]
    assert {one.tokens_after for one in told} == {0}
    assert {(one.action, one.reason) for one in told} == {("evicted", "over budget")}
    assert {(one.context_class, one.priority) for one in told} == {("tool_results", 60)}


def test_what_the_library_made_itself_is_no_item_of_the_conversation() -> None:
    """A stand-in for a result, or what was recalled."""
    for source in ("repair", "recall"):
        made = tools(4, 1, 10)
        item = dataclasses.replace(made.items[1], source=source)
        one = dataclasses.replace(
            made, items=(made.items[0], item), originals=(made.items[0], item)
        )
        assert [told.item_id for told in _of_unit(one, 1, RULES)] == ["i4"]


def test_outcomes_come_in_the_order_of_their_items() -> None:
    """Whether they are shown or gone."""
    ctx = builder(200, recall_share=0)
    for number in range(12):
        ctx.add_user_message(f"question {number} " + "why " * 10)
        ctx.add_assistant_message("so " * 10)
    ids = [one.item_id for one in ctx.explain().outcomes]
    assert ids == [f"i{number}" for number in range(1, 25)]
    assert {one.action for one in ctx.explain().outcomes} == {"kept", "evicted"}


# --- Which fate


def shown(*marks: Mark, rendition: str = "whole", cut: bool = False) -> Unit:
    """Return a message with these marks."""
    one: Any = answer(1, 1, 10)
    items = (one.items[0].with_content("so"),) if cut else one.items
    return dataclasses.replace(  # type: ignore[no-any-return]
        one, items=items, marks=marks, rendition=rendition, reason="why"
    )


REPAIRED = Mark("i1", "repaired", "an odd sign was taken out")
CUT = Mark("i1", "shortened", "on entry: too long")
REFERRED = Mark("i1", "referenced", "older")
DOUBLE = Mark("i1", "deduplicated", "the same content as i9")
OTHER = Mark("i2", "shortened", "another item")


@pytest.mark.parametrize(
    ("unit", "fate"),
    [
        (shown(), ("kept", "")),
        (shown(OTHER), ("kept", "")),
        (shown(REPAIRED), ("repaired", REPAIRED.reason)),
        (shown(REPAIRED, REPAIRED), ("repaired", "; ".join([REPAIRED.reason] * 2))),
        (shown(rendition="shortened", cut=True), ("shortened", "why")),
        (shown(rendition="reference", cut=True), ("referenced", "why")),
        (shown(CUT, rendition="shortened", cut=True), ("shortened", CUT.reason)),
        (shown(CUT, REFERRED, rendition="reference", cut=True), REFERRED),
        (shown(DOUBLE, rendition="shortened", cut=True), DOUBLE),
        (
            shown(REPAIRED, CUT, rendition="shortened", cut=True),
            ("shortened", f"{CUT.reason}; {REPAIRED.reason}"),
        ),
        (shown().leave_out("over budget"), ("evicted", "over budget")),
        (shown(CUT).leave_out("over budget"), ("evicted", "over budget")),
        (shown(DOUBLE).leave_out("over budget"), DOUBLE),
        (
            shown(REPAIRED).leave_out("over budget"),
            ("evicted", f"over budget; {REPAIRED.reason}"),
        ),
        (shown(rendition="summary", cut=True), ("summarized", "why")),
    ],
)
def test_of_several_things_the_heaviest_loss_is_told(
    unit: Unit, fate: tuple[str, str] | Mark
) -> None:
    """And with it what had to be repaired."""
    if isinstance(fate, Mark):
        fate = (fate.action, fate.reason)
    assert _fate(unit, 0) == fate


@pytest.mark.parametrize(
    ("calls", "answered", "reason"),
    [
        (1, 0, "a call without a result: a stand-in holds the place"),
        (2, 1, "a call without a result: a stand-in holds the place"),
        (2, 0, "2 calls without a result: a stand-in holds the place"),
        (3, 1, "2 calls without a result: a stand-in holds the place"),
        (2, 2, ""),
    ],
)
def test_calls_that_wait_for_their_results_are_told(
    calls: int, answered: int, reason: str
) -> None:
    """Of the message that made them; the results that are there are kept."""
    ctx = builder()
    ctx.add_user_message("go")
    names = [f"c{n}" for n in range(calls)]
    ctx.add_assistant_message("", tool_calls=[tool_call(name) for name in names])
    for name in names[:answered]:
        ctx.add_tool_result("search", "found", tool_call_id=name)
    told = outcomes(ctx)
    assert told["i2"].reason == reason
    assert told["i2"].action == ("repaired" if reason else "kept")
    assert all(told[f"i{3 + n}"].action == "kept" for n in range(answered))
    assert ctx.explain().pending_calls == calls - answered


# --- Classes


def test_each_class_is_told_with_what_it_takes_and_its_share() -> None:
    """In the order in which shares are set."""
    ctx = builder(
        1_000,
        recall_share=0,
        shares=Shares(
            system=0.1, latest_turn=0.2, tool_results=0.3, history=0.35, background=0.05
        ),
    )
    ctx.add_system_prompt("be brief")
    ctx.add_memory("tea " * 20)
    ctx.add_user_message("one " * 10)
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    ctx.add_tool_result("search", "found " * 30, tool_call_id="a")
    ctx.add_assistant_message("so " * 40)
    ctx.add_user_message("two " * 50)
    report = ctx.explain()
    told = outcomes(ctx)
    fixed = sum(
        size
        for name, size in report.parts.items()
        if name not in {"messages", "notice"}
    )

    def takes(*ids: str) -> int:
        return sum(told[name].tokens_after for name in ids)

    assert report.classes == (
        ClassUse("system", fixed, 100),
        ClassUse("latest_turn", takes("i7"), 200),
        ClassUse("tool_results", takes("i4", "i5"), 300),
        ClassUse("history", takes("i3", "i6"), 350),
        ClassUse("background", takes("i2"), 50),
    )


@pytest.mark.parametrize("target", range(150, 420, 30))
def test_two_classes_over_their_shares_yield_by_turns(target: int) -> None:
    """Neither is left further over its share than the other by more than a unit."""
    units = [
        *(tools(3 * n, 1, 18) for n in range(1, 11)),
        *(answer(3 * n + 2, 1, 19) for n in range(1, 11)),
        user(90, 2),
    ]
    units.sort(key=lambda one: one.id)
    before = plan(*units, target=target)
    after = evict_least_important(before, RULES)
    assert after.fits
    allowed = allowances(demand(before), RULES.settings.shares, target)
    left = demand(after)
    over = [left[name] - allowed[name] for name in ("tool_results", "history")]
    assert abs(over[0] - over[1]) <= 20


# --- Summaries


def known() -> Summaries:
    """Return three summaries, of which the second counts."""
    found = Summaries()
    for name, covers in (("s1", ("i1",)), ("s2", ("i1", "i2")), ("s3", ("i9",))):
        item = ContextItem(role="user", content="about", id=name, source="summary")
        found.learn(SummaryAdded(item, covers, None, "me"))
    gone = {float(n): answer(n, 1).leave_out("why") for n in (1, 2)}
    found.renew(gone, lambda _: True)
    found.spoiled["s4"] = "i5 was edited"
    return found


@pytest.mark.parametrize(
    ("name", "is_shown", "fate"),
    [
        (None, True, ("refused", "timeout")),
        ("s4", True, ("dropped", "i5 was edited")),
        ("s2", True, ("shown", "")),
        ("s2", False, ("left_out", "over budget: the current turn comes first")),
        ("s1", True, ("replaced", "summary s2 tells of it as well")),
        (
            "s3",
            True,
            (
                "left_out",
                "not all that it covers has left here, or it is too large here",
            ),
        ),
    ],
)
def test_the_fate_of_a_summary(
    name: str | None, is_shown: bool, fate: tuple[str, str]
) -> None:
    """Each in its own words."""
    found = known()
    found.is_shown = is_shown
    tried = SummaryTry(("i1",), 1, "me", summary_id=name, reason="timeout")
    assert _summary_fate(tried, found) == fate
