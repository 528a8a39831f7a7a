"""A store within this process: for tests, one-off programs, and for no store at all.

It keeps the same records as the durable ones, so that nothing works here that would
not work there. It outlives nothing.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from typing import TYPE_CHECKING, TypeVar

from context_builder.sessions.store import (
    Appended,
    Lease,
    SessionInfo,
    SessionKey,
    StoredRecords,
)
from context_builder.sessions.twins import Twins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MemoryStore"]

T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class _Kept:
    incarnation: str
    created_at: float
    updated_at: float
    records: list[bytes] = dataclasses.field(default_factory=list)
    owner: str | None = None
    token: int = 0
    until: float = 0.0


class MemoryStore(Twins):
    """Keeps sessions until they are deleted or the process ends.

    Args:
        keeps_forgotten: False: a session that the manager evicts is gone, as without
            any store; opened again, it is new, and says so.
        clock: Gives the time, in seconds since the epoch.
    """

    def __init__(
        self, *, keeps_forgotten: bool = True, clock: Callable[[], float] = time.time
    ) -> None:
        self.keeps_forgotten = keeps_forgotten
        self._clock = clock
        self._kept: dict[SessionKey, _Kept] = {}
        self._lock = threading.Lock()

    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """Return a lease that fences off all earlier ones; None if it is taken."""
        now = self._clock()
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept(uuid.uuid4().hex, now, now)
            if kept.owner not in {None, owner} and kept.until > now:
                return None
            kept.owner, kept.until = owner, now + lease_seconds
            kept.token += 1
            return Lease(key, owner, kept.token, kept.incarnation, len(kept.records))

    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """Make a lease last from now; False if it is not the latest any more."""
        with self._lock:
            kept = self._held(lease)
            if kept is None:
                return False
            kept.until = self._clock() + lease_seconds
            return True

    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """Add records if the lease is the latest and the version is as expected."""
        with self._lock:
            kept = self._held(lease)
            if kept is None:
                return "fenced"
            if len(kept.records) != expected_version:
                return "moved"
            kept.records.extend(records)
            kept.updated_at = self._clock()
            if release:
                kept.owner = None
            return "done"

    def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still ours. A session without records goes."""
        with self._lock:
            kept = self._held(lease)
            if kept is None:
                return
            kept.owner = None
            if not kept.records:
                del self._kept[lease.key]

    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """Return the records from a position on; None if there is no such session."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or not kept.records:
                return None
            return StoredRecords(kept.incarnation, since, tuple(kept.records[since:]))

    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """Return sessions that have records, ordered by the bytes of their ids."""
        start = b"" if after is None else SessionKey(namespace, after).raw_id
        with self._lock:
            found = [
                (key, kept)
                for key, kept in self._kept.items()
                if key.namespace == namespace and kept.records and key.raw_id > start
            ]
        found.sort(key=lambda pair: pair[0].raw_id)
        return [
            SessionInfo(
                key.session_id,
                namespace,
                len(kept.records),
                kept.created_at,
                kept.updated_at,
            )
            for key, kept in found[:limit]
        ]

    def delete(self, lease: Lease) -> bool:
        """Delete a session for good, lease included; False if the lease was lost."""
        with self._lock:
            if self._held(lease) is None:
                return False
            del self._kept[lease.key]
            return True

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _held(self, lease: Lease) -> _Kept | None:
        """Return what the lease is for, if it is the latest. Needs the lock."""
        kept = self._kept.get(lease.key)
        if kept is None or kept.incarnation != lease.incarnation:
            return None
        return kept if (kept.owner, kept.token) == (lease.owner, lease.token) else None

    async def _away(self, work: Callable[[], T]) -> T:
        """Work at once: nothing here takes long enough to leave the loop."""
        return work()
