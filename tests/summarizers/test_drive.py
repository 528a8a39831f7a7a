from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
import time
from typing import TYPE_CHECKING, cast

import pytest

from context_builder.errors import SummarizerError
from context_builder.summarizers import (
    AsyncSummarizer,
    Summarizer,
    SummaryPolicy,
    SummaryRequest,
    SummaryResult,
    adrive,
    drive,
    summary_flow,
)
from context_builder.testing import FakeSummarizer
from tests.summarizers.conversations import request, talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.summarizers import AnySummarizer
    from context_builder.testing import Behaviour

POLICY = SummaryPolicy()
BEHAVIOURS: list[Behaviour] = ["ok", "record", "raise", "empty", "longer", "cut"]


def wait(summarizer: AnySummarizer, seconds: float = 5) -> SummaryResult:
    """Ask and wait."""
    return drive(summary_flow(request(), POLICY), summarizer, seconds)


async def awaited(summarizer: AnySummarizer, seconds: float = 5) -> SummaryResult:
    """Ask and await."""
    return await adrive(summary_flow(request(), POLICY), summarizer, seconds)


class SyncOnly:
    """A summariser that does what a function does."""

    def __init__(self, do: Callable[[SummaryRequest], object]) -> None:
        self.do = do

    def summarize(self, request: SummaryRequest) -> str:
        """Do it, and call what it returns text: so may users."""
        return cast("str", self.do(request))


class AsyncOnly:
    """The same, for those who await."""

    def __init__(self, do: Callable[[SummaryRequest], object]) -> None:
        self.do = do

    async def asummarize(self, request: SummaryRequest) -> str:
        """Do it, as above."""
        await asyncio.sleep(0)
        return cast("str", self.do(request))


def raising(error: BaseException) -> Callable[[SummaryRequest], object]:
    """Return a function that raises."""

    def do(request: SummaryRequest) -> object:
        raise error

    return do


def saying(answer: object) -> Callable[[SummaryRequest], object]:
    """Return a function that answers."""

    def do(request: SummaryRequest) -> object:
        return answer

    return do


def test_the_protocols_tell_what_a_summariser_can() -> None:
    """One method, or both."""
    assert isinstance(FakeSummarizer(), Summarizer)
    assert isinstance(FakeSummarizer(), AsyncSummarizer)
    assert not isinstance(SyncOnly(str), AsyncSummarizer)
    assert not isinstance(AsyncOnly(str), Summarizer)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_waiting_and_awaiting_come_to_the_same(behaviour: Behaviour) -> None:
    """Sync, async, and sync asked by async: the same requests, the same result."""
    waited, asked, mixed = (FakeSummarizer(behaviour) for _ in range(3))
    results = [
        wait(waited),
        await awaited(asked),
        await awaited(SyncOnly(mixed.summarize)),
    ]
    assert results[0] == results[1] == results[2]
    assert waited.requests == asked.requests == mixed.requests
    assert results[0].is_accepted == (behaviour in {"ok", "record"})


def test_a_hanging_summariser_is_left_behind() -> None:
    """The caller is back in time, and the late answer is dropped."""
    slow = FakeSummarizer("hang", seconds=30)
    started = time.monotonic()
    result = wait(slow, 0.1)
    assert time.monotonic() - started < 5
    assert (result.text, result.reason, result.calls) == (None, "timeout", 1)
    slow.release()


async def test_a_hanging_summariser_is_left_behind_by_tasks() -> None:
    """The same for a coroutine that hangs, and for a thread."""
    slow = FakeSummarizer("hang", seconds=30)
    for summarizer in (slow, SyncOnly(slow.summarize)):
        started = time.monotonic()
        result = await awaited(summarizer, 0.1)
        assert time.monotonic() - started < 5
        assert result.reason == "timeout"
    slow.release()


async def test_one_that_will_not_be_cancelled_is_left_behind_too() -> None:
    """Whoever swallows the cancellation does not hold up the caller."""
    gone = asyncio.Event()

    class Stubborn:
        async def asummarize(self, request: SummaryRequest) -> str:
            del request
            for _ in range(2):
                try:
                    await asyncio.sleep(1.5)
                except asyncio.CancelledError:
                    continue
            gone.set()
            raise RuntimeError

    started = time.monotonic()
    result = await awaited(Stubborn(), 0.05)
    assert time.monotonic() - started < 1.4
    assert result.reason == "timeout"
    await asyncio.wait_for(gone.wait(), 5)
    await asyncio.sleep(0)
    gc.collect()  # an exception that nobody fetched would be warned of here


