"""What left the request, indexed by its words: found again when it is asked for.

A lexical index (BM25) that grows with what is added and never looks back. Words are
those of scripts with spaces; Chinese, Japanese and Korean are indexed by pairs of
characters. The formula is Robertson and Zaragoza's (2009), with k1 = 1.2 and b = 0.75.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from context_builder.items import Unit

__all__ = ["Archive", "Passage", "terms"]

_K1 = 1.2
_B = 0.75
_PASSAGE_CHARS = 700
"""Longer texts are indexed in pieces of about this length, cut at line ends."""
_NEIGHBOUR_SHARE = 0.4
"""How much of a match's score its neighbours get: a question stands beside its answer."""

_WORD = re.compile(
    r"[぀-ヿ㐀-䶿一-鿿가-힯]+|[^\W_]+(?:[-'’][^\W_]+)*", re.UNICODE
)
_CJK = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]")


def terms(text: str) -> Iterator[str]:
    """Yield the terms of a text: words in lower case, CJK as pairs of characters."""
    for match in _WORD.finditer(text):
        word = match[0]
        if not _CJK.match(word):
            yield _stem(word.lower())
        elif len(word) == 1:
            yield word
        else:
            yield from (word[n : n + 2] for n in range(len(word) - 1))


def _stem(word: str) -> str:
    """Take off the endings that English words change most often."""
    for ending in ("'s", "ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            return stem + "y" if ending == "ies" else stem
    return word


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an item that can come back. It names its place and holds no text."""

    unit_id: float
    index: int
    """Which of the unit's items."""
    start: int
    end: int
    """The piece of the item's text, as character positions."""


class Archive:
    """An index over the passages of what left the request."""

    __slots__ = ("_lengths", "_postings", "_seen", "_total", "passages")

    def __init__(self) -> None:
        self.passages: list[Passage] = []
        self._lengths: list[int] = []
        self._total = 0
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._seen: set[float] = set()

    def __contains__(self, unit_id: float) -> bool:
        return unit_id in self._seen

    def add(self, unit: Unit) -> None:
        """Index a unit's text; once only."""
        if unit.id in self._seen:
            return
        self._seen.add(unit.id)
        for index, item in enumerate(unit.originals):
            text = item.text
            for start, end in _pieces(text):
                self._add(Passage(unit.id, index, start, end), text[start:end])

    def _add(self, passage: Passage, text: str) -> None:
        counts = Counter(terms(text))
        if not counts:
            return
        number = len(self.passages)
        self.passages.append(passage)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        for term, count in counts.items():
            self._postings.setdefault(term, []).append((number, count))

    def search(self, query: str) -> list[tuple[float, int]]:
        """Return (score, number of a passage), best first; a match lifts its neighbours."""
        own = self._scores(Counter(terms(query)))
        lifted = dict(own)
        for number, score in own.items():
            for neighbour in (number - 1, number + 1):
                if 0 <= neighbour < len(self.passages) and self._is_close(number, neighbour):
                    lift = score * _NEIGHBOUR_SHARE
                    lifted[neighbour] = max(
                        lifted.get(neighbour, 0.0), own.get(neighbour, 0.0) + lift
                    )
        return sorted(((s, n) for n, s in lifted.items()), key=lambda p: (-p[0], -p[1]))

    def _is_close(self, one: int, other: int) -> bool:
        return abs(self.passages[one].unit_id - self.passages[other].unit_id) <= 4

    def _scores(self, query: Counter[str]) -> dict[int, float]:
        scores: dict[int, float] = {}
        count = len(self.passages)
        average = self._total / count if count else 1.0
        for term in query:
            postings = self._postings.get(term)
            if not postings:
                continue
            rarity = math.log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, times in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[number] / average)
                scores[number] = scores.get(number, 0.0) + rarity * times * (_K1 + 1) / (
                    times + norm
                )
        return scores


def _pieces(text: str) -> Sequence[tuple[int, int]]:
    """Cut a text into pieces at line ends, or at sentence ends; short texts are whole."""
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


def joined(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers as (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
