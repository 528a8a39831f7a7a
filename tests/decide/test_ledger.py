"""What a fold goes down to, and what it says when that is not enough."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder import BudgetExceededError, ContextBuilder, Settings
from context_builder.testing import FakeSummarizer, WordCounter, tool_call


def builder(max_tokens: int = 1_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words, and tells of what left in a line only."""
    plain = {"recall_share": 0, "digest_share": 0}
    return ContextBuilder(
        max_tokens=max_tokens,
        counter=WordCounter(),
        settings=Settings(**{**plain, **settings}),
    )


def words(count: int) -> str:
    """Return a text of so many words."""
    return "word " * (count - 1) + "word"


def fill(ctx: ContextBuilder, tokens: int) -> None:
    """Add short turns up to so many tokens."""
    while ctx.explain().tokens + 12 <= tokens:
        ctx.add_user_message(words(5))
        ctx.add_assistant_message(words(5))


def compacted(ctx: ContextBuilder, latest: int = 5, **fields: Any) -> int:
    """Return what is left when the latest message crosses the budget."""
    fill(ctx, 1_000 - latest)
    assert not ctx.explain().compactions
    for number in range(9):
        last = fields if number == 0 else {}
        ctx.add_user_message(words(latest if number == 0 else 5), **last)
        if ctx.explain().compactions:
            break
        ctx.add_assistant_message(words(5))
    assert ctx.explain().compactions == 1
    return ctx.explain().tokens


LINE = 30
"""About what a turn and the notice take: so near to the mark a compaction comes."""


@pytest.mark.parametrize(
    ("pinned", "system", "mark"),
    [
        (0, 0, 650),
        (200, 0, 650),
        (400, 0, 700),
        (600, 0, 800),
        (0, 600, 800),
        (300, 300, 800),
    ],
)
def test_pins_and_the_system_prompt_raise_what_a_compaction_goes_down_to(
    pinned: int, system: int, mark: int
) -> None:
    """Half of what can move stays, where that is more than the usual mark."""
    ctx = builder()
    if system:
        ctx.add_system_prompt(words(system))
    if pinned:
        ctx.add_memory(words(pinned), pinned=True)
    assert mark - LINE < compacted(ctx) <= mark + 20


@pytest.mark.parametrize(
    ("latest", "pinned", "mark"),
    [(100, False, 650), (400, False, 700), (450, True, 725), (600, False, 750)],
)
def test_a_large_question_raises_it_as_well(
    latest: int, pinned: bool, mark: int
) -> None:
    """Up to half of the budget; a pinned one counts once, as what it takes."""
    ctx = builder()
    assert mark - LINE < compacted(ctx, latest, pinned=pinned) <= mark + 20


@pytest.mark.parametrize(("share", "mark"), [(0.01, 650), (0.5, 800), (0.9, 960)])
def test_how_much_of_what_can_move_stays_is_a_setting(share: float, mark: int) -> None:
    """The usual mark is the least, and the budget the most."""
    ctx = builder(room_share=share)
    ctx.add_memory(words(600), pinned=True)
    assert mark - LINE < compacted(ctx) <= mark + 20


# --- What does not fit


def refused(ctx: ContextBuilder) -> dict[str, int]:
    """Return the parts that an error names, and check what it says of them."""
    with pytest.raises(BudgetExceededError) as caught:
        ctx.build()
    error = caught.value
    assert sum(error.parts.values()) == error.needed_tokens
    assert error.limit_tokens == 100 < error.needed_tokens
    for name, tokens in error.parts.items():
        assert name in str(error)
        assert f"{tokens}" in str(error)
    return dict(error.parts)


def test_the_parts_of_what_does_not_fit_are_named() -> None:
    """The system prompt, pins, and the question: each with what it takes."""
    ctx = builder(100)
    ctx.add_system_prompt(words(30))
    ctx.add_memory(words(50), pinned=True)
    ctx.add_memory(words(20), pinned=True)
    ctx.add_user_message("go on with it")
    parts = refused(ctx)
    assert {"system", "pinned", "latest user message"} <= set(parts)
    assert 70 <= parts["pinned"] <= 100
    assert 30 <= parts["system"] < 40
    assert 4 <= parts["latest user message"] < 10
    assert "current turn" not in parts


def test_a_pinned_question_is_still_named_as_the_question() -> None:
    """It is what its owner looks for first."""
    ctx = builder(100)
    ctx.add_user_message(words(200), pinned=True)
    parts = refused(ctx)
    assert parts["latest user message"] >= 200
    assert "pinned" not in parts


def test_only_the_latest_question_is_named_as_that() -> None:
    """An older one that is pinned is a pin."""
    ctx = builder(100)
    ctx.add_user_message(words(90), pinned=True)
    ctx.add_user_message(words(40), pinned=True)
    parts = refused(ctx)
    assert parts["pinned"] - parts["latest user message"] == 50


