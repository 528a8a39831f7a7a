"""Keeps the book on calls: which wait for their result, which have one, and whose.

Looking a call up, opening and answering it costs the same in a long session as in a
short one.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem

__all__ = ["CallBook", "Place", "number_of"]

Place = tuple[float, int]
"""A call: the id of its unit, and its number among the unit's calls."""
_ANY = (None,)
"""The key of all open calls, whatever their tool."""


def number_of(item_id: str) -> int:
    """Return the place in the log that an id names."""
    return int(item_id[1:].partition(".")[0])


class CallBook:
    """Who asked what, and who answered. Items are the log's own, as they came in."""

    __slots__ = ("_answered", "_asked", "_named", "_open", "_places", "answers")

    def __init__(self) -> None:
        self._asked: dict[Place, tuple[str, str]] = {}  # id and name of the tool
        self._open: dict[object, list[Place]] = {}  # heaps: newest unit, first call
        self._answered: dict[str, list[Place]] = {}  # heaps: newest unit, last call
        self._places: dict[str, Place] = {}
        self.answers: dict[Place, list[ContextItem]] = {}
        """All results that came in for a call, in order."""

    def ask(self, place: Place, call_id: str, name: str) -> None:
        """Note that a call was made. It is open."""
        self._asked[place] = (call_id, name)
        self.answers[place] = []
        self._reopen(place)

    def _reopen(self, place: Place) -> None:
        call_id, name = self._asked[place]
        unit_id, number = place
        for key in (call_id, (name,), _ANY):
            heappush(self._open.setdefault(key, []), (-unit_id, number))

    def answer(self, place: Place, item: ContextItem) -> None:
        """Note that a result came in for a call."""
        if not self.answers[place]:
            unit_id, number = place
            heap = self._answered.setdefault(self._asked[place][0], [])
            heappush(heap, (-unit_id, -number))
        self.answers[place].append(item)
        self._places[item.id] = place

    def put(self, place: Place, item: ContextItem) -> None:
        """Put another version of a result in the place of the former."""
        answers = self.answers[place]
        answers[next(n for n, one in enumerate(answers) if one.id == item.id)] = item

    def take(self, place: Place, item_ids: Iterable[str]) -> None:
        """Take results of one call back; without any, it is open again."""
        gone = set(item_ids)
        for item_id in gone:
            del self._places[item_id]
        kept = [item for item in self.answers[place] if item.id not in gone]
        self.answers[place] = kept
        if not kept:
            self._reopen(place)

    def forget(self, place: Place) -> list[ContextItem]:
        """Take a call back, and return the results that it had."""
        del self._asked[place]
        answers = self.answers.pop(place)
        for item in answers:
            del self._places[item.id]
        return answers

    def place_of(self, item_id: str) -> Place | None:
        """Return the call that a result came in for."""
        return self._places.get(item_id)

    def later_results(self, number: int) -> dict[Place, list[str]]:
        """Return the results that came in after an item, by their call."""
        later: dict[Place, list[str]] = {}
        for item_id, place in self._places.items():
            if number_of(item_id) > number:
                later.setdefault(place, []).append(item_id)
        return later

    def open_call(self, call_id: str) -> Place | None:
        """Return the first open call of the newest unit that has one of this id."""
        return self._newest_open(call_id)

    def open_call_of(self, name: str | None) -> Place | None:
        """Return the first open call of a tool in the newest unit that has one."""
        return self._newest_open(_ANY if name is None else (name,))

    def _newest_open(self, key: object) -> Place | None:
        heap = self._open.get(key)
        while heap:
            place = (-heap[0][0], heap[0][1])
            if place in self._asked and not self.answers[place]:
                return place
            heappop(heap)  # answered or taken back since
        self._open.pop(key, None)
        return None

    def answered_call(self, call_id: str) -> Place | None:
        """Return the newest call of this id that has a result."""
        heap = self._answered.get(call_id)
        while heap:
            place = (-heap[0][0], -heap[0][1])
            if place in self._asked and self.answers[place]:
                return place
            heappop(heap)
        return None

    def clear(self) -> None:
        """Forget everything."""
        self._asked.clear()
        self._open.clear()
        self._answered.clear()
        self._places.clear()
        self.answers.clear()
