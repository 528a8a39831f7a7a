"""Copies values, so that what is handed out belongs to the caller, and fast."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Handout", "changed", "copy_json"]

_T = TypeVar("_T")
_FLAT = frozenset({str, int, float, bool, type(None)})
"""What need not be looked into: most of what a message is made of."""


def copy_json(value: Any) -> Any:
    """Copy dictionaries and lists all the way down; texts and numbers are shared."""
    if isinstance(value, dict):
        return {
            key: part if type(part) in _FLAT else copy_json(part)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [part if type(part) in _FLAT else copy_json(part) for part in value]
    return value


class Handout:
    """Hands out copies of messages, as often as somebody asks.

    Most messages hold nothing but texts. Which do not is looked up once.
    """

    __slots__ = ("_nested", "messages")

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages
        """What is copied; it is shared, and stays as it is."""
        self._nested = [
            number
            for number, message in enumerate(messages)
            if not _FLAT.issuperset(map(type, message.values()))
        ]

    def copy(self) -> list[dict[str, Any]]:
        """Return the messages, copied all the way down."""
        copied = [message.copy() for message in self.messages]
        for number in self._nested:
            copied[number] = copy_json(self.messages[number])
        return copied


def changed(value: _T, **changes: object) -> _T:
    """Return a copy of a frozen value with slots, some of its fields changed.

    What `dataclasses.replace` does, several times faster, for values that need no
    check: nothing is worked out or looked at anew.
    """
    kind: Any = type(value)
    read, places = _slots_of(kind)
    copied: _T = object.__new__(kind)
    for (name, put), kept in zip(places, read(value), strict=True):
        put(copied, changes.get(name, kept))
    return copied


@functools.cache
def _slots_of(
    kind: type,
) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[str, Any], ...]]:
    names = [field.name for field in dataclasses.fields(kind)]
    places = tuple((name, getattr(kind, name).__set__) for name in names)
    return operator.attrgetter(*names), places
