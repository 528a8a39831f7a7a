"""What a session has told its store, and what it has yet to tell.

The journal knows how far the store is, which records wait, and what the records mean:
entries of the log, and notes of the session's own. It does no I/O.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING, Any

from context_builder.collect import SessionLog, entry_from_dict, entry_to_dict
from context_builder.errors import InvalidItemError, StoreError
from context_builder.items import ContextItem, ItemRemoved, LogEntry
from context_builder.sessions.codec import (
    Damage,
    DamagedError,
    RecordCodec,
    has_half_characters,
    to_json,
)
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from context_builder.sessions.store import StoredRecords

__all__ = ["Journal", "count_items", "entry_body"]

MOST_LOST_ITEMS = 100_000
"""A record that speaks of more is damaged itself: nobody makes stand-ins for those."""


def count_items(log: SessionLog) -> int:
    """Return how many items a log has named, without copying them."""
    return log.item_count


def entry_body(entry: LogEntry, *, at: int) -> bytes:
    """Write an entry as the body of a record; `at` items came before it."""
    return to_json({"at": at, "entry": entry_to_dict(entry)})


@dataclasses.dataclass(slots=True)
class Notes:
    """What a session remembers beside its log. The latest of each kind counts."""

    prompt: str | None = None
    """A digest of the manager's prompt, as applied last; None: the session's own."""
    tools: str | None = None
    """The same of the manager's tools."""
    interrupted: str | None = None
    """What ended the last turn before its time, such as `CancelledError`; `killed`
    while it goes on, which stays when its process dies."""


class Journal:
    """Between a session's log and its store. Safe to use from several threads."""

    def __init__(self, codec: RecordCodec, *, incarnation: str = "") -> None:
        self.codec = codec
        self.incarnation = incarnation
        self.version = 0
        """How many records are known to be in the store."""
        self.notes = Notes()
        self.damage: tuple[Damage, ...] = ()
        self._waiting: list[bytes] = []
        """Bodies that have no place yet."""
        self._placed: list[bytes] = []
        """Records that may have been sent: their bytes stay what they are."""
        self._unasked = 0
        """How many bodies wait that nobody asked for: the manager's defaults."""
        self._lock = threading.Lock()

    # --- out --------------------------------------------------------------------------

    @property
    def has_waiting(self) -> bool:
        """Whether the store has yet to be told something."""
        return bool(self._waiting or self._placed)

    @property
    def has_news(self) -> bool:
        """Whether something waits that somebody asked for."""
        return bool(self._placed) or len(self._waiting) > self._unasked

    def mark_unasked(self) -> None:
        """Let what waits now be kept only together with something else.

        Else to look at a session that does not exist would make one.
        """
        self._unasked = len(self._waiting)

    def prepare(self, entry: LogEntry, *, at: int) -> tuple[LogEntry, bytes]:
        """Return an entry as it will be read back, and its body.

        Raises:
            InvalidItemError: If JSON cannot say it.
        """
        body = entry_body(entry, at=at)
        if has_half_characters(body):
            # Two halves that stood side by side come back as one character.
            entry = entry_from_dict(json.loads(body)["entry"])
        return entry, body

    def add(self, body: bytes) -> None:
        """Take in a body that `prepare` made, once its entry is in the log."""
        with self._lock:
            self._waiting.append(body)

    def note(self, **facts: str | None) -> None:
        """Remember something beside the log; what is known already is no news."""
        news = {
            name: fact
            for name, fact in facts.items()
            if getattr(self.notes, name) != fact
        }
        if news:
            self._take_note(news)
            self.add(to_json({"note": news}))

    def batch(self) -> tuple[bytes, ...]:
        """Return all records that the store has yet to be told, in order."""
        with self._lock:
            start = self.version + len(self._placed)
            self._placed += [
                self.codec.encode(body, position=start + offset)
                for offset, body in enumerate(self._waiting)
            ]
            self._waiting.clear()
            self._unasked = 0
            return tuple(self._placed)

    def acknowledge(self, count: int) -> None:
        """Note that the store has the first so many of the batch."""
        with self._lock:
            del self._placed[:count]
            self.version += count

    # --- in ---------------------------------------------------------------------------

    def read(
        self, stored: StoredRecords, take: Callable[[int, LogEntry], None]
    ) -> tuple[Damage, ...]:
        """Take in what the store has; each entry is given to `take`, with its `at`.

        Returns:
            What could not be read or taken; it is set aside, and also in `damage`.

        Raises:
            StoreError: If it is of a later version, or its key is not here.
        """
        self.incarnation = stored.incarnation
        damage = []
        for position, record in enumerate(stored.records, stored.since):
            try:
                body = self.codec.decode(record, position=position)
                self._take_in(body, take)
            except DamagedError as error:
                damage.append(Damage(position, str(error)))
        self.version = stored.version
        self.damage += tuple(damage)
        return tuple(damage)

    def _take_in(
        self, body: dict[str, Any], take: Callable[[int, LogEntry], None]
    ) -> None:
        entry = _entry_in(body)
        if entry is None:
            self._take_note(body.get("note"))
            return
        try:
            take(at_of(body), entry)
        except InvalidItemError:
            message = "it speaks of what was lost before it"
            raise DamagedError(message) from None

    def _take_note(self, note: Any) -> None:
        if not isinstance(note, dict):
            return
        for field in dataclasses.fields(Notes):
            if field.name in note:  # notes of a later version are not ours
                setattr(self.notes, field.name, note[field.name])


def _entry_in(body: dict[str, Any]) -> LogEntry | None:
    """Return the entry in a body; None if it is a note.

    Raises:
        DamagedError: If something is wrong with it.
        StoreError: If it is of a kind that a later version has.
    """
    if "entry" not in body:
        return None
    try:
        return entry_from_dict(body["entry"])
    except InvalidItemError as error:
        if error.field == "entry" and isinstance(error.value, str):
            message = (
                f"the session holds entries of kind {quoted(error.value)}, which a "
                "later version of context_builder wrote: upgrade it"
            )
            raise StoreError(message) from None
        message = f"it is no entry ({error.field})"
        raise DamagedError(message) from None


def at_of(body: dict[str, Any]) -> int:
    """Return how many items came before the entry of a body; 0 if it does not say."""
    at = body.get("at")
    return at if isinstance(at, int) and not isinstance(at, bool) else 0


def replay(
    log_append: Callable[[LogEntry], None], log: SessionLog, at: int, entry: LogEntry
) -> None:
    """Add an entry as it was, behind stand-ins for items that were lost before it.

    The stand-ins are never shown. They keep the names of later items what they were.

    Raises:
        InvalidItemError: If the entry speaks of an item that was lost, or of more lost
            items than can be.
    """
    if at - count_items(log) > MOST_LOST_ITEMS:
        message = f"more than {MOST_LOST_ITEMS:,} items were lost before it"
        raise InvalidItemError(message, field="at")
    for number in range(count_items(log), at):
        lost = ContextItem(role="user", source="lost", id=f"i{number + 1}")
        log_append(lost)
        log_append(ItemRemoved(lost.id))
    log_append(entry)


def bodies_of(entries: Sequence[LogEntry]) -> list[bytes]:
    """Write the entries of a whole log as bodies."""
    log = SessionLog()
    bodies = []
    for entry in entries:
        bodies.append(entry_body(entry, at=count_items(log)))
        log.append(entry)
    return bodies
