"""Checks items at the door: every field has its type, and belongs to the session.

What a vendor put beside the text travels as JSON; it is copied here, so that a caller
who changes it afterwards changes nothing in the log.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from context_builder.collect.plain import plain_json, wrong
from context_builder.errors import InvalidItemError
from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["RESERVED_SOURCES", "check_item"]

RESERVED_SOURCES = frozenset({"notice", "recall", "repair"})
"""Where the library's own items come from; nobody else's may look like them."""

_TEXT_FIELDS = ("source", "cache_key", "tool_call_id", "tool_name", "name")
_FLAGS = ("optional", "pinned", "is_error", "partial", "has_own_priority")
_texts_of = operator.attrgetter(*_TEXT_FIELDS)
_flags_of = operator.attrgetter(*_FLAGS)
_PARTS = (TextPart, ImagePart, FilePart, AudioPart)
_T = TypeVar("_T")


def check_item(item: ContextItem) -> ContextItem:
    """Return the item if every field has the type that it must have.

    It is the same object, unless it holds data that has to be copied.

    Raises:
        InvalidItemError: For the first field that does not.
    """
    _check_fields(item)
    if _is_plain(item):
        return item
    content = _content(item.content)
    changes: dict[str, Any] = {
        "content": content,
        "tool_calls": _each(item.tool_calls, ToolCall, "tool_calls", _own_call),
        "reasoning": _each(item.reasoning, ReasoningPart, "reasoning", _own_thought),
        "metadata": _metadata(item.metadata),
    }
    if item.tool_calls and item.role != "assistant":
        message = f"only an assistant calls tools, and the role is {item.role}"
        raise InvalidItemError(message, field="tool_calls", value=item.tool_calls)
    if all(value is getattr(item, name) for name, value in changes.items()):
        return item
    return dataclasses.replace(item, **changes)


def _is_plain(item: ContextItem) -> bool:
    """Say whether it is text and calls alone, which are its own, as most items are."""
    return (
        isinstance(item.content, str)
        and (item.tool_calls == () or _are_plain(item))
        and item.reasoning == ()
        and item.metadata is None
    )


def _are_plain(item: ContextItem) -> bool:
    """Say whether an assistant's calls hold nothing that has to be copied."""
    return (
        item.role == "assistant"
        and type(item.tool_calls) is tuple
        and all(type(c) is ToolCall and c.extra is None for c in item.tool_calls)
    )


def _check_fields(item: ContextItem) -> None:
    for name, value in zip(_TEXT_FIELDS, _texts_of(item), strict=True):
        if value is not None and not (isinstance(value, str) and value):
            raise wrong(value, name, "text that is not empty")
    if item.source in RESERVED_SOURCES:
        message = f"the source {item.source!r} is the library's own: take another name"
        raise InvalidItemError(message, field="source", value=item.source)
    for name, flag in zip(_FLAGS, _flags_of(item), strict=True):
        if not isinstance(flag, bool):
            raise wrong(flag, name, "True or False")
    if item.timestamp is not None and not is_time(item.timestamp):
        raise wrong(item.timestamp, "timestamp", "a number of seconds")


def is_time(value: object) -> bool:
    """Say whether a value is a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _content(content: object) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, tuple | list):
        raise wrong(content, "content", "text or a tuple of parts")
    parts: Content = _each(content, _PARTS, "content", _own_part)
    return parts


def _each(
    values: Any,
    kinds: type[_T] | tuple[type[_T], ...],
    field: str,
    own: Callable[[Any, str], Any],
) -> Any:
    """Return values of the right kind as a tuple, the same one if nothing changes."""
    if not isinstance(values, tuple | list):
        raise wrong(values, field, "a tuple")
    for number, value in enumerate(values):
        if not isinstance(value, kinds):
            raise wrong(value, f"{field}[{number}]", "one of the library's values")
    owned = [own(value, f"{field}[{number}]") for number, value in enumerate(values)]
    same = isinstance(values, tuple) and all(map(_is, owned, values))
    return values if same else tuple(owned)


def _is(one: object, other: object) -> bool:
    return one is other


def _own_part(part: Any, field: str) -> Any:
    if part.extra is None:
        return part
    return part.model_copy(update={"extra": plain_json(part.extra, f"{field}.extra")})


def _own_call(call: ToolCall, field: str) -> ToolCall:
    if call.extra is None:
        return call
    extra = plain_json(call.extra, f"{field}.extra")
    return dataclasses.replace(call, extra=extra)


def _own_thought(part: ReasoningPart, field: str) -> ReasoningPart:
    if part.data is None:
        return part
    return dataclasses.replace(part, data=plain_json(part.data, f"{field}.data"))


def _metadata(metadata: object) -> Any:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise wrong(metadata, "metadata", "a mapping")
    return plain_json(metadata, "metadata")
