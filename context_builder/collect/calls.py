"""Keeps the book on calls: which wait for their result, which have one, and whose.

Looking a call up, opening and answering it costs the same in a long session as in a
short one.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem

__all__ = ["CallBook", "Place", "number_of"]

Place = tuple[float, int]
"""A call: the id of its unit, and its number among the unit's calls."""
_ANY = (None,)
"""The key of all open calls, whatever their tool."""
_RESULTS = 2
"""From here on, what is kept of a call are its results."""


def number_of(item_id: str) -> int:
    """Return the place in the log that an id names."""
    return int(item_id[1:].partition(".")[0])


class CallBook:
    """Who asked what, and who answered. Items are the log's own, as they came in."""

    __slots__ = ("_answered", "_calls", "_open", "_places")

    def __init__(self) -> None:
        self._calls: dict[Place, tuple[Any, ...]] = {}
        """Id, name of the tool, and all results that came in, in order."""
        self._open: dict[object, list[Place]] = {}  # heaps: newest unit, first call
        self._answered: dict[str, Place | list[Place]] = {}
        """By their id, as a heap where there are several: newest unit, last call."""
        self._places: dict[str, Place] = {}

    def results(self, place: Place) -> tuple[ContextItem, ...]:
        """Return all results that came in for a call, in order."""
        return self._calls[place][_RESULTS:]

    def ask(self, place: Place, call_id: str, name: str) -> None:
        """Note that a call was made. It is open."""
        self._calls[place] = (call_id, name)
        self._reopen(place)

    def _reopen(self, place: Place) -> None:
        waiting = (-place[0], place[1])
        for key in self._keys(place):
            heappush(self._open.setdefault(key, []), waiting)

    def _keys(self, place: Place) -> tuple[object, ...]:
        """Return by what an open call is looked for."""
        call_id, name = self._calls[place][:_RESULTS]
        return call_id, (name,), _ANY

    def answer(self, place: Place, item: ContextItem) -> None:
        """Note that a result came in for a call."""
        call = self._calls[place]
        self._calls[place] = (*call, item)
        self._places[item.id] = place
        if len(call) == _RESULTS:
            self._note_answered(place, call[0])
            for key in self._keys(place):
                self._newest_open(key)

    def _note_answered(self, place: Place, call_id: str) -> None:
        known = self._answered.get(call_id)
        if known is None:
            self._answered[call_id] = place
            return
        if isinstance(known, tuple):
            known = self._answered[call_id] = [_newest_first(known)]
        heappush(known, _newest_first(place))

    def put(self, place: Place, item: ContextItem) -> None:
        """Put another version of a result in the place of the former."""
        call = self._calls[place]
        results = enumerate(call[_RESULTS:], start=_RESULTS)
        at = next(number for number, one in results if one.id == item.id)
        self._calls[place] = (*call[:at], item, *call[at + 1 :])

    def take(self, place: Place, item_ids: Iterable[str]) -> None:
        """Take results of one call back; without any, it is open again."""
        gone = set(item_ids)
        for item_id in gone:
            del self._places[item_id]
        call = self._calls[place]
        kept = [item for item in call[_RESULTS:] if item.id not in gone]
        self._calls[place] = (*call[:_RESULTS], *kept)
        if not kept:
            self._reopen(place)

    def forget(self, place: Place) -> tuple[ContextItem, ...]:
        """Take a call back, and return the results that it had."""
        results = self._calls.pop(place)[_RESULTS:]
        for item in results:
            del self._places[item.id]
        return results

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
            if len(self._calls.get(place, ())) == _RESULTS:
                return place
            heappop(heap)  # answered or taken back since
        self._open.pop(key, None)
        return None

    def answered_call(self, call_id: str) -> Place | None:
        """Return the newest call of this id that has a result."""
        known = self._answered.get(call_id)
        if isinstance(known, tuple):
            return known if self._is_answered(known) else None
        while known:
            place = (-known[0][0], -known[0][1])
            if self._is_answered(place):
                return place
            heappop(known)
        return None

    def _is_answered(self, place: Place) -> bool:
        return len(self._calls.get(place, ())) > _RESULTS

    def clear(self) -> None:
        """Forget everything."""
        self._calls.clear()
        self._open.clear()
        self._answered.clear()
        self._places.clear()


def _newest_first(place: Place) -> Place:
    return (-place[0], -place[1])
