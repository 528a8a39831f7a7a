"""What holds for every store, asked of each: sync and awaited."""

from __future__ import annotations

import inspect
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import InvalidItemError
from context_builder.sessions import Lease, SessionKey, Store

if TYPE_CHECKING:
    from pathlib import Path

ODD_IDS = (
    "plain",
    "../../etc/passwd",
    "'; DROP TABLE sessions; --",
    "nul\0inside",
    "new\nline",
    "混ぜる 🧵",
    "half \ud83d",
    "{brace}:*[a-z]?",
    " ",
    "x" * 512,
)


class Ask:
    """Asks a store, by its sync method or by its awaitable twin."""

    def __init__(self, store: Store, *, awaited: bool) -> None:
        self.store = store
        self._awaited = awaited

    async def __call__(self, method: str, *args: Any, **named: Any) -> Any:
        """Call a method."""
        if not self._awaited:
            return getattr(self.store, method)(*args, **named)
        return await getattr(self.store, f"a{method}")(*args, **named)

    async def lease(
        self, key: SessionKey, owner: str = "me", seconds: float = 60
    ) -> Lease:
        """Ask for a lease that has to be given."""
        lease = await self("acquire", key, owner=owner, lease_seconds=seconds)
        assert isinstance(lease, Lease)
        return lease

    async def append(
        self, lease: Lease, *records: bytes, at: int, release: bool = False
    ) -> str:
        """Append records, and say what became of that."""
        outcome = await self(
            "append", lease, records, expected_version=at, release=release
        )
        assert isinstance(outcome, str)
        return outcome

    async def records(
        self, key: SessionKey, since: int = 0
    ) -> list[bytes | None] | None:
        """Return the records of a session."""
        stored = await self("load", key, since=since)
        return None if stored is None else list(stored.records)


@pytest.fixture(params=["sync", "awaited"])
async def ask(request: pytest.FixtureRequest, store: Store) -> Any:
    """Ask each store in both ways."""
    yield Ask(store, awaited=request.param == "awaited")
    await store.aclose()


async def test_what_was_appended_is_read_back(ask: Ask, namespace: str) -> None:
    """Records come back as they were, in order, from any position on."""
    key = SessionKey(namespace, "s")
    lease = await ask.lease(key)
    assert lease.version == 0
    assert await ask.records(key) is None
    assert await ask.append(lease, b"a", "ü\n".encode(), at=0) == "done"
    assert await ask.append(lease, b"c", at=2) == "done"
    assert await ask.records(key) == [b"a", "ü\n".encode(), b"c"]
    assert await ask.records(key, since=2) == [b"c"]
    assert await ask.records(key, since=3) == []


async def test_many_records_at_once(ask: Ask, namespace: str) -> None:
    """A long imported history is one append."""
    key = SessionKey(namespace, "s")
    records = [b"%d" % number for number in range(10_001)]
    assert await ask.append(await ask.lease(key), *records, at=0) == "done"
    assert await ask.records(key) == records


async def test_only_one_has_the_lease(ask: Ask, namespace: str) -> None:
    """A second writer gets no lease until the first gives it back."""
    key = SessionKey(namespace, "s")
    lease = await ask.lease(key)
    assert await ask("acquire", key, owner="you", lease_seconds=60) is None
    await ask.append(lease, b"a", at=0)
    await ask("release", lease)
    later = await ask.lease(key, "you")
    assert (later.version, later.incarnation) == (1, lease.incarnation)
    assert later.token > lease.token


async def test_an_owner_can_ask_again(ask: Ask, namespace: str) -> None:
    """An answer that was lost locks nobody out of their own session."""
    key = SessionKey(namespace, "s")
    lost = await ask.lease(key)
    lease = await ask.lease(key)
    assert lease.token > lost.token
    assert await ask.append(lost, b"a", at=0) == "fenced"
    assert await ask.append(lease, b"a", at=0) == "done"


async def test_the_last_batch_gives_the_lease_back(ask: Ask, namespace: str) -> None:
    """Keeping and releasing is one step."""
    key = SessionKey(namespace, "s")
    await ask.append(await ask.lease(key), b"a", at=0, release=True)
    assert (await ask.lease(key, "you")).version == 1


async def test_a_stale_holder_is_fenced_off(ask: Ask, namespace: str) -> None:
    """Once somebody else has had the lease, the former holder can do nothing."""
    key = SessionKey(namespace, "s")
    stale = await ask.lease(key, seconds=0.001)
    time.sleep(0.01)  # noqa: ASYNC251 (nothing else runs)
    fresh = await ask.lease(key, "you")
    assert await ask.append(stale, b"bad", at=0) == "fenced"
    assert not await ask("renew", stale, lease_seconds=60)
    assert not await ask("delete", stale)
    await ask("release", stale)
    assert await ask.append(fresh, b"good", at=0) == "done"
    await ask("release", fresh)
    assert await ask.append(fresh, b"late", at=1) == "fenced"
    assert await ask.records(key) == [b"good"]


