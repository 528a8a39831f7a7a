"""Carries the steps of a turn out where waiting is awaited, and can be cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from context_builder.agent.asking import Question, close_pieces, plain
from context_builder.agent.calls import Prepared, Returned, failed, late, returned
from context_builder.agent.turn import Ask, Keep, Run, Step, Turn
from context_builder.recovery import acall_with_recovery
from context_builder.threads import begin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.agent.drivers import Line
    from context_builder.agent.events import TurnResult
    from context_builder.agent.stops import Answer
    from context_builder.agent.waiting import Waited
    from context_builder.messages import ToolCall

__all__ = ["adrive"]

_END = object()
"""What comes behind the last piece of a stream."""


async def adrive(turn: Turn, line: Line) -> TurnResult:
    """Carry a turn out to its end.

    Raises:
        asyncio.CancelledError: If the caller is cancelled; what came is kept.
    """
    steps = turn.steps()
    try:
        step = next(steps)
        while True:
            try:
                done = await _do(turn, line, step)
            except BaseException as error:  # a cancellation, too: what came is kept
                step = steps.throw(error)
            else:
                step = steps.send(done)
    except StopIteration as stop:
        result: TurnResult = stop.value
        return result
    finally:
        steps.close()


async def _do(turn: Turn, line: Line, step: Step) -> Any:
    match step:
        case Keep():
            return await _keep(turn)
        case Ask():
            return await _ask(turn, line, step)
        case Run():
            return await _run(turn, step)


async def _keep(turn: Turn) -> None:
    commit = getattr(turn.ctx, "acommit", None)
    if commit is not None:
        await commit()


async def _ask(turn: Turn, line: Line, step: Ask) -> Answer:
    question = Question(turn, step, line.driver)

    async def call(**request: Any) -> Answer:
        if line.awaiting is None:
            return await _ask_in_thread(question, line, request, turn.waited)
        return await _ask_awaited(question, line, request, turn.waited)

    plan = turn.plan
    return await acall_with_recovery(
        question.watched, call, target=plan.target, model=plan.model
    )


async def _ask_awaited(
    question: Question, line: Line, request: dict[str, Any], waited: Waited
) -> Answer:
    asked = question.sent(request)
    with waited:
        answer = await line.driver.create(line.awaiting, asked, stream=question.streams)
    if not question.streams:
        return plain(answer)
    close = close_pieces(answer)
    try:
        pieces = aiter(answer)
        while True:
            with waited:
                piece = await anext(pieces, _END)
            if piece is _END:
                return question.pieces()
            question.take(piece)
    finally:
        if close is not None:
            await close()


async def _ask_in_thread(
    question: Question, line: Line, request: dict[str, Any], waited: Waited
) -> Answer:
    """Ask through a client that blocks; what comes is taken in by the event loop."""
    loop = asyncio.get_running_loop()
    asked = question.sent(request)
    is_over = threading.Event()

    def read() -> Any:
        answer = line.driver.create(line.blocking, asked, stream=question.streams)
        if not question.streams:
            return plain(answer)
        close = close_pieces(answer)
        try:
            for piece in answer:
                if is_over.is_set():
                    break
                loop.call_soon_threadsafe(question.take, piece)
        finally:
            if close is not None:
                close()
        return None

    try:
        with waited:
            whole = await asyncio.wrap_future(begin(read))
        # Where the thread was done before anybody waited for it, newer Pythons go on at
        # once: first the loop has to come to the pieces that were handed to it.
        await asyncio.sleep(0)
    finally:
        is_over.set()
    return question.pieces() if whole is None else whole


# --- tools ----------------------------------------------------------------------------


async def _run(turn: Turn, step: Run) -> None:
    """Run calls as tasks, so many at a time; none is left when it returns."""
    gate = asyncio.Semaphore(turn.plan.max_parallel_calls)
    tasks = {
        asyncio.create_task(_made(turn, call, gate)): index
        for index, call in enumerate(step.calls)
    }
    pending: set[asyncio.Task[Returned]] = set(tasks)
    try:
        while pending:
            with turn.waited:
                done, pending = await asyncio.wait(
                    pending, return_when=asyncio.FIRST_COMPLETED
                )
            for task in sorted(done, key=lambda one: tasks[one]):
                if turn.ended(tasks[task], task.result()):
                    await _keep(turn)
                turn.tell_ended(tasks[task])
    finally:
        await _end(turn, tasks)


async def _end(turn: Turn, tasks: dict[asyncio.Task[Returned], int]) -> None:
    """Cancel what still runs, wait for it, and tell what had ended meanwhile."""
    for task in tasks:
        task.cancel()
    await _gone(tasks)
    for task, index in tasks.items():
        if not task.cancelled() and task.exception() is None and not turn.knows(index):
            turn.ended(index, task.result())
            turn.tell_ended(index)


async def _gone(tasks: Iterable[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


async def _made(turn: Turn, call: ToolCall, gate: asyncio.Semaphore) -> Returned:
    async with gate:
        turn.started(call)
        prepared = turn.plan.toolbox.prepare(call)
        if isinstance(prepared, Returned):
            return prepared
        started = time.perf_counter()
        limit = turn.plan.toolbox.timeout_of(call)
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                value = await _value(prepared, limit)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return failed(call, error)  # the tool cancelled itself
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and clock.expired():
                return late(call, limit)
            return failed(call, error, seconds=time.perf_counter() - started)
        return returned(call, value, seconds=time.perf_counter() - started)


async def _value(prepared: Prepared, timeout_seconds: float) -> Any:
    waiting = prepared.awaitable()
    if waiting is None:
        return await asyncio.wrap_future(begin(lambda: prepared.run(timeout_seconds)))
    return await waiting
