"""The session log: all that happened, in order, append-only.

Everything else is worked out from it. Its `revision` moves on every real change, so
nobody has to remember to mark anything as stale. It knows which items are still in the
conversation, so that what changes nothing can be no event.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import TYPE_CHECKING, assert_never

from context_builder.copies import changed
from context_builder.errors import InvalidItemError
from context_builder.items import (
    Cleared,
    CompactionAsked,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LimitLearned,
    LogEntry,
    PassagesMatched,
    Rewound,
    SummaryAdded,
    SummaryRefused,
    SystemSet,
    ToolsSet,
    UsageRecorded,
)
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SessionLog"]

_HERE, _GONE = b"\x01", b"\x00"
_ID = re.compile(r"i[1-9][0-9]{0,17}")


class SessionLog:
    """An append-only list of entries that names the items it takes in."""

    __slots__ = (
        "_entries",
        "_items",
        "_present",
        "_summaries",
        "_system",
        "revision",
    )

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._items: list[ContextItem] = []
        self._present = bytearray()  # for each item, whether it is there
        self._system: int | None = None
        self._summaries: dict[str, ContextItem] = {}
        self.revision = 0
        """Moves on by one with every entry."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    @property
    def summaries(self) -> tuple[ContextItem, ...]:
        """All summaries that ever were accepted, in order. They are no items."""
        return tuple(self._summaries.values())

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items that ever came in, whole and in order, in their latest version."""
        return tuple(self._items)

    @property
    def item_count(self) -> int:
        """How many items ever came in."""
        return len(self._items)

    def since(self, position: int) -> list[LogEntry]:
        """Return the entries from `position` on, in order."""
        return self._entries[position:]

    def name(self, item: ContextItem, *, offset: int = 0) -> ContextItem:
        """Return the item under the id that it gets when it is appended next."""
        return changed(item, id=self.next_id(offset))

    def next_id(self, offset: int = 0) -> str:
        """Return the id of the item that is appended next, or so many after it."""
        # Every session names its items alike: their names are shared.
        return sys.intern(f"i{len(self._items) + 1 + offset}")

    def append(self, entry: LogEntry) -> None:  # noqa: C901  one case a kind
        """Add an entry whose items have been named; earlier builds become stale.

        Raises:
            InvalidItemError: If it speaks of an item that is not in the log, or an item
                is named after another place than its own.
        """
        match entry:
            case ContextItem():
                self._add((entry,))
            case ItemsAdded():
                self._add(entry.items)
            case SystemSet():
                self._set_system(entry.item)
            case ItemEdited():
                self._items[self._index(entry.item.id)] = entry.item
            case ItemRemoved():
                self._present[self._index(entry.item_id)] = False
            case Rewound():
                self._take_out(after=self._index(entry.item_id) + 1)
            case Cleared():
                self._take_out(after=0)
            case SummaryAdded():
                self._add_summary(entry)
            case SummaryRefused():
                self._check_known(entry.covers)
            case PassagesMatched():
                found = [match.item_id for match in entry.matches]
                self._check_known([entry.item_id, *found])
            case ToolsSet() | UsageRecorded() | LimitLearned() | CompactionAsked():
                pass
            case _:
                assert_never(entry)
        self._entries.append(entry)
        self.revision += 1

    def name_summary(self, item: ContextItem) -> ContextItem:
        """Return a summary under the id that it gets when it is appended next."""
        last = next(reversed(self._summaries), "s0")
        return dataclasses.replace(item, id=f"s{int(last[1:]) + 1}")

    def _add_summary(self, entry: SummaryAdded) -> None:
        """Keep a summary, if the log has what it speaks of.

        Ids only have to rise: where a record was lost, the later ones still count.
        """
        self._check_known(entry.covers)
        named = int(entry.item.id[1:] or 0)
        is_next = named >= int(self.name_summary(entry.item).id[1:])
        if not is_next or entry.extends not in {None, *self._summaries}:
            message = f"summary {quoted(entry.item.id)} does not follow those before it"
            raise InvalidItemError(message, field="id", value=entry.item.id)
        self._summaries[entry.item.id] = entry.item

    def _check_known(self, item_ids: Iterable[str]) -> None:
        for item_id in item_ids:
            self._index(item_id)

    def _add(self, items: Iterable[ContextItem]) -> None:
        self._name_checked(items)
        self._present += _HERE * (len(self._items) - len(self._present))

    def _name_checked(self, items: Iterable[ContextItem]) -> None:
        taken = tuple(items)
        for number, item in enumerate(taken, start=len(self._items) + 1):
            if item.id != f"i{number}":
                message = f"the next item is i{number}, not {quoted(item.id)}"
                raise InvalidItemError(message, field="id", value=item.id)
        self._items.extend(taken)

    def _set_system(self, item: ContextItem | None) -> None:
        self._name_checked(() if item is None else (item,))
        self._present += _GONE * (len(self._items) - len(self._present))
        self._system = None if item is None else len(self._items)

    def _take_out(self, *, after: int) -> None:
        self._present[after:] = _GONE * (len(self._present) - after)

    def holds(self, item_id: str) -> bool:
        """Say whether an item of the log is in the conversation, or is its prompt.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        number = self._index(item_id) + 1
        return self._present[number - 1] == _HERE[0] or number == self._system

    def ends_with(self, item_id: str) -> bool:
        """Say whether nothing in the conversation came in after this item.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        number = self._index(item_id) + 1
        return self._present.rfind(_HERE) < number

    def find(self, item_id: str) -> ContextItem:
        """Return the item of this name, in its latest version.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        return self._items[self._index(item_id)]

    def _index(self, item_id: object) -> int:
        if isinstance(item_id, str) and _ID.fullmatch(item_id):
            number = int(item_id[1:])
            if number <= len(self._items):
                return number - 1
        message = f"there is no item {quoted(item_id)} in this session"
        raise InvalidItemError(message, field="item_id", value=item_id)
