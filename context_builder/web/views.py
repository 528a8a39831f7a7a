"""Looks at stored conversations without opening them, also while a turn is running.

Reading asks for no lease. A copy is kept of the conversations that were looked at last,
and is brought up to date with what the store has beyond it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from context_builder.builder import ContextBuilder
from context_builder.inspector import Timeline
from context_builder.sessions.codec import RecordCodec
from context_builder.sessions.journal import Journal, replay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.items import ContextItem
    from context_builder.sessions import SessionKey, Store, StoredRecords

__all__ = ["NoSuchSessionError", "View", "Views"]

MOST_VIEWS = 64
"""Copies that are kept."""


class NoSuchSessionError(Exception):
    """There is no such conversation, or it is somebody else's."""


class SessionCopy(ContextBuilder):
    """A copy of a stored session's log. Nothing is ever built of it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.journal = Journal(RecordCodec())

    def take(self, stored: StoredRecords) -> None:
        """Take in what the store has beyond what is here."""
        self.journal.read(
            stored, lambda at, entry: replay(self._append, self._log, at, entry)
        )

    @property
    def conversation(self) -> tuple[ContextItem, ...]:
        """What is in the conversation now: neither removed nor taken back."""
        return tuple(item for item in self._log.items if self._log.holds(item.id))


class View:
    """One conversation, as it is looked at. Safe to use from several threads."""

    def __init__(self, *, target: str, settings: Mapping[str, Any]) -> None:
        self.session = SessionCopy(**settings)
        self._timeline = Timeline(target=target, **settings)
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        """How many records of the store are here."""
        return self.session.journal.version

    @property
    def incarnation(self) -> str:
        """Which life of the conversation this is."""
        return self.session.journal.incarnation

    @property
    def was_interrupted(self) -> bool:
        """Whether the last turn ended before its time."""
        return self.session.journal.notes.interrupted is not None

    def take(self, stored: StoredRecords) -> None:
        """Take in what is news; somebody else may have done so already."""
        with self._lock:
            if stored.since == self.version and stored.records:
                self.session.take(stored)

    def followed(self) -> Timeline:
        """Return the session with its decision and its requests up to date.

        It takes a while where much has happened since the last look: call it in a
        thread. What only lists conversations does not need it.
        """
        with self._lock:
            known = len(self._timeline.log)
            self._timeline.follow(self.session.log.since(known))
            return self._timeline


class Views:
    """The conversations that were looked at last."""

    def __init__(
        self, store: Store, *, target: str, settings: Mapping[str, Any]
    ) -> None:
        self._store = store
        self._target = target
        self._settings = settings
        self._views: OrderedDict[SessionKey, View] = OrderedDict()

    async def of(self, key: SessionKey) -> View:
        """Return a conversation as the store has it now.

        Raises:
            NoSuchSessionError: If there is none.
            StoreError: If the store cannot be reached.
        """
        view = self._views.get(key)
        stored = await self._store.aload(key, since=view.version if view else 0)
        if view is not None and (stored is None or not _goes_on(view, stored)):
            self._views.pop(key, None)
            view, stored = None, await self._store.aload(key)
        if stored is None or (view is None and not stored.records):
            raise NoSuchSessionError
        if view is None:
            view = View(target=self._target, settings=self._settings)
        self._views[key] = view
        self._views.move_to_end(key)
        if len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)
        if stored.records:
            await asyncio.to_thread(view.take, stored)
        return view


def _goes_on(view: View, stored: StoredRecords) -> bool:
    return view.incarnation == stored.incarnation and stored.version >= view.version
