"""The sliding window: the last messages or turns, whatever the budget."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from context_builder import ContextBuilder
from context_builder.decide.rules import Rules
from context_builder.decide.window import slide_window
from context_builder.items import ContextItem, Plan, Unit, UnitKind
from context_builder.settings import Settings
from context_builder.testing import WordCounter, tool_call, turns
from tests.decide.test_rungs import Ruler as Words


class Ruler(Words):
    """Every text is one token."""

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return one."""
        del item, calls
        return 1

    def text(self, text: str) -> int:
        """Return one."""
        del text
        return 1


def plan(*kinds: str) -> Plan:
    """Return a plan: `user` opens a turn, `tool` is a call with one result."""
    units: list[Unit] = []
    turn = 0
    for number, word in enumerate(kinds, start=1):
        turn += word == "user"
        item = ContextItem(role="user", content="x", id=f"i{number}")
        items = (item, item) if word == "tool" else (item,)
        kind: UnitKind = "message"
        if word in ("tool", "background"):
            kind = word  # type: ignore[assignment]
        sizes = (1,) * len(items)
        made = Unit(number, items, items, kind, turn, sizes=sizes, whole_sizes=sizes)
        is_pinned = word == "pinned"
        units.append(
            dataclasses.replace(made, starts_turn=word == "user", pinned=is_pinned)
        )
    return Plan(tuple(units), 0, 1_000, 1_000, current_turn=turn)


def shown(before: Plan, **settings: Any) -> list[float]:
    """Return the ids of the units that the window leaves."""
    after = slide_window(before, Rules(Ruler(), Settings(**settings)))
    return [unit.id for unit in after.units if unit.is_shown]


CHAT = plan("user", "assistant", "user", "tool", "assistant", "user", "assistant")


@pytest.mark.parametrize(
    ("turns", "ids"), [(1, [6, 7]), (2, [3, 4, 5, 6, 7]), (3, [1, 2, 3, 4, 5, 6, 7])]
)
def test_the_last_turns_stay(turns: int, ids: list[int]) -> None:
    """A turn begins at a message of the user's own."""
    assert shown(CHAT, keep_last_turns=turns) == ids


@pytest.mark.parametrize(
    ("messages", "ids"), [(1, [6, 7]), (2, [6, 7]), (3, [5, 6, 7]), (4, [4, 5, 6, 7])]
)
def test_the_last_messages_stay(messages: int, ids: list[int]) -> None:
    """A call counts with its results, never parted; the latest question stays."""
    assert shown(CHAT, keep_last_messages=messages) == ids


def test_the_narrower_of_two_windows_counts() -> None:
    """Both may be given."""
    assert shown(CHAT, keep_last_turns=2, keep_last_messages=2) == [6, 7]


def test_a_window_wider_than_the_conversation_changes_nothing() -> None:
    """The same plan comes back."""
    rules = Rules(Ruler(), Settings(keep_last_turns=9))
    assert slide_window(CHAT, rules) is CHAT


def test_pinned_units_and_background_stay() -> None:
    """They are not part of what slides, and do not fill it."""
    before = plan("pinned", "background", "user", "assistant", "user", "background")
    assert shown(before, keep_last_turns=1) == [1, 2, 5, 6]
    assert shown(before, keep_last_messages=1) == [1, 2, 5, 6]


def test_what_slides_out_is_told() -> None:
    """The notice says that something is missing, and the report why."""
    ctx = ContextBuilder(
        max_tokens=9_000, counter=WordCounter(), settings=Settings(keep_last_turns=1)
    )
    ctx.extend(turns(3))
    assert "left out" in str(ctx.build()[0]["content"])
    gone = [one for one in ctx.explain().outcomes if one.action == "evicted"]
    assert [one.reason for one in gone] == ["outside of the sliding window"] * 4


def test_the_latest_user_message_never_slides_out() -> None:
    """What the user asked for is there, however long the turn is."""
    ctx = ContextBuilder(
        max_tokens=9_000, counter=WordCounter(), settings=Settings(keep_last_messages=2)
    )
    ctx.add_user_message("the question")
    for number in range(3):
        ctx.add_assistant_message("", tool_calls=[tool_call(f"c{number}")])
        ctx.add_tool_result("search", "found", tool_call_id=f"c{number}")
    assert any(message["content"] == "the question" for message in ctx.build())


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6])
def test_so_many_of_the_last_messages_stay(count: int, most: int) -> None:
    """From the first on, if there are no more of them."""
    before = plan(*["user"] * count)
    rules = Rules(Ruler(), Settings(keep_last_messages=most))
    after = slide_window(before, rules)
    kept = [unit.id for unit in after.units if unit.is_shown]
    assert kept == list(range(1, count + 1))[-most:]
    assert (after is before) is (most >= count)
    turns_rules = Rules(Ruler(), Settings(keep_last_turns=most))
    assert slide_window(before, turns_rules).units == after.units
    assert {unit.reason for unit in after.units if not unit.is_shown} <= {
        "outside of the sliding window"
    }
