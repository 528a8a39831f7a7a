"""Carries a summary flow out: in a thread with a timeout, or as a task with one.

Whoever waits gets an answer in time, whatever the summariser does: an answer that comes
too late is dropped. Nothing that it raises gets out; a cancellation passes through.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from typing import TYPE_CHECKING

from context_builder.errors import SummarizerError
from context_builder.logs import log_event
from context_builder.summarizers.protocol import (
    AnySummarizer,
    AsyncSummarizer,
    Summarizer,
    SummaryRequest,
    SummaryResult,
)
from context_builder.threads import begin

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from context_builder.summarizers.flow import SummaryFlow

__all__ = ["adrive", "drive"]


def drive(
    flow: SummaryFlow, summarizer: AnySummarizer, timeout_seconds: float
) -> SummaryResult:
    """Carry a flow out, waiting for each answer; at most so long in all.

    The summariser runs in a thread of its own. One that hangs is left behind there.

    Args:
        flow: What to ask.
        summarizer: One with `summarize`. A purely async one cannot be asked here: the
            result says so, and names the twin.
        timeout_seconds: What all answers together may take.
    """
    started = time.monotonic()
    session_id = None
    try:
        request = next(flow)
        session_id = request.session_id
        while True:
            left_seconds = started + timeout_seconds - time.monotonic()
            request = flow.send(_answer(summarizer, request, left_seconds))
    except StopIteration as stop:
        return _told(stop.value, started, session_id)
    finally:
        flow.close()


async def adrive(
    flow: SummaryFlow, summarizer: AnySummarizer, timeout_seconds: float
) -> SummaryResult:
    """Carry a flow out, awaiting each answer; at most so long in all.

    A summariser that has only `summarize` runs in a thread of its own.

    Raises:
        asyncio.CancelledError: If the caller is cancelled; the summariser is, too.
    """
    started = time.monotonic()
    session_id = None
    try:
        request = next(flow)
        session_id = request.session_id
        while True:
            left_seconds = started + timeout_seconds - time.monotonic()
            request = flow.send(await _aanswer(summarizer, request, left_seconds))
    except StopIteration as stop:
        return _told(stop.value, started, session_id)
    finally:
        flow.close()


def _answer(
    summarizer: AnySummarizer, request: SummaryRequest, left_seconds: float
) -> str | Exception:
    """Return the answer, or what was raised instead of one."""
    if not isinstance(summarizer, Summarizer):
        return SummarizerError(
            f"{type(summarizer).__name__} is async only: use abuild() or acompact()"
        )
    if left_seconds <= 0:
        return _late()
    future = _begin(functools.partial(summarizer.summarize, request))
    try:
        return future.result(left_seconds)
    except TimeoutError:
        return _late()


async def _aanswer(
    summarizer: AnySummarizer, request: SummaryRequest, left_seconds: float
) -> str | Exception:
    if left_seconds <= 0:
        return _late()
    waiting: asyncio.Future[str | Exception]
    if isinstance(summarizer, AsyncSummarizer):
        waiting = asyncio.ensure_future(_awaited(summarizer, request))
    else:
        call = functools.partial(summarizer.summarize, request)
        waiting = asyncio.wrap_future(_begin(call))
    try:
        await asyncio.wait([waiting], timeout=left_seconds)
    except asyncio.CancelledError:
        _drop(waiting)
        raise
    if not waiting.done():
        _drop(waiting)
        return _late()
    if waiting.cancelled():
        return SummarizerError("the summariser's own call was cancelled")
    return waiting.result()


async def _awaited(
    summarizer: AsyncSummarizer, request: SummaryRequest
) -> str | Exception:
    try:
        return await summarizer.asummarize(request)
    except (Exception, SystemExit) as error:
        return _as_exception(error)


def _begin(call: Callable[[], str]) -> Future[str | Exception]:
    """Start a call; what it raises is its answer."""
    return begin(call, name="summary", caught=_as_exception)


def _as_exception(error: BaseException) -> Exception:
    """Return what a summariser raised; not even an exit of its own ends the caller."""
    if isinstance(error, Exception):
        return error
    made = SummarizerError(f"the summariser ended with {type(error).__name__}")
    made.__cause__ = error
    return made


def _drop(waiting: asyncio.Future[str | Exception]) -> None:
    """Let go of an answer that nobody waits for; what it raises concerns nobody."""
    waiting.add_done_callback(lambda late: late.cancelled() or late.exception())
    waiting.cancel()


def _late() -> TimeoutError:
    return TimeoutError("the summariser did not answer in time")


def _told(
    result: SummaryResult, started: float, session_id: str | None
) -> SummaryResult:
    """Log what came of it: counts and reasons, never content."""
    log_event(
        "summary_accepted" if result.is_accepted else "summary_refused",
        level=logging.DEBUG if result.is_accepted else logging.WARNING,
        reason=result.reason or result.rest_reason,
        error=type(result.error.__cause__ or result.error).__name__
        if result.error
        else None,
        covered_items=len(result.covered),
        replaced_tokens=result.replaced_tokens,
        tokens=result.tokens,
        calls=result.calls,
        duration_seconds=round(time.monotonic() - started, 6),
        **({} if session_id is None else {"session_id": session_id}),
    )
    return result
