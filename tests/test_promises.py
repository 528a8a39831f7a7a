"""What always holds (docs: what the library promises), over whatever may happen."""

from __future__ import annotations

import copy
import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    Report,
    TokenCounter,
)
from context_builder.render import adapter_for
from tests import strategies
from tests.checks import (
    cheapest,
    check_append_stable,
    check_chronological,
    check_essentials,
    check_no_inversion,
    check_report,
    check_taken_out,
    check_valid,
    check_within,
)
from tests.operations import Op, Session
from tests.recount import o200k
from tests.trials import (
    MODEL,
    TRANSCRIPT_IDS,
    Recorder,
    outcome_of,
    refusal_of,
    reloaded,
    session_of,
    transcript,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Request = dict[str, Any]


# --- helpers --------------------------------------------------------------------------


def built(ctx: ContextBuilder) -> tuple[Request, Report]:
    """Return a request and its report; an example without one is of no use."""
    try:
        return ctx.request(model=MODEL), ctx.explain(model=MODEL)
    except (BudgetExceededError, AdapterError):
        assume(False)
        raise


def count_by(counter: TokenCounter | None) -> Callable[[str], int]:
    """Return how texts are counted."""
    return counter.count if counter else o200k


# --- 1. Pure --------------------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_two_builds_are_byte_identical(ops: list[Op], budget: int) -> None:
    """Nothing but a change of the log changes a build."""
    ctx = session_of(ops, budget).ctx
    assert outcome_of(ctx) == outcome_of(ctx)


@given(strategies.logs(), strategies.budgets())
def test_when_and_how_often_is_built_changes_nothing(
    ops: list[Op], budget: int
) -> None:
    """A session that was built at each step gives what one built at the end gives."""
    often = Session(ContextBuilder(max_tokens=budget))
    for op in ops:
        often.step(op)
        outcome_of(often.ctx)
        often.ctx.budget_tokens  # noqa: B018  reading changes nothing either
    assert outcome_of(often.ctx) == outcome_of(session_of(ops, budget).ctx)


@given(strategies.logs(), strategies.budgets(), strategies.budgets())
def test_another_budget_in_between_changes_nothing(
    ops: list[Op], budget: int, other: int
) -> None:
    """Each target has its own decision: asking for another one moves nothing."""
    session = Session(ContextBuilder(max_tokens=budget))
    for op in ops:
        session.step(op)
        try:
            session.ctx.build(max_tokens=other)
        except BudgetExceededError:
            continue
    assert outcome_of(session.ctx) == outcome_of(session_of(ops, budget).ctx)


@given(strategies.logs(), strategies.budgets())
def test_a_reloaded_session_is_the_same(ops: list[Op], budget: int) -> None:
    """Written down and read again, a session gives the same bytes, and goes on so."""
    session = session_of(ops, budget)
    again = reloaded(session.ctx, max_tokens=budget)
    assert again.items == session.ctx.items
    assert outcome_of(again) == outcome_of(session.ctx)
    for ctx in (again, session.ctx):
        ctx.add_user_message("and then? " * 30)
    assert outcome_of(again) == outcome_of(session.ctx)


@given(strategies.logs(), strategies.budgets())
def test_what_is_handed_out_is_the_callers(ops: list[Op], budget: int) -> None:
    """Changing a result changes no later one."""
    ctx = session_of(ops, budget).ctx
    request, _ = built(ctx)
    kept = copy.deepcopy(request)
    for message in request["messages"]:
        message["role"] = "gone"
        for call in message.get("tool_calls") or ():
            call["id"] = "gone"
            call.get("function", {}).clear()
    request["messages"].clear()
    request.get("tools", []).clear()
    ctx.build().clear()
    ctx.dump().clear()
    assert ctx.request(model=MODEL) == kept


@given(strategies.logs(), strategies.budgets())
def test_a_change_that_changes_nothing_is_no_change(ops: list[Op], budget: int) -> None:
    """Blank messages and equal settings leave the revision as it is."""
    session = session_of(ops, budget)
    ctx = session.ctx
    built(ctx)
    revision = ctx.revision
    assert ctx.add_user_message(" \n") is None
    assert ctx.add_assistant_message("") is None
    assert ctx.add_memory("\t") is None
    if session.system is not None:
        ctx.add_system_prompt(session.system)
    assert (ctx.revision, ctx.is_dirty) == (revision, False)


# --- 2. Within budget -----------------------------------------------------------------


@given(strategies.logs(), strategies.budgets(), strategies.counters())
def test_a_request_is_within_its_budget(
    ops: list[Op], budget: int, counter: TokenCounter | None
) -> None:
    """A true recount of the finished request is at most the budget."""
    request, report = built(session_of(ops, budget, counter).ctx)
    check_within(request, report, budget, count_by(counter))


@given(strategies.logs(), st.integers(10, 120), strategies.counters())
def test_an_error_says_what_is_true(
    ops: list[Op], budget: int, counter: TokenCounter | None
) -> None:
    """It is raised only where a small request does not fit either; its sizes add up."""
    session = session_of(ops, budget, counter)
    error = refusal_of(session.ctx)
    assume(error is not None)
    assert error is not None
    tools = [op.given["tools"] for op in ops if op.door == "set_tools"]
    least_tokens = cheapest(session, tools[-1] if tools else [], count_by(counter))
    assert least_tokens > budget
    assert error.limit_tokens == budget < error.needed_tokens
    assert sum(error.parts.values()) == error.needed_tokens


# --- 3. Valid -------------------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_a_request_is_valid(ops: list[Op], budget: int) -> None:
    """Whatever came in, what goes out is accepted: pairs whole, nothing blank."""
    request, _ = built(session_of(ops, budget).ctx)
    check_valid(request)


@given(strategies.conversations())
def test_a_whole_conversation_needs_no_repair(ops: list[Op]) -> None:
    """Where there is room, nothing leaves, and every result stands with its call."""
    ops = [op for op in ops if op.door not in {"edit", "remove", "rewind", "clear"}]
    session = session_of(ops, 10**9)
    request, report = built(session.ctx)
    shown = [each["content"] for each in request["messages"] if each["role"] == "tool"]
    assert len(shown) == sum(item.role == "tool" for item in session.items())
    assert {each.action for each in report.outcomes} <= {
        "kept",
        "deduplicated",
        "repaired",
    }
    assert report.compactions == 0


# --- 4. Chronological -----------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_time_decides_the_order(ops: list[Op], budget: int) -> None:
    """Priority decides who stays; those who stay stand in the order they came in."""
    session = session_of(ops, budget)
    request, _ = built(session.ctx)
    check_chronological(session, request)


# --- 5. Nothing essential lost --------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_the_essential_is_there(ops: list[Op], budget: int) -> None:
    """System prompt, latest user message and pinned items are in every request."""
    session = session_of(ops, budget)
    request, _ = built(session.ctx)
    check_essentials(session, request)


@given(strategies.logs(), strategies.budgets())
def test_what_was_taken_out_stays_out(ops: list[Op], budget: int) -> None:
    """Removed, rewound, cleared or edited away, a text is in no later request."""
    session = session_of(ops, budget)
    request, _ = built(session.ctx)
    check_taken_out(session, request)


@given(strategies.logs(), strategies.budgets())
def test_the_session_keeps_what_leaves_the_context(ops: list[Op], budget: int) -> None:
    """Building takes nothing from the log: every item is stored whole."""
    session = session_of(ops, budget)
    stored = session.ctx.items
    built(session.ctx)
    assert session.ctx.items == stored


@given(strategies.logs(), strategies.budgets())
def test_every_item_has_an_outcome(ops: list[Op], budget: int) -> None:
    """Nothing is missing from the report, and nothing leaves without a reason."""
    session = session_of(ops, budget)
    _, report = built(session.ctx)
    check_report(session, report)


# --- 6. No inversion ------------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_the_less_important_goes_first(ops: list[Op], budget: int) -> None:
    """Of one kind, nothing stays whole while something more important is left out."""
    session = Session(ContextBuilder(max_tokens=budget))
    before: Report | None = None
    for op in ops:
        session.step(op)
        try:
            after = session.ctx.explain(model=MODEL)
        except BudgetExceededError:
            before = None
            continue
        if before is not None and after.compactions == before.compactions + 1:
            pinned = [item.id for item in session.ctx.items if item.pinned]
            check_no_inversion(before, after, pinned)
        before = after


# --- 7. Append-stable -----------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_a_request_begins_with_the_one_before(ops: list[Op], budget: int) -> None:
    """Between two reported moves of the prefix, requests only grow at the end."""
    check_append_stable(Session(ContextBuilder(max_tokens=budget)), ops)


@given(strategies.conversations(), strategies.budgets())
def test_a_move_of_the_prefix_has_a_cause(ops: list[Op], budget: int) -> None:
    """Adding moves the prefix by a compaction or a stale item, by nothing else."""
    plain = [op for op in ops if op.door in ADDING]
    _, report = built(session_of(plain, budget).ctx)
    others = [why for why in report.prefix_moves if "compaction" not in why]
    assert all("superseded" in why or "answered" in why for why in others)


ADDING = {"add_user_message", "add_assistant_message", "add_tool_result", "add_memory"}


# --- 8. Incremental -------------------------------------------------------------------


@given(strategies.logs(), strategies.budgets())
def test_no_text_of_an_item_is_counted_twice(ops: list[Op], budget: int) -> None:
    """However often is built, the text of a message is tokenised once."""
    counter = Recorder()
    session = Session(ContextBuilder(max_tokens=budget, counter=counter))
    for op in ops:
        session.step(op)
        outcome_of(session.ctx)
    texts = {item.text for item in session.ctx.items if item.text}
    assert {
        text: n for text, n in counter.asked.items() if text in texts and n > 1
    } == {}


@given(strategies.logs(), strategies.budgets())
def test_an_unchanged_rebuild_counts_nothing(ops: list[Op], budget: int) -> None:
    """The same build again costs no count at all."""
    counter = Recorder()
    ctx = session_of(ops, budget, counter).ctx
    built(ctx)
    before = counter.asked.total()
    built(ctx)
    ctx.build(model=MODEL)
    assert counter.asked.total() == before


def test_what_is_new_decides_the_work() -> None:
    """One more message costs as many counts after 400 turns as after 40."""
    costs = [counts_of_one_more(turns) for turns in (40, 400)]
    assert costs[1] <= costs[0] + 1


def counts_of_one_more(turns: int) -> int:
    """Return how many texts are counted for one message more, with no compaction."""
    counter = Recorder()
    ctx = ContextBuilder(max_tokens=2_000, counter=counter)
    for turn in range(turns):
        ctx.add_user_message(f"question {turn} " + "why " * 20)
        ctx.add_assistant_message(f"answer {turn} " + "because " * 20)
        ctx.build()
    before, compactions = counter.asked.total(), ctx.explain().compactions
    while True:
        ctx.add_user_message(f"one more {before}")
        ctx.build()
        if ctx.explain().compactions == compactions:
            return counter.asked.total() - before
        before, compactions = counter.asked.total(), ctx.explain().compactions


# --- 9. Isolated ----------------------------------------------------------------------


@given(strategies.logs(), strategies.logs(), strategies.budgets())
def test_sessions_do_not_see_each_other(
    ops: list[Op], others: list[Op], budget: int
) -> None:
    """Two sessions, step by step in turn, give what each gives alone."""
    one = Session(ContextBuilder(max_tokens=budget))
    other = Session(ContextBuilder(max_tokens=budget))
    for mine, theirs in itertools.zip_longest(ops, others):
        for session, op in ((one, mine), (other, theirs)):
            if op is not None:
                session.step(op)
                outcome_of(session.ctx)
    assert outcome_of(one.ctx) == outcome_of(session_of(ops, budget).ctx)
    assert outcome_of(other.ctx) == outcome_of(session_of(others, budget).ctx)


def test_sessions_in_threads_do_not_mix() -> None:
    """Sessions in as many threads give what they give one after the other."""
    jobs = [(transcript(name), share) for name in TRANSCRIPT_IDS for share in (25, 50)]
    alone = [each.built(share) for each, share in jobs]
    together: list[str | None] = [None] * len(jobs)

    def work(number: int) -> None:
        each, share = jobs[number]
        together[number] = each.built(share)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


# --- over real conversations ----------------------------------------------------------


SHARES = (10, 25, 50, 100)
"""Budgets in percent of what the whole request costs."""


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", TRANSCRIPT_IDS)
def test_a_real_conversation_keeps_the_promises(name: str, share: int) -> None:
    """Taken over whole, at any budget: it fits, it is valid, and nothing is lost."""
    real = transcript(name)
    budget = real.budget(share)
    session = real.session(budget)
    try:
        request = session.ctx.request(model=MODEL)
    except BudgetExceededError:
        assert cheapest(session, real.tools, o200k) > budget
        return
    report = session.ctx.explain(model=MODEL)
    check_within(request, report, budget, o200k)
    assert adapter_for("openai").request_tokens(request, o200k) <= budget
    check_valid(request)
    check_essentials(session, request)
    check_report(session, report)
    assert session.ctx.request(model=MODEL) == request
    assert reloaded(session.ctx, max_tokens=budget).request(model=MODEL) == request
    if share == 100:
        assert {each.action for each in report.outcomes} <= {"kept", "repaired"}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", TRANSCRIPT_IDS)
def test_a_real_conversation_grows_at_its_end(name: str, share: int) -> None:
    """Message by message, a request begins with the one before: mostly, with room."""
    real = transcript(name)
    ctx = ContextBuilder(max_tokens=real.budget(share), tools=real.tools)
    ops = [Op("extend", {"messages": [message]}) for message in real.messages]
    session = Session(ctx)
    stable, moved = check_append_stable(session, ops)
    fixed_tokens = cheapest(session, real.tools, o200k)
    if fixed_tokens < real.budget(share) / 2 and share >= 50 and len(ops) >= 10:
        assert stable >= 2 * moved
