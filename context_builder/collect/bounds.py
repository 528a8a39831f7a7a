"""Keeps what comes in within bounds: how long, how many, how deep.

A tool, a page or a file from a stranger may be of any size. What is larger than the
limits is refused here, whole, before it is in the log, by an error that names the field
and the limit. Nothing is cut: to shorten is the business of `decide`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from context_builder.errors import InvalidItemError
from context_builder.items import (
    ContextItem,
    ItemEdited,
    ItemsAdded,
    SummaryAdded,
    SystemSet,
    ToolsSet,
)

if TYPE_CHECKING:
    from context_builder.items import LogEntry
    from context_builder.messages import Part
    from context_builder.settings import ItemLimits

__all__ = ["bounded_list", "check_entry", "check_items", "check_tools", "refuse"]

_NAMES = ("source", "cache_key", "tool_call_id", "tool_name", "name")
_names_of = operator.attrgetter(*_NAMES)
_PART_TEXTS = ("text", "url", "file_id", "filename")


def check_items(
    items: Sequence[ContextItem], limits: ItemLimits, *, present: int
) -> None:
    """Refuse items that are too large, or too many.

    Args:
        items: What comes in as one entry.
        limits: What may come in.
        present: How many items the session has already.

    Raises:
        InvalidItemError: For the first limit that is passed.
    """
    if present + len(items) > limits.max_items:
        refuse("items", "items", limits, "max_items")
    for item in items:
        _check_item(item, limits)


def check_tools(tools: Sequence[Mapping[str, Any]], limits: ItemLimits) -> None:
    """Refuse tool definitions that are too large, or too many.

    Raises:
        InvalidItemError: For the first limit that is passed.
    """
    if len(tools) > limits.max_tools:
        refuse("tools", "tools", limits, "max_tools")
    if sum(_data_chars(tool, "tools", limits) for tool in tools) > (
        limits.max_text_chars
    ):
        refuse("tools", "characters", limits, "max_text_chars")


def check_entry(entry: LogEntry, limits: ItemLimits, *, present: int) -> None:
    """Refuse an entry that was read from somewhere, by the same limits.

    Raises:
        InvalidItemError: For the first limit that is passed.
    """
    match entry:
        case ContextItem():
            check_items((entry,), limits, present=present)
        case ItemsAdded():
            check_items(entry.items, limits, present=present)
        case SystemSet() if entry.item is not None:
            check_items((entry.item,), limits, present=present)
        case ItemEdited() | SummaryAdded():
            check_items((entry.item,), limits, present=0)
        case ToolsSet():
            check_tools(entry.tools, limits)
        case _:
            pass


def bounded_list(values: Any, field: str, limits: ItemLimits) -> Any:
    """Return what an iterator yields as a list, unless it goes on for too long.

    Raises:
        InvalidItemError: If it yields more than a session may have items.
    """
    if type(values) is list or not isinstance(values, Iterator):
        return values
    taken = list(islice(values, limits.max_items + 1))
    if len(taken) > limits.max_items:
        refuse(field, "items", limits, "max_items")
    return taken


def refuse(field: str, what: str, limits: ItemLimits, name: str) -> NoReturn:
    """Say which limit was passed.

    Raises:
        InvalidItemError: Always.
    """
    message = (
        f"{field} has more than {getattr(limits, name):,} {what}, the limit for what "
        f"comes in: pass less, or raise Settings.item_limits.{name}"
    )
    raise InvalidItemError(message, field=field)


def _check_item(item: ContextItem, limits: ItemLimits) -> None:
    most_chars = limits.max_name_chars
    for number, value in enumerate(_names_of(item)):
        if value is not None and len(value) > most_chars:
            refuse(_NAMES[number], "characters", limits, "max_name_chars")
    text_chars = len(item.content) if isinstance(item.content, str) else 0
    if text_chars == 0 or item.tool_calls or item.reasoning or item.metadata:
        text_chars += _other_chars(item, limits)
    if text_chars > limits.max_text_chars:
        refuse("content", "characters", limits, "max_text_chars")


def _other_chars(item: ContextItem, limits: ItemLimits) -> int:
    """Return the characters of all that an item holds besides one plain text."""
    parts: Sequence[Part] = () if isinstance(item.content, str) else item.content
    if len(parts) + len(item.tool_calls) + len(item.reasoning) > limits.max_parts:
        refuse("content", "parts and calls", limits, "max_parts")
    media_chars = sum(len(getattr(part, "data", None) or "") for part in parts)
    if media_chars > limits.max_media_chars:
        refuse("content", "characters", limits, "max_media_chars")
    chars = _data_chars(item.metadata, "metadata", limits)
    for part in parts:
        chars += sum(len(getattr(part, name, None) or "") for name in _PART_TEXTS)
        chars += _data_chars(part.extra, "content", limits)
    for call in item.tool_calls:
        if len(call.id) > limits.max_name_chars or len(call.name) > (
            limits.max_name_chars
        ):
            refuse("tool_calls", "characters", limits, "max_name_chars")
        chars += len(call.arguments) + _data_chars(call.extra, "tool_calls", limits)
    for thought in item.reasoning:
        chars += len(thought.text) + len(thought.signature or "")
        chars += _data_chars(thought.data, "reasoning", limits)
    return chars


def _data_chars(data: object, field: str, limits: ItemLimits) -> int:
    """Return the characters of all texts in JSON data, keys included.

    Raises:
        InvalidItemError: If it has too many values, or they are nested too deep.
    """
    if data is None:
        return 0
    chars = values = depth = 0
    level: list[object] = [data]
    while level:
        values += len(level)
        if values > limits.max_data_values:
            refuse(field, "values", limits, "max_data_values")
        if depth > limits.max_nesting:
            refuse(field, "levels", limits, "max_nesting")
        chars += sum(len(value) for value in level if isinstance(value, str))
        level = [inner for value in level for inner in _inside(value)]
        depth += 1
    return chars


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return (*value, *value.values())
    return value if isinstance(value, list | tuple) else ()
