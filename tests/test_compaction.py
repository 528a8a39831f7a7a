"""Compactions that are asked for, and the summaries that builds get."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, InvalidItemError, SessionManager, Settings
from context_builder.summarizers import SummaryPolicy
from context_builder.testing import FakeSummarizer, WordCounter, tool_call, turns

if TYPE_CHECKING:
    from context_builder.summarizers import SummaryRequest

SUMMARY = "Goal: find out why. Done: sixteen questions."


def session(
    summarizer: object = None, *, count: int = 20, budget: int = 500, **settings: Any
) -> ContextBuilder:
    """Return a session that has been compacted, and not been built yet."""
    ctx = ContextBuilder(
        max_tokens=budget,
        counter=WordCounter(),
        summarizer=summarizer,  # type: ignore[arg-type]  what is none is refused
        **settings,
    )
    ctx.extend(turns(count))
    ctx.add_user_message("and now?")
    return ctx


def said(ctx: ContextBuilder) -> list[str]:
    """Return what the messages of a build say."""
    return [str(message["content"]) for message in ctx.build()]


def entries(ctx: ContextBuilder) -> list[str]:
    """Return the kinds of entries that speak of summaries and compactions."""
    kinds = {"summary", "summary_refused", "compact"}
    return [each["entry"] for each in ctx.dump()[1:] if each["entry"] in kinds]


# --- a summary takes its place --------------------------------------------------------


def test_a_summary_stands_for_what_left() -> None:
    """It is the first message, framed; what it covers is told to be summarized."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    assert said(ctx)[0] == f"<summary>{SUMMARY}</summary>"
    report = ctx.explain()
    first, *others = report.outcomes
    assert (first.item_id, first.priority, first.action) == ("s1", 70, "kept")
    covered = [one for one in others if one.action == "summarized"]
    assert covered
    assert {one.reason for one in covered} == {"summary s1 tells of it"}
    (told,) = report.summaries
    assert (told.action, told.items) == ("shown", len(covered))
    assert "summary s1 of" in str(report)


def test_asking_again_needs_something_new() -> None:
    """Build as often as you like: one compaction, one question."""
    summarizer = FakeSummarizer()
    ctx = session(summarizer)
    for _ in range(3):
        ctx.build()
        ctx.explain()
    ctx.add_assistant_message("this.")
    ctx.build()
    assert summarizer.calls == 1


def test_a_summary_is_extended_not_made_anew() -> None:
    """The second one is asked for with the first and what newly left."""
    summarizer = FakeSummarizer(returns=SUMMARY)
    ctx = session(summarizer)
    ctx.build()
    ctx.extend(turns(12))
    ctx.build()
    first, second = summarizer.requests
    assert (first.former, second.former) == (None, SUMMARY)
    assert not {item.id for item in first.items} & {item.id for item in second.items}
    assert [one.action for one in ctx.explain().summaries] == ["replaced", "shown"]


def test_what_a_summary_covers_can_be_recalled() -> None:
    """A question brings the very words back, in their own frame."""
    ctx = session(FakeSummarizer(returns=SUMMARY), count=0, budget=600)
    ctx.add_user_message("The door code is 4711-X and the cat is called Mimi.")
    ctx.extend(turns(24))
    ctx.build()
    ctx.add_user_message("What was the door code?")
    ctx.build()
    said_now = "\n".join(said(ctx))
    assert SUMMARY in said_now
    assert "4711-X" in said_now


def test_facts_that_a_summary_leaves_out_stay_in_the_digest() -> None:
    """What it says itself is not said twice."""
    ctx = session(FakeSummarizer(returns="The order is ORD-48213."), count=0)
    ctx.add_user_message("Orders ORD-48213 and ORD-59117, please keep both.")
    ctx.extend(turns(20))
    ctx.build()
    text = "\n".join(said(ctx)[:2])
    assert text.count("48213") == 1
    assert text.count("59117") == 1


