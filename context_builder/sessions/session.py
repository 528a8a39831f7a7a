"""A builder that belongs to a session: what enters its log also enters the journal.

Everything else is the builder's. A session can be written while its block is open; the
object that a block was given cannot be written afterwards, so that nobody writes behind
the back of whoever opens the session next.
"""

from __future__ import annotations

import copy
import hashlib
import logging
from typing import TYPE_CHECKING, Any, Self

from context_builder.collect import read_tools
from context_builder.collect.bounds import check_entry
from context_builder.errors import (
    InvalidItemError,
    SessionCorruptedError,
    StoreError,
)
from context_builder.items import ContextItem, ItemEdited, LogEntry, SummaryAdded
from context_builder.logs import log_event
from context_builder.sessions.asleep import Sleeper
from context_builder.sessions.codec import to_json
from context_builder.sessions.journal import Journal, count_items, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from context_builder.builder import SystemPrompt
    from context_builder.sessions.codec import Damage
    from context_builder.sessions.redaction import Redactor
    from context_builder.sessions.store import SessionKey, StoredRecords
    from context_builder.sessions.telemetry import Telemetry
    from context_builder.sessions.turn import Turn

__all__ = ["Session"]

_CALLED = "callable"
"""Notes that the manager's prompt is a function, which is asked again and again."""
_OWN = "own"
"""Notes that the session was given its own in place of the manager's."""


