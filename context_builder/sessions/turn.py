"""One block in which a session is open: its lease, and how it is kept and closed.

A lease that was lost is asked for again; if nobody has written meanwhile, the turn goes
on. What was sent to a store that did not answer may have arrived: it is looked for
before anybody speaks of a conflict.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import TYPE_CHECKING

from context_builder.sessions import flow
from context_builder.sessions.flow import Flow, adrive, drive
from context_builder.sessions.gate import Gate
from context_builder.sessions.leases import Leases, conflict

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.sessions.journal import Journal
    from context_builder.sessions.session import Session
    from context_builder.sessions.store import Lease, Store, StoredRecords

__all__ = ["Kept", "Turn"]

_KILLED = "killed"
"""Noted with the first commit of a turn, and taken back at its end: where it stands,
the process died in between."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """What one commit came to."""

    records: int
    stored_bytes: int
    duration_seconds: float


class Turn:
    """The right to write a session, from the opening of a block to its end."""

    def __init__(
        self,
        lease: Lease,
        journal: Journal,
        *,
        store: Store,
        leases: Leases,
        wait_seconds: float,
        on_kept: Callable[[Kept], None],
    ) -> None:
        self.is_over = False
        self._lease = lease
        self._journal = journal
        self._store = store
        self._leases = leases
        self._wait_seconds = wait_seconds
        self._on_kept = on_kept
        self._has_kept = False
        self._line = Gate()

    def commit(self) -> None:
        """Keep what came in.

        Raises:
            SessionConflictError: If somebody else has written the session meanwhile.
            StoreError: If it could not be kept.
        """
        self._line.enter(self, wait_seconds=None)
        try:
            drive(self._keep(release=False), self._store)
        finally:
            self._line.leave(self)

    async def acommit(self) -> None:
        """Keep what came in, as `commit`."""
        await self._line.aenter(self, wait_seconds=None)
        try:
            await adrive(self._keep(release=False), self._store)
        finally:
            self._line.leave(self)

    def close(self, session: Session, error: BaseException | None) -> None:
        """End the block: keep what came in, and give the lease back.

        Raises:
            SessionConflictError: If somebody else has written the session meanwhile.
            StoreError: If it could not be kept.
        """
        session.seal()
        self._line.enter(self, wait_seconds=None)
        try:
            drive(self._close(error), self._store)
        finally:
            self._line.leave(self)

    async def aclose(self, session: Session, error: BaseException | None) -> None:
        """End the block, as `close`, to its end even if this task is cancelled."""
        session.seal()
        closing = asyncio.ensure_future(self._aclose(error))
        cancelled = None
        while not closing.done():
            try:
                await asyncio.wait([closing])
            except asyncio.CancelledError as told:
                cancelled = told
        closing.result()
        if cancelled is not None:
            raise cancelled

    async def _aclose(self, error: BaseException | None) -> None:
        await self._line.aenter(self, wait_seconds=None)
        try:
            await adrive(self._close(error), self._store)
        finally:
            self._line.leave(self)

    # --- the steps ------------------------------------------------------------------

    def _close(self, error: BaseException | None) -> Flow[None]:
        has_written = self._has_kept or self._journal.has_news
        if has_written:
            why = None if error is None else type(error).__name__
            self._journal.note(interrupted=why)
        try:
            yield from self._keep(release=True)
        except BaseException:
            yield from self._leases.give_back(self._lease)
            raise

    def _keep(self, *, release: bool) -> Flow[None]:
        """Send what waits. With the last batch the lease goes back, in one step."""
        if self._journal.has_news and not release:
            self._journal.note(interrupted=_KILLED)
        batch = self._journal.batch() if self._journal.has_news else ()
        if not batch:
            if release:
                yield from self._leases.give_back(self._lease)
            return
        started = time.perf_counter()
        yield from self._send(batch, release=release)
        self._journal.acknowledge(len(batch))
        self._has_kept = True
        if release:
            self._leases.let_go(self._lease)
        seconds = time.perf_counter() - started
        self._on_kept(Kept(len(batch), sum(map(len, batch)), seconds))

    def _send(self, batch: tuple[bytes, ...], *, release: bool) -> Flow[None]:
        version = self._journal.version
        outcome = yield from flow.append(
            self._lease, batch, expected_version=version, release=release
        )
        if outcome == "done":
            return
        if outcome == "fenced":
            yield from self._take_again()
        stored = yield from flow.load(self._lease.key, since=version)
        found = self._own_records(stored)
        if batch[: len(found)] != found:
            raise conflict(self._lease.key, "somebody else has written it meanwhile")
        # What was found there is ours: it had arrived, and only the answer was lost.
        rest = batch[len(found) :]
        if not rest:
            if release:
                yield from self._leases.give_back(self._lease)
            return
        outcome = yield from flow.append(
            self._lease, rest, expected_version=version + len(found), release=release
        )
        if outcome != "done":
            raise conflict(self._lease.key, "somebody else took it over again")

    def _take_again(self) -> Flow[None]:
        """Ask for the lease anew.

        Raises:
            SessionConflictError: If somebody else has it, or has deleted the session.
        """
        self._leases.let_go(self._lease)
        deadline = time.monotonic() + self._wait_seconds
        self._lease = yield from self._leases.obtain(self._lease.key, deadline=deadline)
        if self._journal.version == 0:
            self._journal.incarnation = self._lease.incarnation

    def _own_records(self, stored: StoredRecords | None) -> tuple[bytes | None, ...]:
        """Return what the store has beyond what we know of.

        Raises:
            SessionConflictError: If the session was deleted meanwhile.
        """
        journal = self._journal
        if stored is None and journal.version == 0:
            return ()
        if stored is None or stored.incarnation != journal.incarnation:
            raise conflict(self._lease.key, "somebody else has deleted it meanwhile")
        return stored.records
