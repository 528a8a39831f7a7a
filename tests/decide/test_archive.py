"""The archive against a plain one that keeps everything in dictionaries."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide import archive as module
from context_builder.decide import postings, scoring
from context_builder.decide.archive import Archive
from context_builder.decide.scoring import with_regions
from context_builder.decide.terms import date_stamp, term_counts, terms
from context_builder.items import ContextItem, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

WORDS = st.sampled_from(
    [
        "refund",
        "orders",
        "ordered",
        "gate",
        "the",
        "tariff",
        "42",
        "退款",
        "订单",
        "café",
    ]
)
SENTENCES = st.lists(WORDS, max_size=30).map(" ".join)
DATED = st.builds("{} {}".format, st.sampled_from(["2024-03-05", "Mar 7"]), SENTENCES)
LONG = st.builds(lambda one, n: f"{one}. " * n, SENTENCES, st.integers(1, 40))
TEXTS = st.one_of(SENTENCES, DATED, LONG, st.text(max_size=40))


def unit_of(number: int, texts: Sequence[str]) -> Unit:
    """Return a unit that says these texts, one an item."""
    items = tuple(ContextItem(role="user", content=text) for text in texts)
    return Unit(id=number, items=items, originals=items, kind="message", turn=number)


class PlainArchive:
    """What an archive has to find, worked out from all of it at every question."""

    def __init__(self) -> None:
        self.units: list[float] = []
        self.passages: list[tuple[float, Counter[str]]] = []
        self.days: dict[float, str] = {}
        self.gone: set[int] = set()

    def add(self, unit: Unit) -> None:
        """Take in a unit, dated by the newest date before it."""
        self.units.append(unit.id)
        stamp = date_stamp(unit.originals[0].text[:32])
        if stamp is not None:
            self.days[unit.id] = stamp
        day = self.days[max(self.days)] if self.days else None
        for item in unit.originals:
            for start, end in module.pieces_of(item.text):
                counts = Counter(terms(item.text[start:end]))
                if counts and day is not None:
                    counts.setdefault(day, 1)
                if counts:
                    self.passages.append((unit.id, counts))

    def forget(self, unit_id: float) -> None:
        """Let nothing of a unit be found any more; what is known of terms stays."""
        self.units.remove(unit_id)
        self.gone |= {n for n, (of, _) in enumerate(self.passages) if of == unit_id}

    def search(
        self, query: str, users: AbstractSet[float], live: Sequence[str]
    ) -> dict[int, float]:
        """Return each passage's rank, before what stands around it is looked at."""
        own = self._own(query, live)
        lifted = {n: score for n, score in own.items() if n not in self.gone}
        row: list[
            int | None
        ] = []  # None: a unit that says nothing parts its neighbours
        for unit_id in self.units:
            mine = [n for n, (of, _) in enumerate(self.passages) if of == unit_id]
            row += mine or [None]
        for one, other in (*pairwise(row), *pairwise(reversed(row))):
            if one is not None and one in own and other is not None:
                lift = own.get(other, 0.0) + own[one] * scoring._NEIGHBOUR_SHARE
                lifted[other] = max(lifted.get(other, 0.0), lift)
        return {n: self._rank(n, score, users) for n, score in lifted.items()}

    @property
    def _average(self) -> float:
        return sum(c.total() for _, c in self.passages) / len(self.passages)

    def _rank(self, number: int, score: float, users: AbstractSet[float]) -> float:
        unit_id, counts = self.passages[number]
        boost = module._USER_BOOST if unit_id in users else 1.0
        length = max(0.25, counts.total() / self._average)
        return float(score * boost / length**module._LENGTH_EXPONENT)

    def _own(self, query: str, live: Sequence[str]) -> dict[int, float]:
        known = {
            term: [n for n, (_, counts) in enumerate(self.passages) if term in counts]
            for term in set(terms(query))
        }
        scores: dict[int, float] = {}
        count = len(self.passages) + len(live)
        for term in sorted(known, key=lambda one: (len(known[one]), one))[:64]:
            there = len(known[term]) + sum(term in text.lower() for text in live)
            if there > count * module._COMMON_SHARE:
                continue
            rarity = math.log(1 + (count - there + 0.5) / (there + 0.5))
            for number in known[term][-module._MOST_POSTINGS :]:
                counts = self.passages[number][1]
                times = min(counts[term], postings.MOST_TIMES)
                norm = 1.2 * (0.25 + 0.75 * counts.total() / self._average)
                weight = rarity * times * 2.2 / (times + norm)
                scores[number] = scores.get(number, 0.0) + weight
        return scores


@given(TEXTS)
def test_terms_are_counted_as_they_are_cut(text: str) -> None:
    """Counting the terms of a text looks at each word once, and misses none."""
    assert term_counts(text) == Counter(terms(text))


@given(
    st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=25),
    SENTENCES,
    st.data(),
)
def test_what_is_packed_ranks_as_what_is_not(
    said: list[list[str]], query: str, data: st.DataObject
) -> None:
    """However it is packed and merged, the same passages come in the same order."""
    plain, packed = PlainArchive(), Archive()
    units = [unit_of(number, texts) for number, texts in enumerate(said)]
    users = data.draw(st.sets(st.sampled_from([unit.id for unit in units])))
    live = data.draw(st.lists(SENTENCES, max_size=3))
    least, postings._LEAST_IN_RUN = postings._LEAST_IN_RUN, 16
    try:
        for unit in units:
            plain.add(unit)
            packed.see(unit)
            packed.add(unit)
            if data.draw(st.booleans()):
                packed.search(query, users=users, live=live)
        assert len(packed.passages) == len(plain.passages)
        for unit_id in data.draw(st.sets(st.sampled_from([u.id for u in units]))):
            plain.forget(unit_id)
            packed.forget(unit_id)
        found = packed.search(query, users=users, live=live).ranked
    finally:
        postings._LEAST_IN_RUN = least
    wanted = plain.search(query, users, live) if plain.passages else {}
    pairs = sorted((-rank, -number) for number, rank in wanted.items())
    regions = with_regions(
        {
            -number: -rank
            for rank, number in sorted(pairs[:512], key=lambda one: -one[1])
        }
    )
    expected = {number: rank for rank, number in regions}
    assert {number: rank for rank, number in found} == pytest.approx(expected)
    assert [rank for rank, _ in found] == sorted((r for r, _ in found), reverse=True)


def test_a_long_archive_keeps_the_newest_places() -> None:
    """Of a word that stands everywhere, only the newest places count; all are known."""
    found = postings.Postings()
    for number in range(5_000):
        found.add(number, {"word": 300, f"only {number}": 1})
        if number % 1_000 == 0:
            found.find("word")
    places = found.find("word")
    assert places.known == 5_000
    numbers, times = places.newest(2)
    assert sorted(zip(numbers, times, strict=True)) == [(4_998, 255), (4_999, 255)]
    assert found.find("only 3").newest(5) == ([3], b"\x01")
    assert found.find("never").known == 0


def test_a_unit_is_taken_in_once() -> None:
    """Whether there is anything can be asked without an index; a unit is in it once."""
    archive = Archive()
    before = archive.is_empty
    archive.add(unit_of(1, ["alpha beta"]))
    assert (before, archive.is_empty) == (True, False)
    assert [p.unit_id for p in archive.passages] == [1]
    archive.add(unit_of(1, ["gamma"]))  # once only
    assert archive.search("gamma", users=set(), live=()).ranked == ()
    assert len(archive.search("alpha", users=set(), live=("x", "y")).ranked) == 1
