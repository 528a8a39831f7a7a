"""What a store has to do, and the values that it does it with.

A store keeps records: lines of bytes whose meaning it does not know, numbered from 0
within a session. It decides who may write, by a lease, and in which order, by the
version. Every method has an awaitable twin, prefixed `a`.

The promise of `append`: once it returns `"done"`, the records survive the death of this
process. All of them are there, or none.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Appended",
    "Lease",
    "SessionInfo",
    "SessionKey",
    "Store",
    "StoredRecords",
]

MAX_ID_CHARS = 512

Appended = Literal["done", "fenced", "moved"]
"""`fenced`: somebody else has had the lease since; `moved`: the version is another."""


@dataclasses.dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose session, and which: two opaque texts that are never looked into.

    Raises:
        InvalidItemError: If one of them is empty, or longer than 512 characters.
    """

    namespace: str
    session_id: str

    def __post_init__(self) -> None:
        for field in ("namespace", "session_id"):
            value = getattr(self, field)
            if not isinstance(value, str):
                message = f"{field} must be text, not {type(value).__name__}"
                raise InvalidItemError(message, field=field, value=value)
            if not 0 < len(value) <= MAX_ID_CHARS:
                message = f"{field} must have 1 to {MAX_ID_CHARS} characters"
                raise InvalidItemError(
                    message,
                    field=field,
                    value=value,
                )

    @property
    def raw_namespace(self) -> bytes:
        """The namespace as stores keep it: as bytes, any text can be a key."""
        return raw(self.namespace)

    @property
    def raw_id(self) -> bytes:
        """The session's id as stores keep it."""
        return raw(self.session_id)


def raw(text: str) -> bytes:
    """Return a key as bytes, half characters and all."""
    return text.encode("utf-8", "surrogatepass")


def text_of(key: bytes) -> str:
    """Return the key that `raw` made bytes of."""
    return key.decode("utf-8", "surrogatepass")


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one session, until it runs out or somebody else has it.

    `token` grows with every lease of a session, and together with `owner` it fences
    off whoever had an earlier one.
    """

    key: SessionKey
    owner: str
    token: int
    incarnation: str
    """Names this life of the session: it is another one after a deletion."""
    version: int
    """How many records there were when the lease was given."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRecords:
    """Records of a session, read in one go."""

    incarnation: str
    since: int
    """The position of the first one."""
    records: tuple[bytes | None, ...]
    """None: the store could not read this one."""

    @property
    def version(self) -> int:
        """How many records the session has."""
        return self.since + len(self.records)


@dataclasses.dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as a list shows it."""

    session_id: str
    namespace: str
    records: int
    """How many records were kept, one for each thing that happened."""
    created_at: float
    """Seconds since the epoch."""
    updated_at: float
    """Seconds since the epoch: when something was last kept."""


@runtime_checkable
class Store(Protocol):
    """Keeps the records of sessions. Safe to use from several threads and tasks.

    Every method raises `StoreError` if the store cannot be reached or refuses.
    """

    keeps_forgotten: bool
    """False: what leaves the memory of the manager shall leave the store, too."""

    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """Return a lease that fences off all earlier ones; None if it is taken.

        Whoever has it and asks again, because the answer was lost, gets it.
        """

    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """Make a lease last from now; False if it is not the latest any more."""

    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """Add records if the lease is the latest and the version is as expected.

        A lease that ran out, but that nobody took over, is as good as any.
        """

    def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still ours. A session without records goes."""

    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """Return the records from a position on; None if there is no such session."""

    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """Return sessions that have records, ordered by the bytes of their ids."""

    def delete(self, lease: Lease) -> bool:
        """Delete a session for good, lease included; False if the lease was lost."""

    def close(self) -> None:
        """Let go of connections that sync methods have opened."""

    async def aacquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """As `acquire`."""

    async def arenew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """As `renew`."""

    async def aappend(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """As `append`."""

    async def arelease(self, lease: Lease) -> None:
        """As `release`."""

    async def aload(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """As `load`."""

    async def asessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """As `sessions`."""

    async def adelete(self, lease: Lease) -> bool:
        """As `delete`."""

    async def aclose(self) -> None:
        """As `close`, and also what was opened in this event loop."""
