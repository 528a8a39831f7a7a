"""Connections that do not wait for ever for a server that stopped answering.

A server that hangs keeps its connections: the kernel answers for it, so that no setting
of TCP helps. psycopg looks up from its waiting ten times a second; that is when it is
told that the time is over. Such a connection is closed, as an answer may still come.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Patient", "patient_classes"]


Flow = Generator[Any, Any, Any]
"""What psycopg waits with: it says for what, and is sent what is ready."""


class Patient(NamedTuple):
    """Classes for psycopg's pools, and what their connections raise."""

    connection: type[Any]
    aconnection: type[Any]
    no_answer: type[Exception]


def patient_classes(psycopg: Any, seconds: Callable[[], float]) -> Patient:
    """Return connection classes that wait so long for an answer.

    Args:
        psycopg: The package, which is an extra.
        seconds: Says how long; it is asked for each statement.
    """

    class NoAnswerError(psycopg.OperationalError):  # type: ignore[misc]
        """The server did not answer in time."""

    def in_time(flow: Flow) -> Flow:
        return _in_time(flow, seconds(), NoAnswerError)

    class Connection(psycopg.Connection):  # type: ignore[misc]
        def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
            try:
                return super().wait(in_time(gen), *args, **named)
            except NoAnswerError:
                self.close()
                raise

    class AsyncConnection(psycopg.AsyncConnection):  # type: ignore[misc]
        async def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
            try:
                return await super().wait(in_time(gen), *args, **named)
            except NoAnswerError:
                await self.close()
                raise

    return Patient(Connection, AsyncConnection, NoAnswerError)


def _in_time(flow: Flow, most: float, no_answer: type[Exception]) -> Flow:
    """Go through a flow, and stop it when nothing was ready for too long."""
    deadline = time.monotonic() + most
    try:
        wish = next(flow)
        while True:
            ready = yield wish
            if not ready and time.monotonic() > deadline:
                message = f"the server did not answer within {most:g} seconds"
                raise no_answer(message)
            wish = flow.send(ready)
    except StopIteration as stop:
        return stop.value
