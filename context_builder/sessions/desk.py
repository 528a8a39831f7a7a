"""Where sessions are opened and closed: store, leases and memory, joined.

All managers of one store in a process that were made from one another share a desk, so
that they share one bound on memory. It says what has to be done as flows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from context_builder.errors import StoreError
from context_builder.logs import log_event
from context_builder.sessions import flow
from context_builder.sessions.bedtime import Bedtime
from context_builder.sessions.cache import Sleeping
from context_builder.sessions.codec import DamagedError, RecordCodec, to_json
from context_builder.sessions.flow import Flow, Pause, Work, drive
from context_builder.sessions.gate import Gate
from context_builder.sessions.journal import Journal
from context_builder.sessions.leases import Leases, conflict
from context_builder.sessions.session import Session
from context_builder.sessions.turn import Kept, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from context_builder.sessions.cache import SessionCache
    from context_builder.sessions.encryption import Cipher
    from context_builder.sessions.redaction import Redactor
    from context_builder.sessions.store import Lease, SessionKey, Store
    from context_builder.sessions.telemetry import Telemetry
    from context_builder.settings import Settings

__all__ = ["Desk"]

MOST_TIRED = 16
"""So many more sessions than may stay awake wait for a moment to be put to sleep."""
LONG = 200
"""Records; more of them are read in a thread, not in an event loop."""


class Desk:
    """Opens and closes the sessions of one store.

    Args:
        store: Keeps what came in.
        cache: Holds what is not in use.
        leases: Keep other processes out.
        telemetry: Is told how long things took.
        wait_seconds: How long to wait for a session that somebody else is writing.
        cipher: Seals what is stored.
        redactor: Redacts what comes in.
        settings: Of each builder. `system_prompt` and `tools` are defaults, which a
            session can have its own of.
    """

    def __init__(
        self,
        *,
        store: Store,
        cache: SessionCache,
        leases: Leases,
        telemetry: Telemetry,
        wait_seconds: float,
        cipher: Cipher | None,
        redactor: Redactor | None,
        settings: Mapping[str, Any],
    ) -> None:
        self.store = store
        self.cache = cache
        self.leases = leases
        self.telemetry = telemetry
        self.wait_seconds = wait_seconds
        self.gate = Gate()
        self.bedtime = Bedtime(cache)
        self._cipher = cipher
        self.redactor = redactor
        self._settings = dict(settings)
        self._prompt = self._settings.pop("system_prompt", None)
        self._tools = self._settings.pop("tools", None)

    @property
    def decided_by(self) -> Settings | None:
        """How each builder decides, and what it takes in; None: the defaults."""
        return self._settings.get("settings")

    def codec(self, key: SessionKey) -> RecordCodec:
        """Return what writes and reads a session's records."""
        return RecordCodec(
            None if self._cipher is None else self._cipher.for_session(key)
        )

    def make(self, key: SessionKey) -> Callable[[Journal], Session]:
        """Return what makes an empty session of a journal."""
        return lambda journal: Session(
            key,
            journal,
            redactor=self.redactor,
            telemetry=self.telemetry,
            **self._settings,
        )

    def open(self, key: SessionKey) -> Flow[tuple[Session, Turn]]:
        """Open a session for writing, as the store has it.

        Raises:
            SessionConflictError: If somebody else was writing it all the time.
            SessionCorruptedError: If nothing of it can be read.
            StoreError: If the store cannot be reached.
        """
        started = time.perf_counter()
        deadline = time.monotonic() + self.wait_seconds
        lease = yield from self.leases.obtain(key, deadline=deadline)
        waited = time.perf_counter() - started
        taken = self.cache.take(key)
        try:
            cached = yield from self._awake(key, taken)
            opened = yield from self._opened(lease, cached)
            yield Pause(0)  # the last moment to be cancelled
        except BaseException:
            self.cache.done(key, None)
            yield from self.leases.give_back(lease)
            raise
        seconds = time.perf_counter() - started
        self.telemetry.opened(seconds)
        log_event(
            "session_opened",
            session_id=key.session_id,
            is_new=opened[0].is_new,
            is_from_memory=cached is not None,
            records=lease.version,
            waited_seconds=round(waited, 6),
            duration_seconds=round(seconds, 6),
        )
        return opened

    def _awake(
        self, key: SessionKey, taken: Session | Sleeping | None
    ) -> Flow[Session | None]:
        """Wake a session, if it sleeps."""
        if not isinstance(taken, Sleeping):
            return taken
        wake = partial(taken.woken, self.make(key))
        if not taken.is_long:
            return wake()
        woken: Session = yield Work(wake)
        return woken

    def _opened(
        self, lease: Lease, cached: Session | None
    ) -> Flow[tuple[Session, Turn]]:
        session = cached
        if session is None or not _is_of(session.journal, lease):
            session = self.make(lease.key)(
                Journal(self.codec(lease.key), incarnation=lease.incarnation)
            )
        if session.journal.version < lease.version:
            stored = yield from flow.load(lease.key, since=session.journal.version)
            if stored is None or stored.version < lease.version:
                message = f"session {lease.key.session_id!r} vanished from the store"
                raise StoreError(message)
            if len(stored.records) > LONG:
                yield Work(partial(session.restore, stored))
            else:
                session.restore(stored)
        turn = Turn(
            lease,
            session.journal,
            store=self.store,
            leases=self.leases,
            wait_seconds=self.wait_seconds,
            on_kept=lambda kept: self._kept(lease.key, kept),
        )
        handle = session.opened(turn, is_new=lease.version == 0)
        if session is not cached:
            handle.apply_defaults(self._prompt, self._tools)
            session.journal.mark_unasked()
        return handle, turn

    def closed(self, session: Session) -> None:
        """Keep a session in memory for its next turn, and let the next one in.

        Those that nobody has used for longest are then put to sleep.
        """
        self._let_in(session)
        while self.cache.excess:
            self.cache.put_to_sleep()

    def aclosed(self, session: Session) -> None:
        """Keep a session in memory, as `closed`; others are put to sleep a bit later.

        That is when the answer is on its way, and one after the other, so that nobody
        waits for more than one of them.
        """
        self._let_in(session)
        while self.cache.excess > MOST_TIRED:
            self.cache.put_to_sleep()
        if self.cache.excess:
            self.bedtime.come(asyncio.get_running_loop())

    def _let_in(self, session: Session) -> None:
        gone = self.cache.done(session.key, session)
        self.gate.leave(session.key)
        self._tell_evicted(gone)

    def sweep(self) -> int:
        """Evict what was idle for too long; return how many sessions that were."""
        gone = self.cache.sweep()
        self._tell_evicted(gone)
        return len(gone)

    def _tell_evicted(self, gone: Sequence[SessionKey]) -> None:
        for key in gone:
            log_event("session_evicted", session_id=key.session_id)
            if not self.store.keeps_forgotten:
                self._forget(key)

    def _forget(self, key: SessionKey) -> None:
        """Take a session out of a store that is none: it only mirrors memory."""
        if not self.gate.enter(key, wait_seconds=0):
            return  # it was opened again meanwhile
        try:
            if key not in self.cache:
                drive(self.delete(key), self.store)
        finally:
            self.gate.leave(key)

    def delete(self, key: SessionKey) -> Flow[bool]:
        """Delete a session, in memory and in the store; say whether there was one.

        Raises:
            SessionConflictError: If somebody else was writing it all the time.
            StoreError: If the store cannot be reached.
        """
        deadline = time.monotonic() + self.wait_seconds
        lease = yield from self.leases.obtain(key, deadline=deadline)
        self.cache.discard(key)
        try:
            gone = yield from flow.delete(lease)
        except BaseException:
            yield from self.leases.give_back(lease)
            raise
        self.leases.let_go(lease)
        if not gone:  # unless only the answer was lost
            stored = yield from flow.load(key)
            if stored is not None and stored.incarnation == lease.incarnation:
                raise conflict(key, "somebody else took it over")
        return lease.version > 0

    def create(self, key: SessionKey, bodies: Sequence[bytes]) -> Flow[None]:
        """Make a session that has these records.

        Raises:
            SessionConflictError: If somebody else was writing it all the time.
            StoreError: If there is one already, or the store cannot be reached.
        """
        deadline = time.monotonic() + self.wait_seconds
        lease = yield from self.leases.obtain(key, deadline=deadline)
        if lease.version > 0:
            yield from self.leases.give_back(lease)
            message = f"there is a session {key.session_id!r} already"
            raise StoreError(message)
        codec = self.codec(key)
        records = [codec.encode(body, position=at) for at, body in enumerate(bodies)]
        outcome = "fenced"
        try:
            outcome = yield from flow.append(
                lease, records, expected_version=0, release=True
            )
        finally:
            if outcome == "done":
                self.leases.let_go(lease)
            else:
                yield from self.leases.give_back(lease)
        if outcome != "done":
            raise conflict(key, "somebody else took it over")

    def read(self, key: SessionKey) -> Flow[tuple[tuple[bytes, ...], int]]:
        """Return what the store has of a session, and how many records are damaged.

        Raises:
            StoreError: If there is no such session, or the store cannot be reached.
        """
        stored = yield from flow.load(key)
        if stored is None:
            message = f"there is no session {key.session_id!r}"
            raise StoreError(message)
        codec = self.codec(key)
        bodies: list[bytes] = []
        for position, record in enumerate(stored.records):
            with contextlib.suppress(DamagedError):
                bodies.append(to_json(codec.decode(record, position=position)))
        return tuple(bodies), len(stored.records) - len(bodies)

    def _kept(self, key: SessionKey, kept: Kept) -> None:
        self.telemetry.kept(kept.duration_seconds)
        log_event(
            "session_committed",
            session_id=key.session_id,
            records=kept.records,
            stored_bytes=kept.stored_bytes,
            duration_seconds=round(kept.duration_seconds, 6),
        )


def _is_of(journal: Journal, lease: Lease) -> bool:
    """Say whether a copy in memory is of the session that the store has now."""
    return journal.incarnation == lease.incarnation and journal.version <= lease.version
