"""Has a session's next summary made while the user thinks, so that no turn waits."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from context_builder.errors import ContextBuilderError
from context_builder.logs import log_event
from context_builder.threads import begin

if TYPE_CHECKING:
    from context_builder.builder import ContextBuilder

__all__ = ["Preparing"]


class Preparing:
    """Starts it when a turn is over. Nobody waits for it; what it raises is logged.

    Nothing enters the session by it, so that a session may close meanwhile.
    """

    def __init__(self, *, target: str, model: str | None) -> None:
        self._target = target
        self._model = model
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, ctx: ContextBuilder) -> None:
        """Begin in a thread."""
        begin(functools.partial(self._prepare, ctx))

    def astart(self, ctx: ContextBuilder) -> None:
        """Begin as a task of this event loop, which ends it if it ends."""
        task = asyncio.create_task(self._aprepare(ctx))
        self._tasks.add(task)  # the event loop alone would let it go
        task.add_done_callback(self._tasks.discard)

    def _prepare(self, ctx: ContextBuilder) -> None:
        try:
            ctx.prepare_summary(self._target, model=self._model)
        except ContextBuilderError as error:
            _failed(error)

    async def _aprepare(self, ctx: ContextBuilder) -> None:
        try:
            await ctx.aprepare_summary(self._target, model=self._model)
        except ContextBuilderError as error:
            _failed(error)


def _failed(error: ContextBuilderError) -> None:
    log_event("summary_not_prepared", error=type(error).__name__)
