"""What a reader of a vendor's format returns, and checks that all readers share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_builder.collect.content import as_mapping
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem

__all__ = [
    "Imported",
    "MessageReader",
    "Reply",
    "RequestReader",
    "ResponseReader",
    "Usage",
    "need_mapping",
    "need_str",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """What a vendor billed for one answer. Input includes cached tokens."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Of the input, read from the prompt cache."""
    cache_write_tokens: int = 0
    """Of the input, written to the prompt cache."""
    reasoning_tokens: int = 0
    """Of the output, spent on reasoning."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """A vendor's answer, read."""

    items: tuple[ContextItem, ...]
    """What the model said; without ids. Empty when it said nothing."""
    usage: Usage | None = None
    stop_reason: str | None = None
    """The vendor's own word; None: the stream ended before one came."""
    model: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """A vendor's whole request, read."""

    items: tuple[ContextItem, ...]
    """The conversation without the system prompt; without ids."""
    system: str | None = dataclasses.field(default=None, repr=False)
    tools: tuple[Mapping[str, Any], ...] = ()
    """As OpenAI function tools."""
    lost: tuple[str, ...] = ()
    """What the library has no place for, as paths such as
    `messages[2].cache_control`."""


RequestReader = Callable[[Mapping[str, Any]], Imported]
"""Takes the whole body (or SDK arguments) of a request."""
MessageReader = Callable[[Sequence[object]], list[ContextItem]]
ResponseReader = Callable[
    [Mapping[str, Any] | Sequence[Mapping[str, Any]]], "Reply | None"
]
"""Takes an answer, or the pieces of a stream; None: not this vendor's shape."""


def need_mapping(value: object, field: str) -> Mapping[str, Any]:
    """Return `value` as a mapping.

    Raises:
        InvalidItemError: If it is none.
    """
    mapping = as_mapping(value)
    if mapping is None:
        problem = f"{field} must be an object, not {type(value).__name__}"
        raise InvalidItemError(problem, field=field, value=value)
    return mapping


def need_str(value: object, field: str, *, allow_empty: bool = False) -> str:
    """Return `value` as text.

    Raises:
        InvalidItemError: If it is no text, or empty where that is not allowed.
    """
    if isinstance(value, str) and (value or allow_empty):
        return value
    found = "empty" if value == "" else f"of type {type(value).__name__}"
    problem = f"{field} must be text; it is {found}"
    raise InvalidItemError(problem, field=field, value=value)
