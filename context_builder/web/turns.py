"""Runs one turn of a conversation, and says what happens as a stream of events.

The turn is a task of its own, which holds the conversation open. Whoever listens may
go away at any moment: the task is then cancelled, what came in so far is kept, and the
conversation is left valid. An event that says that something is safe is sent only once
the store has it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import time
from typing import TYPE_CHECKING, Any

from context_builder.agent import (
    Agent,
    ReasoningDelta,
    RequestSent,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    UsageReported,
)
from context_builder.errors import ContextBuilderError
from context_builder.logs import log_event
from context_builder.web.views import NoSuchSessionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from context_builder.agent import AgentEvent
    from context_builder.sessions import Session, SessionManager
    from context_builder.web.metrics import Metrics

__all__ = ["Turn"]

_WAITING = 256
"""Events that wait for a slow listener; the turn then waits as well."""
_STILL_THERE = b": still there\n\n"
"""A comment, which listeners pass over."""
_NAMES = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolStarted: "tool_started",
    ToolFinished: "tool_finished",
    RequestSent: "request",
    UsageReported: "usage",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """What the listener is told."""

    name: str
    data: dict[str, Any]

    def encode(self) -> bytes:
        """Write it as a server-sent event: one line of JSON, in ASCII."""
        return f"event: {self.name}\ndata: {json.dumps(self.data)}\n\n".encode()


class Turn:
    """One message of a user and all that follows from it."""

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        session_id: str,
        text: str,
        *,
        metrics: Metrics,
        turn_seconds: float,
    ) -> None:
        self._agent = agent
        self._sessions = sessions
        self._session_id = session_id
        self._text = text
        self._metrics = metrics
        self._turn_seconds = turn_seconds
        self._waited_seconds: float | None = None
        """How long the model and the tools took, in a turn that came to its end."""
        self._events: asyncio.Queue[Event | bytes | None] = asyncio.Queue(_WAITING)
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    async def opened(self) -> None:
        """Wait until the conversation is open for this turn.

        Raises:
            NoSuchSessionError: If there is none of this id.
            SessionConflictError: If another turn of it ran all the time.
            ContextBuilderError: If it cannot be opened.
        """
        try:
            await asyncio.shield(self._opened)
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stream(self, *, keep_alive_seconds: float) -> AsyncIterator[bytes]:
        """Yield the events as bytes; who stops listening stops the turn."""
        # One clock for the turn: a timeout for each event costs more than the event.
        alive = asyncio.create_task(self._stay_alive(keep_alive_seconds))
        try:
            while (event := await self._events.get()) is not None:
                yield event if isinstance(event, bytes) else event.encode()
        finally:
            alive.cancel()
            await self.stop()

    async def stop(self) -> None:
        """End the turn if it is not over, and wait until the conversation is kept."""
        self._task.cancel()
        stopping = asyncio.ensure_future(asyncio.wait([self._task]))
        while not stopping.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(stopping)

    # --- inside -----------------------------------------------------------------------

    async def _stay_alive(self, seconds: float) -> None:
        """Give a sign of life every so often, so that nobody takes us for gone."""
        while True:
            await asyncio.sleep(seconds)
            if self._events.empty():
                self._events.put_nowait(_STILL_THERE)

    async def _run(self) -> None:
        started = time.perf_counter()
        outcome = "cancelled"
        self._metrics.running.inc()
        try:
            outcome = await self._answer()
        except Exception as error:  # vendors' clients raise what they like
            outcome = "failed" if self._opened.done() else "not_opened"
            await self._tell_failure(error)
        finally:
            if not self._opened.done():
                self._opened.cancel()
            self._metrics.running.dec()
            if outcome != "not_opened":
                seconds = time.perf_counter() - started
                self._metrics.turns.labels(outcome).inc()
                self._metrics.turn_seconds.observe(seconds)
                if self._waited_seconds is not None:
                    self._metrics.own_seconds.observe(seconds - self._waited_seconds)
        await self._events.put(None)

    async def _answer(self) -> str:
        """Carry the turn out; return how it ended."""
        finished: TurnFinished | None = None
        async with asyncio.timeout(self._turn_seconds):
            async with self._sessions.open(self._session_id) as session:
                if session.is_new:
                    raise NoSuchSessionError
                self._opened.set_result(None)
                is_told = False
                async for event in self._agent.astream(session, self._text):
                    if isinstance(event, TurnFinished):
                        finished = event
                        continue
                    if not is_told:
                        await self._accept(session)
                        is_told = True
                    await self._tell(session, event)
        # The block is closed: whatever is said now is in the store.
        if finished is None:
            return "failed"
        result = finished.result
        self._waited_seconds = result.waited_seconds
        await self._events.put(
            Event(
                "finished",
                {
                    "text": result.text,
                    "stop_reason": result.stop_reason,
                    "rounds": result.rounds,
                    "tool_calls": result.tool_calls,
                    "item_ids": list(result.item_ids),
                },
            )
        )
        return result.stop_reason

    async def _accept(self, session: Session) -> None:
        """Say that the message is kept, once it is."""
        await session.acommit()
        items = session.items
        newest = next((i.id for i in reversed(items) if i.is_spoken), None)
        await self._events.put(Event("accepted", {"item_id": newest}))

    async def _tell(self, session: Session, event: AgentEvent) -> None:
        match event:
            case RequestSent():
                self._metrics.request_tokens.observe(event.tokens)
            case UsageReported():
                for kind in ("input", "cached", "output"):
                    count = getattr(event, f"{kind}_tokens")
                    self._metrics.tokens.labels(kind).inc(count)
            case ToolFinished():
                outcome = "failed" if event.is_error else "done"
                self._metrics.tool_calls.labels(outcome).inc()
                await session.acommit()
            case _:
                pass
        name = _NAMES.get(type(event))
        if name is not None:
            await self._events.put(Event(name, dataclasses.asdict(event)))

    async def _tell_failure(self, error: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
            return
        log_event(
            "turn_failed",
            level=logging.WARNING,
            session_id=self._session_id,
            error=type(error).__name__,
        )
        await self._events.put(Event("error", {"message": _in_words(error)}))


def _in_words(error: Exception) -> str:
    """Say what went wrong. What a vendor's client says may hold content: only whose."""
    if isinstance(error, ContextBuilderError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "the turn took too long, and was ended"
    return f"the model could not be asked ({type(error).__name__})"
