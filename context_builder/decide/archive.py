"""What left the request, indexed by its words: found again when it is asked for.

A lexical index that grows with what is added and never looks back. The formula is BM25
as in Robertson and Zaragoza (2009), with k1 = 1.2 and b = 0.75. A match lifts its
neighbours, since a question stands beside its answer. What the user said counts for
more than what a tool returned, and a short passage for more than a long one.
"""

from __future__ import annotations

import dataclasses
import math
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, overload

from context_builder.decide.postings import Places, Postings
from context_builder.decide.terms import date_stamp, term_counts
from context_builder.passing import is_passing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet

    from context_builder.items import Unit

__all__ = ["Archive", "Passage", "Search"]

_K1 = 1.2
_B = 0.75
_PASSAGE_CHARS = 700
"""Longer texts are indexed in pieces of about this length, cut at line ends."""
_NEIGHBOUR_SHARE = 0.4
"""How much of a match's score its neighbours get."""
_USER_BOOST = 1.3
"""What the user said is asked for more often than anything else."""
_MOST_POSTINGS = 128
"""Of a term, only the newest places are kept: one that stands in more tells little."""
_MOST_TERMS = 64
"""Of a long message, the rarest terms are looked for."""
_COMMON_SHARE = 0.5
"""A term that stands in more of the texts than this says nothing."""
_REGION = 12
"""So far a match lifts what stands around it: what is talked of there is near."""
_REGION_SHARE = 0.12
_MOST_IN_REGIONS = 512
"""So many of the best are looked at for it."""
_LENGTH_EXPONENT = 0.35
"""How much a long passage has to match better than a short one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an item that can come back. It names its place and holds no text."""

    unit_id: float
    index: int
    """Which of the unit's items."""
    start: int
    end: int
    """The piece of the item's text, as character positions."""


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """What was found."""

    ranked: tuple[tuple[float, int], ...]
    """(rank, number of a passage), best first."""
    need: float
    """How much more of what is asked for is in the archive than in the request: up to
    1;
    0 or less where the request has it as well."""


class _Passages(Sequence[Passage]):
    """The passages by number, packed: some twenty bytes each."""

    __slots__ = ("_ends", "_indexes", "_starts", "_unit_ids")

    def __init__(self) -> None:
        self._unit_ids: array[float] = array("d")
        self._indexes: array[int] = array("I")
        self._starts: array[int] = array("Q")
        self._ends: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self._unit_ids)

    @overload
    def __getitem__(self, number: int) -> Passage: ...
    @overload
    def __getitem__(self, number: slice) -> list[Passage]: ...
    def __getitem__(self, number: int | slice) -> Passage | list[Passage]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        return Passage(
            self._unit_ids[number],
            self._indexes[number],
            self._starts[number],
            self._ends[number],
        )

    def append(self, passage: Passage) -> None:
        """Add the newest passage."""
        self._unit_ids.append(passage.unit_id)
        self._indexes.append(passage.index)
        self._starts.append(passage.start)
        self._ends.append(passage.end)

    def unit_id(self, number: int) -> float:
        """Return the unit that a passage is of."""
        return self._unit_ids[number]


class _Spans:
    """Which passages are whose: the numbers of each unit, in the units' order."""

    __slots__ = ("_ends", "_firsts", "_unit_ids")

    def __init__(self) -> None:
        self._unit_ids: array[float] = array("d")
        self._firsts: array[int] = array("I")
        self._ends: array[int] = array("I")

    def _place(self, unit_id: float) -> int | None:
        place = bisect_left(self._unit_ids, unit_id)
        is_there = place < len(self._unit_ids) and self._unit_ids[place] == unit_id
        return place if is_there else None

    def __contains__(self, unit_id: float) -> bool:
        return self._place(unit_id) is not None

    def put(self, unit_id: float, first: int, end: int) -> None:
        """Note a unit's passages, from the first to before the end."""
        place = bisect_left(self._unit_ids, unit_id)
        self._unit_ids.insert(place, unit_id)
        self._firsts.insert(place, first)
        self._ends.insert(place, end)

    def pop(self, unit_id: float) -> range:
        """Forget a unit, and return its passages; none if it is not known."""
        place = self._place(unit_id)
        if place is None:
            return range(0)
        self._unit_ids.pop(place)
        return range(self._firsts.pop(place), self._ends.pop(place))

    def around(self, unit_id: float) -> tuple[int, int, int | None, int | None]:
        """Return a unit's first and last passage, and those before and after them."""
        place = bisect_left(self._unit_ids, unit_id)
        before = after = None
        if place > 0 and self._ends[place - 1] > self._firsts[place - 1]:
            before = self._ends[place - 1] - 1
        behind = place + 1
        if behind < len(self._ends) and self._ends[behind] > self._firsts[behind]:
            after = self._firsts[behind]
        return self._firsts[place], self._ends[place] - 1, before, after