class Session(Sleeper):
    """One conversation of a manager, open for writing.

    Do not make one: `SessionManager.open` does.
    """

    def __init__(
        self,
        key: SessionKey,
        journal: Journal,
        *,
        redactor: Redactor | None = None,
        telemetry: Telemetry | None = None,
        **settings: Any,
    ) -> None:
        self._session_key = key
        self._telemetry = telemetry
        self._journal = journal
        self._redactor = redactor
        self._turn: Turn | None = None
        self._is_replaying = False
        self._is_new = True
        self._was_interrupted = False
        self._has_own_settings = False
        super().__init__(**settings)

    # --- what a session has beside a builder ----------------------------------------

    @property
    def session_id(self) -> str:
        """The id that the session was opened under."""
        return self._session_key.session_id

    @property
    def namespace(self) -> str:
        """Whose session it is."""
        return self._session_key.namespace

    @property
    def is_new(self) -> bool:
        """Whether the store had nothing of it when it was opened."""
        return self._is_new

    @property
    def was_interrupted(self) -> bool:
        """Whether the turn before this block ended before its time.

        By an error, by a cancellation, or with its process. Calls without a result are
        answered by a stand-in in the next request.
        """
        return self._was_interrupted

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What the store has of it that cannot be read; it was set aside."""
        return self._journal.damage

    @property
    def is_open(self) -> bool:
        """Whether it can be written now."""
        return self._turn is not None and not self._turn.is_over

    def commit(self) -> None:
        """Keep what came in. Once it returns, that survives the death of the process.

        Raises:
            SessionConflictError: If somebody else has written the session meanwhile.
            StoreError: If it could not be kept. It is still here: commit again.
        """
        self._open_turn().commit()

    async def acommit(self) -> None:
        """Keep what came in, as `commit`, without holding up the event loop."""
        await self._open_turn().acommit()

    # --- doors whose effect has to be the same after a reload -----------------------

    def add_system_prompt(self, prompt: SystemPrompt | None) -> ContextItem | None:
        """Set the system prompt of this session in place of the manager's.

        Of a callable only what it says is kept: it is asked in this block, not later.

        Returns:
            The item as logged; None if nothing changed.

        Raises:
            InvalidItemError: If it is neither text nor a callable.
        """
        with self._lock:
            self._open_turn()
            logged = super().add_system_prompt(prompt)
            self._journal.note(prompt=_OWN)
            self._has_own_settings |= callable(prompt)
            return logged

    def set_tools(self, tools: Iterable[object]) -> None:
        """Set the tools of this session in place of the manager's.

        Raises:
            InvalidItemError: If one has no name, or two have the same.
        """
        with self._lock:
            self._open_turn()
            super().set_tools(tools)
            self._journal.note(tools=_OWN)

    def add_context_provider(
        self,
        name: str,
        function: Callable[[], str | None],
        *,
        is_volatile: bool = True,
    ) -> None:
        """Have a function asked at each user message of this block.

        Raises:
            InvalidItemError: If the name is none, or the function cannot be called.
        """
        self._open_turn()
        super().add_context_provider(name, function, is_volatile=is_volatile)
        self._has_own_settings = True

    def configure(self, **changes: Any) -> None:
        """Change settings for this block; the next one has the manager's again.

        Raises:
            InvalidItemError: If a name is no setting, or no budget is left.
            UnknownModelError: If the model's window is not known.
        """
        self._open_turn()
        super().configure(**changes)
        self._has_own_settings = True

    def edit(self, item_id: str, **changes: Any) -> ContextItem:
        """Change an item: its content, priority, pinned, ... The log keeps the former.

        Raises:
            InvalidItemError: If there is no such item, or a change is not allowed.
        """
        with self._lock:
            super().edit(item_id, **changes)
            return self._log.find(item_id)

    # --- for the manager ------------------------------------------------------------

    @property
    def key(self) -> SessionKey:
        """The session's name, its namespace included."""
        return self._session_key

    @property
    def journal(self) -> Journal:
        """What the store knows of it."""
        return self._journal

    @property
    def can_be_kept(self) -> bool:
        """Whether it is in memory what it would be when read from the store."""
        return not (self._has_own_settings or self._journal.has_waiting)

    def opened(self, turn: Turn, *, is_new: bool) -> Self:
        """Return it for a block: another object, the same session."""
        handle = copy.copy(self)
        was_interrupted = self._journal.notes.interrupted is not None
        vars(handle).update(
            _turn=turn, _is_new=is_new, _was_interrupted=was_interrupted
        )
        return handle

    def restore(self, stored: StoredRecords) -> None:
        """Take in what the store has that is not here yet.

        Raises:
            SessionCorruptedError: If nothing of it can be read.
            StoreError: If it is of a later version, or its key is not here.
        """
        with self._lock:
            news = self._journal.read(stored, self.replay)
        if news and len(news) == stored.version:
            message = (
                f"nothing of session {self.session_id!r} can be read; record "
                f"{news[0].position}: {news[0].reason}"
            )
            raise SessionCorruptedError(
                message, session_id=self.session_id, position=news[0].position
            )
        for damage in news:
            self._event(
                "session_damaged",
                level=logging.WARNING,
                position=damage.position,
                reason=damage.reason,
            )

    def seal(self) -> None:
        """End the block for writing: what is in the log now is all that came in."""
        with self._lock:
            if self._turn is not None:
                self._turn.is_over = True

    def replay(self, at: int, entry: LogEntry) -> None:
        """Take in an entry that is in the store already; `at` items came before it.

        Raises:
            InvalidItemError: If it speaks of an item that was lost.
            StoreError: If it passes a limit of `Settings.item_limits`: it was stored
                when that was higher, or by somebody else. Nothing is left out for it.
        """
        try:
            check_entry(entry, self._item_limits, present=self._log.item_count)
        except InvalidItemError as error:
            message = f"session {self.session_id!r} cannot be taken in: {error}"
            raise StoreError(message) from None
        self._is_replaying = True
        try:
            replay(self._append, self._log, at, entry)
            self._hook_state.loaded = self._log.revision
        finally:
            self._is_replaying = False

    def apply_defaults(
        self, prompt: SystemPrompt | None, tools: Iterable[object] | None
    ) -> None:
        """Give the session the manager's prompt and tools, as far as they are news.

        A session that has been given its own keeps them. One that had the manager's
        gets the new ones when these have changed.
        """
        with self._lock:
            if prompt is not None:
                self._apply_prompt(prompt)
            if tools is not None:
                self._apply_tools(tools)

    def _apply_prompt(self, prompt: SystemPrompt) -> None:
        digest = _CALLED if callable(prompt) else _digest(prompt)
        known = self._journal.notes.prompt
        if known == _OWN or (known is None and self._system is not None):
            return
        if callable(prompt) and known == _CALLED:
            self._system_callable = prompt  # asked when the next user message comes
        elif known != digest:
            super().add_system_prompt(prompt)
            self._journal.note(prompt=digest)

    def _apply_tools(self, tools: Iterable[object]) -> None:
        read = list(read_tools(tools))
        digest = _digest(read)
        known = self._journal.notes.tools
        if known == _OWN or (known is None and self._tools):
            return
        if known != digest:
            super().set_tools(read)
            self._journal.note(tools=digest)

    # --- inside ---------------------------------------------------------------------

    def _open_turn(self) -> Turn:
        if self._turn is None or self._turn.is_over:
            message = (
                f"session {self.session_id!r} is not open any more: write it within "
                "`with manager.open(...)`"
            )
            raise StoreError(message)
        return self._turn

    def _append(self, entry: LogEntry) -> None:
        if self._is_replaying:
            super()._append(entry)
            return
        self._open_turn()
        if self._redactor is not None and isinstance(entry, ItemEdited | SummaryAdded):
            entry = self._redactor.entry(entry)
        entry, body = self._journal.prepare(entry, at=count_items(self._log))
        super()._append(entry)
        self._journal.add(body)

    def _named(self, item: ContextItem, offset: int = 0) -> ContextItem:
        named = super()._named(item, offset)
        return named if self._redactor is None else self._redactor.item(named)

    def _set_system(
        self, text: str | None, item: ContextItem | None = None
    ) -> ContextItem | None:
        if self._redactor is not None and text is not None:
            text = self._redactor.text(text)
        return super()._set_system(text, item)

    @property
    def _is_writable(self) -> bool:
        return self.is_open

    @property
    def _session_name(self) -> str | None:
        return self.session_id

    def _event(self, event: str, *, level: int = logging.DEBUG, **facts: Any) -> None:
        log_event(event, level=level, session_id=self.session_id, **facts)
        if event == "context_built" and self._telemetry is not None:
            self._telemetry.built(self._session_key, facts)


def _digest(value: object) -> str:
    return hashlib.sha256(to_json(value)).hexdigest()[:16]
