"""The Redis store, for many machines: redis-py, and one script a step.

A session is a hash (who may write) and a list (the records); both lie in the slot of
their namespace. Every step is one script, which the server runs alone and whole. The
server's clock says when a lease runs out. How much of what is acknowledged outlives the
server is for its `appendonly` settings to say.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from context_builder.errors import StoreError
from context_builder.logs import log_event
from context_builder.sessions.redis_scripts import (
    ACQUIRE,
    APPEND,
    DELETE,
    LIST,
    LOAD,
    RELEASE,
    RENEW,
    Script,
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
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["RedisStore"]


class RedisStore:
    """Keeps sessions in Redis.

    Args:
        url: Such as `redis://localhost:6379/0`, as redis-py reads it.

    Raises:
        StoreError: If redis-py is not installed.
    """

    keeps_forgotten = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis = _import_redis()
        self._client: Any = None
        self._aclients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any]
        self._aclients = weakref.WeakKeyDictionary()

    # --- the steps, each asked for here and carried out below, awaited or not ---------

    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """Return a lease that fences off all earlier ones; None if it is taken."""
        answer = self._ask(ACQUIRE, _names(key), _wish(owner, lease_seconds))
        return _lease(key, owner, answer)

    async def aacquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """As `acquire`."""
        answer = await self._aask(ACQUIRE, _names(key), _wish(owner, lease_seconds))
        return _lease(key, owner, answer)

    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """Make a lease last from now; False if it is not the latest any more."""
        until = _milliseconds(lease_seconds)
        return bool(self._ask(RENEW, _names(lease.key), (*_held_by(lease), until)))

    async def arenew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """As `renew`."""
        until = _milliseconds(lease_seconds)
        arguments = (*_held_by(lease), until)
        return bool(await self._aask(RENEW, _names(lease.key), arguments))

    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """Add records if the lease is the latest and the version is as expected."""
        arguments = _batch(lease, records, expected_version, release=release)
        return _appended(self._ask(APPEND, _names(lease.key), arguments))

    async def aappend(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """As `append`."""
        arguments = _batch(lease, records, expected_version, release=release)
        return _appended(await self._aask(APPEND, _names(lease.key), arguments))

    def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still ours. A session without records goes."""
        self._ask(RELEASE, _names(lease.key), _held_by(lease))

    async def arelease(self, lease: Lease) -> None:
        """As `release`."""
        await self._aask(RELEASE, _names(lease.key), _held_by(lease))

    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """Return the records from a position on; None if there is no such session."""
        return _stored(since, self._ask(LOAD, _names(key), (since,)))

    async def aload(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """As `load`."""
        return _stored(since, await self._aask(LOAD, _names(key), (since,)))

    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """Return sessions that have records, ordered by the bytes of their ids."""
        names, arguments = _page(namespace, after, limit)
        return _infos(namespace, self._ask(LIST, names, arguments))

    async def asessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """As `sessions`."""
        names, arguments = _page(namespace, after, limit)
        return _infos(namespace, await self._aask(LIST, names, arguments))

    def delete(self, lease: Lease) -> bool:
        """Delete a session for good, lease included; False if the lease was lost."""
        arguments = (*_held_by(lease), lease.key.raw_id)
        return bool(self._ask(DELETE, _names(lease.key), arguments))

    async def adelete(self, lease: Lease) -> bool:
        """As `delete`."""
        arguments = (*_held_by(lease), lease.key.raw_id)
        return bool(await self._aask(DELETE, _names(lease.key), arguments))

    def close(self) -> None:
        """Close the connections that sync methods have opened."""
        if self._client is not None:
            self._client.close()
            self._client = None

    async def aclose(self) -> None:
        """As `close`, and also what was opened in this event loop."""
        self.close()
        client = self._aclients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    # --- the server -----------------------------------------------------------------

    def _ask(
        self, script: Script, names: tuple[bytes, ...], arguments: tuple[Any, ...]
    ) -> Any:
        with _errors_of_ours():
            if self._client is None:
                client = self._redis.Redis.from_url(self._url, **_TIMEOUTS)
                _warn_if_volatile(client.info("persistence"))
                self._client = client
            given = (len(names), *names, *arguments)
            try:
                return self._client.evalsha(script.name, *given)
            except self._redis.exceptions.NoScriptError:
                return self._client.eval(script.text, *given)

    async def _aask(
        self, script: Script, names: tuple[bytes, ...], arguments: tuple[Any, ...]
    ) -> Any:
        with _errors_of_ours():
            client = await self._aclient()
            given = (len(names), *names, *arguments)
            try:
                return await client.evalsha(script.name, *given)
            except self._redis.exceptions.NoScriptError:
                return await client.eval(script.text, *given)

    async def _aclient(self) -> Any:
        """Return this loop's client: connections cannot move between loops."""
        loop = asyncio.get_running_loop()
        client = self._aclients.get(loop)
        if client is None:
            client = self._redis.asyncio.Redis.from_url(self._url, **_TIMEOUTS)
            self._aclients[loop] = client
            _warn_if_volatile(await client.info("persistence"))
        return client


_TIMEOUTS: dict[str, Any] = {"socket_connect_timeout": 10.0, "socket_timeout": 30.0}
"""Seconds until a server that does not answer is an error; the URL's own ones win."""


def _import_redis() -> Any:
    try:
        import redis.asyncio  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        message = "the Redis store needs redis-py: pip install 'context-builder[redis]'"
        raise StoreError(message) from error
    return redis


@contextmanager
def _errors_of_ours() -> Iterator[None]:
    import redis.exceptions  # noqa: PLC0415 (an extra)

    try:
        yield
    except (redis.exceptions.RedisError, OSError) as error:
        message = f"Redis: {type(error).__name__}: {error}"
        raise StoreError(message) from error


def _warn_if_volatile(persistence: Mapping[str, Any]) -> None:
    """Say once a connection that the server itself would forget what it is told."""
    if not persistence.get("aof_enabled"):
        log_event(
            "store_not_durable",
            level=logging.WARNING,
            store="redis",
            hint="acknowledged turns outlive the server with appendonly yes",
        )


# --- what is sent, and what comes back ------------------------------------------------


def _prefixes(namespace: str) -> tuple[bytes, bytes, bytes]:
    # The braces keep a namespace in one slot of a cluster; ids stand last, so that no
    # two names can be mixed up, whatever is in them.
    place = hashlib.sha256(raw(namespace)).hexdigest()[:32].encode()
    start = b"context_builder:1:{" + place + b"}:"
    return start + b"ids", start + b"head:", start + b"log:"


def _names(key: SessionKey) -> tuple[bytes, ...]:
    ids, head, log = _prefixes(key.namespace)
    return head + key.raw_id, log + key.raw_id, ids


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _wish(owner: str, lease_seconds: float) -> tuple[Any, ...]:
    return owner, _milliseconds(lease_seconds), uuid.uuid4().hex


def _held_by(lease: Lease) -> tuple[Any, ...]:
    return lease.owner, lease.token, lease.incarnation


def _batch(
    lease: Lease, records: Sequence[bytes], expected_version: int, *, release: bool
) -> tuple[Any, ...]:
    end = (expected_version, int(release), lease.key.raw_id)
    return (*_held_by(lease), *end, *records)


def _page(
    namespace: str, after: str | None, limit: int
) -> tuple[tuple[bytes, ...], tuple[Any, ...]]:
    start = b"-" if after is None else b"(" + raw(after)
    return _prefixes(namespace), (start, limit)


def _lease(key: SessionKey, owner: str, answer: Any) -> Lease | None:
    if answer is None:
        return None
    token, incarnation, version = answer
    return Lease(key, owner, token, incarnation.decode(), version)


def _appended(answer: bytes) -> Appended:
    return cast("Appended", answer.decode())


def _stored(since: int, answer: Any) -> StoredRecords | None:
    if answer is None:
        return None
    return StoredRecords(answer[0].decode(), since, tuple(answer[1]))


def _infos(namespace: str, answer: Any) -> list[SessionInfo]:
    return [
        SessionInfo(
            text_of(session_id),
            namespace,
            records,
            int(created) / 1000,
            int(updated) / 1000,
        )
        for session_id, records, created, updated in answer
    ]