class Archive:
    """An index over the passages of what left the request."""

    __slots__ = (
        "_dated",
        "_days",
        "_dead",
        "_lengths",
        "_passages",
        "_postings",
        "_spans",
        "_total",
        "_waiting",
    )

    def __init__(self) -> None:
        self._passages = _Passages()
        self._waiting: dict[float, Unit] = {}  # not indexed yet: nobody has searched
        self._lengths: array[int] = array("H")
        self._total = 0
        self._postings = Postings()
        self._spans = _Spans()
        self._dated: array[float] = array("d")
        self._days: list[str] = []
        self._dead: set[int] = set()

    def see(self, unit: Unit) -> None:
        """Note the date that a unit begins with: it dates what comes after it."""
        stamp = date_stamp(unit.originals[0].text[:32])
        if stamp is not None and (not self._dated or unit.id > self._dated[-1]):
            self._dated.append(unit.id)
            self._days.append(stamp)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has ever been taken in. Asking does not index anything."""
        return not self._waiting and not self._passages

    @property
    def passages(self) -> Sequence[Passage]:
        """All that is indexed, by number; what waits to be indexed is, now."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for unit in waiting.values():
                self._index(unit)
        return self._passages

    def forget(self, unit_id: float) -> None:
        """Let go of a unit whose text was changed or taken out."""
        self._waiting.pop(unit_id, None)
        self._dead.update(self._spans.pop(unit_id))

    def add(self, unit: Unit) -> None:
        """Take in a unit's text; once only. It is indexed when somebody searches."""
        if unit.id not in self._spans:
            self._waiting.setdefault(unit.id, unit)

    def _index(self, unit: Unit) -> None:
        day = self._day(unit.id)
        first = len(self._passages)
        for index, item in enumerate(unit.originals):
            text = "" if item.source == "repair" or is_passing(item) else item.text
            for start, end in _pieces(text):
                self._add(Passage(unit.id, index, start, end), text[start:end], day)
        self._spans.put(unit.id, first, len(self._passages))

    def _day(self, unit_id: float) -> str | None:
        index = bisect_right(self._dated, unit_id) - 1
        return self._days[index] if index >= 0 else None

    def _add(self, passage: Passage, text: str, day: str | None) -> None:
        counts = term_counts(text)
        if not counts:
            return
        if day is not None:
            counts.setdefault(day, 1)
        self._postings.add(len(self._passages), counts)
        self._passages.append(passage)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length

    def rarest(self, live: int) -> float:
        """Return what a term weighs that stands in one passage and nowhere else."""
        return math.log(1 + (len(self.passages) + live - 0.5) / 1.5)

    def search(
        self, query: str, *, users: AbstractSet[float], live: Sequence[str]
    ) -> Search:
        """Return the passages that match, best first, and how much they are needed.

        Args:
            query: What is asked for.
            users: The units that are messages of the user's own.
            live: The texts that are in the request anyway: what is common there, too,
                is no reason to bring something back.
        """
        if not self.passages:  # it indexes what waits
            return Search((), 0.0)
        own, need = self._scores(term_counts(query), [text.lower() for text in live])
        ranked = self._ranked(self._lifted(own), users)
        ranked.sort(key=_best_first)
        ranked = _with_regions(ranked[:_MOST_IN_REGIONS])
        ranked.sort(key=_best_first)
        return Search(tuple(ranked), need)

    def _ranked(
        self, scores: Mapping[int, float], users: AbstractSet[float]
    ) -> list[tuple[float, int]]:
        """Return what is not taken back, in no order, by who said it and how long."""
        lengths, unit_id = self._lengths, self._passages.unit_id
        least, average = 0.25, self._total / len(lengths)
        ranked = []
        for number, score in scores.items():
            length = lengths[number] / average
            boost = _USER_BOOST if unit_id(number) in users else 1.0
            rank = score * boost / max(least, length) ** _LENGTH_EXPONENT
            ranked.append((rank, number))
        return ranked

    def _lifted(self, own: Mapping[int, float]) -> dict[int, float]:
        """Return the scores with those of neighbours, in the conversation's order."""
        dead, around = self._dead, self._spans.around
        lifted = {n: score for n, score in own.items() if n not in dead}
        known: dict[float, tuple[int, int, int | None, int | None]] = {}
        for number, score in list(lifted.items()):
            unit_id = self._passages.unit_id(number)
            span = known.get(unit_id)
            if span is None:
                span = known[unit_id] = around(unit_id)
            first, last, before, after = span
            for neighbour in (
                number - 1 if number > first else before,
                number + 1 if number < last else after,
            ):
                if neighbour is not None:
                    lift = own.get(neighbour, 0.0) + score * _NEIGHBOUR_SHARE
                    if lift > lifted.get(neighbour, 0.0):
                        lifted[neighbour] = lift
        return lifted

    def _rarest_of(self, query: Collection[str]) -> list[tuple[str, Places]]:
        """Return the rarest terms of a query, in a fixed order: sums depend on it."""
        found = [(term, self._postings.find(term)) for term in query]
        found.sort(key=lambda pair: (pair[1].known, pair[0]))
        return found[:_MOST_TERMS]

    def _scores(
        self, query: Collection[str], live: Sequence[str]
    ) -> tuple[dict[int, float], float]:
        """Return the score of each passage, and how much the archive is needed.

        That is how much more of what the query asks for the best passage has than the
        best text that is in the request anyway: the weight of its terms, of the weight
        of all telling terms of the query.
        """
        scores: dict[int, float] = defaultdict(float)
        archived: dict[int, float] = defaultdict(float)
        there = [0.0] * len(live)
        count = len(self._passages) + len(live)
        lengths, base = self._lengths, _K1 * (1 - _B)
        slope = _K1 * _B * len(lengths) / self._total
        asked = 0.0
        for term, places in self._rarest_of(query):
            having = [n for n, text in enumerate(live) if term in text]
            known = places.known + len(having)
            if known > count * _COMMON_SHARE:
                continue
            rarity = math.log(1 + (count - known + 0.5) / (known + 0.5))
            asked += rarity
            for number in having:
                there[number] += rarity
            most = rarity * (_K1 + 1)
            for number, times in places.newest(_MOST_POSTINGS):
                scores[number] += (
                    most * times / (times + base + slope * lengths[number])
                )
                archived[number] += rarity
        alive = (share for n, share in archived.items() if n not in self._dead)
        more = max(alive, default=0.0) - max(there, default=0.0)
        return scores, more / asked if asked else 0.0


