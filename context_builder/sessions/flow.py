"""Steps without I/O, carried out twice: by a sync driver and by an awaitable one.

A flow is a generator that says what it wants of a store, and is sent the answer. What
sessions do is written once, as flows; `drive` and `adrive` differ in one word.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from context_builder.sessions.store import (
        Appended,
        Lease,
        SessionInfo,
        SessionKey,
        Store,
        StoredRecords,
    )

__all__ = ["Call", "Flow", "Pause", "Work", "adrive", "drive"]

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A wish to have a method of the store called."""

    method: str
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """A wish to wait; the only place where a flow can be cancelled."""

    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """A wish to have something done that takes long enough to hold up an event loop."""

    function: Callable[[], Any]


Step = Call | Pause | Work

Flow = Generator[Step, Any, T]
"""Steps that end in a `T`."""


def drive(flow: Flow[T], store: Store) -> T:
    """Carry a flow out, waiting for each step."""
    try:
        step = next(flow)
        while True:
            try:
                answer = _carry_out(step, store)
            except BaseException as error:  # the flow decides: it may have to tidy up
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _carry_out(step: Step, store: Store) -> Any:
    if isinstance(step, Pause):
        if step.seconds > 0:
            time.sleep(step.seconds)
        return None
    if isinstance(step, Work):
        return step.function()
    return getattr(store, step.method)(*step.args, **step.named)


async def adrive(flow: Flow[T], store: Store) -> T:
    """Carry a flow out, awaiting each step.

    A call that has been begun is waited for even if this task is cancelled: what became
    of it has to be known. The flow hears of the cancellation at its next pause, or the
    caller does at its end.
    """
    driver = _AsyncDriver(store)
    proceed: Callable[[], Step] = lambda: next(flow)  # noqa: E731
    try:
        while True:
            step = proceed()
            try:
                answer = await driver.carry_out(step)
            except BaseException as error:
                proceed = _throwing(flow, error)
            else:
                proceed = _sending(flow, answer)
    except StopIteration as stop:
        if driver.cancelled is not None:
            raise driver.cancelled from None
        result: T = stop.value
        return result


def _sending(flow: Flow[T], answer: Any) -> Callable[[], Step]:
    return lambda: flow.send(answer)


def _throwing(flow: Flow[T], error: BaseException) -> Callable[[], Step]:
    return lambda: flow.throw(error)


class _AsyncDriver:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.cancelled: asyncio.CancelledError | None = None
        """A cancellation that nobody has been told yet."""

    async def carry_out(self, step: Step) -> Any:
        if isinstance(step, Work):
            return await self._to_the_end(asyncio.to_thread(step.function))
        if isinstance(step, Call):
            method = getattr(self._store, f"a{step.method}")
            return await self._to_the_end(method(*step.args, **step.named))
        if self.cancelled is not None:
            told, self.cancelled = self.cancelled, None
            raise told
        if step.seconds > 0:
            await asyncio.sleep(step.seconds)
        return None

    async def _to_the_end(self, begun: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(begun)
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                self.cancelled = error
        return task.result()


# --- what a store can be asked, with types --------------------------------------------


def acquire(key: SessionKey, owner: str, lease_seconds: float) -> Flow[Lease | None]:
    """Ask for a lease."""
    named = {"owner": owner, "lease_seconds": lease_seconds}
    lease: Lease | None = yield Call("acquire", (key,), named)
    return lease


def append(
    lease: Lease, records: Sequence[bytes], *, expected_version: int, release: bool
) -> Flow[Appended]:
    """Ask to add records."""
    named = {"expected_version": expected_version, "release": release}
    outcome: Appended = yield Call("append", (lease, records), named)
    return outcome


def release(lease: Lease) -> Flow[None]:
    """Ask to give a lease back."""
    yield Call("release", (lease,))


def load(key: SessionKey, *, since: int = 0) -> Flow[StoredRecords | None]:
    """Ask for records."""
    stored: StoredRecords | None = yield Call("load", (key,), {"since": since})
    return stored


def sessions(
    namespace: str, *, after: str | None, limit: int
) -> Flow[Sequence[SessionInfo]]:
    """Ask which sessions there are."""
    named = {"after": after, "limit": limit}
    found: Sequence[SessionInfo] = yield Call("sessions", (namespace,), named)
    return found


def delete(lease: Lease) -> Flow[bool]:
    """Ask to delete a session."""
    gone: bool = yield Call("delete", (lease,))
    return gone
