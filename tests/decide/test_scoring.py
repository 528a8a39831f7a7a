"""The arithmetic of a search, and a search that goes on after more came in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide import archive as module
from context_builder.decide.archive import Archive
from context_builder.decide.scoring import best_of, lifted, norms, score_of, weighed
from tests.decide.test_digest import said

RANKS = st.dictionaries(st.integers(0, 40), st.sampled_from([0.5, 1.0, 2.0]))


@given(ranks=RANKS, most=st.integers(1, 45))
def test_of_equal_ones_the_newest_are_the_best(
    ranks: dict[int, float], most: int
) -> None:
    """As sorting all of them would say; they come back by number."""
    ranks = dict(sorted(ranks.items()))
    wanted = sorted(((rank, n) for n, rank in ranks.items()), reverse=True)[:most]
    best = best_of(ranks, most)
    assert list(best.items()) == sorted((n, rank) for rank, n in wanted)


def test_a_match_lifts_those_beside_it_once() -> None:
    """Of two neighbours the better one; what has none keeps its own."""
    before, after = [-1, 0, 1, -1], [1, 2, -1, -1]
    found = lifted({0: 1.0, 2: 2.0, 3: 5.0}, before, after)
    assert found == {0: 1.0, 1: 0.8, 2: 2.0, 3: 5.0}
    assert list(found) == [0, 1, 2, 3]


def test_one_passage_scores_as_among_all() -> None:
    """Whether it was looked up or has just come in."""
    counts = {"a": 3, "b": 1}
    (once,) = norms([4], total=40, count=8)
    found = [(2.0, [7], b"\x03"), (0.5, [7], b"\x01"), (9.0, [3], b"\x01")]
    weights, scores = weighed(found, lambda numbers: [once for _ in numbers])
    assert weights == {3: 9.0, 7: 2.5}
    one = score_of(counts, {"a": 2.0, "b": 0.5, "c": 1.0}, once)
    assert one == pytest.approx(scores[7])
    assert score_of(counts, {"c": 1.0}, once) == 0.0


def filled(count: int) -> Archive:
    """Return an archive of so many messages, every third about a lamp."""
    archive = Archive()
    for number in range(count):
        topic = f"lamp {number}" if number % 3 == 0 else f"note {number} on paper"
        archive.add(said(number, topic))
    return archive


def test_a_search_goes_on_with_what_came_in_since() -> None:
    """What came in is ranked as well, and what was there keeps its score."""
    archive = filled(12)
    first = archive.search("which green lamp?", users=set(), live=())
    archive.add(said(20, "the green lamp"))
    archive.add(said(21, "of no interest"))
    again = archive.search_on(first, set())
    numbers = [number for _, number in again.ranked]
    assert numbers[0] == 12
    assert set(numbers) >= {number for _, number in first.ranked}
    assert first.scores.items() <= again.scores.items()
    assert again.need == first.need
    assert 13 not in again.scores


def test_a_search_that_goes_on_looks_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The archive is asked once a question."""
    archive = filled(12)
    first = archive.search("which lamp?", users=set(), live=())
    monkeypatch.setattr(module, "weighed", None)
    assert archive.search_on(first, set()).ranked == first.ranked


def test_only_the_best_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many passages match, and stand beside one that does."""
    archive = filled(60)
    everything = archive.search("which lamp?", users=set(), live=())
    assert len(everything.ranked) == 59  # nothing stands beside the last
    monkeypatch.setattr(module, "_MOST_RANKED", 7)
    few = archive.search("which lamp?", users=set(), live=())
    assert len(few.ranked) == 7
