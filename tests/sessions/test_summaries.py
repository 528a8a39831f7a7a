"""Summaries are log entries: they are kept, replayed, and read by other processes."""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import SessionConflictError, StoreError
from context_builder.items import (
    ContextItem,
    SummaryAdded,
    SummaryRefused,
)
from context_builder.sessions import MemoryStore, Session, SessionKey, SessionManager
from context_builder.testing import FakeSummarizer, WordCounter, turns

if TYPE_CHECKING:
    from pathlib import Path


def manager(store: Any, **settings: Any) -> SessionManager:
    """Make a manager with a budget."""
    return SessionManager(store=store, **({"max_tokens": 9_000} | settings))


def converse(ctx: Session, turns: int) -> None:
    """Add turns."""
    for number in range(turns):
        ctx.add_user_message(f"question {number}")
        ctx.add_assistant_message(f"answer {number}")


def summary(
    ctx: Session, text: str, *covers: str, extends: str | None = None
) -> SummaryAdded:
    """Return the entry of an accepted summary."""
    item = ContextItem(role="user", content=text, source="summary", timestamp=1.0)
    return SummaryAdded(ctx.log.name_summary(item), covers, extends, "a model")


def test_summaries_are_kept(durable_url: str, namespace: str) -> None:
    """Another process reads the same entries, and extends them."""
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        with here.open("s") as ctx:
            converse(ctx, 4)
            ctx._append(summary(ctx, "Er fragte: 尺寸?", "i1", "i2"))
            ctx._append(SummaryRefused("timeout", ("i3", "i4"), "a model"))
            live = list(ctx.log)
        with there.open("s") as ctx:
            assert list(ctx.log) == live
            assert [item.text for item in ctx.log.summaries] == ["Er fragte: 尺寸?"]
            assert len(ctx.items) == 8
            ctx._append(summary(ctx, "Und dann?", "i3", "i4", extends="s1"))
            converse(ctx, 1)
            live = list(ctx.log)
        with here.open("s") as ctx:
            assert list(ctx.log) == live
            assert [item.id for item in ctx.log.summaries] == ["s1", "s2"]
        carried = here.export("s")
        assert there.import_(carried, session_id="other") == "other"
        with there.open("other") as ctx:
            assert list(ctx.log) == live


def test_a_summary_that_was_lost_is_named(namespace: str) -> None:
    """What extends it is set aside, too; items and other summaries stay."""
    store = MemoryStore()
    with manager(store) as sessions, sessions.open("s") as ctx:
        converse(ctx, 3)
        ctx._append(summary(ctx, "first", "i1", "i2"))
        ctx._append(summary(ctx, "second", "i3", "i4", extends="s1"))
        ctx._append(summary(ctx, "apart", "i1"))
    store._kept[SessionKey("default", "s")].records[6] = b"torn"
    with manager(store) as sessions, sessions.open("s") as ctx:
        assert [damage.position for damage in ctx.damage] == [6, 7]
        assert [item.text for item in ctx.log.summaries] == ["apart"]
        assert len(ctx.items) == 6
        ctx.build()


def test_summaries_are_redacted(tmp_path: Path) -> None:
    """As everything that enters the log; ids are not."""
    with manager(
        f"sqlite:///{tmp_path}/s.db", redact=lambda text: re.sub("walnut|i1", "*", text)
    ) as sessions:
        with sessions.open("s") as ctx:
            converse(ctx, 1)
            ctx._append(summary(ctx, "The code is walnut.", "i1"))
            assert ctx.log.summaries[0].text == "The code is *."
        assert b"walnut" not in (tmp_path / "s.db").read_bytes()
        entry = '"entry":"summary"'
        (line,) = [x for x in sessions.export("s").splitlines() if entry in x]
        assert '"covers":["i1"]' in line


def test_a_late_summary_is_refused_by_a_session_that_was_left() -> None:
    """What was asked for in a block is not put in behind its end."""
    with manager("memory:") as sessions:
        with sessions.open("s") as ctx:
            converse(ctx, 2)
            late = summary(ctx, "late", "i1")
        with pytest.raises(StoreError, match="not open any more"):
            ctx._append(late)
        with sessions.open("s") as ctx:
            assert ctx.log.summaries == ()


# --- with a summariser


def asking(
    store: Any, namespace: str, summarizer: FakeSummarizer, **settings: Any
) -> SessionManager:
    """Make a manager whose sessions need summaries soon."""
    return manager(
        store,
        namespace=namespace,
        max_tokens=2_000,
        counter=WordCounter(),
        summarizer=summarizer,
        **settings,
    )


