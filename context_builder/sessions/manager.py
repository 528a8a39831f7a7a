"""The manager: one for a chatbot, and each conversation gets a builder of its own.

It hands out sessions, one writer at a time, and keeps what came in. Every method has an
awaitable twin, prefixed `a`.
"""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

from context_builder.errors import InvalidItemError
from context_builder.logs import log_event
from context_builder.sessions import flow
from context_builder.sessions.cache import SessionCache
from context_builder.sessions.codec import RecordCodec
from context_builder.sessions.desk import Desk
from context_builder.sessions.encryption import Cipher, EncryptionKey
from context_builder.sessions.exchange import read_document, write_document
from context_builder.sessions.files import importable
from context_builder.sessions.flow import Flow, adrive, drive
from context_builder.sessions.journal import Journal
from context_builder.sessions.leases import Leases, conflict
from context_builder.sessions.memory import MemoryStore
from context_builder.sessions.opening import Opening
from context_builder.sessions.redaction import Redact, Redactor
from context_builder.sessions.store import SessionInfo, SessionKey, Store
from context_builder.sessions.telemetry import Telemetry
from context_builder.sessions.urls import open_store, store_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = ["SessionManager"]

T = TypeVar("T")

PAGE = 1_000
"""Sessions that are asked for at a time."""


