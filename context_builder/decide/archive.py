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
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

from context_builder.decide.terms import date_stamp, terms
from context_builder.passing import is_passing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
_NOWHERE: array[int] = array("L")
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


class Archive:
    """An index over the passages of what left the request."""

    __slots__ = (
        "_by_unit",
        "_dated",
        "_days",
        "_dead",
        "_known",
        "_lengths",
        "_passages",
        "_postings",
        "_total",
        "_units",
        "_waiting",
    )

    def __init__(self) -> None:
        self._passages: list[Passage] = []
        self._waiting: dict[float, Unit] = {}  # not indexed yet: nobody has searched
        self._lengths: list[int] = []
        self._total = 0
        self._postings: dict[str, array[int]] = {}  # number, times, number, times ...
        self._known: dict[str, int] = {}
        self._by_unit: dict[float, tuple[int, int]] = {}  # first and last passage
        self._units: list[float] = []  # sorted, for neighbours
        self._dated: list[float] = []
        self._days: list[str] = []
        self._dead: set[int] = set()

    def see(self, unit: Unit) -> None:
        """Note the date that a unit begins with: it dates what comes after it."""
        stamp = date_stamp(unit.originals[0].text[:32])
        if stamp is not None and (not self._dated or unit.id > self._dated[-1]):
            self._dated.append(unit.id)
            self._days.append(stamp)

    @property
    def passages(self) -> list[Passage]:
        """All that is indexed, by number; what waits to be indexed is, now."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for unit in waiting.values():
                self._index(unit)
        return self._passages

    def forget(self, unit_id: float) -> None:
        """Let go of a unit whose text was changed or taken out."""
        self._waiting.pop(unit_id, None)
        found = self._by_unit.pop(unit_id, None)
        if found is None:
            return
        self._units.pop(bisect_left(self._units, unit_id))
        self._dead.update(range(found[0], found[1] + 1))

    def add(self, unit: Unit) -> None:
        """Take in a unit's text; once only. It is indexed when somebody searches."""
        if unit.id not in self._by_unit:
            self._waiting.setdefault(unit.id, unit)

    def _index(self, unit: Unit) -> None:
        day = self._day(unit.id)
        first = len(self._passages)
        for index, item in enumerate(unit.originals):
            text = "" if item.source == "repair" or is_passing(item) else item.text
            for start, end in _pieces(text):
                self._add(Passage(unit.id, index, start, end), text[start:end], day)
        self._by_unit[unit.id] = (first, len(self._passages) - 1)
        insort(self._units, unit.id)

    def _day(self, unit_id: float) -> str | None:
        index = bisect_right(self._dated, unit_id) - 1
        return self._days[index] if index >= 0 else None

    def _add(self, passage: Passage, text: str, day: str | None) -> None:
        counts = Counter(terms(text))
        if not counts:
            return
        if day is not None:
            counts.setdefault(day, 1)
        number = len(self._passages)
        self._passages.append(passage)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        for term, count in counts.items():
            found = self._postings.get(term)
            if found is None:
                found = self._postings[term] = array("L")
            elif len(found) >= 4 * _MOST_POSTINGS:
                del found[: -2 * _MOST_POSTINGS]
            found.extend((number, count))
            self._known[term] = self._known.get(term, 0) + 1

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
        passages = self.passages  # first: it indexes what waits
        own, need = self._scores(set(terms(query)), [text.lower() for text in live])
        lifted = dict(own)
        for number, score in own.items():
            if number in self._dead:
                continue
            for neighbour in self._neighbours(number):
                lift = own.get(neighbour, 0.0) + score * _NEIGHBOUR_SHARE
                lifted[neighbour] = max(lifted.get(neighbour, 0.0), lift)
        average = self._total / len(passages) if passages else 1.0
        ranked = [
            (self._rank(score, number, average, users), number)
            for number, score in lifted.items()
            if number not in self._dead
        ]
        ranked.sort(key=lambda pair: (-pair[0], -pair[1]))
        ranked = _with_regions(ranked[:_MOST_IN_REGIONS])
        ranked.sort(key=lambda pair: (-pair[0], -pair[1]))
        return Search(tuple(ranked), need)

    def _rank(
        self, score: float, number: int, average: float, users: AbstractSet[float]
    ) -> float:
        boost = _USER_BOOST if self._passages[number].unit_id in users else 1.0
        length = max(0.25, self._lengths[number] / average)
        return float(score * boost / length**_LENGTH_EXPONENT)

    def _rarest_of(self, query: set[str]) -> list[str]:
        """Return the rarest terms of a query, in a fixed order: sums depend on it."""
        order = sorted(query, key=lambda term: (self._known.get(term, 0), term))
        return order[:_MOST_TERMS]

    def _neighbours(self, number: int) -> Iterator[int]:
        """Yield the passages before and after one, in the order of the conversation."""
        unit_id = self._passages[number].unit_id
        first, last = self._by_unit[unit_id]
        place = bisect_left(self._units, unit_id)
        if number > first:
            yield number - 1
        elif place > 0:
            yield from self._end_of(self._units[place - 1], -1)
        if number < last:
            yield number + 1
        elif place + 1 < len(self._units):
            yield from self._end_of(self._units[place + 1], 0)

    def _end_of(self, unit_id: float, end: int) -> Iterator[int]:
        first, last = self._by_unit[unit_id]
        if last >= first:
            yield (first, last)[end]

    def _scores(
        self, query: set[str], live: Sequence[str]
    ) -> tuple[dict[int, float], float]:
        """Return the score of each passage, and how much the archive is needed.

        That is how much more of what the query asks for the best passage has than the
        best text that is in the request anyway: the weight of its terms, of the weight
        of all telling terms of the query.
        """
        scores: dict[int, float] = {}
        archived: dict[int, float] = {}
        there = [0.0] * len(live)
        count = len(self.passages) + len(live)
        average = self._total / len(self.passages) if self.passages else 1.0
        asked = 0.0
        for term in self._rarest_of(query):
            flat = self._postings.get(term, _NOWHERE)[-2 * _MOST_POSTINGS :]
            having = [n for n, text in enumerate(live) if term in text]
            known = self._known.get(term, 0) + len(having)
            if known > count * _COMMON_SHARE:
                continue
            rarity = math.log(1 + (count - known + 0.5) / (known + 0.5))
            asked += rarity
            for number in having:
                there[number] += rarity
            for number, times in zip(flat[::2], flat[1::2], strict=True):
                norm = _K1 * (1 - _B + _B * self._lengths[number] / average)
                weight = rarity * times * (_K1 + 1) / (times + norm)
                scores[number] = scores.get(number, 0.0) + weight
                archived[number] = archived.get(number, 0.0) + rarity
        alive = (share for n, share in archived.items() if n not in self._dead)
        more = max(alive, default=0.0) - max(there, default=0.0)
        return scores, more / asked if asked else 0.0


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
