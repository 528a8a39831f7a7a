"""The passages of an archive by number: where each stands, and what stands beside it.

Packed: a passage takes some thirty bytes.
"""

from __future__ import annotations

import dataclasses
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import overload

__all__ = ["Passage", "Passages"]

_MOST_TOKENS = (1 << 16) - 1
_NONE = -1


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an item that can come back. It names its place and holds no text."""

    unit_id: float
    index: int
    """Which of the unit's items."""
    start: int
    end: int
    """The piece of the item's text, as character positions."""
    number: int = dataclasses.field(default=_NONE, compare=False)
    """Which passage of the archive it is; below 0: none yet."""


class Passages(Sequence[Passage]):
    """All passages by number, and by unit in the conversation's order.

    What was taken back keeps its number, and is nobody's neighbour any more.
    """

    __slots__ = (
        "_ends",
        "_indexes",
        "_starts",
        "_tokens",
        "after",
        "before",
        "spans",
        "unit_ids",
    )

    def __init__(self) -> None:
        self.unit_ids: array[float] = array("d")
        """The unit that each passage is of."""
        self._indexes: array[int] = array("I")
        self._starts: array[int] = array("Q")
        self._ends: array[int] = array("Q")
        self._tokens: array[int] = array("H")
        self.before: array[int] = array("i")
        """The passage before each in the conversation; below 0: there is none."""
        self.after: array[int] = array("i")
        self.spans = _Spans()

    def __len__(self) -> int:
        return len(self.unit_ids)

    @overload
    def __getitem__(self, number: int) -> Passage: ...
    @overload
    def __getitem__(self, number: slice) -> list[Passage]: ...
    def __getitem__(self, number: int | slice) -> Passage | list[Passage]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        return Passage(
            self.unit_ids[number],
            self._indexes[number],
            self._starts[number],
            self._ends[number],
            number,
        )

    def append(self, passage: Passage) -> None:
        """Add the newest passage; it stands beside no other one yet."""
        self.unit_ids.append(passage.unit_id)
        self._indexes.append(passage.index)
        self._starts.append(passage.start)
        self._ends.append(passage.end)
        self._tokens.append(0)
        self.before.append(_NONE)
        self.after.append(_NONE)

    def put(self, unit_id: float, first: int) -> None:
        """Take the passages from the first on as all that a unit has."""
        end = len(self)
        for number in range(first, end - 1):
            self._join(number, number + 1)
        place = self.spans.put(unit_id, first, end)
        self._join_at(place)
        self._join_at(place + 1)

    def pop(self, unit_id: float) -> range:
        """Let go of a unit, and return its passages; none if it is not known."""
        place = self.spans.place(unit_id)
        if place is None:
            return range(0)
        taken = self.spans.pop(place)
        for number in taken:
            self.before[number] = self.after[number] = _NONE
        self._join_at(place)
        return taken

    def _join_at(self, place: int) -> None:
        """Make the last passage of a unit and the first of the next one neighbours."""
        former, latter = self.spans.at(place - 1), self.spans.at(place)
        if former and latter:
            self._join(former[-1], latter[0])
        elif former:
            self.after[former[-1]] = _NONE
        elif latter:
            self.before[latter[0]] = _NONE

    def _join(self, former: int, latter: int) -> None:
        self.after[former], self.before[latter] = latter, former

    def tokens(self, number: int) -> int:
        """Return what was remembered of a passage with `remember`; 0: nothing."""
        return self._tokens[number]

    def remember(self, number: int, tokens: int) -> None:
        """Remember what a passage takes, in the words of who asks."""
        if tokens <= _MOST_TOKENS:
            self._tokens[number] = tokens


class _Spans:
    """Which passages are whose: the numbers of each unit, in the units' order."""

    __slots__ = ("_ends", "_firsts", "_unit_ids")

    def __init__(self) -> None:
        self._unit_ids: array[float] = array("d")
        self._firsts: array[int] = array("I")
        self._ends: array[int] = array("I")

    def __contains__(self, unit_id: float) -> bool:
        return self.place(unit_id) is not None

    def place(self, unit_id: float) -> int | None:
        """Return how many units come before one; None: it is not known."""
        place = bisect_left(self._unit_ids, unit_id)
        is_there = place < len(self._unit_ids) and self._unit_ids[place] == unit_id
        return place if is_there else None

    def at(self, place: int) -> range:
        """Return the passages of the unit at a place; none if there is no unit."""
        if 0 <= place < len(self._unit_ids):
            return range(self._firsts[place], self._ends[place])
        return range(0)

    def numbers(self, unit_id: float) -> range:
        """Return a unit's passages; none if it is not known."""
        place = self.place(unit_id)
        return range(0) if place is None else self.at(place)

    def put(self, unit_id: float, first: int, end: int) -> int:
        """Note a unit's passages, up to before the end; return the unit's place."""
        place = bisect_left(self._unit_ids, unit_id)
        self._unit_ids.insert(place, unit_id)
        self._firsts.insert(place, first)
        self._ends.insert(place, end)
        return place

    def pop(self, place: int) -> range:
        """Forget the unit at a place, and return its passages."""
        self._unit_ids.pop(place)
        return range(self._firsts.pop(place), self._ends.pop(place))
