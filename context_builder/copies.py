"""Copies values, so that what is handed out belongs to the caller, and fast."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from types import SimpleNamespace
from typing import Any, TypeVar

__all__ = [
    "Columns",
    "changed",
    "columns_of",
    "copy_json",
    "made_of_columns",
    "sharing",
    "slots_of",
]

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


def changed(value: _T, **changes: object) -> _T:
    """Return a copy of a frozen value with slots, some of its fields changed.

    What `dataclasses.replace` does, several times faster, for values that need no
    check: nothing is worked out or looked at anew.
    """
    kind: Any = type(value)
    read, puts, put_by_name = _slots_of(kind)
    copied: _T = object.__new__(kind)
    for put, kept in zip(puts, read(value), strict=True):
        put(copied, kept)
    for name, change in changes.items():
        put_by_name[name](copied, change)
    return copied


Columns = tuple[int, list[tuple[bool, Any]]]
"""How many values there are, and each of their fields in turn: whether it is one and
the same for all of them, and it, or those of all."""


def columns_of(kind: type, values: Sequence[object]) -> Columns:
    """Return many values with slots, all of one kind, field by field."""
    if not values:
        return 0, []
    columns = (list(map(operator.attrgetter(name), values)) for name in slots_of(kind))
    return len(values), [
        (True, column[0])
        if all(map(operator.is_, column, repeat(column[0])))
        else (False, column)
        for column in columns
    ]


def made_of_columns(kind: Any, columns: Columns) -> list[Any]:
    """Return the values of which `columns_of` returned the fields; unchecked."""
    count, fields = columns
    made = list(map(object.__new__, repeat(kind, count)))
    for put, (is_one, field) in zip(_slots_of(kind)[1], fields, strict=False):
        _run(map(put, made, repeat(field) if is_one else field))
    return made


def _run(calls: Iterable[object]) -> None:
    deque(calls, maxlen=0)


_Put = Callable[[Any, object], None]


@functools.cache
def _slots_of(
    kind: type,
) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[_Put, ...], dict[str, _Put]]:
    """Return what reads all slots, what sets each of them, and what each field."""
    names = slots_of(kind)
    puts: dict[str, _Put] = {name: getattr(kind, name).__set__ for name in names}
    read = operator.attrgetter(*names)
    # Of a single name it would return no tuple.
    several = read if len(names) > 1 else lambda value: (read(value),)
    shared = {
        field.name: found.put_changed
        for field in dataclasses.fields(kind)
        if isinstance(found := getattr(kind, field.name), _SharedField)
    }
    return several, tuple(puts.values()), puts | shared


def slots_of(kind: type) -> tuple[str, ...]:
    """Return the names of all slots of a class, in order."""
    known = (vars(base).get("__slots__", ()) for base in reversed(kind.__mro__))
    return tuple(name for names in known for name in names)


# --- what values share ------------------------------------------------------------


def sharing(slot: str, *, own: tuple[str, ...]) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator for a frozen dataclass of which there are very many values.

    Each has slots for some of its fields. The others lie in an object in one more slot,
    which values that are alike in them share: whoever makes a value puts it there.

    Args:
        slot: The name of that slot.
        own: The fields that each value has for itself.
    """

    def compact(kind: type[_T]) -> type[_T]:
        names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
        gone = {"__dict__", "__weakref__", *names}
        body = {name: part for name, part in vars(kind).items() if name not in gone}
        body |= {name: _SharedField(slot, name) for name in names if name not in own}
        body["__slots__"] = (*own, slot)
        metaclass: Any = type(kind)
        made: type[_T] = metaclass(kind.__name__, kind.__bases__, body)
        return made

    return compact


class _SharedField(property):
    """A field that lies in the object that values share."""

    def __init__(self, slot: str, name: str) -> None:
        super().__init__(operator.attrgetter(f"{slot}.{name}"), self._draft)
        self._slot = slot
        self._name = name

    def _draft(self, value: object, part: object) -> None:
        """Take the field of a value that somebody makes field by field.

        `__post_init__` puts them all where they belong.
        """
        draft = getattr(value, self._slot, None)
        if not isinstance(draft, SimpleNamespace):
            draft = SimpleNamespace()
            object.__setattr__(value, self._slot, draft)
        setattr(draft, self._name, part)

    def put_changed(self, value: object, part: object) -> None:
        """Set the field of a copy; what others share stays as it is."""
        shared = changed(getattr(value, self._slot), **{self._name: part})
        object.__setattr__(value, self._slot, shared)
