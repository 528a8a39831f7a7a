"""What always holds also holds with a summariser, whatever it answers and when."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from context_builder import AdapterError, BudgetExceededError, ContextBuilder
from context_builder.summarizers import SummaryPolicy, SummaryText
from context_builder.testing import FakeSummarizer, turns
from tests import strategies
from tests.checks import (
    check_append_stable,
    check_chronological,
    check_essentials,
    check_no_inversion,
    check_report,
    check_taken_out,
    check_valid,
    check_within,
    said_by,
)
from tests.operations import Op, Session
from tests.recount import o200k
from tests.trials import MODEL, Recorder, outcome_of, reloaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder import Report
    from context_builder.summarizers import SummaryRequest

WHIMS = ("ok", "ok", "ok", "raise", "empty", "longer", "cut")
EAGER = SummaryPolicy(min_tokens=1, max_share=0.4, pause_compactions=1)
"""Asks as often as it may."""
_MARK = re.compile(r"#\d+#")


class Whimsical:
    """Says the marks of what it was given, as far as there is room; or fails."""

    def __init__(self, whims: Sequence[str]) -> None:
        self.whims = whims
        self.calls = 0

    def summarize(self, request: SummaryRequest) -> str:
        """Do what the next whim is.

        Raises:
            RuntimeError: If that is to raise.
        """
        whim = self.whims[self.calls % len(self.whims)]
        self.calls += 1
        marks = _MARK.findall(request.former or "")
        marks += [mark for item in request.items for mark in _MARK.findall(item.text)]
        if whim == "raise":
            message = f"failed at {marks}"
            raise RuntimeError(message)
        if whim == "longer":
            return "word " * 5_000
        if whim == "cut":
            return SummaryText("so far", is_cut_off=True)
        if whim == "empty":
            return " "
        while marks and request.count(" ".join(marks)) > request.max_tokens:
            marks = marks[1:]
        return " ".join(marks) or "talk"

    async def asummarize(self, request: SummaryRequest) -> str:
        """Do what the next whim is, for one who awaits it."""
        return self.summarize(request)


def whims() -> st.SearchStrategy[list[str]]:
    """Generate what a summariser does, call by call."""
    return st.lists(st.sampled_from(WHIMS), min_size=1, max_size=6)


def summarized(budget: int, moods: Sequence[str], **settings: Any) -> Session:
    """Return a session with such a summariser."""
    return Session(
        ContextBuilder(
            max_tokens=budget,
            summarizer=Whimsical(moods),
            summary_policy=EAGER,
            clock=lambda: 0.0,
            **settings,
        )
    )


def without_summary(report: Report) -> Report:
    """Return a report of the items alone."""
    items = [one for one in report.outcomes if one.source != "summary"]
    return dataclasses.replace(report, outcomes=tuple(items))


@given(
    strategies.logs(), strategies.budgets(), whims(), st.sampled_from(("now", "ahead"))
)
def test_every_request_keeps_the_promises(
    ops: list[Op], budget: int, moods: list[str], when: str
) -> None:
    """Within budget, valid, in order, the essential there, what was taken out gone."""
    session = summarized(budget, moods)
    for op in ops:
        session.step(op)
        if when == "ahead":
            session.ctx.prepare_summary(model=MODEL)
        try:
            request = session.ctx.request(model=MODEL)
        except (BudgetExceededError, AdapterError):
            continue
        report = session.ctx.explain(model=MODEL)
        check_within(request, report, budget, o200k)
        check_valid(request)
        check_essentials(session, request)
        check_taken_out(session, request)
        check_report(session, without_summary(report))
        said = [m for m in request["messages"] if "<summary" not in said_by(m)]
        check_chronological(session, {"messages": said})


@given(strategies.logs(), strategies.budgets(), whims())
def test_requests_grow_at_their_end(
    ops: list[Op], budget: int, moods: list[str]
) -> None:
    """A summary that is taken in, or given up, is a reported move of the prefix."""
    check_append_stable(summarized(budget, moods), ops)


@given(strategies.logs(), strategies.budgets(), strategies.budgets(), whims())
def test_a_log_says_all(
    ops: list[Op], budget: int, other: int, moods: list[str]
) -> None:
    """Played again without a summariser, it gives the same bytes for each target."""
    session = summarized(budget, moods)
    for op in ops:
        session.step(op)
        outcome_of(session.ctx)
        try:
            session.ctx.build(max_tokens=other)
        except BudgetExceededError:
            continue
    live = outcome_of(session.ctx)
    again = reloaded(session.ctx, max_tokens=budget)
    assert outcome_of(again) == live == outcome_of(session.ctx)
    assert again.items == session.ctx.items
    assert again.dump() == session.ctx.dump()
    alone = reloaded(session.ctx, max_tokens=other)
    try:
        wanted = session.ctx.build(max_tokens=other)
    except BudgetExceededError:
        return
    alone = reloaded(session.ctx, max_tokens=other)
    assert alone.build() == wanted


@given(strategies.logs(), strategies.budgets(), whims())
def test_a_compaction_that_is_asked_for_keeps_the_promises(
    ops: list[Op], budget: int, moods: list[str]
) -> None:
    """It can come at any time: what fits before fits after it, and in less."""
    session = summarized(budget, moods)
    for number, op in enumerate(ops):
        session.step(op)
        try:
            before = session.ctx.explain(model=MODEL)
            after = session.ctx.compact(model=MODEL)
            request = session.ctx.request(model=MODEL)
        except (BudgetExceededError, AdapterError):
            continue
        assert after.tokens <= budget
        assert after.compactions >= before.compactions
        check_valid(request)
        check_essentials(session, request)
        if number % 3 == 0:
            again = reloaded(session.ctx, max_tokens=budget)
            assert again.request(model=MODEL) == request


@given(strategies.logs(), strategies.budgets(), whims())
def test_the_less_important_goes_first(
    ops: list[Op], budget: int, moods: list[str]
) -> None:
    """What is put under a summary was not more important than what stays whole."""
    session = summarized(budget, moods)
    before: Report | None = None
    for op in ops:
        session.step(op)
        try:
            session.ctx.build(model=MODEL)
            after = _as_evicted(session.ctx.explain(model=MODEL))
        except (BudgetExceededError, AdapterError):
            before = None
            continue
        if before is not None and after.compactions == before.compactions + 1:
            pinned = [item.id for item in session.ctx.items if item.pinned]
            check_no_inversion(before, after, pinned)
        before = after


def _as_evicted(report: Report) -> Report:
    """Return a report in which what a summary tells of counts as left out."""
    outcomes = tuple(
        dataclasses.replace(one, action="evicted")
        if one.action == "summarized"
        else one
        for one in without_summary(report).outcomes
    )
    return dataclasses.replace(report, outcomes=outcomes)


@given(strategies.logs(), strategies.budgets(), whims())
def test_awaiting_gives_the_same_log(
    ops: list[Op], budget: int, moods: list[str]
) -> None:
    """What is built with `abuild` is what `build` builds, entry by entry."""
    waited, awaited = summarized(budget, moods), summarized(budget, moods)

    async def play() -> None:
        for op in ops:
            awaited.step(op)
            try:
                await awaited.ctx.aprepare_summary()
                await awaited.ctx.abuild()
            except BudgetExceededError:
                continue

    asyncio.run(play())
    for op in ops:
        waited.step(op)
        try:
            waited.ctx.prepare_summary()
            waited.ctx.build()
        except BudgetExceededError:
            continue
    assert json.dumps(awaited.ctx.dump()) == json.dumps(waited.ctx.dump())


def test_a_summariser_counts_no_text_of_an_item_again() -> None:
    """What was measured for the request is known, however often a summary is wanted."""
    counter = Recorder()
    session = summarized(400, ["ok", "raise"], counter=counter)
    for message in turns(25, tools=True):
        session.step(Op("extend", {"messages": [message]}))
        outcome_of(session.ctx)
    texts = {item.text for item in session.ctx.items if item.text}
    assert len(session.ctx.log.summaries) > 3
    assert {counter.asked[text] for text in texts} == {1}


@given(strategies.logs(), strategies.logs(), strategies.budgets())
def test_sessions_share_a_summariser_and_nothing_else(
    ops: list[Op], others: list[Op], budget: int
) -> None:
    """One object may serve many sessions; each is given its own words only."""
    shared = FakeSummarizer()
    sessions = [
        Session(
            ContextBuilder(max_tokens=budget, summarizer=shared, summary_policy=EAGER)
        )
        for _ in range(2)
    ]
    for session, mine in zip(sessions, (ops, others), strict=True):
        asked = shared.calls
        for op in mine:
            session.step(op)
            outcome_of(session.ctx)
        stored = {item.id: item for item in session.ctx.items}
        former = {item.text for item in session.ctx.log.summaries} | {None}
        for request in shared.requests[asked:]:
            assert {item.id for item in request.items} <= stored.keys()
            assert request.former in former
