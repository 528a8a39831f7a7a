"""Writes log entries as plain data, ready for JSON, and reads them back unchanged.

Fields that are not known are ignored, so that a later version may add some. A kind that
is not known is an error: to leave it out would be to lose what happened.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, assert_never, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from context_builder.collect.checks import check_item
from context_builder.collect.imports import read_tools
from context_builder.collect.plain import (
    need_list,
    need_text,
    need_tokens,
    wrong,
)
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
    PassageMatch,
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
    from context_builder.collect.log import SessionLog

__all__ = [
    "LOG_VERSION",
    "entry_from_dict",
    "entry_to_dict",
    "log_from_dicts",
    "log_to_dicts",
]

LOG_VERSION = 1
"""The version of the dictionaries that `entry_to_dict` writes."""

_SCHEMA = "context_builder.log"
_ID = re.compile(r"i[1-9][0-9]{0,17}")
_SUMMARY_ID = re.compile(r"s[1-9][0-9]{0,17}")
_ITEM_FIELDS = dataclasses.fields(ContextItem)
_HINTS = get_type_hints(ContextItem, include_extras=True)
_GIVEN: TypeAdapter[Any] = TypeAdapter(
    dataclasses.make_dataclass(
        "Item",
        [
            (field.name, _HINTS[field.name], dataclasses.field(default=field.default))
            for field in _ITEM_FIELDS
        ],
        slots=True,
    )
)
"""Reads the fields of an item. An item made field by field would take twice as long."""
_fields_of = operator.attrgetter(*(field.name for field in _ITEM_FIELDS))


def entry_to_dict(  # noqa: C901, PLR0911, PLR0912  a case a kind
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
        case CompactionAsked():
            return {"entry": "compact"}
        case SummaryAdded():
            return {
                "entry": "summary",
                "item": item_to_dict(entry.item),
                "covers": list(entry.covers),
                "extends": entry.extends,
                "made_by": entry.made_by,
            }
        case SummaryRefused():
            said = dataclasses.asdict(entry)
            return {"entry": "summary_refused", **said, "covers": list(entry.covers)}
        case PassagesMatched():
            said = dataclasses.asdict(entry)
            return {"entry": "matched", **said, "matches": list(said["matches"])}
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
    except RecursionError:
        message = "a log entry is nested too deep"
        raise InvalidItemError(message, field="entry") from None
    except (TypeError, AttributeError):
        message = "a log entry is not an object"
        raise InvalidItemError(message, field="entry") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        message = f"{path}: {first['msg']}"
        raise InvalidItemError(message, field=path) from None


def _read_entry(  # noqa: C901, PLR0911, PLR0912  a case a kind
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
            return ToolsSet(read_tools(data["tools"]))
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
        case "compact":
            return CompactionAsked()
        case "summary":
            return _read_summary(data)
        case "summary_refused":
            return SummaryRefused(
                need_text(data["reason"], "reason"),
                _read_ids(data["covers"]),
                need_text(data["made_by"], "made_by"),
                _read_name(data.get("error"), "error"),
            )
        case "matched":
            return PassagesMatched(
                _read_id(data["item_id"], "item_id"),
                tuple(map(_read_match, need_list(data["matches"], "matches"))),
                _read_score(data["shown_score"], "shown_score"),
                need_text(data["made_by"], "made_by"),
                _read_name(data.get("error"), "error"),
            )
        case other:
            message = (
                f"log entries of kind {quoted(other)} are not known to this version"
            )
            raise InvalidItemError(message, field="entry", value=other)


_KNOWN_FIELDS = frozenset(field.name for field in _ITEM_FIELDS)


def _read_item(data: Mapping[str, Any], ids: re.Pattern[str] = _ID) -> ContextItem:
    known = {name: value for name, value in data.items() if name in _KNOWN_FIELDS}
    if "id" in known:
        _read_id(known["id"], "id", ids)
    return check_item(ContextItem(*_fields_of(_GIVEN.validate_python(known))))


def _read_id(value: object, field: str, ids: re.Pattern[str] = _ID) -> str:
    if not isinstance(value, str):
        raise wrong(value, field, "the id of an item")
    if not ids.fullmatch(value):
        message = f"{field} {quoted(value)} is not the id of an item"
        raise InvalidItemError(message, field=field, value=value)
    return value


def _read_summary(data: Mapping[str, Any]) -> SummaryAdded:
    extends = data["extends"]
    if extends is not None:
        extends = _read_id(extends, "extends", _SUMMARY_ID)
    return SummaryAdded(
        _read_item({"id": "", **data["item"]}, _SUMMARY_ID),
        _read_ids(data["covers"]),
        extends,
        need_text(data["made_by"], "made_by"),
    )


def _read_match(data: Mapping[str, Any]) -> PassageMatch:
    start = data["start"]
    if type(start) is not int or start < 0:
        raise wrong(start, "start", "a place in a text")
    return PassageMatch(
        _read_id(data["item_id"], "item_id"), start, _read_score(data["score"], "score")
    )


def _read_score(value: object, field: str) -> float:
    if type(value) not in {int, float} or not math.isfinite(float(value)):  # type: ignore[arg-type]
        raise wrong(value, field, "a number")
    return float(value)  # type: ignore[arg-type]


def _read_ids(value: object) -> tuple[str, ...]:
    return tuple(_read_id(each, "covers") for each in need_list(value, "covers"))


def _read_name(value: object, field: str) -> str | None:
    return None if value is None else need_text(value, field)


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
