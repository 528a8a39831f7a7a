"""Carries the steps of a turn out where waiting blocks: one call after another."""

from __future__ import annotations

import functools
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any

from context_builder.agent.asking import Question, close_pieces, plain
from context_builder.agent.calls import Prepared, Returned, failed, late, returned
from context_builder.agent.turn import Ask, Keep, Run, Step, Turn
from context_builder.recovery import call_with_recovery
from context_builder.threads import begin

if TYPE_CHECKING:
    from context_builder.agent.drivers import Line
    from context_builder.agent.events import TurnResult
    from context_builder.agent.stops import Answer
    from context_builder.agent.waiting import Waited
    from context_builder.messages import ToolCall

__all__ = ["drive"]

_END = object()
"""What comes behind the last piece of a stream."""


def drive(turn: Turn, line: Line) -> TurnResult:
    """Carry a turn out to its end."""
    steps = turn.steps()
    try:
        step = next(steps)
        while True:
            try:
                done = _do(turn, line, step)
            except BaseException as error:  # KeyboardInterrupt, too: what came is kept
                step = steps.throw(error)
            else:
                step = steps.send(done)
    except StopIteration as stop:
        result: TurnResult = stop.value
        return result
    finally:
        steps.close()


def _do(turn: Turn, line: Line, step: Step) -> Any:
    match step:
        case Keep():
            return _keep(turn)
        case Ask():
            return _ask(turn, line, step)
        case Run():
            return _run(turn, step)


def _keep(turn: Turn) -> None:
    """Make durable what came in, where the session can be kept."""
    commit = getattr(turn.ctx, "commit", None)
    if commit is not None:
        commit()


def _ask(turn: Turn, line: Line, step: Ask) -> Answer:
    question = Question(turn, step, line.driver)
    client = line.need_blocking()

    def call(**request: Any) -> Answer:
        return _answer(question, line, client, request, turn.waited)

    plan = turn.plan
    return call_with_recovery(
        question.watched, call, target=plan.target, model=plan.model
    )


def _answer(
    question: Question,
    line: Line,
    client: Any,
    request: dict[str, Any],
    waited: Waited,
) -> Answer:
    """Make one call, and return the answer as plain data."""
    asked = question.sent(request)
    with waited:
        answer = line.driver.create(client, asked, stream=question.streams)
    if not question.streams:
        return plain(answer)
    close = close_pieces(answer)
    try:
        pieces = iter(answer)
        while True:
            with waited:
                piece = next(pieces, _END)
            if piece is _END:
                return question.pieces()
            question.take(piece)
    finally:
        if close is not None:
            close()


# --- tools ----------------------------------------------------------------------------


def _run(turn: Turn, step: Run) -> None:
    """Run calls in threads, so many at a time; one that is late is left behind."""
    waiting = list(enumerate(step.calls))
    running: dict[Future[Returned], tuple[int, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < turn.plan.max_parallel_calls:
                _start(turn, *waiting.pop(0), running)
            if running:
                _wait(turn, step, running)
    finally:  # interrupted: what has ended meanwhile is told
        for future, (index, _) in running.items():
            if future.done():
                turn.ended(index, future.result())
                turn.tell_ended(index)


def _start(
    turn: Turn,
    index: int,
    call: ToolCall,
    running: dict[Future[Returned], tuple[int, float]],
) -> None:
    turn.started(call)
    prepared = turn.plan.toolbox.prepare(call)
    if isinstance(prepared, Returned):
        _end(turn, index, prepared)
        return
    limit = turn.plan.toolbox.timeout_of(call)
    future = begin(functools.partial(_made, call, prepared, limit))
    running[future] = index, time.monotonic() + limit


def _made(call: ToolCall, prepared: Prepared, timeout_seconds: float) -> Returned:
    started = time.perf_counter()
    try:
        value = prepared.run(timeout_seconds)
    except BaseException as error:  # an exit of the tool's own ends nobody else
        seconds = time.perf_counter() - started
        if isinstance(error, TimeoutError) and seconds >= timeout_seconds:
            return late(call, timeout_seconds)
        return failed(call, error, seconds=seconds)
    return returned(call, value, seconds=time.perf_counter() - started)


def _wait(
    turn: Turn, step: Run, running: dict[Future[Returned], tuple[int, float]]
) -> None:
    """Wait until a call ends, or is late."""
    nearest = min(due for _, due in running.values())
    with turn.waited:
        wait(running, max(0.0, nearest - time.monotonic()), FIRST_COMPLETED)
    now = time.monotonic()
    for future, (index, due) in list(running.items()):
        if future.done():
            del running[future]
            _end(turn, index, future.result())
        elif due <= now:
            del running[future]
            call = step.calls[index]
            _end(turn, index, late(call, turn.plan.toolbox.timeout_of(call)))


def _end(turn: Turn, index: int, result: Returned) -> None:
    if turn.ended(index, result):
        _keep(turn)
    turn.tell_ended(index)
