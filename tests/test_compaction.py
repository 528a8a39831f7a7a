"""Compactions that are asked for, summaries made ahead, stored and read back."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from context_builder import (
    ContextBuilder,
    InvalidItemError,
    SessionManager,
    Settings,
    acall_with_recovery,
)
from context_builder.testing import FakeSummarizer, WordCounter, tool_call, turns
from tests.summarized import SUMMARY, AsyncOnly, entries, said, session

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


def test_a_compaction_that_was_loaded_is_told_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each process that reads the session cold would count it once more."""
    ctx = session(FakeSummarizer(returns=SUMMARY))
    ctx.build()
    loaded = ContextBuilder.load(ctx.dump(), max_tokens=500)
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        loaded.build()
        told = [record.msg for record in caplog.records]
        assert "compacted" not in told
        (built,) = [one for one in caplog.records if one.msg == "context_built"]
        assert built.__dict__["compactions"] == 0
        assert loaded.explain().compactions == ctx.explain().compactions > 0
        loaded.extend(turns(20))
        loaded.build()
    assert "compacted" in [record.msg for record in caplog.records]


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


async def test_an_overflow_awaits_its_summary() -> None:
    """A call that is recovered in an event loop does not hold it up."""
    ctx = ContextBuilder(max_tokens=5_000, model="gpt-4o", summarizer=AsyncOnly())
    ctx.extend(turns(20))
    ctx.add_user_message("and now?")
    sent: list[str] = []

    async def call(**request: Any) -> str:
        sent.append(str(request["messages"]))
        if len(sent) == 1:
            message = "Your input exceeds the context window of this model."
            raise VendorError(message)
        return "answer"

    assert await acall_with_recovery(ctx, call) == "answer"
    assert [SUMMARY in messages for messages in sent] == [False, True]


class VendorError(Exception):
    """What an SDK raises."""

    status_code = 400
