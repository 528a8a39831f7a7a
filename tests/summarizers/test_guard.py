from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

from context_builder.summarizers import (
    SummaryGuard,
    SummaryPolicy,
    SummaryRequest,
    adrive,
    drive,
    summary_flow,
)
from tests.summarizers.conversations import request

POLICY = SummaryPolicy()


class Reentrant:
    """A summariser that wants a summary itself, of this session and of another."""

    def __init__(self, own: SummaryGuard, other: SummaryGuard) -> None:
        self.guards = (own, other)
        self.got: list[tuple[bool, ...]] = []
        self.late: list[bool] = []
        self.gate = threading.Event()

    def look(self) -> str:
        """Note which places are free."""
        with ExitStack() as stack:
            self.got.append(
                tuple(stack.enter_context(guard.flight()) for guard in self.guards)
            )
        return "Goal: x"

    def summarize(self, request: SummaryRequest) -> str:
        """Look, from a thread."""
        del request
        return self.look()

    async def asummarize(self, request: SummaryRequest) -> str:
        """Look, from a task of its own."""
        del request

        async def inner() -> str:
            return self.look()

        return await asyncio.create_task(inner())


class Late(Reentrant):
    """One that looks long after it was given up."""

    def summarize(self, request: SummaryRequest) -> str:
        """Look, late."""
        del request
        self.gate.wait(5)
        self.late.append(self.guards[0].is_inside)
        return self.look()


def test_a_summary_inside_a_summary_ends_there() -> None:
    """The session itself gets none, another session is not affected: threads."""
    own, other = SummaryGuard(), SummaryGuard()
    summarizer = Reentrant(own, other)
    with own.flight() as is_mine:
        assert (is_mine, own.is_busy, own.is_inside) == (True, True, True)
        drive(summary_flow(request(), POLICY), summarizer, 5)
    assert summarizer.got == [(False, True)]
    assert (own.is_busy, own.is_inside) == (False, False)


async def test_a_summary_inside_a_summary_ends_there_in_tasks() -> None:
    """The same for tasks that the summariser begins."""
    own, other = SummaryGuard(), SummaryGuard()
    summarizer = Reentrant(own, other)
    with own.flight() as is_mine:
        assert is_mine
        await adrive(summary_flow(request(), POLICY), summarizer, 5)
    assert summarizer.got == [(False, True)]


def test_who_was_given_up_is_still_inside() -> None:
    """A late thread does not start another summary when the place is free again."""
    own, other = SummaryGuard(), SummaryGuard()
    summarizer = Late(own, other)
    with own.flight():
        result = drive(summary_flow(request(), POLICY), summarizer, 0.05)
    assert result.reason == "timeout"
    assert not own.is_busy
    summarizer.gate.set()
    for _ in range(500):
        if summarizer.got:
            break
        threading.Event().wait(0.01)
    assert summarizer.late == [True]
    assert summarizer.got == [(False, True)]


def test_one_flight_at_a_time() -> None:
    """Of many threads one has the place; the others go on at once, without."""
    guard = SummaryGuard()
    inside, leave = threading.Barrier(8), threading.Barrier(8)
    got: list[bool] = []

    def build() -> None:
        inside.wait(5)
        with guard.flight() as is_mine:
            got.append(is_mine)
            leave.wait(5)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]
    with guard.flight() as is_mine:
        assert is_mine


async def test_one_flight_at_a_time_in_tasks() -> None:
    """The same for tasks, and the place is given back when a task is cancelled."""
    guard = SummaryGuard()
    got: list[bool] = []

    async def build() -> None:
        with guard.flight() as is_mine:
            got.append(is_mine)
            await asyncio.sleep(10 if is_mine else 0)

    tasks = [asyncio.create_task(build()) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert got == [True] + [False] * 4
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not guard.is_busy
