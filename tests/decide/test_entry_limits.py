"""What a result is cut to when it comes in: each limit from both sides."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.items import Mark
from context_builder.messages import FilePart, ImagePart, TextPart
from context_builder.settings import Shares
from tests.decide.test_entry import capped, unit

if TYPE_CHECKING:
    from context_builder.items import Unit


def texts(after: Unit) -> list[str]:
    """Return what the results say."""
    return [item.text for item in after.items[1:]]


def why(after: Unit) -> list[tuple[str, str, str]]:
    """Return the marks of a unit."""
    return [(mark.item_id, mark.action, mark.reason) for mark in after.marks]


# --- By characters


@pytest.mark.parametrize(("chars", "is_cut"), [(40, False), (41, True)])
def test_a_result_may_be_so_many_characters_long(chars: int, is_cut: bool) -> None:
    """Both ends stay, and what is left out is counted."""
    after = capped(unit("x" * chars), tool_result_max_chars=40)
    if not is_cut:
        assert after == unit("x" * chars)
        return
    assert texts(after) == ["x" * 20 + "[... 1 character left out ...]" + "x" * 20]
    reason = "longer than tool_result_max_chars"
    assert (after.rendition, after.reason) == ("shortened", reason)
    assert why(after) == [("i2", "shortened", f"on entry: {reason}")]


def test_the_longest_of_several_texts_is_cut_most() -> None:
    """Short ones are whole, the others share what they leave; pictures are no text."""
    picture = ImagePart(url="https://a.org/b.png")
    parts = [
        TextPart(text="a" * 100),
        picture,
        TextPart(text="b" * 10),
        TextPart(text="c" * 50),
    ]
    content = capped(unit(tuple(parts)), tool_result_max_chars=70).items[1].content
    assert isinstance(content, tuple)
    assert content[1:3] == (picture, parts[2])
    shown = [part.text for part in content if part.type == "text"]
    assert [text.count(letter) for text, letter in zip(shown, "abc", strict=True)] == [
        30 + "characters left out".count("a"),
        10,
        30 + "characters left out".count("c"),
    ]
    assert capped(unit(tuple(parts)), tool_result_max_chars=160) == unit(tuple(parts))
    less = capped(unit(tuple(parts)), tool_result_max_chars=159)
    assert "1 character left out" in texts(less)[0]


def test_the_text_of_a_file_counts_as_well() -> None:
    """A file without text does not."""
    parts = (FilePart(media_type="text/plain", text="x" * 60), TextPart(text="y" * 60))
    after = capped(unit(parts), tool_result_max_chars=80)
    content = after.items[1].content
    assert isinstance(content, tuple)
    assert [
        str(getattr(part, "text", "")).count("20 characters left out")
        for part in content
    ] == [
        1,
        1,
    ]
    empty = (FilePart(media_type="text/plain", file_id="f1"), TextPart(text="y" * 60))
    assert capped(unit(empty), tool_result_max_chars=60) == unit(empty)


# --- By tokens


@pytest.mark.parametrize(
    ("words", "others", "is_cut"),
    [(397, 600, False), (398, 600, True), (248, 990, False), (250, 990, True)],
)
def test_a_result_may_take_what_is_left_or_its_share(
    words: int, others: int, is_cut: bool
) -> None:
    """A quarter of the budget in any case; three tokens are the call's."""
    after = capped(unit("word " * words), others=others)
    assert (after.rendition == "shortened") is is_cut
    if is_cut:
        assert after.reason == "larger than what was left"
        assert why(after) == [
            ("i2", "shortened", "on entry: larger than what was left")
        ]
        assert after.sizes[1] <= max(250, 1_000 - others)
        assert after.sizes[1] > max(250, 1_000 - others) - 64 - 40


def test_the_share_of_the_turn_is_a_setting() -> None:
    """Nothing of it: only what is left counts."""
    shares = Shares(
        system=0.2, latest_turn=0, tool_results=0.3, history=0.3, background=0.2
    )
    assert capped(unit("word " * 200), others=990, shares=shares).tokens < 60


