"""The PostgreSQL store, for many machines: psycopg 3, a pool, one statement a step.

Each step is a single statement, so it happens whole or not at all. The server's clock
says when a lease runs out. A lease that a crash of the server forgets can be given anew
with the same number, but never to the same owner; so leases need not wait for the disk,
and only records do.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from context_builder.errors import StoreError
from context_builder.sessions.postgres_patience import patient_classes
from context_builder.sessions.postgres_statements import (
    ACQUIRE,
    APPEND,
    DELETE,
    FIND_SCHEMA,
    LIST,
    LOAD,
    RELEASE,
    RENEW,
    SCHEMA,
    VERSION,
)
from context_builder.sessions.store import (
    Appended,
    Lease,
    SessionInfo,
    SessionKey,
    StoredRecords,
    raw,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["PostgresStore"]

Row = tuple[Any, ...]
Statement = tuple[str, dict[str, Any]]

SCHEMA_VERSION = 1
POOL_SIZE = 16
"""Most connections of a process, or of an event loop in it."""
WAIT_SECONDS = 30.0
"""How long to wait for a connection."""
ANSWER_SECONDS = 30.0
"""How long to wait for the answer to a statement."""
_LOCK = 0x43425331
"""The advisory lock that lets one process at a time make the tables."""


class PostgresStore:
    """Keeps sessions in PostgreSQL, in tables that it makes on first use.

    Args:
        url: Such as `postgresql://user@host/database`, as libpq reads it. The tables
            lie in the first schema of the connection's `search_path`.

    Raises:
        StoreError: If psycopg or its pool is not installed.
    """

    keeps_forgotten = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._psycopg, self._pools = _import_psycopg()
        self._patient = patient_classes(self._psycopg, lambda: ANSWER_SECONDS)
        self._forget_process()

    def _forget_process(self) -> None:
        """Start without connections: they must not be used across a fork."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._pool: Any = None
        self._apools: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, asyncio.Task[Any]
        ]
        self._apools = weakref.WeakKeyDictionary()

    # --- the steps, each asked for here and carried out below, awaited or not ---------

    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """Return a lease that fences off all earlier ones; None if it is taken."""
        return _lease(key, owner, self._ask(_acquire(key, owner, lease_seconds)))

    async def aacquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """As `acquire`."""
        return _lease(key, owner, await self._aask(_acquire(key, owner, lease_seconds)))

    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """Make a lease last from now; False if it is not the latest any more."""
        return bool(self._ask((RENEW, _held_by(lease) | {"seconds": lease_seconds})))

    async def arenew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """As `renew`."""
        facts = _held_by(lease) | {"seconds": lease_seconds}
        return bool(await self._aask((RENEW, facts)))

    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """Add records if the lease is the latest and the version is as expected."""
        batch = _batch(lease, records, expected_version, release=release)
        return _appended(self._ask((APPEND, batch)))

    async def aappend(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """As `append`."""
        batch = _batch(lease, records, expected_version, release=release)
        return _appended(await self._aask((APPEND, batch)))

    def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still ours. A session without records goes."""
        self._ask((RELEASE, _held_by(lease)))

    async def arelease(self, lease: Lease) -> None:
        """As `release`."""
        await self._aask((RELEASE, _held_by(lease)))

    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """Return the records from a position on; None if there is no such session."""
        return _stored(since, self._ask((LOAD, _named(key) | {"since": since})))

    async def aload(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """As `load`."""
        rows = await self._aask((LOAD, _named(key) | {"since": since}))
        return _stored(since, rows)

    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """Return sessions that have records, ordered by the bytes of their ids."""
        return _infos(namespace, self._ask(_page(namespace, after, limit)))

    async def asessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """As `sessions`."""
        return _infos(namespace, await self._aask(_page(namespace, after, limit)))

    def delete(self, lease: Lease) -> bool:
        """Delete a session for good, lease included; False if the lease was lost."""
        return bool(self._ask((DELETE, _held_by(lease))))

    async def adelete(self, lease: Lease) -> bool:
        """As `delete`."""
        return bool(await self._aask((DELETE, _held_by(lease))))

    def close(self) -> None:
        """Close the connections that sync methods have opened."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    async def aclose(self) -> None:
        """As `close`, and also what was opened in this event loop."""
        opening = self._apools.pop(asyncio.get_running_loop(), None)
        if opening is not None:
            await asyncio.wait([opening])
            if opening.exception() is None:
                await opening.result().close()
        await asyncio.to_thread(self.close)

    # --- the server -----------------------------------------------------------------

    def _ask(self, statement: Statement) -> list[Row]:
        with self._errors_of_ours():
            pool = self._opened()
            try:
                return self._asked(pool, statement)
            except (self._pools.PoolTimeout, self._patient.no_answer):
                raise
            except self._psycopg.OperationalError:
                # The server may have been restarted. Whoever asks again is understood:
                # a lease is given to its owner twice, and records are recognised.
                pool.check()
                return self._asked(pool, statement)

    def _asked(self, pool: Any, statement: Statement) -> list[Row]:
        with pool.connection() as connection:
            cursor = connection.execute(*statement)
            rows: list[Row] = cursor.fetchall() if cursor.description else []
        return rows

    async def _aask(self, statement: Statement) -> list[Row]:
        with self._errors_of_ours():
            pool = await self._aopened()
            try:
                return await self._aasked(pool, statement)
            except (self._pools.PoolTimeout, self._patient.no_answer):
                raise
            except self._psycopg.OperationalError:
                await pool.check()  # as above
                return await self._aasked(pool, statement)

    async def _aasked(self, pool: Any, statement: Statement) -> list[Row]:
        async with pool.connection() as connection:
            cursor = await connection.execute(*statement)
            rows: list[Row] = await cursor.fetchall() if cursor.description else []
        return rows

    def _opened(self) -> Any:
        if self._pid != os.getpid():
            self._forget_process()
        with self._lock:
            if self._pool is None:
                self._make_tables()
                pool = self._pools.ConnectionPool(
                    self._address(), connection_class=self._patient.connection, **_POOL
                )
                pool.open()
                self._pool = pool
            return self._pool

    async def _aopened(self) -> Any:
        """Return this loop's pool; those who come while it is opened wait for it."""
        if self._pid != os.getpid():
            self._forget_process()
        loop = asyncio.get_running_loop()
        opening = self._apools.get(loop)
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._apools[loop] = loop.create_task(self._open_apool())
        return await asyncio.shield(opening)

    async def _open_apool(self) -> Any:
        await asyncio.to_thread(self._make_tables)
        pool = self._pools.AsyncConnectionPool(
            self._address(), connection_class=self._patient.aconnection, **_POOL
        )
        await pool.open()
        return pool

    def _address(self) -> str:
        """Return the URL with our patience, as far as it does not say its own."""
        given = self._psycopg.conninfo.conninfo_to_dict(self._url)
        address: str = self._psycopg.conninfo.make_conninfo(**(_PATIENCE | given))
        return address

    def _make_tables(self) -> None:
        with self._psycopg.connect(self._address(), autocommit=True) as connection:
            if not connection.execute(FIND_SCHEMA).fetchone()[0]:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                    connection.execute(SCHEMA)
            version = connection.execute(VERSION).fetchone()[0]
        if version > SCHEMA_VERSION:
            message = (
                f"the tables were made by a later version of context_builder (schema "
                f"{version}; this one reads up to {SCHEMA_VERSION}): upgrade it"
            )
            raise StoreError(message)

    @contextmanager
    def _errors_of_ours(self) -> Iterator[None]:
        try:
            yield
        except (self._psycopg.Error, self._pools.PoolTimeout, OSError) as error:
            # What a server says in detail may quote values; its first line does not.
            text = str(error).partition("\n")[0]
            message = f"PostgreSQL: {type(error).__name__}: {text}"
            raise StoreError(message) from None


_PATIENCE: dict[str, Any] = {
    "connect_timeout": 30,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""After how long a server that does not answer is an error, in libpq's units."""
_POOL: dict[str, Any] = {
    "min_size": 0,
    "max_size": POOL_SIZE,
    "timeout": WAIT_SECONDS,
    "open": False,
    "kwargs": {"autocommit": True},
}


def _import_psycopg() -> tuple[Any, Any]:
    try:
        import psycopg  # noqa: PLC0415 (an extra)
        import psycopg_pool  # noqa: PLC0415 (an extra)
    except ImportError as error:  # psycopg also needs libpq, and says so this way
        message = (
            "the PostgreSQL store needs psycopg and its pool: "
            "pip install 'context-builder[postgres]'"
        )
        raise StoreError(message) from error
    return psycopg, psycopg_pool


# --- what is sent, and what comes back ------------------------------------------------


def _named(key: SessionKey) -> dict[str, Any]:
    return {"namespace": key.raw_namespace, "id": key.raw_id}


def _held_by(lease: Lease) -> dict[str, Any]:
    return _named(lease.key) | {
        "incarnation": lease.incarnation,
        "owner": lease.owner,
        "token": lease.token,
    }


def _acquire(key: SessionKey, owner: str, lease_seconds: float) -> Statement:
    wish = {
        "incarnation": uuid.uuid4().hex,
        "owner": owner,
        "seconds": float(lease_seconds),
    }
    return ACQUIRE, _named(key) | wish


def _batch(
    lease: Lease, records: Sequence[bytes], expected_version: int, *, release: bool
) -> dict[str, Any]:
    return _held_by(lease) | {
        "count": len(records),
        "records": list(records),
        "expected": expected_version,
        "release": release,
    }


def _page(namespace: str, after: str | None, limit: int) -> Statement:
    start = b"" if after is None else raw(after)
    return LIST, {"namespace": raw(namespace), "after": start, "limit": limit}


def _lease(key: SessionKey, owner: str, rows: list[Row]) -> Lease | None:
    return Lease(key, owner, *rows[0]) if rows else None


def _appended(rows: list[Row]) -> Appended:
    was_added, is_held = rows[0]
    if was_added:
        return "done"
    return "moved" if is_held else "fenced"


def _stored(since: int, rows: list[Row]) -> StoredRecords | None:
    if not rows:
        return None
    incarnation, version, positions, records = rows[0]
    found = dict(zip(positions, records, strict=True))
    return StoredRecords(
        incarnation, since, tuple(found.get(place) for place in range(since, version))
    )


def _infos(namespace: str, rows: list[Row]) -> list[SessionInfo]:
    return [
        SessionInfo(text_of(session_id), namespace, version, created, updated)
        for session_id, version, created, updated in rows
    ]
