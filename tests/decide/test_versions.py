"""Versions of a unit: as it came in, as it is shown, with references in it."""

from __future__ import annotations

import dataclasses

from context_builder.decide.versions import (
    as_shown,
    is_double,
    is_history,
    marks_of_both,
    whole,
    with_references,
)
from context_builder.items import Mark
from tests.decide.test_rungs import RULES, answer, memory, tools, user


def test_whole_again_is_as_it_came() -> None:
    """Items, sizes, name and reason."""
    unit = tools(0, 1, 20, 30)
    short = unit.items[1].with_content("short")
    shown = with_references(unit, [(1, short)], RULES, "why")
    assert whole(shown) == dataclasses.replace(unit, marks=shown.marks)


def test_a_reference_stands_only_where_it_is_smaller() -> None:
    """Each is marked; a unit in which none is smaller stays the very same."""
    unit = tools(0, 1, 3, 30)
    shorts = [
        (1, unit.items[1].with_content("as long as")),
        (2, unit.items[2].with_content("less")),
    ]
    shown = with_references(unit, shorts, RULES, "why")
    assert shown.sizes == (3, 4, 2) != unit.sizes
    assert shown.items == (*unit.items[:2], shorts[1][1])
    assert shown.originals == unit.originals
    assert shown.marks == (Mark("i2", "referenced", "why"),)
    assert (shown.rendition, shown.reason) == ("shortened", "why")
    assert with_references(unit, shorts[:1], RULES, "why") is unit
    again = with_references(
        dataclasses.replace(unit, rendition="reference", reason="before"),
        shorts,
        RULES,
        "why",
    )
    assert (again.rendition, again.reason) == ("reference", "before")


def test_a_new_version_is_shown_as_the_old_one_was() -> None:
    """What did not change stays short; what did is whole."""
    unit = tools(0, 1, 20, 30)
    old = dataclasses.replace(
        with_references(unit, [(1, unit.items[1].with_content("x"))], RULES, "why"),
        priority=7,
        refreshed_turn=2,
    )
    newer = unit.items[2].with_content("new words here")
    new = dataclasses.replace(
        unit,
        items=(*unit.items[:2], newer),
        originals=(*unit.items[:2], newer),
        sizes=(3, 21, 4),
    )
    shown = as_shown(new, old)
    assert shown.items == (old.items[0], old.items[1], newer)
    assert shown.sizes == (3, 2, 4)
    assert (shown.rendition, shown.reason) == ("shortened", "why")
    assert (shown.priority, shown.refreshed_turn) == (7, 2)
    assert shown.marks == old.marks
    rated = as_shown(dataclasses.replace(new, priority=0), old)
    assert rated.priority == 0
    assert as_shown(new, unit) is new
    marked = dataclasses.replace(unit, marks=(Mark("i1", "repaired", "x"),))
    assert as_shown(new, marked).marks == marked.marks


def test_marks_of_items_that_are_gone_go() -> None:
    """And none stands twice."""
    unit = tools(0, 1, 20, 30)
    first, second = Mark("i1", "referenced", "a"), Mark("i2", "referenced", "b")
    old = dataclasses.replace(unit, marks=(first, second))
    gone = dataclasses.replace(
        unit, originals=(*unit.items[:2], unit.items[2].with_content("x"))
    )
    assert marks_of_both(old, gone) == (first,)
    assert marks_of_both(old, dataclasses.replace(gone, marks=(first,))) == (first,)


def test_what_is_history_and_what_gave_way() -> None:
    """Background and summaries are no part of the talk."""
    assert is_history(user(0, 1))
    assert is_history(tools(0, 1, 5))
    assert not is_history(memory(0))
    assert not is_history(answer(0, 1, kind="summary"))
    assert not is_double(user(0, 1))
    twice = dataclasses.replace(
        user(0, 1), marks=(Mark("i0", "repaired", ""), Mark("i0", "deduplicated", ""))
    )
    assert is_double(twice)