class SessionManager:
    """Opens sessions for writing, and keeps what comes in.

        with manager.open("user-42") as ctx:        # or: async with
            ctx.add_user_message("...")

    Args:
        store: Where sessions are kept: `"memory:"`, `"sqlite:///file.db"`, `"sqlite:"`
            (in the user's state folder), `"redis://..."`, `"postgresql://..."`, or a
            `Store`. None: nowhere; a session that leaves memory is gone.
        namespace: Whose sessions: the same id in another namespace is another session.
        max_sessions: Sessions in memory at most; more only while they are in use.
        max_awake: Of these, sessions that stay ready; the others are held packed, and
            need about a millisecond more for their next turn.
        idle_seconds: What was not used for so long leaves memory; None: never.
        lease_seconds: After a worker died, its sessions are free again after so long.
        wait_seconds: How long to wait for a session that somebody else is writing.
        clock: Gives the time in seconds since the epoch, for timestamps and idleness;
            None: the system's.
        encryption_key: Seals what is stored, see `generate_key`; of several keys the
            first seals, and all open.
        redact: Takes each text that comes in, and returns what may enter the session.
        **settings: Of each builder, as for `ContextBuilder`. `system_prompt` and
            `tools` are defaults; a session that was given its own keeps them.

    Raises:
        InvalidItemError: If a setting is not what it has to be.
        StoreError: If a driver is not installed.
        UnknownModelError: If the model's window is not known and no budget is given.
    """

    def __init__(
        self,
        *,
        store: str | Store | None = "memory:",
        namespace: str = "default",
        max_sessions: int = 10_000,
        max_awake: int = 20,
        idle_seconds: float | None = 3_600.0,
        lease_seconds: float = 15.0,
        wait_seconds: float = 20.0,
        clock: Callable[[], float] | None = None,
        encryption_key: EncryptionKey | Sequence[EncryptionKey] | None = None,
        redact: Redact | None = None,
        **settings: Any,
    ) -> None:
        SessionKey(namespace, "-")  # fails now, not later
        _require_positive(
            max_sessions=max_sessions,
            max_awake=max_awake,
            lease_seconds=lease_seconds,
        )
        settings = settings | {"clock": clock}
        if settings.get("tools") is not None:
            settings["tools"] = list(settings["tools"])
        chosen = _store_of(store)
        self._namespace = namespace
        self._owns_store = chosen is not store
        self._desk = Desk(
            store=chosen,
            cache=SessionCache(
                max_sessions=max_sessions,
                max_awake=max_awake,
                idle_seconds=idle_seconds,
                clock=clock or time.time,
            ),
            leases=Leases(chosen, lease_seconds=lease_seconds),
            telemetry=Telemetry(store=store_kind(chosen), model=settings.get("model")),
            wait_seconds=wait_seconds,
            cipher=None if encryption_key is None else Cipher(encryption_key),
            redactor=None if redact is None else Redactor(redact),
            settings=settings,
        )
        self._desk.make(self._key("-"))(Journal(RecordCodec()))  # the settings are good

    @property
    def namespace(self) -> str:
        """Whose sessions these are."""
        return self._namespace

    @property
    def store(self) -> Store:
        """Where they are kept."""
        return self._desk.store

    @property
    def live_sessions(self) -> int:
        """How many sessions are in memory, those in use included."""
        return len(self._desk.cache)

    def for_namespace(self, namespace: str) -> SessionManager:
        """Return a manager of another namespace. Store and memory are shared.

        Raises:
            InvalidItemError: If the namespace is empty or too long.
        """
        SessionKey(namespace, "-")
        other = copy.copy(self)
        vars(other).update(_namespace=namespace, _owns_store=False)
        return other

    def open(self, session_id: str) -> Opening:
        """Return a block in which a session can be written: `with` or `async with`.

        The block yields a builder. Its end keeps what came in, also when an error or a
        cancellation ends it; the turn is then marked as interrupted.

        Raises:
            InvalidItemError: If the id is empty or too long.
            SessionConflictError: On entry, if somebody else was writing all the time;
                at the end, if somebody else took the session over.
            SessionCorruptedError: On entry, if nothing that was stored can be read.
            StoreError: If the store cannot be reached.
        """
        return Opening(self._desk, self._key(session_id))

    def list(
        self, *, after: str | None = None, limit: int | None = None
    ) -> tuple[SessionInfo, ...]:
        """Return the sessions that are stored, ordered by their ids.

        Args:
            after: Begin behind this id.
            limit: Return so many at most; None: all.

        Raises:
            StoreError: If the store cannot be reached.
        """
        return drive(self._list(after, limit), self.store)

    async def alist(
        self, *, after: str | None = None, limit: int | None = None
    ) -> tuple[SessionInfo, ...]:
        """Return the sessions that are stored, as `list`."""
        return await adrive(self._list(after, limit), self.store)

    def export(self, session_id: str) -> str:
        """Return a stored session as JSONL, decrypted. Damaged records are left out.

        Raises:
            StoreError: If there is no such session, or the store cannot be reached.
        """
        return drive(self._export(session_id), self.store)

    async def aexport(self, session_id: str) -> str:
        """Return a stored session as JSONL, as `export`."""
        return await adrive(self._export(session_id), self.store)

    def import_(self, text: str | bytes, *, session_id: str | None = None) -> str:
        """Store a session that `export` or `save_session` wrote, or older messages.

        Args:
            text: What was written.
            session_id: The id that it gets; None: the one that it had.

        Returns:
            Its id.

        Raises:
            InvalidItemError: If it has no id, holds messages that are none, or passes
                a limit.
            SessionCorruptedError: If a record in it is damaged; nothing is stored.
            StoreError: If there is such a session already, or it is no session.
        """
        key, bodies = self._read_import(text, session_id)
        return self._alone(key, self._create(key, bodies))

    async def aimport(self, text: str | bytes, *, session_id: str | None = None) -> str:
        """Store a session, as `import_`."""
        key, bodies = await asyncio.to_thread(self._read_import, text, session_id)
        return await self._aalone(key, self._create(key, bodies))

    def delete(self, session_id: str) -> bool:
        """Delete a session for good; say whether there was one.

        Raises:
            SessionConflictError: If somebody else was writing it all the time.
            StoreError: If the store cannot be reached.
        """
        key = self._key(session_id)
        return self._alone(key, self._delete(key))

    async def adelete(self, session_id: str) -> bool:
        """Delete a session for good, as `delete`."""
        key = self._key(session_id)
        return await self._aalone(key, self._delete(key))

    def fork(self, session_id: str, new_session_id: str) -> str:
        """Store a copy of a session under another id, as far as it is committed.

        Returns:
            The new id.

        Raises:
            StoreError: If there is no such session, or the new one exists already.
        """
        key = self._key(new_session_id)
        return self._alone(key, self._fork(self._key(session_id), key))

    async def afork(self, session_id: str, new_session_id: str) -> str:
        """Store a copy of a session under another id, as `fork`."""
        key = self._key(new_session_id)
        return await self._aalone(key, self._fork(self._key(session_id), key))

    def sweep(self) -> int:
        """Take out of memory what was idle for too long; return how many that were."""
        return self._desk.sweep()

    async def asweep(self) -> int:
        """Take out of memory what was idle for too long, as `sweep`."""
        return self._desk.sweep()

    def close(self) -> None:
        """Let go of memory and, unless you passed the store yourself, of the store."""
        self._desk.leases.stop()
        self._desk.cache.clear()
        if self._owns_store:
            self.store.close()

    async def aclose(self) -> None:
        """Let go, as `close`, also of what was opened in this event loop."""
        await asyncio.to_thread(self._desk.leases.stop)
        self._desk.cache.clear()
        if self._owns_store:
            await self.store.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    # --- the steps ------------------------------------------------------------------

    def _key(self, session_id: str) -> SessionKey:
        return SessionKey(self._namespace, session_id)

    def _list(
        self, after: str | None, limit: int | None
    ) -> Flow[tuple[SessionInfo, ...]]:
        found: Sequence[SessionInfo] = ()
        while limit is None or len(found) < limit:
            most = PAGE if limit is None else min(PAGE, limit - len(found))
            page = yield from flow.sessions(self._namespace, after=after, limit=most)
            found = (*found, *page)
            if len(page) < most:
                break
            after = page[-1].session_id
        return tuple(found)

    def _export(self, session_id: str) -> Flow[str]:
        bodies, damaged = yield from self._desk.read(self._key(session_id))
        self._tell("session_exported", session_id, records=len(bodies), damaged=damaged)
        return write_document(bodies, session_id=session_id).decode()

    def _create(self, key: SessionKey, bodies: Sequence[bytes]) -> Flow[str]:
        yield from self._desk.create(key, bodies)
        self._tell("session_imported", key.session_id, records=len(bodies))
        return key.session_id

    def _fork(self, source: SessionKey, key: SessionKey) -> Flow[str]:
        bodies, damaged = yield from self._desk.read(source)
        yield from self._desk.create(key, bodies)
        self._tell(
            "session_forked",
            key.session_id,
            source_session_id=source.session_id,
            records=len(bodies),
            damaged=damaged,
        )
        return key.session_id

    def _delete(self, key: SessionKey) -> Flow[bool]:
        existed = yield from self._desk.delete(key)
        self._tell("session_deleted", key.session_id, existed=existed)
        return existed

    def _tell(self, event: str, session_id: str, **facts: Any) -> None:
        log_event(event, session_id=session_id, **facts)

    def _read_import(
        self, text: str | bytes, session_id: str | None
    ) -> tuple[SessionKey, Sequence[bytes]]:
        """Check a session before it is stored.

        Raises:
            InvalidItemError: If it has no id, or holds messages that are none.
            SessionCorruptedError: If a record in it is damaged.
            StoreError: If it is no session.
        """
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        document = read_document(raw, name="what was imported")
        chosen = session_id if session_id is not None else document.session_id
        if chosen is None:
            message = "it does not say which session it was: pass session_id"
            raise InvalidItemError(message, field="session_id")
        desk = self._desk
        bodies = importable(document, chosen, desk.redactor, desk.decided_by)
        return self._key(chosen), bodies

    def _alone(self, key: SessionKey, steps: Flow[T]) -> T:
        """Carry steps out while nobody else in this process has the session."""
        gate = self._desk.gate
        if not gate.enter(key, wait_seconds=self._desk.wait_seconds):
            raise conflict(key, "somebody else in this process is writing it")
        try:
            return drive(steps, self.store)
        finally:
            gate.leave(key)

    async def _aalone(self, key: SessionKey, steps: Flow[T]) -> T:
        gate = self._desk.gate
        if not await gate.aenter(key, wait_seconds=self._desk.wait_seconds):
            raise conflict(key, "somebody else in this process is writing it")
        try:
            return await adrive(steps, self.store)
        finally:
            gate.leave(key)


def _store_of(store: object) -> Store:
    if store is None:
        return MemoryStore(keeps_forgotten=False)
    if isinstance(store, str):
        return open_store(store)
    if not isinstance(store, Store):
        message = f"store must be a URL or a Store, not {type(store).__name__}"
        raise InvalidItemError(message, field="store")
    return store


def _require_positive(**settings: float) -> None:
    for name, value in settings.items():
        if value <= 0:
            message = f"{name} must be more than 0, not {value}"
            raise InvalidItemError(message, field=name, value=value)
