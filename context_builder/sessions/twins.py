"""The awaitable half of a store whose work is not awaitable itself.

Where that work is done (a thread, or at once) is for the store to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from context_builder.sessions.store import (
        Appended,
        Lease,
        SessionInfo,
        SessionKey,
        StoredRecords,
    )

__all__ = ["Twins"]

T = TypeVar("T")


class Twins(ABC):
    """Gives every method of a store its twin. See `Store` for what they do."""

    @abstractmethod
    async def _away(self, work: Callable[[], T]) -> T:
        """Do the work without holding up the event loop."""

    @abstractmethod
    def acquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """See `Store.acquire`."""

    @abstractmethod
    def renew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """See `Store.renew`."""

    @abstractmethod
    def append(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """See `Store.append`."""

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """See `Store.release`."""

    @abstractmethod
    def load(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """See `Store.load`."""

    @abstractmethod
    def sessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """See `Store.sessions`."""

    @abstractmethod
    def delete(self, lease: Lease) -> bool:
        """See `Store.delete`."""

    @abstractmethod
    def close(self) -> None:
        """See `Store.close`."""

    async def aacquire(
        self, key: SessionKey, *, owner: str, lease_seconds: float
    ) -> Lease | None:
        """See `Store.acquire`."""
        return await self._away(
            partial(self.acquire, key, owner=owner, lease_seconds=lease_seconds)
        )

    async def arenew(self, lease: Lease, *, lease_seconds: float) -> bool:
        """See `Store.renew`."""
        return await self._away(partial(self.renew, lease, lease_seconds=lease_seconds))

    async def aappend(
        self,
        lease: Lease,
        records: Sequence[bytes],
        *,
        expected_version: int,
        release: bool,
    ) -> Appended:
        """See `Store.append`."""
        return await self._away(
            partial(
                self.append,
                lease,
                records,
                expected_version=expected_version,
                release=release,
            )
        )

    async def arelease(self, lease: Lease) -> None:
        """See `Store.release`."""
        await self._away(partial(self.release, lease))

    async def aload(self, key: SessionKey, *, since: int = 0) -> StoredRecords | None:
        """See `Store.load`."""
        return await self._away(partial(self.load, key, since=since))

    async def asessions(
        self, namespace: str, *, after: str | None, limit: int
    ) -> list[SessionInfo]:
        """See `Store.sessions`."""
        return await self._away(
            partial(self.sessions, namespace, after=after, limit=limit)
        )

    async def adelete(self, lease: Lease) -> bool:
        """See `Store.delete`."""
        return await self._away(partial(self.delete, lease))

    async def aclose(self) -> None:
        """See `Store.close`."""
        await self._away(self.close)
