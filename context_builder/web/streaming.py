"""Sends a turn's events to whoever listens, as they come.

Written for the server's own interface: a piece goes from the turn to the connection
within one step of the event loop, and what is ready at the same time goes together.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from fastapi import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Receive, Scope, Send

__all__ = ["EventStream", "Outbox"]

_STILL_THERE = b": still there\n\n"
"""A comment, which listeners pass over."""


class Outbox:
    """What waits for one listener. Whoever puts something in does not wait."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._is_closed = False
        self._waiting: asyncio.Future[None] | None = None

    def put(self, piece: bytes) -> None:
        """Add a piece; what comes after the end is dropped."""
        if not self._is_closed:
            self._pieces.append(piece)
            self._wake()

    def close(self) -> None:
        """Say that this was all."""
        self._is_closed = True
        self._wake()

    async def take(self) -> bytes:
        """Wait for pieces, and return all that are there; nothing: this was all."""
        while not (self._pieces or self._is_closed):
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        taken, self._pieces = self._pieces, []
        return b"".join(taken)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._pieces

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class EventStream(Response):
    """Server-sent events. However the listening ends, `stop` is awaited then.

    Args:
        outbox: Where the events come from.
        stop: Ends what makes them; called also where all was heard.
        keep_alive_seconds: A sign of life is given so often, where nothing waits.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        outbox: Outbox,
        *,
        stop: Callable[[], Awaitable[None]],
        keep_alive_seconds: float,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]  # nobody knows how much it will be
        self._outbox = outbox
        self._stop = stop
        self._keep_alive_seconds = keep_alive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send all events, until they end or the listener has gone."""
        leaving = asyncio.create_task(self._leaving(receive))
        self._stay_alive(is_due=False)
        try:
            # Some servers say by an error that nobody listens any more.
            with contextlib.suppress(OSError):
                await self._send(send)
        finally:
            self._alive.cancel()
            leaving.cancel()
            await self._stop()

    async def _send(self, send: Send) -> None:
        head = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **head})
        is_over = False
        while not is_over:
            body = await self._outbox.take()
            is_over = not body
            await send(
                {"type": "http.response.body", "body": body, "more_body": not is_over}
            )

    async def _leaving(self, receive: Receive) -> None:
        """Wait until the listener goes away, and then send no more."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._outbox.close()

    def _stay_alive(self, *, is_due: bool = True) -> None:
        """Give a sign of life every so often, so that nobody takes us for gone."""
        if is_due and self._outbox.is_empty:
            self._outbox.put(_STILL_THERE)
        loop = asyncio.get_running_loop()
        self._alive = loop.call_later(self._keep_alive_seconds, self._stay_alive)