@pytest.mark.parametrize("door", ["edit", "remove"])
def test_a_summary_of_what_was_changed_is_dropped(door: str) -> None:
    """The one that it extended counts again, where it does not tell of it."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    ctx.build()
    ctx.extend(turns(12))
    ctx.build()
    newly = max(
        int(each[1:])
        for entry in ctx.dump()
        if entry.get("entry") == "summary"
        for each in entry["covers"]
    )
    given = {"content": "another question"} if door == "edit" else {}
    getattr(ctx, door)(f"i{newly}", **given)
    told = ctx.explain().summaries
    assert [one.action for one in told] == ["shown", "dropped"]
    getattr(ctx, door)("i1", **given)
    assert [one.action for one in ctx.explain().summaries] == ["dropped", "dropped"]
    assert "<summary>" not in "".join(said(ctx))


def test_a_summary_counts_where_all_that_it_covers_has_left() -> None:
    """A larger budget still shows it whole, and a smaller one makes use of it."""
    summarizer = FakeSummarizer(returns=SUMMARY)
    ctx = session(summarizer)
    ctx.build()
    roomy = ctx.build(max_tokens=5_000)
    assert "<summary>" not in json.dumps(roomy)
    assert ctx.explain(max_tokens=5_000).summaries[0].action == "left_out"
    again = ContextBuilder.load(ctx.dump(), max_tokens=400, counter=WordCounter())
    assert again.build()[0]["content"].startswith("<summary>")


def test_a_summary_yields_before_the_budget_is_exceeded() -> None:
    """The current turn comes first; the report says so."""
    ctx = session(FakeSummarizer(returns="word " * 60), count=20)
    ctx.build()
    ctx.add_user_message("look " * 440)
    assert ctx.explain().tokens <= 500
    assert ctx.explain().summaries[0].action == "left_out"


# --- when something goes wrong --------------------------------------------------------


def test_a_refusal_is_reported_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The digest stands in; the kind of error is told, its words are not."""
    ctx = session(FakeSummarizer("raise", error="secret 503"))
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        text = "".join(said(ctx))
    assert "<notice>" in text
    (told,) = ctx.explain().summaries
    assert (told.action, told.reason) == ("refused", "failed: RuntimeError")
    assert entries(ctx) == ["summary_refused"]
    everything = (
        json.dumps(ctx.dump()) + text + str([r.__dict__ for r in caplog.records])
    )
    assert "secret 503" not in everything


def test_three_refusals_open_the_breaker() -> None:
    """Then compactions pass without a question, and one more try comes."""
    summarizer = FakeSummarizer("raise")
    ctx = session(summarizer, count=0)
    asked = []
    for message in turns(90):
        ctx.extend([message])
        ctx.build()
        asked.append((ctx.explain().compactions, summarizer.calls))
    at = {calls: compactions for compactions, calls in reversed(asked)}
    assert (at[1], at[2], at[3]) == (1, 2, 3)
    assert at[4] == 3 + SummaryPolicy().pause_compactions


class AsyncOnly:
    """Can only be awaited."""

    async def asummarize(self, request: SummaryRequest) -> str:
        """Return the summary."""
        assert request.items
        return SUMMARY


async def test_a_sync_call_says_which_twin_can_ask() -> None:
    """Nobody was asked, so the awaitable twin still may."""
    ctx = session(AsyncOnly())
    ctx.build()
    ctx.build()
    (told,) = ctx.explain().summaries
    assert "abuild()" in told.reason
    assert SUMMARY in str((await ctx.abuild())[0])
    assert [one.action for one in ctx.explain().summaries] == ["refused", "shown"]
    ctx.add_assistant_message("so.")
    request = await ctx.arequest(model="gpt-4o")
    assert request == ctx.request(model="gpt-4o")


@pytest.mark.parametrize("value", ["text", 5, FakeSummarizer, object()])
def test_what_is_no_summariser_is_refused(value: object) -> None:
    """At once, not at the first compaction."""
    with pytest.raises(InvalidItemError, match="summarizer"):
        session(value)


# --- one at a time, outside of the lock -----------------------------------------------


