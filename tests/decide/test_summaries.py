"""Which summary counts, and what is known of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from context_builder.decide.fold import Fold
from context_builder.decide.summaries import (
    SUMMARY_PLACE,
    Summaries,
    SummaryTry,
    summary_unit,
)
from context_builder.items import ContextItem, SummaryAdded, SummaryRefused
from tests.decide.test_rungs import RULES, answer, user

if TYPE_CHECKING:
    from context_builder.items import Unit

LEFT = {float(n): answer(n, 1).leave_out("why") for n in (1, 2, 3)}


def added(name: str, *covers: str, extends: str | None = None) -> SummaryAdded:
    """Return a summary of these items."""
    item = ContextItem(role="user", content=f"about {name}", id=name, source="summary")
    return SummaryAdded(item, covers, extends, "me")


def learned(*entries: SummaryAdded) -> Summaries:
    """Return what is known after these."""
    found = Summaries()
    for entry in entries:
        found.learn(entry)
    return found


def renew(found: Summaries, *left: float, largest: str = "s9") -> bool:
    """Choose again, where these units left, and summaries up to one fit."""
    gone: dict[float, Unit] = {number: LEFT[number] for number in left}
    return found.renew(gone, lambda item: item.id <= largest)


def current(found: Summaries) -> str | None:
    """Return the id of the summary that counts."""
    return None if found.current is None else found.current.item.id


def test_the_one_that_covers_most_of_what_left_counts() -> None:
    """It covers nothing that is still there; of two as large, the newer."""
    found = learned(added("s1", "i1"), added("s2", "i1", "i2"), added("s3", "i1", "i3"))
    assert not renew(found)
    assert current(found) is None
    assert renew(found, 1)
    assert current(found) == "s1"
    assert found.covered == {1}
    assert not renew(found, 1)
    assert renew(found, 1, 2)
    assert current(found) == "s2"
    assert found.covered == {1, 2}
    assert renew(found, 1, 2, 3)
    assert current(found) == "s3"
    assert renew(found)
    assert current(found) is None
    assert found.covered == frozenset()


def test_one_that_does_not_fit_counts_only_where_it_did_before() -> None:
    """What is shown does not go because room became less."""
    found = learned(added("s1", "i1"), added("s2", "i1", "i2"))
    assert renew(found, 1, 2, largest="s1")
    assert current(found) == "s1"
    assert renew(found, 1, 2)
    assert not renew(found, 1, 2, largest="s0")
    assert current(found) == "s2"


def test_one_that_extends_another_covers_what_both_do() -> None:
    """Where that one is spoiled, it stands for nothing."""
    found = learned(added("s1", "i1"), added("s2", "i2", extends="s1"))
    renew(found, 1, 2)
    assert found.covered == {1, 2}
    found.learn(added("s3", "i3", extends="s8"))
    assert found.spoiled == {"s3": "it extends s8"}
    assert not renew(found, 1, 2, 3)


def test_a_change_spoils_every_summary_that_tells_of_it() -> None:
    """The one that tells of nothing else counts again."""
    found = learned(added("s1", "i1"), added("s2", "i2", extends="s1"))
    renew(found, 1, 2)
    found.spoil(answer(2, 1), "edited")
    assert found.spoiled == {"s2": "edited"}
    assert renew(found, 1, 2)
    assert current(found) == "s1"
    found.spoil(answer(1, 1), "removed")
    assert found.spoiled == {"s2": "edited", "s1": "removed"}
    assert renew(found, 1, 2)
    assert (current(found), found.covered) == (None, frozenset())


def test_one_includes_another_if_it_tells_of_all_that_it_does() -> None:
    """Nothing is included where none counts, or in what is not known."""
    found = learned(added("s1", "i1"), added("s2", "i1", "i2"), added("s3", "i3"))
    assert not found.includes("s1")
    renew(found, 1, 2)
    assert found.includes("s1")
    assert found.includes("s2")
    assert not found.includes("s3")
    assert not found.includes("s9")


def test_every_wish_is_noted() -> None:
    """With what it was about, who was asked, and why it was refused."""
    found = Summaries()
    found.note(added("s1", "i1", "i2"), 3)
    found.note(SummaryRefused("timeout", ("i1",), "me"), 4)
    found.note(SummaryRefused("failed", ("i2",), "you", "ValueError"), 5)
    assert found.tries == [
        SummaryTry(("i1", "i2"), 3, "me", summary_id="s1"),
        SummaryTry(("i1",), 4, "me", reason="timeout"),
        SummaryTry(("i2",), 5, "you", reason="failed: ValueError"),
    ]


def test_a_copy_changes_alone() -> None:
    """Nothing of it is shared."""
    first = learned(added("s1", "i1"))
    renew(first, 1)
    first.is_shown = True
    second = first.copy()
    assert second.told == first.told == {1}
    second.note(added("s2", "i2"), 1)
    second.spoil(answer(1, 1), "edited")
    renew(second, 1)
    second.is_shown = False
    assert (current(first), first.tries, first.spoiled) == ("s1", [], {})
    assert first.told == {1}
    assert second.told == frozenset()
    assert not renew(first, 1)


def test_a_summary_stands_before_everything() -> None:
    """It belongs to no turn."""
    item = added("s1").item
    unit = summary_unit(item)
    assert (unit.id, unit.turn, unit.kind) == (SUMMARY_PLACE, 0, "summary")
    assert unit.items == unit.originals == (item,)


@pytest.mark.parametrize("words", range(17, 35, 3))
def test_a_summary_leaves_the_notice_its_room(words: int) -> None:
    """It is put in its place before the notice, which tells how many messages left."""
    fold = Fold(limit_tokens=100, rules=RULES, measure_fixed=lambda *_: {})
    item = ContextItem(role="user", content="about " * words, id="s1", source="summary")
    fold.summaries.learn(SummaryAdded(item, ("i1", "i2"), None, "me"))
    fold.advance([user(1, 1, 20), answer(2, 1, 20)])
    fold.advance([user(3, 2, 30)])
    fold.advance([answer(4, 2, 35)])
    assert fold.excess is None
    assert fold.compactions == 1
    assert fold.tokens <= 100
