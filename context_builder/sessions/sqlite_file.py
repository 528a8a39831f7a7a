"""One SQLite file, used in turn by the threads of this process.

It knows how to open, share and write a file safely; what the tables mean is not known
here. Writes that wait at the same time share one transaction and one flush to the disk.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from context_builder.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SQLiteFile"]

T = TypeVar("T")

BUSY_SECONDS = 30.0
"""How long to wait for another process's write."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """Something to write, and who waits for it."""

    work: Callable[[sqlite3.Connection], Any]
    durable: bool
    future: Future[Any] = dataclasses.field(default_factory=Future)


class SQLiteFile:
    """A file with a schema; parent folders are made.

    Args:
        path: The file.
        schema: Statements that make its tables, each ended by a semicolon.
        schema_version: Files of a later version are refused.
        application_id: Marks the file as ours.
    """

    def __init__(
        self, path: Path, *, schema: str, schema_version: int, application_id: int
    ) -> None:
        self._path = path
        self._schema = schema
        self._version = schema_version
        self._application_id = application_id
        self._forget_process()

    def _forget_process(self) -> None:
        """Start without a connection: one must not be used across a fork."""
        self._pid = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._turn = threading.Lock()
        self._waiting: deque[_Job] = deque()

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            self._forget_process()

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._path

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read, while nobody else in this process uses the connection."""
        self._notice_fork()
        with self._turn:
            try:
                return work(self._open())
            except sqlite3.Error as error:
                raise self._failed(error) from error

    def write(
        self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False
    ) -> T:
        """Write within a transaction, which all that wait meanwhile share."""
        self._notice_fork()
        job = _Job(work, durable)
        self._waiting.append(job)
        with self._turn:
            if not job.future.done():
                self._write_waiting()
        result: T = job.future.result()
        return result

    def _write_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            results = self._transaction(batch)
        except BaseException as error:
            for job in batch:  # whatever it was, nobody may wait for ever
                job.future.set_exception(self._failed(error))
            if not isinstance(error, sqlite3.Error | StoreError):
                raise
            return
        for job, result in zip(batch, results, strict=True):
            job.future.set_result(result)

    def _transaction(self, batch: Sequence[_Job]) -> list[Any]:
        db = self._open()
        durable = any(job.durable for job in batch)
        db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        db.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(db) for job in batch]
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return results

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(0o600)  # what is new is for its owner's eyes
        except OSError as error:
            raise self._failed(error) from error
        db = sqlite3.connect(
            self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA secure_delete = ON")
        version = self._schema_version(db)
        _require_wal(db)
        if version == 0:
            db.execute("BEGIN IMMEDIATE")
            if self._schema_version(db) == 0:  # no other process was faster
                for statement in self._schema.split(";")[:-1]:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {self._application_id}")
                db.execute(f"PRAGMA user_version = {self._version}")
            db.execute("COMMIT")

    def _schema_version(self, db: sqlite3.Connection) -> int:
        """Return the schema's version, 0 for an empty file.

        Raises:
            StoreError: If the file is another program's, or of a later version.
        """
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        owner: int = db.execute("PRAGMA application_id").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if owner != self._application_id and (owner or version or tables):
            message = f"{str(self._path)!r} is the database of another program"
            raise StoreError(message)
        if version > self._version:
            message = (
                f"{str(self._path)!r} was written by a later version of "
                f"context_builder (schema {version}; this one reads up to "
                f"{self._version}): upgrade it"
            )
            raise StoreError(message)
        return version

    def _failed(self, error: BaseException) -> StoreError:
        if isinstance(error, StoreError):
            return error
        return StoreError(f"{str(self._path)!r}: {str(error) or type(error).__name__}")


def _require_wal(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; another process may be doing the same.

    Raises:
        StoreError: If the file system cannot do it.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # SQLite does not wait here by itself
            continue
        if mode != "wal":
            message = (
                f"SQLite cannot use its write-ahead log here (it chose {mode!r}): put "
                "the file on a local disk"
            )
            raise StoreError(message)
        return
