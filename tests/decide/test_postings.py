from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder.decide import postings
from context_builder.decide.postings import MOST_TIMES, Postings

PASSAGES = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 400), max_size=3),
    max_size=12,
)


def plain(
    passages: list[dict[str, int]], term: str, step: int = 1
) -> list[tuple[int, int]]:
    """Return where a term stands, newest first, the simplest way."""
    return [
        (number * step, min(counts[term], MOST_TIMES))
        for number, counts in reversed([*enumerate(passages)])
        if term in counts
    ]


@settings(max_examples=12)
@given(passages=PASSAGES, most=st.integers(1, 15), asks=st.booleans())
def test_the_newest_places_are_found(
    passages: list[dict[str, int]], most: int, *, asks: bool
) -> None:
    """As many as are asked for, and how often the term stands in each."""
    index = Postings()
    for number, counts in enumerate(passages):
        index.add(number, counts)
        if asks:
            index.find("a")
    for term in "abcd":
        found = index.find(term)
        assert found.known == len(plain(passages, term))
        wanted = plain(passages, term)[:most]
        assert sorted(zip(*found.newest(most), strict=True)) == sorted(wanted)


def test_runs_are_merged_and_hold_the_same() -> None:
    """Also with numbers that do not fit in two bytes, over several runs."""
    for step in (1, 100):
        index, passages = Postings(), []
        for number in range(1_300):
            counts = {"a": number % 300 + 1, "b": 1, f"t{number % 7}": 2, "c": 3}
            passages.append(counts)
            index.add(number * step, counts)
            if number % 400 == 399:
                index.find("b")
        for term in ("a", "b", "t3"):
            found = index.find(term)
            assert found.known == len(plain(passages, term))
            for most in (1, 7, 150, 1_100, 5_000):
                wanted = plain(passages, term, step)[:most]
                assert sorted(zip(*found.newest(most), strict=True)) == sorted(wanted)
        assert index.find("none").known == 0


def test_a_new_run_is_joined_with_those_it_outgrows() -> None:
    """So that there are few runs, and none is written again for a small one."""
    enough = postings._LEAST_IN_RUN
    index = Postings()
    sizes = []
    for number, size in enumerate((enough, enough - 1, enough, 3 * enough, enough)):
        index.add(number, {f"{number} {n}": 1 for n in range(size)})
        index.find("x")
        sizes.append([len(run.times) for run in index._runs])
    assert sizes == [
        [enough],
        [enough],
        [3 * enough - 1],
        [6 * enough - 1],
        [6 * enough - 1, enough],
    ]
