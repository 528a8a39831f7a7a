"""What the report and the model are told, word for word: somebody reads it."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder import ContextBuilder, Settings
from context_builder.decide.current import _RECENT_SHARE, _cut_to, _level, _recent
from context_builder.decide.rules import Rules
from context_builder.decide.shorten.values import _items, _keys
from context_builder.items import Mark, Plan
from context_builder.messages import FilePart, ImagePart, TextPart
from context_builder.testing import WordCounter
from tests.decide.test_entry import capped, unit
from tests.decide.test_rungs import RULES, Ruler, tools, user

LONG = "word " * 200


@pytest.mark.parametrize(
    ("settings", "others", "reason"),
    [
        ({"tool_result_max_chars": 400}, 0, "longer than tool_result_max_chars"),
        ({}, 900, "larger than what was left"),
        (
            {"round_results_max_tokens": 100, "preview_chars": 40},
            0,
            "the results of its round were over round_results_max_tokens",
        ),
    ],
)
def test_why_a_result_was_cut_on_entry(
    settings: dict[str, Any], others: int, reason: str
) -> None:
    """The setting by its name, or the room; in the mark as on the unit."""
    limit = 250 if others else 1_000
    cut = capped(unit(LONG), others, limit, **settings)
    assert cut.reason == reason
    assert cut.marks == (Mark("i2", "shortened", f"on entry: {reason}"),)


def test_a_picture_among_parts_has_no_characters() -> None:
    """The limit is for text: of files and of text parts, shared among them."""
    parts = (
        ImagePart(url="https://a.test/b.png"),
        TextPart(text="a" * 30),
        FilePart(text="b" * 300),
    )
    cut = capped(unit(parts), tool_result_max_chars=100)
    texts = [getattr(part, "text", None) for part in cut.items[1].content]
    assert texts[:2] == [None, "a" * 30]
    assert (texts[2] or "").count("b") == 70
    whole = unit(parts)
    assert capped(whole, tool_result_max_chars=330) is whole


def test_what_is_missing_is_counted() -> None:
    """One, or several."""
    assert [_keys(1), _keys(1_200)] == ["1 more key", "1,200 more keys"]
    assert [_items(1), _items(2)] == ["... 1 more item ...", "... 2 more items ..."]


@pytest.mark.parametrize(("target", "recent"), [(1_000, [1, 2, 3]), (0, [3])])
def test_the_newest_rounds_stay_together_as_far_as_they_fit(
    target: int, recent: list[int]
) -> None:
    """The newest is always one of them."""
    rules = Rules(Ruler(), Settings(keep_recent_rounds=3))
    units = tuple(tools(2 * number, 1, 50) for number in range(4))
    plan = Plan(units, 0, target, target, current_turn=1)
    assert _recent(plan, rules, [0, 1, 2, 3]) == recent


def test_rounds_that_fit_exactly_stay() -> None:
    """Their share is theirs to the last token."""
    units = tuple(tools(2 * number, 1, 49) for number in range(3))
    two = units[0].tokens * 2
    rules = Rules(Ruler(), Settings(keep_recent_rounds=3))
    for more, recent in ((0, [1, 2]), (-1, [2])):
        target = 0
        while int(target * _RECENT_SHARE) < two + more:
            target += 1
        plan = Plan(units, 0, target, target, current_turn=1)
        assert _recent(plan, rules, [0, 1, 2]) == recent


@pytest.mark.parametrize(
    ("sizes", "excess"),
    [([100, 50, 10], 20), ([100, 90, 10], 60), ([64, 64, 64], 30), ([400], 100)],
)
def test_the_longest_are_cut_to_one_length(sizes: list[int], excess: int) -> None:
    """To the greatest on the grid that frees enough."""
    level = _level(sizes, excess)
    freed = sum(max(0, size - level) for size in sizes)
    grid = 16
    assert freed >= excess
    assert sum(max(0, size - level - grid) for size in sizes) < excess + freed


def test_what_is_as_long_as_the_length_is_not_cut() -> None:
    """What is longer is, and says why."""
    before = tools(0, 1, 60, 200)
    same = _cut_to(before, before.sizes[2], RULES)
    assert same is before
    cut = _cut_to(before, 100, RULES)
    assert cut.sizes[:2] == before.sizes[:2]
    assert cut.sizes[2] <= 101
    assert cut.rendition == "shortened"
    assert cut.reason == "over budget: the longest results were cut to one length"


def test_a_newer_copy_inherits_priority_and_pin() -> None:
    """The higher of both; one that was given wins over none."""
    for older, newer, kept in ((80, None, 80), (None, 30, 30), (80, 30, 80), (3, 9, 9)):
        ctx = ContextBuilder(max_tokens=9_000, counter=WordCounter())
        ctx.add_user_message("Look.")
        ctx.add_memory("The old text.", cache_key="k", priority=older or 20)
        ctx.add_user_message("And?")
        ctx.add_memory("The new text.", cache_key="k", priority=newer or 20)
        fates = {one.item_id: one for one in ctx.explain().outcomes}
        new = max(fates, key=lambda name: int(name[1:]))
        assert fates[new].priority == max(older or 20, newer or 20)
        assert kept is not None


def test_a_question_is_no_reason() -> None:
    """A unit that is whole says none."""
    assert user(0, 1).reason == ""