@pytest.mark.parametrize("room", range(128, 192, 9))
def test_nearly_equal_rooms_give_one_cut(room: int) -> None:
    """Multiples of 64: what is shown does not jitter."""
    shares = Shares(
        system=0.2, latest_turn=0, tool_results=0.3, history=0.3, background=0.2
    )
    after = capped(unit("word " * 900), others=1_000 - room - 2, shares=shares)
    same = capped(unit("word " * 900), others=1_000 - 130 - 2, shares=shares)
    assert texts(after) == texts(same)


def test_of_two_results_each_counts_for_the_other() -> None:
    """The second finds less room than the first."""
    after = capped(unit("a " * 500, "b " * 500), others=100)
    assert [size > 250 for size in after.sizes[1:]] == [True, True]
    assert after.tokens + 100 <= 1_000 + 64


@pytest.mark.parametrize("special", [{"pinned": True}, {"kind": "message"}])
def test_what_is_pinned_or_no_round_is_not_cut(special: dict[str, Any]) -> None:
    """The very same unit comes back."""
    before = unit("word " * 900, **special)
    assert capped(before, tool_result_max_chars=10) is before


def test_results_that_were_there_and_stand_ins_stay() -> None:
    """Only what is new is cut."""
    before = unit("a " * 500, "b " * 500)
    after = capped(before, others=900, known=before.items[1:2])
    assert after.items[1] is before.items[1]
    assert after.items[2] is not before.items[2]
    made = dataclasses.replace(before.items[1], source="repair")
    items = (before.items[0], made, before.items[2])
    mended = dataclasses.replace(before, items=items, originals=items)
    assert capped(mended, others=900).items[1] is made


# --- The results of one round


def rounded(*words: int, most: int, **settings: Any) -> Unit:
    """Return a round whose results may take so much together."""
    before = unit(*["word " * count for count in words])
    given = {"preview_chars": 20, **settings}
    return capped(before, limit=99_999, round_results_max_tokens=most, **given)


@pytest.mark.parametrize(
    ("most", "previews"),
    [(453, []), (452, [2]), (272, [2]), (271, [1, 2]), (60, [0, 1, 2])],
)
def test_the_largest_results_become_previews_until_the_round_fits(
    most: int, previews: list[int]
) -> None:
    """Of equal ones the first; no more of them than has to."""
    after = rounded(100, 150, 200, most=most)
    assert [n for n, text in enumerate(texts(after)) if "put aside" in text] == previews


def test_of_equal_results_the_first_goes_first() -> None:
    """The order is always the same."""
    after = rounded(100, 100, most=150)
    assert ["put aside" in text for text in texts(after)] == [True, False]


def test_a_preview_says_what_it_is_of_and_how_it_began() -> None:
    """By its whole size, and with the handle that brings it back."""
    after = rounded(100, most=50)
    (text,) = texts(after)
    assert text == (
        "[Result of 101 tokens put aside; it can be fetched again as i2. "
        "It begins:]\nword word word word "
    )
    reason = "the results of its round were over round_results_max_tokens"
    assert after.marks == (Mark("i2", "shortened", f"on entry: {reason}"),)
    assert after.reason == reason


@pytest.mark.parametrize(("words", "is_preview"), [(19, False), (20, True)])
def test_a_preview_that_is_no_smaller_is_none(words: int, is_preview: bool) -> None:
    """The result stays as it is."""
    after = rounded(words, most=5)
    assert ("put aside" in texts(after)[0]) is is_preview


def test_a_round_is_judged_once_all_its_results_are_there() -> None:
    """Until then a stand-in holds a place."""
    before = unit("word " * 100, "word " * 100)
    made = dataclasses.replace(before.items[2], source="repair")
    items = (*before.items[:2], made)
    waiting = dataclasses.replace(before, items=items, originals=items)
    assert capped(waiting, limit=99_999, round_results_max_tokens=50).items == items
