"""Which passages stand beside which, whatever comes in and is taken back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide.passages import Passage, Passages

steps = st.lists(
    st.tuples(st.booleans(), st.integers(1, 6), st.integers(0, 3)), max_size=14
)


@given(steps=steps)
def test_neighbours_are_those_of_the_conversation(
    steps: list[tuple[bool, int, int]],
) -> None:
    """In the order of the units; a unit without passages parts its neighbours."""
    passages, there = Passages(), dict[int, list[int]]()
    for is_taken_back, unit_id, count in steps:
        if is_taken_back:
            assert list(passages.pop(unit_id)) == there.pop(unit_id, [])
        elif unit_id not in there:
            first = len(passages)
            for number in range(count):
                passages.append(Passage(unit_id, number, 0, 1))
            passages.put(unit_id, first)
            there[unit_id] = list(range(first, first + count))
    ordered = [there[unit_id] for unit_id in sorted(there)]
    pairs = {pair for numbers in ordered for pair in pairwise(numbers)}
    pairs |= {
        (former[-1], latter[0])
        for former, latter in pairwise(ordered)
        if former and latter
    }
    numbers = range(len(passages))
    assert {(n, passages.after[n]) for n in numbers if passages.after[n] >= 0} == pairs
    assert {
        (passages.before[n], n) for n in numbers if passages.before[n] >= 0
    } == pairs


def test_what_a_passage_takes_is_remembered() -> None:
    """Of a passage that takes more than fits into its place, nothing is."""
    passages = Passages()
    for number in range(2):
        passages.append(Passage(1, number, 0, 1))
    passages.remember(0, 65_535)
    passages.remember(1, 65_536)
    assert [passages.tokens(number) for number in range(2)] == [65_535, 0]
    assert passages[0].number == 0
