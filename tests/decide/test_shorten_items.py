"""How many items of an array show in so much room, and what each of them is worth."""

from __future__ import annotations

import json

import pytest

from tests.decide.test_shorten_values import show


@pytest.mark.parametrize(
    ("room", "head", "tail"),
    [
        (63, 0, 0),
        (64, 1, 0),
        (157, 1, 0),
        (158, 2, 0),
        (220, 2, 0),
        (221, 2, 1),
        (283, 2, 1),
        (284, 3, 1),
        (347, 3, 2),
        (32 + 63 * 10, 6, 4),
    ],
)
def test_each_item_needs_room_to_be_worth_showing(
    room: int, head: int, tail: int
) -> None:
    """Three from the head to two of the tail; the marker counts the others."""
    shown = show(["x" * 60] * 100, room)
    items = json.loads(shown)
    missing = f"... {100 - head - tail} more items ..."
    assert items.index(missing) == head if head else shown == '["...100"]'
    assert len(items) == head + tail + 1


def test_one_item_of_many_is_named_as_one() -> None:
    """The marker says item, not items."""
    assert '"... 1 more item ..."' in show(["x" * 60] * 3, 32 + 2 * 63)


def test_a_small_array_of_large_items_shows_all_of_them() -> None:
    """There are no more items than there are."""
    shown = json.loads(show(["x" * 5_000] * 3, 2_000))
    assert len(shown) == 3
    assert all("left out" in item for item in shown)


@pytest.mark.parametrize(
    ("item", "each"),
    [
        ("x" * 200, 97),  # what one string is worth at most: twice what a field is
        ("x" * 94, 97),
        ("x" * 93, 96),
        ({"a": "x" * 200, "b": None}, 2 + 5 + 48 + 5 + 4),
        ({"a": "x" * 46}, 2 + 5 + 48),
        ({"a": "x" * 45}, 2 + 5 + 47),
        ({"n" * 130: True}, 2 + 124 + 4),
        (["x" * 60] * 9, 32 + 63),
        (["x"] * 7, 1 + 7 * 4),
        (["x"] * 9, 32 + 4),
        (None, 5),
    ],
)
def test_what_an_item_is_worth(item: object, each: int) -> None:
    """Its fields up to a length each; of an array, its first item and a marker."""
    for count in (20, 30):
        shown = json.loads(show([item] * 300, 32 + count * each))
        assert len(shown) - 1 == count
        fewer = json.loads(show([item] * 300, 31 + count * each))
        assert len(fewer) - 1 == count - 1


def test_the_worth_of_an_item_is_guessed_from_both_ends() -> None:
    """Eight of the head and four of the tail; what is between is not looked at."""
    small, large = "x" * 7, "x" * 200
    ends = [small] * 8 + [large] * 500 + [small] * 4
    assert len(json.loads(show(ends, 132))) - 1 == 10
    for place in (7, -4):
        other = [*ends]
        other[place] = large
        each = (11 * 10 + 97) // 12
        assert len(json.loads(show(other, 132))) - 1 == 100 // each
    for place in (8, -5):
        other = [*ends]
        other[place] = small
        assert len(json.loads(show(other, 132))) - 1 == 10
