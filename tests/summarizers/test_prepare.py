from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from context_builder.summarizers import Snapshot, SummaryPolicy, aprepare, prepare
from context_builder.testing import FakeSummarizer
from tests.summarizers.conversations import request, talk

POLICY = SummaryPolicy()
SNAPSHOT = Snapshot(request(), former_id="s1")
ITEMS = SNAPSHOT.request.items


def test_little_is_not_worth_asking() -> None:
    """A handful of words costs a call and gains nothing."""
    assert SNAPSHOT.is_worth_asking(POLICY)
    assert not Snapshot(request(talk(1))).is_worth_asking(POLICY)


async def test_it_can_be_prepared_in_a_thread_or_a_task() -> None:
    """The same result, ready before it is needed."""
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(prepare, SNAPSHOT, FakeSummarizer(), POLICY)
    task = asyncio.create_task(aprepare(SNAPSHOT, FakeSummarizer(), POLICY))
    assert ahead.result() == await task
    assert ahead.result().result.is_accepted


def test_it_holds_as_long_as_nothing_changed() -> None:
    """Compare and swap: what it covers, and the summary that it extends."""
    ready = prepare(SNAPSHOT, FakeSummarizer(), POLICY)
    assert ready.still_holds(former_id="s1", left_out=ITEMS)
    later = talk(9)
    assert ready.still_holds(former_id="s1", left_out=later)  # more has left
    assert not ready.still_holds(former_id="s2", left_out=ITEMS)  # another came first
    assert not ready.still_holds(former_id=None, left_out=ITEMS)
    assert not ready.still_holds(former_id="s1", left_out=ITEMS[1:])  # removed
    edited = (ITEMS[0].with_content("something else"), *ITEMS[1:])
    assert not ready.still_holds(former_id="s1", left_out=edited)


def test_a_refusal_is_compared_as_well() -> None:
    """What was refused about messages that are no longer there says nothing."""
    refused = prepare(SNAPSHOT, FakeSummarizer("empty"), POLICY)
    assert refused.result.reason == "empty"
    assert refused.still_holds(former_id="s1", left_out=ITEMS)
    assert not refused.still_holds(former_id="s1", left_out=ITEMS[2:])
