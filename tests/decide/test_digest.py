"""What is told of what left, and what of it stands in the request anyway."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.decide.digest import NOTHING, Digest, Still, digest_of
from context_builder.decide.heard import Heard
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Mark, Unit
from context_builder.messages import ToolCall
from context_builder.settings import Settings
from context_builder.testing import WordCounter
from tests.decide.test_rungs import Ruler

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = Rules(Ruler(), Settings())


def said(number: int, text: str, role: Any = "user", **fields: Any) -> Unit:
    """Return a unit of one message."""
    item = ContextItem(role=role, content=text, id=f"i{number}", source=role)
    size = Ruler().item(item)
    given = {"kind": "message", "turn": number, "starts_turn": role == "user", **fields}
    return Unit(number, (item,), (item,), sizes=(size,), whole_sizes=(size,), **given)


def looked_up(number: int, arguments: str, result: str) -> Unit:
    """Return a call with its result."""
    call = ContextItem(
        role="assistant",
        content="",
        id=f"i{number}",
        source="assistant",
        tool_calls=(ToolCall("c", "look", arguments),),
    )
    answer = ContextItem(
        role="tool", content=result, id=f"i{number + 1}", source="tool"
    )
    items = (call, answer)
    sizes = tuple(map(Ruler().item, items))
    return Unit(
        number, items, items, kind="tool", turn=1, sizes=sizes, whole_sizes=sizes
    )


def lines_of(told: Digest) -> list[str]:
    """Return the lines as they are said."""
    return ["".join(parts) for parts in told.lines]


def digest(
    left: Sequence[Unit],
    limit_tokens: int = 100,
    still: Still = NOTHING,
) -> Digest:
    """Return what is told of these units."""
    return digest_of(Digest(), left, RULES, limit_tokens, heard=Heard(), still=still)


# --- what is still there --------------------------------------------------------------


def test_what_the_request_says_anyway_is_not_told() -> None:
    """Neither a fact of its texts, nor one of the arguments of its calls."""
    left = [looked_up(1, '{"id": "XK4711"}', "gate B22, seat 17C, code QZ990")]
    assert "QZ990" in str(digest(left).lines)
    still = Still(
        shown=[
            said(9, "The code was QZ990."),
            looked_up(7, '{"id": "XK4711"}', "done"),
        ]
    )
    told = str(digest(left, still=still).lines)
    assert "QZ990" not in told
    assert "XK4711" not in told


def test_what_only_recalled_passages_say_is_told() -> None:
    """They are the first to go."""
    still = Still(shown=[said(9, "The code is QZ990.", kind="background")])
    assert list(still.texts()) == []
    assert "QZ990" in str(digest([looked_up(1, "{}", "QZ990")], still=still).lines)


def test_what_a_shortened_result_lost_is_told() -> None:
    """Its unit is shown, but says less than before; what it still says is not told."""
    before = looked_up(1, "{}", "code QZ990, and the gate is GX2204")
    short = before.items[1].with_content("code QZ990 ...")
    after = before.show(
        (before.items[0], short), (1, 3), rendition="shortened", reason="over budget"
    )
    still = Still.after([before], [after])
    assert still.lowered == [after]
    told = str(digest([], still=still).lines)
    assert "GX2204" in told
    assert "QZ990" not in told


def test_what_lost_nothing_that_is_true_is_not_lowered() -> None:
    """What is whole, what left, what did not change, and what another item says."""
    whole, gone = looked_up(1, "{}", "code QZ990"), looked_up(3, "{}", "GX2204")
    double = looked_up(5, "{}", "code QZ991")
    doubled = dataclasses.replace(
        double.show(double.items, (1, 1), rendition="shortened", reason=""),
        marks=(Mark("i6", "deduplicated", "superseded by i9, same key"),),
    )
    touched = dataclasses.replace(whole, priority=80)
    still = Still.after(
        [whole, gone, double, touched], [touched, gone.leave_out("x"), doubled, touched]
    )
    assert still.lowered == []
    assert [unit.id for unit in still.shown] == [1, 5, 1]


# --- the user's own words -------------------------------------------------------------


def test_the_user_s_words_use_what_the_facts_leave_over() -> None:
    """A fifth of the room is theirs before anything else, and then what is left."""
    words = "please compare the two houses by their cost per month and year"
    assert words in str(digest([said(1, words)], 40).lines)
    facts = looked_up(2, "{}", " ".join(f"AB{n}" for n in range(100, 150)))
    told = digest([said(1, words), facts], 40)
    assert words not in str(told.lines)
    assert "AB116" in str(told.lines)


@pytest.mark.parametrize("limit_tokens", [0, 5, 12, 13, 30, 60])
def test_no_more_is_told_than_there_is_room_for(limit_tokens: int) -> None:
    """Whatever the lines are: each counts."""
    left = [said(n, f"this is what was asked in turn {n}") for n in range(1, 9)]
    told = digest([*left, looked_up(9, '{"id": "XK4711"}', "QZ990")], limit_tokens)
    assert Ruler().text("\n".join(lines_of(told))) <= limit_tokens
    assert lines_of(told) == sorted(lines_of(told))


def test_the_newest_words_come_first_where_not_all_fit() -> None:
    """And what is told whole is known to be."""
    left = [said(n, f"this is what was asked in turn {n}") for n in range(1, 9)]
    told = digest(left, 24)
    assert [line.partition(" ")[0] for line in lines_of(told)] == ["i7", "i8"]
    assert told.whole == {7, 8}


def test_no_more_than_some_sentences_take_what_is_left() -> None:
    """The rest is kept for what comes: each line makes the next compaction sooner."""
    left = [said(n, "this was asked " * 8 + f"in turn {n}") for n in range(1, 9)]
    told = digest(left, 200)
    assert 26 < Ruler().text("\n".join(lines_of(told))) <= 64


def test_a_sentence_is_kept_where_there_is_room() -> None:
    """In a small request, what the user asked for at the beginning is still there."""
    ctx = ContextBuilder(max_tokens=220, counter=WordCounter())
    asked = "Compare the two warehouses, and tell me which of them needs more people."
    ctx.add_user_message(asked)
    ctx.add_assistant_message("Both are fine. " * 10)
    for _ in range(2):
        ctx.add_user_message("And then?")
        ctx.add_assistant_message("All of it is in order, as agreed upon. " * 8)
    ctx.add_user_message("Thanks. Next?")
    assert asked in str(ctx.build()[0]["content"])
    assert ctx.explain().tokens <= 220
