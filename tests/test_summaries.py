"""What a summary does in a request, and what becomes of one that goes wrong."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import (
    ContextBuilder,
    InvalidItemError,
)
from context_builder.summarizers import SummaryPolicy
from context_builder.testing import FakeSummarizer, WordCounter, turns
from tests.summarized import SUMMARY, AsyncOnly, entries, said, session

if TYPE_CHECKING:
    from context_builder.summarizers import SummaryRequest


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


def test_a_session_can_get_a_summarizer_later() -> None:
    """Or another policy for it, or none: then what was summarized stays so."""
    ctx = session(None)
    assert "<summary>" not in str(ctx.build())
    summarizer = FakeSummarizer(returns=SUMMARY)
    ctx.configure(summary_policy=SummaryPolicy(min_tokens=10**6))
    ctx.configure(summarizer=summarizer)
    ctx.build()
    assert summarizer.calls == 0  # the policy that was given first holds
    ctx.configure(summary_policy=None)
    assert said(ctx)[0] == f"<summary>{SUMMARY}</summary>"
    ctx.configure(summarizer=None)
    assert said(ctx)[0] == f"<summary>{SUMMARY}</summary>"
    assert summarizer.calls == 1


def test_a_summary_that_comes_after_a_change_is_not_put_in() -> None:
    """It was asked of a summariser that the session has no more."""

    class Changing:
        def summarize(self, request: SummaryRequest) -> str:
            del request
            ctx.configure(summarizer=FakeSummarizer(returns="the new one's"))
            return "the former one's"

    ctx = session(Changing())
    assert "former" not in str(ctx.build())
    assert "the new one's" in str(ctx.build())


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
