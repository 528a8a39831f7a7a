"""The session log: all that happened, in order, append-only.

Everything else is worked out from it. Its `revision` moves on every real change, so
nobody has to remember to mark anything as stale. It knows which items are still in the
conversation, so that what changes nothing can be no event.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from pydantic import BaseModel, TypeAdapter, ValidationError

from context_builder.collect.imports.openai_chat import read_tool
from context_builder.collect.plain import (
    need_list,
    need_text,
    need_tokens,
    plain_json,
    wrong,
)
from context_builder.errors import InvalidItemError
from context_builder.items import (
    Cleared,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LimitLearned,
    LogEntry,
    Rewound,
    SystemSet,
    ToolsSet,
    UsageRecorded,
)
from context_builder.unicode import quoted

__all__ = [
    "LOG_VERSION",
    "SessionLog",
    "entry_from_dict",
    "entry_to_dict",
    "log_from_dicts",
    "log_to_dicts",
]

LOG_VERSION = 1
"""The version of the dictionaries that `entry_to_dict` writes."""

_SCHEMA = "context_builder.log"
_ID = re.compile(r"i[1-9][0-9]{0,17}")
_ITEM: TypeAdapter[ContextItem] = TypeAdapter(ContextItem)
_ITEM_FIELDS = dataclasses.fields(ContextItem)


class SessionLog:
    """An append-only list of entries that names the items it takes in."""

    __slots__ = ("_entries", "_items", "_present", "_system", "revision")

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._items: list[ContextItem] = []
        self._present: dict[int, None] = {}  # numbers of items, in order
        self._system: int | None = None
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
                self._present.pop(self._index(entry.item_id) + 1, None)
            case Rewound():
                self._rewind(self._index(entry.item_id) + 1)
            case Cleared():
                self._present.clear()
            case ToolsSet() | UsageRecorded() | LimitLearned():
                pass
            case _:
                assert_never(entry)
        self._entries.append(entry)
        self.revision += 1

    def _add(self, items: Iterable[ContextItem]) -> None:
        first = len(self._items) + 1
        self._name_checked(items)
        self._present.update(dict.fromkeys(range(first, len(self._items) + 1)))

    def _name_checked(self, items: Iterable[ContextItem]) -> None:
        taken = tuple(items)
        for number, item in enumerate(taken, start=len(self._items) + 1):
            if item.id != f"i{number}":
                message = f"the next item is i{number}, not {quoted(item.id)}"
                raise InvalidItemError(message, field="id", value=item.id)
        self._items.extend(taken)

    def _set_system(self, item: ContextItem | None) -> None:
        self._name_checked(() if item is None else (item,))
        self._system = None if item is None else len(self._items)

    def _rewind(self, number: int) -> None:
        while self._present and (newest := next(reversed(self._present))) > number:
            del self._present[newest]

    def holds(self, item_id: str) -> bool:
        """Say whether an item of the log is in the conversation, or is its prompt.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        number = self._index(item_id) + 1
        return number in self._present or number == self._system

    def ends_with(self, item_id: str) -> bool:
        """Say whether nothing in the conversation came in after this item.

        Raises:
            InvalidItemError: If the log has no such item.
        """
        number = self._index(item_id) + 1
        return not self._present or next(reversed(self._present)) <= number

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


# --- to and from plain data -----------------------------------------------------------


def entry_to_dict(  # noqa: C901, PLR0911  one case a kind
    entry: LogEntry,
) -> dict[str, Any]:
    """Write an entry as plain data that `entry_from_dict` reads back unchanged."""
    match entry:
        case ContextItem():
            return {"entry": "item", "item": item_to_dict(entry)}
        case ItemsAdded():
            return {
                "entry": "items",
                "items": [item_to_dict(item) for item in entry.items],
            }
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
        case UsageRecorded():
            return {"entry": "usage", **dataclasses.asdict(entry)}
        case LimitLearned():
            return {"entry": "limit", **dataclasses.asdict(entry)}
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
        message = f"a log entry lacks {error}"
        raise InvalidItemError(message, field="entry") from None
    except (TypeError, AttributeError):
        message = "a log entry is not an object"
        raise InvalidItemError(message, field="entry") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        message = f"{path}: {first['msg']}"
        raise InvalidItemError(message, field=path) from None


def _read_entry(  # noqa: C901, PLR0911  one case a kind
    data: Mapping[str, Any],
) -> LogEntry:
    match data["entry"]:
        case "item":
            return _read_item(data["item"])
        case "items":
            return ItemsAdded(tuple(_read_item(item) for item in data["items"]))
        case "system":
            item = data["item"]
            return SystemSet(None if item is None else _read_item(item))
        case "tools":
            tools = need_list(plain_json(data["tools"], "tools"), "tools")
            return ToolsSet(tuple(map(read_tool, tools, range(len(tools)))))
        case "edit":
            return ItemEdited(_read_item(data["item"]))
        case "remove":
            return ItemRemoved(_read_id(data["item_id"], "item_id"))
        case "rewind":
            return Rewound(_read_id(data["item_id"], "item_id"))
        case "clear":
            return Cleared()
        case "usage":
            return UsageRecorded(
                need_text(data["model"], "model"),
                need_tokens(data["billed_tokens"], "billed_tokens"),
                need_tokens(data["estimated_tokens"], "estimated_tokens"),
            )
        case "limit":
            return LimitLearned(
                need_text(data["model"], "model"),
                need_tokens(data["limit_tokens"], "limit_tokens"),
            )
        case other:
            message = (
                f"log entries of kind {quoted(other)} are not known to this version"
            )
            raise InvalidItemError(message, field="entry", value=other)


_KNOWN_FIELDS = frozenset(field.name for field in _ITEM_FIELDS)


def _read_item(data: Mapping[str, Any]) -> ContextItem:
    known = {name: value for name, value in data.items() if name in _KNOWN_FIELDS}
    if "id" in known:
        _read_id(known["id"], "id")
    return _ITEM.validate_python(known)


def _read_id(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise wrong(value, field, "the id of an item")
    if not _ID.fullmatch(value):
        message = f"{field} {quoted(value)} is not the id of an item"
        raise InvalidItemError(message, field=field, value=value)
    return value


def log_to_dicts(log: SessionLog) -> list[dict[str, Any]]:
    """Write a whole log as plain data: a head, and its entries."""
    head = {"schema": _SCHEMA, "version": LOG_VERSION}
    return [head, *(entry_to_dict(entry) for entry in log)]


def log_from_dicts(entries: object) -> Iterator[LogEntry]:
    """Read the entries of a whole log that `log_to_dicts` wrote.

    Raises:
        InvalidItemError: If it is no such log, or of a later version.
    """
    waiting = need_list(entries, "entries")
    head = waiting[0] if waiting else None
    if not isinstance(head, Mapping) or head.get("schema") != _SCHEMA:
        message = "this is no session log"
        raise InvalidItemError(message, field="schema")
    version = head.get("version")
    if not isinstance(version, int) or version > LOG_VERSION:
        message = (
            f"the log has version {quoted(version)}; this library reads up to "
            f"{LOG_VERSION}"
        )
        raise InvalidItemError(message, field="version", value=version)
    return (entry_from_dict(entry) for entry in waiting[1:])
