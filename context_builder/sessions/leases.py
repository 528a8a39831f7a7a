"""Who may write a session, across processes: waiting for leases, and keeping them.

A lease is short, so that the sessions of a worker that died are free again soon. While
a block is open its lease is renewed by a thread, however long the model takes. A worker
that was frozen, and lost its lease, is fenced off by the store.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import uuid
from typing import TYPE_CHECKING

from context_builder.errors import SessionConflictError, StoreError
from context_builder.logs import log_event
from context_builder.sessions import flow
from context_builder.sessions.flow import Flow, Pause

if TYPE_CHECKING:
    from context_builder.sessions.store import Lease, SessionKey, Store

__all__ = ["Leases"]

FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.05
RENEWALS_PER_LEASE = 3


class Leases:
    """Obtains leases of one store, and keeps them while they are held.

    Args:
        store: Gives the leases.
        lease_seconds: How long a lease lasts unless it is renewed.
    """

    def __init__(self, store: Store, *, lease_seconds: float) -> None:
        self._store = store
        self._lease_seconds = lease_seconds
        self._held: dict[str, tuple[Lease, float]] = {}
        self._lock = threading.Lock()
        self._keeper: tuple[int, threading.Thread] | None = None
        self._stopped = threading.Event()

    def obtain(self, key: SessionKey, *, deadline: float) -> Flow[Lease]:
        """Wait for the right to write a session, until a moment of the monotonic clock.

        Raises:
            SessionConflictError: If somebody else had it all that time.
            StoreError: If the store cannot be asked.
        """
        pause_seconds = FIRST_PAUSE_SECONDS
        owner = uuid.uuid4().hex
        while True:
            lease = yield from flow.acquire(key, owner, self._lease_seconds)
            if lease is not None:
                self._watch(lease)
                return lease
            if time.monotonic() >= deadline:
                raise conflict(key, "somebody else is writing it")
            jitter = random.uniform(0.5, 1.0)  # noqa: S311 (so that waiters spread out)
            yield Pause(pause_seconds * jitter)
            pause_seconds = min(pause_seconds * 1.5, LONGEST_PAUSE_SECONDS)

    def give_back(self, lease: Lease) -> Flow[None]:
        """Give a lease back. If that fails, it runs out by itself."""
        self.let_go(lease)
        try:
            yield from flow.release(lease)
        except StoreError as error:
            log_event(
                "lease_not_released",
                level=logging.WARNING,
                session_id=lease.key.session_id,
                error=type(error).__name__,
            )

    def let_go(self, lease: Lease) -> None:
        """Renew a lease no longer."""
        with self._lock:
            self._held.pop(lease.owner, None)

    def stop(self) -> None:
        """Renew no lease any more."""
        self._stopped.set()
        with self._lock:
            self._held.clear()
            keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper[0] == os.getpid():
            keeper[1].join()

    # --- the thread that renews -------------------------------------------------------

    def _watch(self, lease: Lease) -> None:
        with self._lock:
            self._held[lease.owner] = (lease, time.monotonic())
            keeper = self._keeper
            if keeper is None or keeper[0] != os.getpid() or not keeper[1].is_alive():
                self._stopped = threading.Event()
                thread = threading.Thread(
                    target=self._renew_all,
                    args=(self._stopped,),
                    name="context_builder-leases",
                    daemon=True,
                )
                self._keeper = (os.getpid(), thread)
                thread.start()

    def _renew_all(self, stopped: threading.Event) -> None:
        """Renew what is held, every now and then; end when nothing is."""
        interval_seconds = self._lease_seconds / RENEWALS_PER_LEASE
        while not stopped.wait(interval_seconds):
            with self._lock:
                if not self._held:
                    self._keeper = None
                    return
                started = time.monotonic() - interval_seconds / 2
                due = [lease for lease, since in self._held.values() if since < started]
            for lease in due:
                self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        try:
            is_ours = self._store.renew(lease, lease_seconds=self._lease_seconds)
        except StoreError as error:
            log_event(
                "lease_not_renewed",
                level=logging.WARNING,
                session_id=lease.key.session_id,
                error=type(error).__name__,
            )
            return
        if not is_ours:
            self.let_go(lease)  # whoever holds it will hear of that when they commit


def conflict(key: SessionKey, why: str) -> SessionConflictError:
    """Return the error that says who lost, and what to do."""
    return SessionConflictError(
        f"session {key.session_id!r} cannot be written: {why}. Open it again to go on "
        "from what is stored, or raise wait_seconds.",
        session_id=key.session_id,
    )
