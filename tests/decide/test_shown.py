"""Where units are: a plain list and a dictionary say the same."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder.decide.shown import Shown
from tests.decide.test_rungs import answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from context_builder.items import Unit


def measure(units: Sequence[Unit]) -> Iterator[Unit]:
    """Measure as the rungs' tests do."""
    for unit in units:
        yield dataclasses.replace(unit, whole_sizes=tuple(12 for _ in unit.originals))


def shown(*units: Unit) -> Shown:
    """Return these units, in order."""
    found = Shown(measure)
    for unit in units:
        found.append(unit)
    return found


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "hide", "pop"]), st.integers(0, 7)), max_size=12
)


@settings(max_examples=15)
@given(steps=STEPS, many=st.integers(0, 6))
def test_every_unit_is_where_it_was_put(
    steps: list[tuple[str, int]], many: int
) -> None:
    """In order where it is shown, found where it is gone, and counted once."""
    live = {float(n): answer(n, 1, n + 1) for n in range(many)}
    gone: dict[float, Unit] = {}
    found = shown(*live.values())
    for step, number in steps:
        unit = answer(number, 1, number + 3)
        if step == "pop":
            there = unit.id in live or unit.id in gone
            if there:
                was = live.pop(number, None) or gone.pop(number)
                assert found.pop(number) == was
            else:
                with pytest.raises(KeyError):
                    found.pop(number)
            continue
        unit = unit if step == "put" else unit.leave_out("why")
        found.put(unit)
        live.pop(number, None)
        gone.pop(number, None)
        (live if step == "put" else gone)[number] = unit
    ordered = [live[key] for key in sorted(live)]
    assert found.live == ordered
    assert dict(found.gone) == gone
    assert found.tokens == sum(unit.tokens for unit in ordered)
    assert set(found.units) == {*ordered, *gone.values()}
    for number in range(9):
        assert (number in found) == (number in live or number in gone)
        assert found.get(number) == live.get(number, gone.get(number))
        assert found.rank(number) == sum(unit.id < number for unit in ordered)
        assert found.rank_behind(number) == sum(unit.id <= number for unit in ordered)
        assert found.is_last(number) == all(unit.id <= number for unit in ordered)


def test_a_copy_changes_alone() -> None:
    """Neither what is live nor what is gone is shared."""
    first = shown(answer(0, 1), answer(1, 1), answer(2, 1).leave_out("why"))
    second = first.copy()
    second.put(answer(0, 1).leave_out("why"))
    second.append(answer(3, 1))
    assert [unit.id for unit in first.live] == [0, 1]
    assert set(first.gone) == {2}
    assert first.tokens == 2 * answer(0, 1).tokens
    assert [unit.id for unit in second.live] == [1, 3]
    assert set(second.gone) == {0, 2}


def test_what_left_unmeasured_is_measured_when_it_is_asked_for() -> None:
    """One by one, or all of them."""
    bare = dataclasses.replace(answer(0, 1), sizes=(), whole_sizes=())
    units = [
        dataclasses.replace(bare, id=number, rendition="absent") for number in (0.0, 1)
    ]
    found = shown(*units)
    got = found.get(0)
    assert got is not None
    assert got.whole_sizes == (12,)
    assert found.gone[0] is got
    assert found.gone[1].whole_sizes == ()
    assert [unit.whole_sizes for unit in found.all_units()] == [(12,), (12,)]


def test_a_decision_about_all_that_is_live_is_taken_over() -> None:
    """What it leaves out is gone; sizes are those of what stays."""
    found = shown(answer(0, 1), answer(1, 1), answer(2, 1, 4))
    found.decide([answer(0, 1).leave_out("why"), answer(1, 1, 3), answer(2, 1, 4)])
    assert [unit.id for unit in found.live] == [1, 2]
    assert found.tokens == answer(1, 1, 3).tokens + answer(2, 1, 4).tokens
    assert set(found.gone) == {0}
    assert found.rank(2) == 1
