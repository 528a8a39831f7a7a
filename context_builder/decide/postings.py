"""Where the terms of an archive stand: an inverted index, packed into few bytes.

What comes in waits until somebody asks, and is sorted by term then. Once that is a lot,
it becomes a run: each of its terms once, and of each place the passage's number within
the run and how often the term stands there. Runs are merged with those that are not
larger, so that there are few of them, and no place is moved often. Terms are told apart
by a checksum of 32 bits, the same in every process.
"""

from __future__ import annotations

import dataclasses
from array import array
from bisect import bisect_left
from collections import Counter
from itertools import accumulate, chain, repeat
from operator import itemgetter, sub
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MOST_TIMES", "Places", "Postings"]

MOST_TIMES = 255
"""A term that stands in a passage more often than this counts as if it did so often."""
_TERM_SHIFT = 32
_TIMES_BITS = 8
_NUMBER_MASK = (1 << (_TERM_SHIFT - _TIMES_BITS)) - 1
_MOST_SHORT = 1 << 16
_LEAST_IN_RECENT = 1 << 10
_LEAST_IN_RUN = 1 << 12
"""So many places are sorted into those before them; so many become a run."""
_MOST_IN_RUN = 1 << 18
"""Places in a run; one of so many is not merged any more."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """The places of many terms. A term's are from its start to that of the next."""

    base: int
    """The least number of a passage in it."""
    terms: array[int]
    starts: array[int]
    """One more than terms."""
    numbers: array[int]
    """Passages, less the base; ascending within a term."""
    times: bytes

    def span(self, term: int) -> tuple[int, int]:
        """Return where the places of a term begin and end."""
        place = bisect_left(self.terms, term)
        if place == len(self.terms) or self.terms[place] != term:
            return 0, 0
        return self.starts[place], self.starts[place + 1]

    def is_at_most(self, places: int) -> bool:
        """Say whether it is to be merged with a newer one of so many places."""
        return len(self.times) <= min(places, _MOST_IN_RUN)

    def packed(self) -> list[int]:
        """Return all places, each as one number, in order."""
        sizes = map(sub, self.starts[1:], self.starts)
        terms = chain.from_iterable(map(repeat, self.terms, sizes))
        base = self.base << _TIMES_BITS
        return [
            (term << _TERM_SHIFT) + base + (number << _TIMES_BITS) + times
            for term, number, times in zip(terms, self.numbers, self.times, strict=True)
        ]


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """Where a term stands."""

    known: int
    """In how many passages."""
    recent: array[int]
    spans: list[tuple[_Run, int, int]]
    """The runs that know it, oldest first, and from where to where they do."""

    def newest(self, most: int) -> tuple[list[int], bytes]:
        """Return the newest passages, at most so many, and how often it is in each."""
        recent = self.recent[-most:]
        numbers = [place >> _TIMES_BITS & _NUMBER_MASK for place in recent]
        times = bytes([place & MOST_TIMES for place in recent])
        for run, first, end in reversed(self.spans):
            start = max(first, end - (most - len(numbers)))
            base = run.base
            numbers += [base + number for number in run.numbers[start:end]]
            times += run.times[start:end]
        return numbers, times


_NOWHERE = array("Q")
_known_and_term = itemgetter(0, 1)
"""Equally rare terms have a fixed order: sums depend on it."""


class Postings:
    """Remembers in which passages a term stands, and how often in each."""

    __slots__ = ("_fresh", "_newest", "_recent", "_runs")

    def __init__(self) -> None:
        self._fresh: array[int] = array("Q")
        self._newest: array[int] = array("Q")  # sorted, as the recent ones: those are
        self._recent: array[int] = array("Q")  # older, and newer than all runs
        self._runs: list[_Run] = []  # oldest first

    def add(self, number: int, counts: Mapping[str, int]) -> None:
        """Take in the terms of a passage; numbers only ever ascend."""
        low = number << _TIMES_BITS
        self._fresh.extend(
            crc32(term.encode("utf-8", "surrogatepass")) << _TERM_SHIFT
            | low
            | (times if times < MOST_TIMES else MOST_TIMES)
            for term, times in counts.items()
        )

    def find(self, term: str) -> Places:
        """Return in which passages a term stands."""
        return self.rarest([term], 1)[0][1]

    def rarest(self, terms: Iterable[str], most: int) -> list[tuple[str, Places]]:
        """Return the rarest of some terms and where they stand, the rarest first."""
        self._settle()
        found = []
        for term in terms:
            key = crc32(term.encode("utf-8", "surrogatepass"))
            low, high = key << _TERM_SHIFT, (key + 1) << _TERM_SHIFT
            known, recent, spans = 0, _NOWHERE, []
            for places in (self._recent, self._newest):
                start = bisect_left(places, low)
                end = bisect_left(places, high, start)
                if start < end:
                    known += end - start
                    recent = recent + places[start:end]
            for run in self._runs:
                start, end = run.span(key)
                if start < end:
                    spans.append((run, start, end))
                    known += end - start
            found.append((known, term, recent, spans))
        found.sort(key=_known_and_term)
        return [
            (term, Places(known, recent, spans))
            for known, term, recent, spans in found[:most]
        ]

    def _settle(self) -> None:
        """Sort in what is fresh; what is enough for a run becomes one."""
        if not self._fresh:
            return
        places = sorted(chain(self._newest, self._fresh))
        self._fresh, self._newest = array("Q"), array("Q")
        if len(places) < _LEAST_IN_RECENT:
            self._newest.extend(places)
            return
        places = sorted(chain(self._recent, places))
        self._recent = array("Q")
        if len(places) < _LEAST_IN_RUN:
            self._recent.extend(places)
            return
        while self._runs and self._runs[-1].is_at_most(len(places)):
            places = sorted(self._runs.pop().packed() + places)
        self._runs.append(_run_of(places))


def _run_of(places: Sequence[int]) -> _Run:
    sizes = Counter([place >> _TERM_SHIFT for place in places])  # ascending, as they
    numbers = [place >> _TIMES_BITS & _NUMBER_MASK for place in places]
    base = min(numbers)
    is_short = max(numbers) - base < _MOST_SHORT
    return _Run(
        base=base,
        terms=array("I", sizes),
        starts=array("I", accumulate(sizes.values(), initial=0)),
        numbers=array("H" if is_short else "I", [n - base for n in numbers]),
        times=bytes([place & MOST_TIMES for place in places]),
    )
