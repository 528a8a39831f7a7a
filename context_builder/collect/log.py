"""The session log: all that happened, in order, append-only.

Everything else is worked out from it. Its `revision` moves on every real change, so
nobody has to remember to mark anything as stale.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from pydantic import BaseModel, TypeAdapter, ValidationError

from context_builder.errors import InvalidItemError
from context_builder.items import (
    Cleared,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LogEntry,
    Rewound,
    SystemSet,
    ToolsSet,
)

__all__ = ["LOG_VERSION", "SessionLog", "entry_from_dict", "entry_to_dict"]

LOG_VERSION = 1
"""The version of the dictionaries that `entry_to_dict` writes."""

_ITEM: TypeAdapter[ContextItem] = TypeAdapter(ContextItem)
_ITEM_FIELDS = dataclasses.fields(ContextItem)


class SessionLog:
    """An append-only list of entries that names the items it takes in."""

    __slots__ = ("_entries", "_items", "revision")

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._items: list[ContextItem] = []
        self.revision = 0
        """Moves on by one with every entry."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items that ever came in, whole and in order, in their latest version."""
        return tuple(self._items)

    def since(self, position: int) -> list[LogEntry]:
        """Return the entries from `position` on, in order."""
        return self._entries[position:]

    def name(self, item: ContextItem, *, offset: int = 0) -> ContextItem:
        """Return the item under the id that it gets when it is appended next."""
        return dataclasses.replace(item, id=f"i{len(self._items) + 1 + offset}")

    def append(self, entry: LogEntry) -> None:
        """Add an entry whose items have been named; earlier builds become stale.

        Raises:
            InvalidItemError: If it speaks of an item that is not in the log.
        """
        match entry:
            case ContextItem():
                self._items.append(entry)
            case ItemsAdded():
                self._items.extend(entry.items)
            case SystemSet():
                if entry.item is not None:
                    self._items.append(entry.item)
            case ItemEdited():
                self._items[self._index(entry.item.id)] = entry.item
            case ItemRemoved() | Rewound():
                self._index(entry.item_id)
            case ToolsSet() | Cleared():
                pass
            case _:
                assert_never(entry)
        self._entries.append(entry)
        self.revision += 1

    def find(self, item_id: str) -> ContextItem:
        """Return the item of this name, in its latest version.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        return self._items[self._index(item_id)]

    def _index(self, item_id: str) -> int:
        number = item_id[1:] if item_id[:1] == "i" else ""
        if number.isascii() and number.isdigit() and 0 < int(number) <= len(self._items):
            return int(number) - 1
        raise InvalidItemError(
            f"there is no item {item_id!r} in this session", field="item_id", value=item_id
        )


# --- to and from plain data -----------------------------------------------------------


def entry_to_dict(entry: LogEntry) -> dict[str, Any]:
    """Write an entry as plain data that `entry_from_dict` reads back unchanged."""
    match entry:
        case ContextItem():
            return {"entry": "item", "item": item_to_dict(entry)}
        case ItemsAdded():
            return {"entry": "items", "items": [item_to_dict(item) for item in entry.items]}
        case SystemSet():
            item = None if entry.item is None else item_to_dict(entry.item)
            return {"entry": "system", "item": item}
        case ToolsSet():
            return {"entry": "tools", "tools": list(entry.tools)}
        case ItemEdited():
            return {"entry": "edit", "item": item_to_dict(entry.item)}
        case ItemRemoved():
            return {"entry": "remove", "item_id": entry.item_id}
        case Rewound():
            return {"entry": "rewind", "item_id": entry.item_id}
        case Cleared():
            return {"entry": "clear"}
        case _:
            assert_never(entry)


def item_to_dict(item: ContextItem) -> dict[str, Any]:
    """Write an item as plain data, without what is at its default."""
    return {
        field.name: _plain(value)
        for field in _ITEM_FIELDS
        if (value := getattr(item, field.name)) != field.default
    }


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(part)
            for field in dataclasses.fields(value)
            if (part := getattr(value, field.name)) != field.default
        }
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


def entry_from_dict(data: Mapping[str, Any]) -> LogEntry:
    """Read an entry back. Fields that are not known are ignored.

    Raises:
        InvalidItemError: If it is of no known kind, or something is wrong with it.
    """
    try:
        return _read_entry(data)
    except KeyError as error:
        raise InvalidItemError(f"a log entry lacks {error}", field="entry") from None
    except (TypeError, AttributeError):
        raise InvalidItemError("a log entry is not an object", field="entry") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise InvalidItemError(f"{path}: {first['msg']}", field=path) from None


def _read_entry(data: Mapping[str, Any]) -> LogEntry:
    match data["entry"]:
        case "item":
            return _read_item(data["item"])
        case "items":
            return ItemsAdded(tuple(_read_item(item) for item in data["items"]))
        case "system":
            item = data["item"]
            return SystemSet(None if item is None else _read_item(item))
        case "tools":
            return ToolsSet(tuple(data["tools"]))
        case "edit":
            return ItemEdited(_read_item(data["item"]))
        case "remove":
            return ItemRemoved(data["item_id"])
        case "rewind":
            return Rewound(data["item_id"])
        case "clear":
            return Cleared()
        case other:
            raise InvalidItemError(
                f"log entries of kind {other!r} are not known to this version",
                field="entry",
                value=other,
            )


_KNOWN_FIELDS = frozenset(field.name for field in _ITEM_FIELDS)


def _read_item(data: Mapping[str, Any]) -> ContextItem:
    known = {name: value for name, value in data.items() if name in _KNOWN_FIELDS}
    return _ITEM.validate_python(known)


def entries_from_dicts(entries: Iterable[Mapping[str, Any]]) -> Iterator[LogEntry]:
    """Read many entries back, one after the other."""
    return (entry_from_dict(entry) for entry in entries)