def talk(ctx: Session, rounds: int) -> None:
    """Go on talking, with a build at each turn."""
    for message in turns(rounds, words=60):
        ctx.extend([message])
    ctx.add_user_message("And now?")
    ctx.build()


def test_a_summary_is_asked_for_once(durable_url: str, namespace: str) -> None:
    """Other processes and later blocks build the same without asking; then go on."""
    first = FakeSummarizer(returns="FIRST summary of it")
    second = FakeSummarizer(returns="SECOND summary of it")
    with (
        asking(durable_url, namespace, first) as here,
        asking(durable_url, namespace, second) as there,
    ):
        with here.open("s") as ctx:
            talk(ctx, 30)
            live = ctx.build()
            assert "FIRST" in str(live)
            assert {request.session_id for request in first.requests} == {"s"}
        asked = first.calls
        with there.open("s") as ctx:
            assert ctx.build() == live
            assert second.calls == 0
            while second.calls == 0:
                talk(ctx, 5)
            live = ctx.build()
            (request,) = second.requests
            assert request.former == "FIRST summary of it"
            known = {
                item_id
                for entry in ctx.log
                if isinstance(entry, SummaryAdded) and "FIRST" in entry.item.text
                for item_id in entry.covers
            }
            assert known
            assert known.isdisjoint(item.id for item in request.items)
        with here.open("s") as ctx:
            assert ctx.build() == live
            assert "SECOND" in str(live)
        assert first.calls == asked


def test_a_summary_does_not_tell_of_what_was_changed(
    durable_url: str, namespace: str
) -> None:
    """What another process edits is not told by a summary of what it was."""
    summarizer = FakeSummarizer(returns="walnut was mentioned")
    with (
        asking(durable_url, namespace, summarizer) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        with here.open("s") as ctx:
            talk(ctx, 30)
            assert "walnut" in str(ctx.build())
            (entry,) = [one for one in ctx.log if isinstance(one, SummaryAdded)]
        with there.open("s") as ctx:
            ctx.edit(entry.covers[0], content="nothing of that kind")
        summarizer.behaviour = "raise"
        with here.open("s") as ctx:
            assert "walnut" not in str(ctx.build())


def test_a_summary_of_an_overtaken_writer_is_not_kept(
    durable_url: str, namespace: str
) -> None:
    """Its model took too long: who has written meanwhile hears nothing of it."""
    slow = FakeSummarizer(returns="walnut")
    with (
        asking(durable_url, namespace, slow) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        with here.open("s") as ctx:
            for message in turns(30, words=60):
                ctx.extend([message])
        block = here.open("s")
        ctx = block.__enter__()
        assert "walnut" in str(ctx.build())
        (lease,) = [lease for lease, _ in here._desk.leases._held.values()]
        here.store.renew(lease, lease_seconds=-10)
        time.sleep(0.005)
        with there.open("s") as other:
            other.add_user_message("Never mind.")
        with pytest.raises(SessionConflictError):
            block.__exit__(None, None, None)
        with there.open("s") as other:
            assert other.items[-1].text == "Never mind."
            assert other.log.summaries == ()


def test_a_session_that_was_left_asks_for_nothing(namespace: str) -> None:
    """It can still be built; what it would learn could not be kept."""
    summarizer = FakeSummarizer()
    with asking("memory:", namespace, summarizer) as sessions:
        with sessions.open("s") as ctx:
            for message in turns(30, words=60):
                ctx.extend([message])
        assert ctx.build()
        assert summarizer.calls == 0


async def test_events_of_a_summary_name_the_session(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Accepted and refused ones, and the compaction, without content."""
    caplog.set_level(logging.DEBUG, logger="context_builder")
    url = f"sqlite:///{tmp_path}/s.db"
    for behaviour in ("ok", "raise"):
        summarizer = FakeSummarizer(behaviour, returns="walnut", error="walnut")
        async with (
            asking(url, "default", summarizer) as sessions,
            sessions.open(behaviour) as ctx,
        ):
            for message in turns(30, words=60):
                ctx.extend([message])
            await ctx.abuild()
    events = {record.message for record in caplog.records}
    assert {"compacted", "context_built", "summary_accepted"} <= events
    assert "summary_refused" in events
    assert all(record.__dict__.get("session_id") for record in caplog.records)
    assert not any("walnut" in str(record.__dict__) for record in caplog.records)
