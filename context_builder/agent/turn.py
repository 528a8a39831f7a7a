"""The algorithm of a turn: what to do next, and what enters the session. No I/O.

A turn is a generator of steps. Two drivers carry the steps out, one that blocks and one
that awaits; they differ in nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.agent.calls import Returned, Toolbox, failed, not_run
from context_builder.agent.events import (
    AgentEvent,
    RequestSent,
    StopReason,
    ToolFinished,
    ToolStarted,
    TurnResult,
    UsageReported,
)
from context_builder.agent.stops import Answer, stop_of, was_cut
from context_builder.agent.waiting import Waited
from context_builder.collect import Reply, Usage, read_response
from context_builder.errors import InvalidItemError
from context_builder.logs import log_event
from context_builder.messages import ToolCall

if TYPE_CHECKING:
    from context_builder.builder import ContextBuilder
    from context_builder.items import ContextItem
    from context_builder.report import RequestSize

__all__ = ["Ask", "Keep", "Plan", "Run", "Step", "Steps", "Turn"]


@dataclasses.dataclass(frozen=True, slots=True)
class Keep:
    """Make durable what came in, where the session can be kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model."""

    round: int
    """From 1."""
    may_call: bool
    """Whether it may call tools; after the last round it may only answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """Run these calls side by side, and tell of each as it ends."""

    calls: tuple[ToolCall, ...]


Step = Keep | Ask | Run
Steps = Generator[Step, Any, TurnResult]


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What a turn goes by."""

    target: str
    model: str | None
    toolbox: Toolbox
    definitions: Sequence[Mapping[str, Any]]
    """Of the tools, as they were read already; empty: the session's stay as they are"""
    max_rounds: int
    max_parallel_calls: int
    keeps_answer: bool = True
    """Whether the answer is kept before the turn is over; otherwise by the caller"""


