"""What `SessionManager.open` returns: a block, entered by `with` or by `async with`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from context_builder.errors import StoreError
from context_builder.logs import log_event
from context_builder.sessions.flow import adrive, drive
from context_builder.sessions.leases import conflict

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from context_builder.sessions.desk import Desk
    from context_builder.sessions.session import Session
    from context_builder.sessions.store import SessionKey
    from context_builder.sessions.turn import Turn

__all__ = ["Opening"]


class Opening:
    """A block in which one session is open for writing. It is entered once."""

    def __init__(self, desk: Desk, key: SessionKey) -> None:
        self._desk = desk
        self._key = key
        self._is_used = False
        self._opened: tuple[Session, Turn] | None = None
        self._span: AbstractContextManager[None]

    def __enter__(self) -> Session:
        """Wait for the session, and open it."""
        desk, key = self._begin()
        if not desk.gate.enter(key, wait_seconds=desk.wait_seconds):
            raise conflict(key, "somebody else in this process is writing it")
        try:
            self._opened = drive(desk.open(key), desk.store)
        except BaseException:
            desk.gate.leave(key)
            raise
        self._span = desk.telemetry.turn(key)
        self._span.__enter__()
        return self._opened[0]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep what came in, whatever happened, and let the next one in."""
        session, turn = self._end()
        try:
            self._span.__exit__(kind, error, trace)
            turn.close(session, error)
        except StoreError as failure:
            self._could_not_keep(failure, error)
        finally:
            self._desk.closed(session)

    async def __aenter__(self) -> Session:
        """Wait for the session, and open it."""
        desk, key = self._begin()
        if not await desk.gate.aenter(key, wait_seconds=desk.wait_seconds):
            raise conflict(key, "somebody else in this process is writing it")
        try:
            self._opened = await adrive(desk.open(key), desk.store)
        except BaseException:
            desk.gate.leave(key)
            raise
        self._span = desk.telemetry.turn(key)
        self._span.__enter__()
        return self._opened[0]

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep what came in, whatever happened, and let the next one in."""
        session, turn = self._end()
        try:
            self._span.__exit__(kind, error, trace)
            await turn.aclose(session, error)
        except StoreError as failure:
            self._could_not_keep(failure, error)
        finally:
            self._desk.aclosed(session)

    def _begin(self) -> tuple[Desk, SessionKey]:
        if self._is_used:
            message = "a block is entered once: call manager.open() again"
            raise StoreError(message)
        self._is_used = True
        return self._desk, self._key

    def _end(self) -> tuple[Session, Turn]:
        if self._opened is None:
            message = "a block that was never entered cannot be left"
            raise StoreError(message)
        opened, self._opened = self._opened, None
        return opened

    def _could_not_keep(self, failure: StoreError, error: BaseException | None) -> None:
        """Say that a turn was not kept, without swallowing a cancellation.

        Raises:
            StoreError: Unless the block ends by something that has to go on up.
        """
        log_event(
            "session_not_kept",
            level=logging.WARNING,
            session_id=self._key.session_id,
            error=type(failure).__name__,
        )
        if error is None or isinstance(error, Exception):
            raise failure
        error.add_note(f"the session's last turn was not kept: {failure}")