class Busy:
    """Does something to the session while it is asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.ctx: ContextBuilder | None = None
        self.act: Any = None

    def summarize(self, request: SummaryRequest) -> str:
        """Return the summary."""
        self.calls += 1
        self.act(self.ctx, request)
        return SUMMARY


def busy(act: Any) -> tuple[ContextBuilder, Busy]:
    """Return a session with such a summariser."""
    summarizer = Busy()
    ctx = session(summarizer)
    summarizer.ctx, summarizer.act = ctx, act
    return ctx, summarizer


def test_what_comes_in_meanwhile_stays() -> None:
    """The session is free while the model is asked."""

    def act(ctx: ContextBuilder, request: SummaryRequest) -> None:
        other = threading.Thread(target=ctx.add_user_message, args=("one more",))
        other.start()
        other.join(5)
        assert not other.is_alive()

    ctx, _ = busy(act)
    assert SUMMARY in said(ctx)[0]
    assert said(ctx)[-1] == "one more"


def test_a_summary_of_what_changed_meanwhile_is_not_put_in() -> None:
    """It would tell of what its owner took back."""

    def act(ctx: ContextBuilder, request: SummaryRequest) -> None:
        ctx.edit(request.items[0].id, content="never mind")

    ctx, _ = busy(act)
    assert "<summary>" not in "".join(said(ctx))
    assert entries(ctx) == []


def test_other_builds_go_on_with_the_digest() -> None:
    """Who comes in while a summary is under way does not wait, and does not ask."""
    summarizer = FakeSummarizer("hang", returns=SUMMARY)
    ctx = session(summarizer)
    first = threading.Thread(target=ctx.build)
    first.start()
    while not summarizer.calls:
        pass
    assert "<notice>" in said(ctx)[0]
    summarizer.release()
    first.join(5)
    assert summarizer.calls == 1
    assert SUMMARY in said(ctx)[0]


# --- asked for ------------------------------------------------------------------------


def test_compact_frees_room_below_the_budget() -> None:
    """It goes down to the low mark of what is shown; it is an event of the session."""
    ctx = session(count=5)
    before = ctx.explain()
    after = ctx.compact()
    assert after.tokens < before.tokens < 500
    assert after.compactions == 1
    assert entries(ctx) == ["compact"]
    again = ContextBuilder.load(ctx.dump(), max_tokens=500, counter=WordCounter())
    assert again.explain() == after


def test_compact_that_changes_nothing_is_no_event() -> None:
    """There is nothing that could leave."""
    ctx = session(count=0)
    revision = ctx.revision
    assert ctx.compact().compactions == 0
    assert ctx.revision == revision


def test_compact_waits_for_results() -> None:
    """A tool may ask for it: its own call has no result yet."""
    ctx = session(count=5)
    ctx.add_assistant_message("", tool_calls=[tool_call("c1", "compact")])
    assert ctx.compact().compactions == 0
    ctx.add_tool_result("compact", "done", tool_call_id="c1")
    assert ctx.explain().compactions == 1
    assert ctx.build()[-1]["tool_call_id"] == "c1"


async def test_acompact_is_compact() -> None:
    """The same log, and the same report."""
    logs = []
    for twin in ("compact", "acompact"):
        ctx = session(FakeSummarizer(returns=SUMMARY), count=8, clock=lambda: 0.0)
        report = getattr(ctx, twin)()
        report = report if twin == "compact" else await report
        assert report.summaries[0].action == "shown"
        logs.append(ctx.dump())
    assert logs[0] == logs[1]


def test_compact_asks_again_after_a_refusal() -> None:
    """Somebody wants it: neither the last attempt nor the breaker stands in the way."""
    summarizer = FakeSummarizer("raise", returns=SUMMARY)
    ctx = session(summarizer)
    ctx.build()
    summarizer.behaviour = "ok"
    assert ctx.compact().summaries[-1].action == "shown"


def test_a_compaction_is_an_event_with_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """How many, what left, what it takes now, how long it took: never content."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        ctx.build()
    (event,) = [record for record in caplog.records if record.msg == "compacted"]
    facts = event.__dict__
    assert facts["compactions"] == ctx.explain().compactions
    assert facts["left_out_items"] > 0
    assert facts["tokens"] <= facts["budget_tokens"] == 500
    assert facts["duration_seconds"] >= 0
    assert not any("question" in str(record.__dict__) for record in caplog.records)


# --- ahead of time --------------------------------------------------------------------


def near_the_budget(summarizer: FakeSummarizer) -> ContextBuilder:
    """Return a session that the next turns will compact."""
    ctx = session(summarizer, count=0, budget=1_000)
    for message in turns(40):
        if ctx.explain().tokens > 850:
            break
        ctx.extend([message])
    ctx.add_user_message("go on")
    return ctx


