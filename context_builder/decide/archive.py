"""What left the request, indexed by its words: found again when it is asked for.

A lexical index that grows with what is added and never looks back. How well a passage
matches is worked out in `scoring`. What the user said counts for more than what a tool
returned, and a short passage for more than a long one.
"""

from __future__ import annotations

import dataclasses
import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

from context_builder.decide.passages import Passage, Passages
from context_builder.decide.postings import Postings
from context_builder.decide.scoring import (
    best_of,
    lifted,
    norms,
    score_of,
    weighed,
    with_regions,
)
from context_builder.decide.terms import date_stamp, term_counts
from context_builder.passing import is_passing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from context_builder.items import Unit

__all__ = ["Archive", "Passage", "Search", "pieces_of"]

_PASSAGE_CHARS = 700
"""Longer texts are indexed in pieces of about this length, cut at line ends."""
_USER_BOOST = 1.3
"""What the user said is asked for more often than anything else."""
_MOST_POSTINGS = 128
"""Of a term, only the newest places are kept: one that stands in more tells little."""
_MOST_TERMS = 64
"""Of a long message, the rarest terms are looked for."""
_COMMON_SHARE = 0.5
"""A term that stands in more of the texts than this says nothing."""
_MOST_RANKED = 256
"""So many of the best are looked at: for what stands around them, and to choose."""
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
    rarities: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """What each telling term of the query weighs; see `Archive.search_on`."""
    scores: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """What the best passages score by their own words."""


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
        for _ in self._indexed():
            pass
        return self._passages

    def _indexed(self) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Index what waits; yield each new passage with the terms in it."""
        waiting, self._waiting = self._waiting, {}
        for unit in waiting.values():
            yield from self._index(unit)

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

    def _index(self, unit: Unit) -> Iterator[tuple[int, Mapping[str, int]]]:
        day = self._day(unit.id)
        first = len(self._passages)
        for index, item in enumerate(unit.originals):
            text = "" if item.source == "repair" or is_passing(item) else item.text
            for start, end in pieces_of(text):
                counts = term_counts(text[start:end])
                if counts:
                    if day is not None:
                        counts.setdefault(day, 1)
                    number = len(self._passages)
                    self._add(Passage(unit.id, index, start, end), counts)
                    yield number, counts
        self._passages.put(unit.id, first)

    def _day(self, unit_id: float) -> str | None:
        index = bisect_right(self._dated, unit_id) - 1
        return self._days[index] if index >= 0 else None

    def _add(self, passage: Passage, counts: Mapping[str, int]) -> None:
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
        live = [text.lower() for text in live]
        rarities, scores, need = self._scores(term_counts(query), live)
        best = self._best(scores, users)
        ranked = self._ranked(best, users)
        return Search(ranked, need, rarities=rarities, scores=best)

    def search_on(self, search: Search, users: AbstractSet[float]) -> Search:
        """Return what a search finds now that more was taken in.

        What came in is scored by the weights that the terms had then, and nothing is
        looked up again.
        """
        scores = dict(search.scores)
        for number, counts in list(self._indexed()):
            own = score_of(counts, search.rarities, *self._norms([number]))
            if own > 0:
                scores[number] = own
        best = self._best(scores, users)
        ranked = self._ranked(best, users)
        return dataclasses.replace(search, ranked=ranked, scores=best)

    def _best(
        self, scores: Mapping[int, float], users: AbstractSet[float]
    ) -> dict[int, float]:
        """Return the scores of what is not taken back and ranks best by itself."""
        if self._dead:
            scores = {n: one for n, one in scores.items() if n not in self._dead}
        if len(scores) <= _MOST_RANKED:
            return dict(scores)
        return {n: scores[n] for n in best_of(self._ranks(scores, users), _MOST_RANKED)}

    def _ranked(
        self, scores: Mapping[int, float], users: AbstractSet[float]
    ) -> tuple[tuple[float, int], ...]:
        """Return passages with what stands beside and around them, best first."""
        found = lifted(scores, self._passages.before, self._passages.after)
        ranks = best_of(self._ranks(found, users), _MOST_RANKED)
        return tuple(with_regions(ranks))

    def _ranks(
        self, scores: Mapping[int, float], users: AbstractSet[float]
    ) -> dict[int, float]:
        """Return scores by who said it and how long it is."""
        lengths, unit_ids = self._lengths, self._passages.unit_ids
        handicaps = self._handicaps({lengths[number] for number in scores})
        return {
            number: one
            * (_USER_BOOST if unit_ids[number] in users else 1.0)
            / handicaps[lengths[number]]
            for number, one in scores.items()
        }

    def _handicaps(self, lengths: AbstractSet[int]) -> Mapping[int, float]:
        """Return what the rank of a passage is divided by, by its length."""
        least, average = 0.25, self._total / len(self._lengths)
        return {n: max(least, n / average) ** _LENGTH_EXPONENT for n in lengths}

    def _norms(self, numbers: Iterable[int]) -> list[float]:
        lengths = [self._lengths[number] for number in numbers]
        return norms(lengths, self._total, len(self._lengths))

    def _scores(
        self, query: Collection[str], live: Sequence[str]
    ) -> tuple[Mapping[str, float], Mapping[int, float], float]:
        """Return what terms weigh, the passages' scores, and how needed the archive is.

        That is how much more of what the query asks for the best passage has than the
        best text that is in the request anyway: the weight of its terms, of the weight
        of all telling terms of the query.
        """
        found: list[tuple[float, Sequence[int], bytes]] = []
        there = [0.0] * len(live)
        count = len(self._passages) + len(live)
        asked, rarities = 0.0, dict[str, float]()
        for term, places in self._postings.rarest(query, _MOST_TERMS):
            having = [n for n, text in enumerate(live) if term in text]
            known = places.known + len(having)
            if known > count * _COMMON_SHARE:
                continue
            rarity = math.log(1 + (count - known + 0.5) / (known + 0.5))
            asked += rarity
            rarities[term] = rarity
            for number in having:
                there[number] += rarity
            found.append((rarity, *places.newest(_MOST_POSTINGS)))
        weights, scores = weighed(found, self._norms)
        alive = (share for n, share in weights.items() if n not in self._dead)
        more = max(alive, default=0.0) - max(there, default=0.0)
        return rarities, scores, more / asked if asked else 0.0


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
