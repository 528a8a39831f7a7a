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
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from context_builder.decide.passages import Passage, Passages
from context_builder.decide.postings import Postings
from context_builder.decide.terms import date_stamp, term_counts
from context_builder.passing import is_passing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from context_builder.items import Unit

__all__ = ["Archive", "Passage", "Search", "pieces_of"]

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
class Search:
    """What was found."""

    ranked: tuple[tuple[float, int], ...]
    """(rank, number of a passage), best first."""
    need: float
    """How much more of what is asked for is in the archive than in the request: up to
    1;
    0 or less where the request has it as well."""
    least: float | None = None
    """What ranks lower is not worth its tokens; None: by the best and the rarest."""


class Archive:
    """An index over the passages of what left the request."""

    __slots__ = (
        "_dated",
        "_days",
        "_dead",
        "_lengths",
        "_passages",
        "_postings",
        "_total",
        "_waiting",
    )

    def __init__(self) -> None:
        self._passages = Passages()
        self._waiting: dict[float, Unit] = {}  # not indexed yet: nobody has searched
        self._lengths: array[int] = array("H")
        self._total = 0
        self._postings = Postings()
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
    def passages(self) -> Passages:
        """All that is indexed, by number; what waits to be indexed is, now."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for unit in waiting.values():
                self._index(unit)
        return self._passages

    def number_at(self, unit_id: float, index: int, start: int) -> int | None:
        """Return which passage has a place of a unit's item; None: none has."""
        passages = self.passages  # it indexes what waits
        for number in passages.spans.numbers(unit_id):
            passage = passages[number]
            if passage.index == index and passage.start <= start < passage.end:
                return number
        return None

    def is_dead(self, number: int) -> bool:
        """Say whether a passage was taken back."""
        return number in self._dead

    def forget(self, unit_id: float) -> None:
        """Let go of a unit whose text was changed or taken out."""
        self._waiting.pop(unit_id, None)
        self._dead.update(self._passages.pop(unit_id))

    def add(self, unit: Unit) -> None:
        """Take in a unit's text; once only. It is indexed when somebody searches."""
        if unit.id not in self._passages.spans:
            self._waiting.setdefault(unit.id, unit)

    def _index(self, unit: Unit) -> None:
        day = self._day(unit.id)
        first = len(self._passages)
        for index, item in enumerate(unit.originals):
            text = "" if item.source == "repair" or is_passing(item) else item.text
            for start, end in pieces_of(text):
                self._add(Passage(unit.id, index, start, end), text[start:end], day)
        self._passages.put(unit.id, first)

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
        ranked.sort(reverse=True)  # by rank, then the newest first
        ranked = _with_regions(ranked[:_MOST_IN_REGIONS])
        ranked.sort(reverse=True)
        return Search(tuple(ranked), need)

    def _ranked(
        self, scores: Mapping[int, float], users: AbstractSet[float]
    ) -> list[tuple[float, int]]:
        """Return what is not taken back, in no order, by who said it and how long."""
        lengths, unit_ids = self._lengths, self._passages.unit_ids
        least, average = 0.25, self._total / len(lengths)
        handicaps: dict[int, float] = {}
        ranked = []
        for number, score in scores.items():
            length = lengths[number]
            handicap = handicaps.get(length)
            if handicap is None:
                handicap = max(least, length / average) ** _LENGTH_EXPONENT
                handicaps[length] = handicap
            boost = _USER_BOOST if unit_ids[number] in users else 1.0
            ranked.append((score * boost / handicap, number))
        return ranked

    def _lifted(self, own: Mapping[int, float]) -> dict[int, float]:
        """Return the scores with those of neighbours, in the conversation's order."""
        dead = self._dead
        lifted = {n: score for n, score in own.items() if n not in dead}
        before, after = self._passages.before, self._passages.after
        for number, score in list(lifted.items()):
            share = score * _NEIGHBOUR_SHARE
            for neighbour in (before[number], after[number]):
                if neighbour >= 0:
                    lift = own.get(neighbour, 0.0) + share
                    if lift > lifted.get(neighbour, 0.0):
                        lifted[neighbour] = lift
        return lifted

    def _scores(
        self, query: Collection[str], live: Sequence[str]
    ) -> tuple[dict[int, float], float]:
        """Return the score of each passage, and how much the archive is needed.

        That is how much more of what the query asks for the best passage has than the
        best text that is in the request anyway: the weight of its terms, of the weight
        of all telling terms of the query.
        """
        found: list[tuple[float, Sequence[int], bytes]] = []
        there = [0.0] * len(live)
        count = len(self._passages) + len(live)
        asked = 0.0
        for term, places in self._postings.rarest(query, _MOST_TERMS):
            having = [n for n, text in enumerate(live) if term in text]
            known = places.known + len(having)
            if known > count * _COMMON_SHARE:
                continue
            rarity = math.log(1 + (count - known + 0.5) / (known + 0.5))
            asked += rarity
            for number in having:
                there[number] += rarity
            found.append((rarity, *places.newest(_MOST_POSTINGS)))
        weights, scores = self._weighed(found)
        alive = (share for n, share in weights.items() if n not in self._dead)
        more = max(alive, default=0.0) - max(there, default=0.0)
        return scores, more / asked if asked else 0.0

    def _weighed(
        self, found: Sequence[tuple[float, Sequence[int], bytes]]
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Return what passages have of a query, and their scores, by number.

        The first is the weight of their terms. For the score, repeats count as well,
        but less and less, and all counts for less in a longer passage.

        Args:
            found: For each term its weight, the passages, and how often it is in each.
        """
        numbers = set[int]().union(*(places for _, places, _ in found))
        # Lists by number: several times as fast as dictionaries, and soon thrown away.
        count = max(numbers, default=-1) + 1
        weights, more, least = [0.0] * count, [0.0] * count, [0.0] * count
        slope = _K1 * _B * len(self._lengths) / self._total
        for number in numbers:
            least[number] = 1 + _K1 * (1 - _B) + slope * self._lengths[number]
        for rarity, places, times in found:
            for number in places:
                weights[number] += rarity
            if times.count(1) < len(times):
                for number, often in zip(places, times, strict=True):
                    if often > 1:
                        once = least[number]
                        again = often / (once + (often - 1)) - 1 / once
                        more[number] += rarity * again
        return {n: weights[n] for n in numbers}, {
            n: (_K1 + 1) * (weights[n] / least[n] + more[n]) for n in numbers
        }


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
    first = last = 0
    for place, (number, rank) in enumerate(ordered):
        while numbers[first] < number - _REGION:
            first += 1
        while last < len(numbers) and numbers[last] <= number + _REGION:
            last += 1
        at, moment = sums[place], moments[place]
        before, after = at - sums[first], sums[last] - at
        turning = moments[last] - moment - (moment - moments[first])
        near = before + after - (turning - number * (after - before)) / _REGION
        lifted.append((rank + _REGION_SHARE * near, number))
    return lifted


def pieces_of(text: str) -> Sequence[tuple[int, int]]:
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
