"""Where the terms of an archive stand: an inverted index, packed into few bytes.

What comes in waits until somebody asks, and is sorted by term then. Once that is a lot,
it becomes a run: each of its terms once, and of each place the passage's number within
the run and how often the term stands there. Runs are merged with those that are not
larger, so that there are few of them, and no place is moved often. Terms are told apart
by a checksum of 32 bits, the same in every process.
"""

from __future__ import annotations

import dataclasses
import sys
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
_HALF = "I"
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)
"""Which half of a packed place is which: halves are read without a loop."""
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

    def is_at_most(self, places: int) -> bool:
        """Say whether it is to be merged with a newer one of so many places."""
        return len(self.times) <= min(places, _MOST_IN_RUN)

    def packed(self) -> list[int]:
        """Return all places, each as one number, in order."""
        sizes = map(sub, self.starts[1:], self.starts)
        base = self.base << _TIMES_BITS
        lows = [
            base + (number << _TIMES_BITS) + times
            for number, times in zip(self.numbers, self.times, strict=True)
        ]
        halves = array(_HALF, bytes(8 * len(lows)))
        halves[_HIGH::2] = array(
            _HALF, chain.from_iterable(map(repeat, self.terms, sizes))
        )
        halves[_LOW::2] = array(_HALF, lows)
        return memoryview(halves).cast("B").cast("Q").tolist()


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
        recent = self.recent[-most:].tolist()
        numbers = [place >> _TIMES_BITS & _NUMBER_MASK for place in recent]
        times = bytes([place & MOST_TIMES for place in recent])
        for run, first, end in reversed(self.spans):
            start = max(first, end - (most - len(numbers)))
            base = run.base
            found = run.numbers[start:end].tolist()
            numbers += [base + number for number in found] if base else found
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
        recent_places = [one for one in (self._recent, self._newest) if one]
        runs = [(run, run.terms, run.starts) for run in self._runs]
        found = []
        for term in terms:
            key = crc32(term.encode("utf-8", "surrogatepass"))
            known, recent, spans = 0, _NOWHERE, []
            for places in recent_places:
                start = bisect_left(places, key << _TERM_SHIFT)
                end = bisect_left(places, (key + 1) << _TERM_SHIFT, start)
                if start < end:
                    known += end - start
                    recent = recent + places[start:end]
            for run, keys, starts in runs:
                place = bisect_left(keys, key)
                if place < len(keys) and keys[place] == key:
                    start, end = starts[place], starts[place + 1]
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
    halves = memoryview(array("Q", places)).cast("B").cast("I")
    lows = halves[_LOW::2].tolist()
    sizes = Counter(halves[_HIGH::2].tolist())  # ascending, as they are
    least, most = min(lows) >> _TIMES_BITS, max(lows) >> _TIMES_BITS
    return _Run(
        base=least,
        terms=array("I", sizes),
        starts=array("I", accumulate(sizes.values(), initial=0)),
        numbers=array(
            "H" if most - least < _MOST_SHORT else "I",
            [(low >> _TIMES_BITS) - least for low in lows],
        ),
        times=bytes([low & MOST_TIMES for low in lows]),
    )
