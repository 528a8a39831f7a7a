"""The embedded store: one file, for all processes of one machine.

SQLite's write-ahead log makes an append one write and one flush to the disk. What is
acknowledged has been flushed (`synchronous=FULL`); leases need not outlive a power cut,
because their holders do not either, so they cost no flush. A lease whose process has
ended is free at once: all of them are on this machine. Appends that wait at the same
time, from several threads, share one flush.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from context_builder.errors import StoreError
from context_builder.sessions.processes import is_gone, named_owner
from context_builder.sessions.sqlite_file import SQLiteFile
from context_builder.sessions.store import (
    Appended,
    Lease,
    SessionInfo,
    SessionKey,
    StoredRecords,
    text_of,
)
from context_builder.sessions.twins import Twins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["SQLiteStore", "default_path"]

T = TypeVar("T")

APPLICATION_ID = 0x43425331
"""Marks the file as ours: "CBS1"."""
SCHEMA_VERSION = 1
THREADS = 8
"""Threads that keep SQLite's work away from event loops."""

_SCHEMA = """
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    namespace BLOB NOT NULL,
    session_id BLOB NOT NULL,
    incarnation TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    owner TEXT,
    token INTEGER NOT NULL,
    lease_until REAL NOT NULL,
    UNIQUE (namespace, session_id)
) STRICT;
CREATE TABLE records (
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (session, position)
) STRICT;
"""

_ACQUIRE = """
INSERT INTO sessions VALUES (NULL, :namespace, :id, :incarnation, 0, :now, :now,
                             :owner, 1, :until)
ON CONFLICT (namespace, session_id) DO UPDATE
SET owner = :owner, token = token + 1, lease_until = :until
WHERE owner IS NULL OR owner = :owner OR lease_until <= :now
RETURNING token, incarnation, version
"""
_FIND_OWNER = """
SELECT owner FROM sessions WHERE namespace = :namespace AND session_id = :id
"""
_FREE = """
UPDATE sessions SET owner = NULL WHERE namespace = :namespace AND session_id = :id
"""
_RENEW = """
UPDATE sessions SET lease_until = :until
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
"""
_ADVANCE = """
UPDATE sessions SET version = version + :count, updated_at = :now,
                    owner = CASE WHEN :release THEN NULL ELSE owner END
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
  AND version = :expected
RETURNING number
"""
_FIND_HELD = """
SELECT 1 FROM sessions
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
"""
_RELEASE = """
UPDATE sessions SET owner = NULL
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
"""
_DROP_UNUSED = """
DELETE FROM sessions
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
  AND version = 0
"""
_DROP = """
DELETE FROM sessions
WHERE namespace = :namespace AND session_id = :id
  AND incarnation = :incarnation AND owner = :owner AND token = :token
RETURNING number
"""
_LIST = """
SELECT session_id, version, created_at, updated_at FROM sessions
WHERE namespace = ? AND version > 0 AND session_id > ? ORDER BY session_id LIMIT ?
"""


def default_path() -> Path:
    """Return the file in the user's state folder where sessions lie by default.

    Raises:
        StoreError: If `platformdirs` is not installed.
    """
    try:
        import platformdirs  # noqa: PLC0415 (only where it is needed)
    except ModuleNotFoundError as error:
        message = (
            "the user's state folder is found by platformdirs: pip install "
            "platformdirs, or name a file: sqlite:///sessions.db"
        )
        raise StoreError(message) from error
    return platformdirs.user_state_path("context_builder", appauthor=False) / (
        "sessions.db"
    )