def _best_first(ranked: tuple[float, int]) -> tuple[float, int]:
    return -ranked[0], -ranked[1]


def _with_regions(ranked: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Lift passages by all that match around them, the nearer the more.

    A match counts in full at its own place, and for nothing `_REGION` places away. Sums
    from the beginning make that the same work for each, however many stand around it.
    """
    ordered = sorted((number, rank) for rank, number in ranked)
    numbers = [number for number, _ in ordered]
    sums = [0.0, *accumulate(rank for _, rank in ordered)]
    moments = [0.0, *accumulate(rank * number for number, rank in ordered)]
    lifted = []
    for place, (number, rank) in enumerate(ordered):
        first = bisect_left(numbers, number - _REGION)
        last = bisect_right(numbers, number + _REGION)
        before = sums[place] - sums[first]
        after = sums[last] - sums[place]
        turning = moments[last] - moments[place] - (moments[place] - moments[first])
        near = before + after - (turning - number * (after - before)) / _REGION
        lifted.append((rank + _REGION_SHARE * near, number))
    return lifted


def _pieces(text: str) -> Sequence[tuple[int, int]]:
    """Cut a text into pieces at line or sentence ends; short texts are whole."""
    if not text:
        return ()
    if len(text) <= _PASSAGE_CHARS * 1.5:
        return ((0, len(text)),)
    pieces = []
    start = 0
    while start < len(text):
        end = min(start + _PASSAGE_CHARS, len(text))
        if end < len(text):
            end = _cut(text, start, end)
        pieces.append((start, end))
        start = end
    return pieces


def _cut(text: str, start: int, end: int) -> int:
    """Return a place near the end where a line, a sentence or a word ends."""
    for mark in ("\n", ". ", "。", " "):
        found = text.rfind(mark, start + _PASSAGE_CHARS // 2, end)
        if found != -1:
            return found + len(mark)
    return end