def test_the_timeout_is_for_all_calls_together() -> None:
    """Chunks that came in time count; the rest is left."""
    policy = SummaryPolicy(summarizer_window_tokens=2_000)
    asked = request(talk(60), policy=policy)
    calls = 0

    def do(request: SummaryRequest) -> str:
        nonlocal calls
        calls += 1
        time.sleep(0 if calls == 1 else 3)
        return f"Goal: {calls}"

    result = drive(summary_flow(asked, policy), SyncOnly(do), 1)
    assert result.text == "Goal: 1"
    assert result.rest_reason == "timeout"
    assert calls == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("503"), "failed"),
        (TimeoutError("its own"), "timeout"),
        (SystemExit(3), "failed"),
        (StopIteration("odd"), "failed"),
        (SummarizerError("mine"), "failed"),
    ],
)
async def test_nothing_that_it_raises_gets_out(
    error: BaseException, reason: str
) -> None:
    """Whatever it is, it is recorded with its cause."""
    for result in (
        wait(SyncOnly(raising(error))),
        await awaited(SyncOnly(raising(error))),
        await awaited(AsyncOnly(raising(error))),
    ):
        assert result.reason == reason
        assert isinstance(result.error, SummarizerError)


async def test_a_call_that_cancels_itself_is_a_failure() -> None:
    """Only the caller's own cancellation passes through."""
    for make in (SyncOnly, AsyncOnly):
        result = await awaited(make(raising(asyncio.CancelledError())))
        assert result.reason == "failed"


async def test_a_cancellation_passes_through() -> None:
    """The caller is cancelled, and so is the summariser."""
    cancelled = asyncio.Event()

    class Waits:
        async def asummarize(self, request: SummaryRequest) -> str:
            del request
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return "late"

    task = asyncio.create_task(awaited(Waits()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_timeout_of_the_callers_passes_through() -> None:
    """A deadline of the application is the application's."""
    slow = FakeSummarizer("hang", seconds=30)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await awaited(slow, 20)


def test_an_async_summariser_is_not_asked_by_who_waits() -> None:
    """The result says which twin to use."""
    result = wait(AsyncOnly(saying("Goal: x")))
    assert result.reason == "failed"
    assert "acompact()" in str(result.error)


@pytest.mark.parametrize("answer", [None, 7, b"Goal: x", ["Goal"], object()])
async def test_what_is_no_text_is_refused(answer: object) -> None:
    """A summariser may return anything."""
    for result in (
        wait(SyncOnly(saying(answer))),
        await awaited(AsyncOnly(saying(answer))),
    ):
        assert result.reason in {"empty", "not_text"}


async def test_the_context_is_handed_on() -> None:
    """What traces a request sees the summariser inside it, in a thread as well."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="?")
    name.set("request 7")

    def do(request: SummaryRequest) -> str:
        return f"Goal: {name.get()}"

    assert wait(SyncOnly(do)).text == "Goal: request 7"
    assert (await awaited(SyncOnly(do))).text == "Goal: request 7"
    assert (await awaited(AsyncOnly(do))).text == "Goal: request 7"


def test_a_program_may_end_while_it_hangs() -> None:
    """Its thread holds nobody up."""
    slow = FakeSummarizer("hang", seconds=30)
    wait(slow, 0.05)
    threads = [t for t in threading.enumerate() if "summary" in t.name]
    assert threads
    assert all(thread.daemon for thread in threads)
    slow.release()


def test_what_came_of_it_is_logged_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Counts and reasons; a refusal is a warning."""
    caplog.set_level(logging.DEBUG, logger="context_builder")
    wait(FakeSummarizer("ok", returns="SECRET text"))
    wait(FakeSummarizer("raise", error="SECRET error"))
    assert [record.levelname for record in caplog.records] == ["DEBUG", "WARNING"]
    assert [record.message for record in caplog.records] == [
        "summary_accepted",
        "summary_refused",
    ]
    said = str([record.__dict__ for record in caplog.records])
    assert "SECRET" not in said
    assert "because" not in said
    assert "RuntimeError" in said