def test_calls_of_the_current_turn_that_do_not_fit_are_named() -> None:
    """Where they are pinned they are pins."""
    ctx = builder(100)
    ctx.add_user_message("go")
    ctx.add_assistant_message(
        "", tool_calls=[tool_call("a", arguments='{"a": "b"}')], pinned=True
    )
    ctx.add_tool_result("search", words(200), tool_call_id="a", pinned=True)
    parts = refused(ctx)
    assert parts["pinned"] > 200
    assert parts["latest user message"] < 10


def test_what_takes_nothing_is_not_named() -> None:
    """There are no tools here, and no system prompt."""
    ctx = builder(100)
    ctx.add_memory(words(200), pinned=True)
    ctx.add_user_message("go")
    assert not {"tools", "system"} & set(refused(ctx))


# --- A compaction that somebody asked for


def test_a_compaction_that_is_asked_for_takes_what_is_shown_for_the_budget() -> None:
    """It goes down to the low mark of that, though there is room."""
    ctx = builder()
    fill(ctx, 500)
    before = ctx.explain().tokens
    ctx.compact()
    report = ctx.explain()
    assert report.compactions == 1
    assert 0.65 * before - LINE < report.tokens <= 0.65 * before
    ctx.add_user_message(words(5))
    assert ctx.explain().compactions == 1


def test_a_compaction_is_told_as_a_move_of_the_beginning() -> None:
    """In a word; there is one for each."""
    ctx = builder()
    for _ in range(200):
        ctx.add_user_message(words(10))
    report = ctx.explain()
    assert report.prefix_moves == ("compaction",) * report.compactions
    assert report.compactions >= 3


def test_what_does_not_fit_is_no_compaction() -> None:
    """Once the obstacle is gone, nothing has happened."""
    ctx = builder(100)
    ctx.add_memory(words(200), pinned=True)
    ctx.add_user_message("go")
    with pytest.raises(BudgetExceededError):
        ctx.build()
    ctx.remove("i1")
    ctx.build()
    assert not ctx.explain().compactions


@pytest.mark.parametrize("turns", [2, 3])
def test_a_compaction_may_come_after_so_many_turns(turns: int) -> None:
    """Counted from the one before, and told as that."""
    ctx = builder(compact_after_turns=turns)
    for _ in range(10):
        ctx.add_user_message(words(30))
        ctx.add_assistant_message(words(30))
    report = ctx.explain()
    assert report.compactions == 10 // turns
    assert {*report.prefix_moves} == {f"compaction after {turns} turns"}


# --- What changes the beginning


def test_the_first_system_prompt_is_no_change_of_one() -> None:
    """Another one is, and so are other tools; the same again is not."""
    ctx = builder()
    ctx.add_system_prompt("be brief")
    ctx.set_tools([{"name": "search", "description": "finds"}])
    first = len(ctx.explain().prefix_moves)
    ctx.add_system_prompt("be brief")
    assert len(ctx.explain().prefix_moves) == first
    ctx.add_user_message("go")
    ctx.build()
    ctx.add_system_prompt("be long")
    assert len(ctx.explain().prefix_moves) == first + 1
    ctx.set_tools([{"name": "other", "description": "finds"}])
    assert len(ctx.explain().prefix_moves) == first + 2


def test_a_system_prompt_may_come_first_without_moving_anything() -> None:
    """There was nothing that it could have moved."""
    ctx = builder()
    ctx.add_system_prompt("be brief")
    ctx.add_user_message("go")
    assert not ctx.explain().prefix_moves
    late = builder()
    late.add_user_message("go")
    late.build()
    late.add_system_prompt("be brief")
    assert len(late.explain().prefix_moves) == 1


# --- A summary


def test_a_summary_is_told_as_shown_exactly_while_it_is() -> None:
    """It yields to what the user pinned, and no report claims otherwise later."""
    ctx = ContextBuilder(
        max_tokens=300,
        counter=WordCounter(),
        summarizer=FakeSummarizer(returns="They talked of prices " + "and so on " * 9),
        settings=Settings(recall_share=0, digest_share=0),
    )

    def check(*, is_shown: bool) -> None:
        assert ("They talked" in str(ctx.build())) is is_shown
        report = ctx.explain()
        assert report.summaries[-1].action == ("shown" if is_shown else "left_out")
        told = [one for one in report.outcomes if one.source == "summary"]
        assert [one.action for one in told] == ["kept"] * is_shown
        of_old = {one.action for one in report.outcomes[len(told) : 10]}
        assert of_old == {"summarized" if is_shown else "evicted"}

    for _ in range(16):
        ctx.add_user_message(words(13))
        ctx.add_assistant_message(words(13))
        ctx.build()
    ctx.compact()
    check(is_shown=True)
    pinned = ctx.add_user_message(words(270), pinned=True)
    assert pinned is not None
    check(is_shown=False)
    ctx.add_assistant_message(words(8))
    check(is_shown=False)
    ctx.remove(pinned.id)
    for _ in range(4):
        ctx.add_user_message(words(31))
        ctx.add_assistant_message(words(31))
        check(is_shown=False)
