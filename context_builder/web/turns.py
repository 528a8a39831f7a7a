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
import functools
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
    UsageReported,
)
from context_builder.errors import ContextBuilderError
from context_builder.logs import log_event
from context_builder.web.streaming import Outbox
from context_builder.web.views import NoSuchSessionError

if TYPE_CHECKING:
    from context_builder.agent import AgentEvent
    from context_builder.sessions import Session, SessionManager
    from context_builder.web.metrics import Metrics

__all__ = ["Turn"]

_NAMES: dict[type, str] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolStarted: "tool_started",
    ToolFinished: "tool_finished",
    RequestSent: "request",
    UsageReported: "usage",
}
_FIELDS = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in _NAMES
}


def _encoded(name: str, data: dict[str, Any]) -> bytes:
    """Write a server-sent event: one line of JSON, in ASCII."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


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
        self._is_accepted = False
        self.events = Outbox()
        """What the listener is told."""
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

    async def stop(self) -> None:
        """End the turn if it is not over, and wait until the conversation is kept."""
        if self._task.done():
            return
        self._task.cancel()
        stopping = asyncio.ensure_future(asyncio.wait([self._task]))
        while not stopping.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(stopping)

    # --- inside -----------------------------------------------------------------------

    async def _run(self) -> None:
        started = time.perf_counter()
        outcome = "cancelled"
        self._metrics.running.inc()
        try:
            outcome = await self._answer()
        except Exception as error:  # vendors' clients raise what they like
            outcome = "failed" if self._opened.done() else "not_opened"
            self._tell_failure(error)
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
            self.events.close()

    async def _answer(self) -> str:
        """Carry the turn out; return how it ended."""
        async with asyncio.timeout(self._turn_seconds):
            async with self._sessions.open(self._session_id) as session:
                if session.is_new:
                    raise NoSuchSessionError
                self._opened.set_result(None)
                # The end of the block keeps the answer: once is enough.
                result = await self._agent.arun(
                    session,
                    self._text,
                    on_event=functools.partial(self._take, session),
                    keeps_answer=False,
                )
        # The block is closed: whatever is said now is in the store.
        self._waited_seconds = result.waited_seconds
        self._send(
            "finished",
            text=result.text,
            stop_reason=result.stop_reason,
            rounds=result.rounds,
            tool_calls=result.tool_calls,
            item_ids=list(result.item_ids),
        )
        return result.stop_reason

    def _take(self, session: Session, event: AgentEvent) -> None:
        """Count what happens in the turn, and tell of it."""
        if not self._is_accepted:  # the agent keeps the message before it asks
            self._is_accepted = True
            items = session.items
            newest = next((i.id for i in reversed(items) if i.is_spoken), None)
            self._send("accepted", item_id=newest)
        self._count(event)
        kind = type(event)
        fields = {name: getattr(event, name) for name in _FIELDS[kind]}
        self._send(_NAMES[kind], **fields)

    def _count(self, event: AgentEvent) -> None:
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
            case _:
                pass

    def _send(self, event: str, /, **data: Any) -> None:
        self.events.put(_encoded(event, data))

    def _tell_failure(self, error: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
            return
        log_event(
            "turn_failed",
            level=logging.WARNING,
            session_id=self._session_id,
            error=type(error).__name__,
        )
        self._send("error", message=_in_words(error))


def _in_words(error: Exception) -> str:
    """Say what went wrong. What a vendor's client says may hold content: only whose."""
    if isinstance(error, ContextBuilderError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "the turn took too long, and was ended"
    return f"the model could not be asked ({type(error).__name__})"