def test_what_lies_ready_is_put_in_when_it_is_needed() -> None:
    """Nothing is logged before; then nobody has to wait."""
    summarizer = FakeSummarizer(returns=SUMMARY)
    ctx = near_the_budget(summarizer)
    revision = ctx.revision
    assert ctx.prepare_summary()
    assert ctx.prepare_summary()
    assert (summarizer.calls, ctx.revision) == (1, revision)
    summarizer.behaviour = "raise"
    ctx.extend(turns(4))
    assert SUMMARY in said(ctx)[0]
    assert summarizer.calls == 1


def test_what_lies_ready_and_does_not_hold_is_dropped() -> None:
    """Then the build asks for itself."""
    summarizer = FakeSummarizer(returns=SUMMARY)
    ctx = near_the_budget(summarizer)
    assert ctx.prepare_summary()
    ctx.edit("i1", content="never mind " * 20)
    ctx.extend(turns(4))
    assert SUMMARY in said(ctx)[0]
    assert summarizer.calls == 2
    assert "never mind" in summarizer.requests[1].items[0].text


def test_nothing_is_prepared_far_from_the_budget() -> None:
    """Most of it may never have to leave."""
    summarizer = FakeSummarizer()
    assert not session(summarizer, count=5).prepare_summary()
    assert not session(None).prepare_summary()
    assert summarizer.calls == 0


# --- in sessions ----------------------------------------------------------------------


def test_a_stored_session_remembers_its_summaries() -> None:
    """They are journalled and played again; who reads it calls nobody."""
    summarizer = FakeSummarizer(returns=SUMMARY)
    settings: dict[str, Any] = {"max_tokens": 500, "counter": WordCounter()}
    manager = SessionManager(**settings, summarizer=summarizer)
    with manager.open("one") as ctx:
        ctx.extend(turns(20))
        ctx.add_user_message("and now?")
        live = ctx.build()
        report = ctx.compact()
    assert summarizer.requests[0].session_id == "one"
    calls = summarizer.calls
    with manager.open("one") as ctx:
        assert ctx.explain() == report
        stored = ctx.dump()
    assert "compact" in [entry.get("entry") for entry in stored]
    again = ContextBuilder.load(stored, **settings)
    assert again.explain() == report
    assert (summarizer.calls, live[0]["content"][:9]) == (calls, "<summary>")


def test_a_closed_session_asks_nobody() -> None:
    """What cannot be written can still be read."""
    summarizer = FakeSummarizer()
    manager = SessionManager(
        max_tokens=500, counter=WordCounter(), summarizer=summarizer
    )
    with manager.open("one") as ctx:
        ctx.extend(turns(20))
        ctx.add_user_message("and now?")
    assert ctx.build()
    assert summarizer.calls == 0


# --- the entries ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"covers": ["i999"]}, "item_id"),
        ({"covers": ["x"]}, "covers"),
        ({"extends": "s7"}, "id"),
        ({"extends": "i1"}, "extends"),
        ({"item": {"role": "user", "content": "x", "id": "i1"}}, "id"),
        ({"item": {"role": "user", "content": "x"}}, "id"),
        ({"made_by": 3}, "made_by"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(
    change: dict[str, Any], field: str
) -> None:
    """With the name of what is wrong."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    ctx.build()
    stored = ctx.dump()
    assert stored[-1]["entry"] == "summary"
    stored[-1] |= change
    with pytest.raises(InvalidItemError) as error:
        ContextBuilder.load(stored, max_tokens=500)
    assert error.value.field == field


def test_unknown_fields_of_an_entry_are_ignored() -> None:
    """A later version may say more of a summary."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    ctx.build()
    stored = [{**entry, "mood": "good"} for entry in ctx.dump()]
    again = ContextBuilder.load(stored, max_tokens=500, counter=WordCounter())
    assert again.dump() == ctx.dump()
    assert again.log.summaries[0].text == SUMMARY


def test_turns_and_settings_decide_when() -> None:
    """With `compact_after_turns` the same turns pass between any two compactions."""
    ctx = session(count=0, settings=Settings(compact_after_turns=4), budget=10_000)
    seen = []
    for message in turns(20):
        ctx.extend([message])
        seen.append(ctx.explain().compactions)
    assert seen[-1] == 20 // 4
