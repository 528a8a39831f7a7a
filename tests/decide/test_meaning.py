"""What words found and what an embedder found, joined by rank."""

from __future__ import annotations

import pytest

from context_builder.decide.archive import Search
from context_builder.decide.meaning import AskedFor, by_words_and_meaning, may_ask
from context_builder.items import PassageMatch, PassagesMatched
from tests.decide.test_digest import looked_up, said
from tests.decide.test_recaller import recaller
from tests.decide.test_rungs import user


def answer(*matches: PassageMatch, error: str | None = None) -> PassagesMatched:
    """Return what an embedder said of message i9."""
    return PassagesMatched("i9", matches, 0.25, "vectors", error)


def test_without_an_answer_words_alone_count() -> None:
    """The very same search comes back."""
    words = Search(((3.0, 1),), 0.5)
    assert by_words_and_meaning(words, [], 0.0) is words


def test_what_both_found_is_worth_both() -> None:
    """By rank: the first of a list is worth a twentieth, and so on."""
    words = Search(((9.0, 1), (5.0, 2), (0.9, 3)), 0.1)
    found = by_words_and_meaning(words, [(0.8, 2), (0.7, 4)], 0.3)
    assert {n: worth for worth, n in found.ranked} == pytest.approx(
        {2: 1 / 21 + 1 / 20, 1: 1 / 20, 4: 1 / 21, 3: 1 / 22}
    )
    assert [n for _, n in found.ranked] == [2, 1, 4, 3]
    assert found.least == pytest.approx((1 / 21 + 1 / 20) * 0.05)


def test_of_equal_worth_the_newer_comes_first() -> None:
    """That is the one with the higher number."""
    words = Search(((9.0, 1),), 0.1)
    found = by_words_and_meaning(words, [(0.8, 5)], 0.3)
    assert [n for _, n in found.ranked] == [5, 1]


def test_words_that_match_much_worse_have_no_place() -> None:
    """Less than a tenth of the best. Without words, meaning counts alone."""
    words = Search(((10.0, 1), (1.0, 2), (0.99, 3)), 0.1)
    found = by_words_and_meaning(words, [(0.8, 4)], 0.3)
    assert {n for _, n in found.ranked} == {1, 2, 4}
    alone = by_words_and_meaning(Search((), 0.0), [(0.8, 4)], 0.3)
    assert [n for _, n in alone.ranked] == [4]


@pytest.mark.parametrize(
    ("by_words", "shown", "need"), [(0.1, 0.3, 0.5), (0.6, 0.3, 0.6), (-0.2, 0.9, -0.1)]
)
def test_the_larger_need_counts(by_words: float, shown: float, need: float) -> None:
    """What no shared word tells may be asked for all the same."""
    found = by_words_and_meaning(Search((), by_words), [(0.8, 4), (0.1, 5)], shown)
    assert found.need == pytest.approx(need)


# --- Asking again


@pytest.mark.parametrize(
    ("failures", "turns", "asks"),
    [(0, 0, True), (2, 0, True), (3, 7, False), (3, 8, True), (9, 0, False)],
)
def test_after_three_failures_there_is_a_pause(
    failures: int, turns: int, asks: bool
) -> None:
    """Of eight turns."""
    assert may_ask(failures, turns) is asks


def test_failures_are_remembered_until_there_is_an_answer() -> None:
    """Each is told: of which message, who was asked, and what went wrong."""
    asked = AskedFor()
    for turn in (3, 4, 5):
        assert asked.may_ask(turn)
        asked.note(answer(error="Timeout"), turn)
    assert not asked.may_ask(12)
    assert asked.may_ask(13)
    assert asked.told == ["i9: vectors: Timeout"] * 3
    asked.note(answer(), 13)
    assert asked.may_ask(13)
    assert asked.failures == 0
    assert asked.newest == answer()


# --- Which passage is meant


def test_a_match_names_a_passage_by_its_item_and_its_place() -> None:
    """A result stands in the unit of its call; what is not there is passed over."""
    one, shown = recaller(1_000, user(9, 3))
    for old in (said(1, "so it was then " * 120), looked_up(4, "{}", "found " * 10)):
        gone = old.leave_out("over budget")
        shown.put(gone)
        one.keep([gone])
    passages = one.archive.passages
    spans = {unit_id: passages.spans.numbers(unit_id) for unit_id in (1.0, 4.0)}
    assert len(spans[1.0]) > 1
    last = passages[spans[1.0][-1]]
    for item_id, start, number in (
        ("i1", 0, spans[1.0][0]),
        ("i1", last.start, spans[1.0][-1]),
        ("i1", last.start - 1, None),
        ("i5", 0, spans[4.0][-1]),
        ("i7", 0, None),
        ("i1", 99_999, None),
    ):
        found = one._number_of(PassageMatch(item_id, start, 0.5))
        assert found == number or (number is None and found != spans[1.0][-1])
    newest = user(9, 3)
    one.asked.note(answer(PassageMatch("i5", 0, 0.9), PassageMatch("i8", 0, 0.8)), 3)
    search = one.search(newest, {9.0})
    assert [n for _, n in search.ranked] == [spans[4.0][-1]]
    assert search.need == pytest.approx(0.9 - 0.25)
    other = one.search(user(11, 4), {9.0, 11.0})
    assert other.ranked == ()