async def test_a_lease_that_ran_out_is_good_while_nobody_wants_it(
    ask: Ask, namespace: str
) -> None:
    """A slow turn loses nothing when nobody else came."""
    key = SessionKey(namespace, "s")
    lease = await ask.lease(key, seconds=0.001)
    time.sleep(0.01)  # noqa: ASYNC251 (nothing else runs)
    assert await ask.append(lease, b"a", at=0) == "done"
    assert await ask("renew", lease, lease_seconds=60)
    assert await ask("acquire", key, owner="you", lease_seconds=60) is None


async def test_an_append_to_another_version_is_refused(
    ask: Ask, namespace: str
) -> None:
    """Nothing is written over what the writer has not seen."""
    key = SessionKey(namespace, "s")
    lease = await ask.lease(key)
    await ask.append(lease, b"a", at=0)
    assert await ask.append(lease, b"b", at=0) == "moved"
    assert await ask.append(lease, b"b", at=2) == "moved"
    assert await ask.records(key) == [b"a"]


async def test_a_deleted_session_is_gone_for_whoever_had_it(
    ask: Ask, namespace: str
) -> None:
    """A session of the same id made later is another one."""
    key = SessionKey(namespace, "s")
    first = await ask.lease(key)
    await ask.append(first, b"a", at=0)
    assert await ask("delete", first)
    assert await ask.records(key) is None
    second = await ask.lease(key)
    assert (second.version, second.incarnation == first.incarnation) == (0, False)
    assert await ask.append(first, b"ghost", at=0) == "fenced"


async def test_looking_makes_no_session(ask: Ask, namespace: str) -> None:
    """A lease that was given back unused leaves nothing behind."""
    key = SessionKey(namespace, "s")
    await ask("release", await ask.lease(key))
    assert await ask("sessions", namespace, after=None, limit=10) == []
    assert await ask.records(key) is None


async def test_any_text_is_an_id(ask: Ask, namespace: str) -> None:
    """Ids are opaque: never a path, a pattern or SQL; none is mixed up with another."""
    for number, odd in enumerate(ODD_IDS):
        lease = await ask.lease(SessionKey(namespace, odd))
        await ask.append(lease, b"%d" % number, at=0, release=True)
    for number, odd in enumerate(ODD_IDS):
        assert await ask.records(SessionKey(namespace, odd)) == [b"%d" % number]
    found = await ask("sessions", namespace, after=None, limit=100)
    assert {info.session_id for info in found} == set(ODD_IDS)


async def test_lists_are_paged_and_ordered(ask: Ask, namespace: str) -> None:
    """Pages join up, by the bytes of the ids."""
    ids = sorted(f"s{number}" for number in range(7))
    for name in ids:
        await ask.append(await ask.lease(SessionKey(namespace, name)), b"a", at=0)
    first = await ask("sessions", namespace, after=None, limit=4)
    rest = await ask("sessions", namespace, after=first[-1].session_id, limit=4)
    assert [info.session_id for info in (*first, *rest)] == ids
    info = first[0]
    assert (info.records, info.namespace) == (1, namespace)
    assert abs(info.created_at - time.time()) < 60
    assert info.updated_at >= info.created_at


async def test_namespaces_do_not_see_each_other(
    store: Store, namespace: str, tmp_path: Path
) -> None:
    """The same id in another namespace is another session."""
    ask, other = Ask(store, awaited=False), f"{namespace}-other"
    await ask.append(await ask.lease(SessionKey(namespace, "s")), b"a", at=0)
    assert await ask.records(SessionKey(other, "s")) is None
    assert await ask("sessions", other, after=None, limit=10) == []


def test_many_threads_get_one_lease(store: Store, namespace: str) -> None:
    """Of those who ask at the same moment, one gets it."""
    key, leases = SessionKey(namespace, "s"), []
    start = threading.Barrier(12)

    def ask(number: int) -> None:
        start.wait()
        leases.append(store.acquire(key, owner=f"t{number}", lease_seconds=60))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([lease for lease in leases if lease is not None]) == 1


def test_every_method_has_its_twin(store: Store) -> None:
    """Stores fulfil the protocol, awaited and not."""
    assert isinstance(store, Store)
    for name in ("acquire", "renew", "append", "release", "load", "sessions", "delete"):
        sync, awaited = getattr(store, name), getattr(store, f"a{name}")
        assert inspect.iscoroutinefunction(awaited)
        assert (
            inspect.signature(sync).parameters == inspect.signature(awaited).parameters
        )


@pytest.mark.parametrize("bad", ["", "x" * 513, 7, None])
def test_what_is_no_id(bad: Any) -> None:
    """An id is text of 1 to 512 characters."""
    with pytest.raises(InvalidItemError, match="session_id"):
        SessionKey("default", bad)