class SQLiteStore(Twins):
    """Keeps sessions in one file. Parent folders are made.

    Args:
        path: The file; None: `sessions.db` in the user's state folder.
        clock: Gives the time, in seconds since the epoch. Processes that share a file
            have to agree about it.
    """

    keeps_forgotten = True

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = SQLiteFile(
            default_path() if path is None else Path(path),
            schema=_SCHEMA,
            schema_version=SCHEMA_VERSION,
            application_id=APPLICATION_ID,
        )
        self._clock = clock
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    @property
    def path(self) -> Path:
        """The file; it is made when it is first written or read."""
        return self._file.path

    # --- who may write ------------------------------------------------------------

    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """Return a lease that fences off all earlier ones; None if it is taken."""
        now = self._clock()
        owner = named_owner(owner)
        facts = {
            "namespace": key.raw_namespace,
            "id": key.raw_id,
            "incarnation": uuid.uuid4().hex,
            "now": now,
            "owner": owner,
            "until": now + lease_seconds,
        }
        row = self._file.write(partial(_acquire, facts=facts))
        return None if row is None else Lease(key, owner, *row)

    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """Make a lease last from now; False if it is not the latest any more."""
        facts = _held_by(lease) | {"until": self._clock() + lease_seconds}
        return self._file.write(lambda db: db.execute(_RENEW, facts).rowcount == 1)

    def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still ours. A session without records goes."""
        facts = _held_by(lease)

        def work(db: sqlite3.Connection) -> None:
            if db.execute(_DROP_UNUSED, facts).rowcount == 0:
                db.execute(_RELEASE, facts)

        self._file.write(work)

    # --- what is kept -------------------------------------------------------------

    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """Add records if the lease is the latest and the version is as expected."""
        facts = _held_by(lease) | {
            "count": len(records),
            "expected": expected_version,
            "now": self._clock(),
            "release": release,
        }

        def work(db: sqlite3.Connection) -> Appended:
            row = db.execute(_ADVANCE, facts).fetchone()
            if row is None:
                is_held = db.execute(_FIND_HELD, facts).fetchone()
                return "moved" if is_held else "fenced"
            db.executemany(
                "INSERT INTO records VALUES (?, ?, ?)",
                (
                    (row[0], expected_version + offset, record)
                    for offset, record in enumerate(records)
                ),
            )
            return "done"

        return self._file.write(work, durable=bool(records))

    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """Return the records from a position on; None if there is no such session."""
        return self._file.read(partial(_load, key=key, since=since))

    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """Return sessions that have records, ordered by the bytes of their ids."""
        start = b"" if after is None else SessionKey(namespace, after).raw_id
        facts = (SessionKey(namespace, "-").raw_namespace, start, limit)
        rows = self._file.read(lambda db: db.execute(_LIST, facts).fetchall())
        return [
            SessionInfo(text_of(row[0]), namespace, row[1], row[2], row[3])
            for row in rows
        ]

    def delete(self, lease: Lease) -> bool:
        """Delete a session for good: its bytes are overwritten, in the log as well."""
        facts = _held_by(lease)

        def work(db: sqlite3.Connection) -> bool:
            row = db.execute(_DROP, facts).fetchone()
            if row is None:
                return False
            db.execute("DELETE FROM records WHERE session = ?", row)
            return True

        gone = self._file.write(work, durable=True)
        if gone:
            self._file.read(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        return gone

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def aclose(self) -> None:
        """Close the file, and let the threads go that kept it out of the way."""
        await super().aclose()
        if self._threads is not None:
            self._threads[1].shutdown(wait=False)
            self._threads = None

    async def _away(self, work: Callable[[], T]) -> T:
        """Work in a thread of ours: the loop's own are for the application."""
        if self._threads is None or self._threads[0] != os.getpid():
            threads = ThreadPoolExecutor(THREADS, "context_builder-sqlite")
            self._threads = (os.getpid(), threads)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads[1], work)


def _acquire(db: sqlite3.Connection, *, facts: dict[str, object]) -> Any:
    """Take a lease that is free, or whose process has ended: nobody waits for that."""
    row = db.execute(_ACQUIRE, facts).fetchone()
    if row is None and is_gone(db.execute(_FIND_OWNER, facts).fetchone()[0]):
        db.execute(_FREE, facts)
        row = db.execute(_ACQUIRE, facts).fetchone()
    return row


def _held_by(lease: Lease) -> dict[str, object]:
    return {
        "namespace": lease.key.raw_namespace,
        "id": lease.key.raw_id,
        "incarnation": lease.incarnation,
        "owner": lease.owner,
        "token": lease.token,
    }


def _load(
    db: sqlite3.Connection, *, key: SessionKey, since: int
) -> StoredRecords | None:
    db.execute("BEGIN")  # one snapshot for both queries
    try:
        row = db.execute(
            "SELECT number, incarnation, version FROM sessions "
            "WHERE namespace = ? AND session_id = ? AND version > 0",
            (key.raw_namespace, key.raw_id),
        ).fetchone()
        if row is None:
            return None
        number, incarnation, version = row
        records = _read(db, number, since, version)
        return StoredRecords(incarnation, since, records)
    finally:
        db.execute("COMMIT")


def _read(
    db: sqlite3.Connection, number: int, since: int, version: int
) -> tuple[bytes | None, ...]:
    """Read records, one by one where the file is damaged; None is one that is lost."""
    try:
        found = dict(
            db.execute(
                "SELECT position, record FROM records WHERE session = ? "
                "AND position >= ? AND position < ?",
                (number, since, version),
            )
        )
    except sqlite3.DatabaseError:
        found = {
            position: record
            for position in range(since, version)
            if (record := _read_one(db, number, position)) is not None
        }
    return tuple(found.get(position) for position in range(since, version))


def _read_one(db: sqlite3.Connection, number: int, position: int) -> bytes | None:
    try:
        row = db.execute(
            "SELECT record FROM records WHERE session = ? AND position = ?",
            (number, position),
        ).fetchone()
    except sqlite3.DatabaseError:
        return None
    return None if row is None else row[0]