class Turn:
    """One turn of one session, from the user's message to the answer."""

    def __init__(
        self,
        ctx: ContextBuilder,
        content: object,
        plan: Plan,
        *,
        emit: Callable[[AgentEvent], None],
        streams: bool,
    ) -> None:
        self.ctx = ctx
        self.plan = plan
        self.emit = emit
        self.streams = streams
        self.pieces: list[Mapping[str, Any]] = []
        """What has come of a stream that is under way."""
        self.waited = Waited()
        """How long others were waited for."""
        self._started = time.perf_counter()
        self._content = content
        self._item_ids: list[str] = []
        self._usage = Usage(0, 0)
        self._rounds = 0
        self._calls = 0
        self._open: tuple[ToolCall, ...] = ()
        self._ended: dict[int, Returned] = {}
        self._settled = 0

    # --- the steps ------------------------------------------------------------------

    def steps(self) -> Steps:
        """Yield what to do next; take an `Ask`'s answer; return what came of it all.

        An error that is thrown in passes through, once what came of the answer and of
        the tools is in the session.

        Raises:
            InvalidItemError: If there is nothing to answer.
        """
        self._begin()
        for number in range(1, self.plan.max_rounds + 2):
            may_call = number <= self.plan.max_rounds
            yield Keep()
            reply, answer = yield from self._ask(Ask(number, may_call))
            calls = tuple(call for item in reply.items for call in item.tool_calls)
            if calls or self.plan.keeps_answer:
                yield Keep()
            if not calls:
                return self._result(reply, stop_of(reply, answer), may_call=may_call)
            self._calls += len(calls)
            if not may_call:
                self._refuse(calls, f"a turn has {self.plan.max_rounds} rounds at most")
                yield Keep()
                return self._result(reply, "max_rounds", may_call=False)
            self._rounds += 1
            if was_cut(reply):
                self._refuse(calls, "the answer was cut off before its end")
            else:
                yield from self._run(calls)
        raise AssertionError  # the loop has no other end

    def _begin(self) -> None:
        if self.plan.definitions:
            self.ctx.set_tools(self.plan.definitions)
        if self._content is None:
            return
        item = self.ctx.add_user_message(self._content)
        if item is None:
            message = "there is nothing to answer: the user's message is blank"
            raise InvalidItemError(message, field="content", value=self._content)
        self._item_ids.append(item.id)

    def _ask(self, step: Ask) -> Generator[Step, Answer, tuple[Reply, Answer]]:
        self.pieces.clear()
        try:
            answer = yield step
        except BaseException:
            self._keep_partial()
            raise
        reply = self._take_in(answer)
        self._bill(reply.usage)
        return reply, answer

    def _run(self, calls: tuple[ToolCall, ...]) -> Generator[Step, None, None]:
        self._open, self._ended, self._settled = calls, {}, 0
        try:
            yield Run(calls)
        finally:  # whatever happened: what a tool has done is told
            for index in sorted(self._ended):
                if index >= self._settled:
                    self._settle(index)
            self._open = ()

    # --- what drivers tell ----------------------------------------------------------

    def sent(self, size: RequestSize, number: int) -> None:
        """Take note of a request that goes out; what came of a former one is void."""
        self.pieces.clear()
        self.emit(RequestSent(size.tokens, size.budget_tokens, number))

    def started(self, call: ToolCall) -> None:
        """Take note of a call that is being made."""
        self.emit(ToolStarted(call.id, call.name, call.arguments))

    def ended(self, index: int, result: Returned) -> bool:
        """Take note of a call's end; say whether something entered the session.

        Results enter it in the order of their calls: one waits for those before it.
        """
        self._ended[index] = result
        before = self._settled
        while self._settled in self._ended:
            self._settle(self._settled)
            self._settled += 1
        return self._settled > before

    def tell_ended(self, index: int) -> None:
        """Tell of a call's end, when what entered the session by it is kept."""
        call, result = self._open[index], self._ended[index]
        self.emit(
            ToolFinished(
                call.id,
                call.name,
                is_error=result.is_error,
                text=result.text,
                duration_seconds=result.duration_seconds,
            )
        )

    def knows(self, index: int) -> bool:
        """Say whether the end of a call was told."""
        return index in self._ended

    # --- inside ---------------------------------------------------------------------

    def _settle(self, index: int) -> None:
        self._add_result(self._open[index], self._ended[index])

    def _add_result(self, call: ToolCall, result: Returned) -> None:
        try:
            item = self._added(call, result)
        except InvalidItemError as error:  # too large for the session
            item = self._added(call, failed(call, error))
        self._item_ids.append(item.id)

    def _added(self, call: ToolCall, result: Returned) -> ContextItem:
        return self.ctx.add_tool_result(
            call.name,
            result.content,
            tool_call_id=call.id or None,
            is_error=result.is_error,
        )

    def _refuse(self, calls: tuple[ToolCall, ...], why: str) -> None:
        """Answer calls that are not made, so that the session stays whole."""
        for call in calls:
            self._add_result(call, not_run(why))

    def _take_in(self, answer: Answer) -> Reply:
        reply = read_response(answer)
        self.ctx.add_response(reply)
        if reply.items:
            logged: tuple[ContextItem, ...] = self.ctx.items[-len(reply.items) :]
            self._item_ids += [item.id for item in logged]
        return reply

    def _keep_partial(self) -> None:
        """Keep what came of an answer that broke off; it is marked as partial."""
        if self.pieces:
            with contextlib.suppress(InvalidItemError):  # too little to be read
                self._take_in(list(self.pieces))

    def _bill(self, usage: Usage | None) -> None:
        if usage is None:
            return
        self._usage = Usage(
            **{
                field.name: getattr(self._usage, field.name)
                + getattr(usage, field.name)
                for field in dataclasses.fields(Usage)
            }
        )
        self.emit(
            UsageReported(usage.input_tokens, usage.cached_tokens, usage.output_tokens)
        )

    def _result(self, reply: Reply, why: StopReason, *, may_call: bool) -> TurnResult:
        if why == "answered" and not may_call:
            why = "max_rounds"
        result = TurnResult(
            text="\n".join(item.text for item in reply.items if item.text),
            stop_reason=why,
            rounds=self._rounds,
            tool_calls=self._calls,
            usage=self._usage,
            item_ids=tuple(self._item_ids),
            duration_seconds=time.perf_counter() - self._started,
            waited_seconds=self.waited.seconds,
        )
        session_id = getattr(self.ctx, "session_id", None)
        log_event(
            "turn_finished",
            **({} if session_id is None else {"session_id": session_id}),
            target=self.plan.target,
            stop_reason=why,
            rounds=result.rounds,
            tool_calls=result.tool_calls,
            input_tokens=result.usage.input_tokens,
            output_tokens=result.usage.output_tokens,
            duration_seconds=round(result.duration_seconds, 6),
            waited_seconds=round(result.waited_seconds, 6),
        )
        return result
