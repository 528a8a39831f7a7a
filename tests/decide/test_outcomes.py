"""Outcomes: every item once, in order, with what it takes and why."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder import ContextBuilder, InvalidItemError, Outcome, Settings
from context_builder.render import adapter_for
from context_builder.testing import WordCounter, tool_call, turns


def builder(max_tokens: int = 100_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), settings=Settings(**settings)
    )


def outcome(ctx: ContextBuilder, item_id: str) -> Outcome:
    """Return what became of an item."""
    return next(one for one in ctx.explain().outcomes if one.item_id == item_id)


def test_every_item_has_one_outcome_in_order() -> None:
    """The system prompt first, then as they came in."""
    ctx = builder(500)
    ctx.add_system_prompt("be brief")
    ctx.add_memory("tea")
    ctx.extend(turns(20, tools=True))
    ids = [one.item_id for one in ctx.explain().outcomes]
    assert ids == [item.id for item in ctx.items]


def test_what_was_taken_out_has_no_outcome() -> None:
    """It is not part of the conversation any more."""
    ctx = builder()
    ctx.extend(turns(3))
    ctx.remove("i2")
    ctx.rewind("i4")
    assert [one.item_id for one in ctx.explain().outcomes] == ["i1", "i3", "i4"]
    ctx.clear()
    assert ctx.explain().outcomes == ()


@pytest.mark.parametrize("budget", [200, 400, 800, 5_000])
@pytest.mark.parametrize("model", [None, "gpt-4o"])
def test_the_tokens_of_the_outcomes_add_up_to_the_request(
    budget: int, model: str | None
) -> None:
    """Items, the fixed parts and the notice are the whole, and a recount agrees."""
    counter = WordCounter() if model is None else None
    ctx = ContextBuilder(
        max_tokens=budget,
        model=model or "gpt-4o",
        counter=counter,
        system_prompt="Brief.",
    )
    ctx.set_tools([{"name": "search", "description": "finds things"}])
    ctx.extend(turns(20, tools=True))
    report = ctx.explain()
    items = sum(one.tokens_after for one in report.outcomes if one.role != "system")
    rest = sum(size for name, size in report.parts.items() if name != "messages")
    assert items + rest == report.tokens <= budget
    adapter = adapter_for("openai")
    count = (counter or adapter.counter("gpt-4o")).count
    assert adapter.request_tokens(ctx.request(), count) == report.tokens


def test_each_action_is_told_with_its_reason() -> None:
    """Kept has none; everything else says why."""
    ctx = builder(820)
    ctx.add_memory("background " * 40)
    ctx.extend(turns(2, words=100, tools=True))
    ctx.extend(turns(1, words=100))
    ctx.add_user_message("last " * 20)
    outcomes = ctx.explain().outcomes
    assert {one.action for one in outcomes} >= {"kept", "evicted", "referenced"}
    for one in outcomes:
        assert bool(one.reason) is (one.action != "kept")
        assert one.tokens_after <= one.tokens_before
        assert (one.tokens_after == 0) is (one.action == "evicted")


def test_what_is_left_out_as_a_double_says_of_what() -> None:
    """The reason names the other item."""
    ctx = builder()
    ctx.add_memory("tea", cache_key="k")
    ctx.add_memory("tea", cache_key="k")
    double = outcome(ctx, "i2")
    assert (double.action, double.tokens_after) == ("deduplicated", 0)
    assert "i1" in double.reason


def test_the_classes_add_up_to_the_request() -> None:
    """Each unit counts in one class, beside its share."""
    ctx = builder(600)
    ctx.add_system_prompt("be brief")
    ctx.add_memory("tea")
    ctx.extend(turns(10, tools=True))
    report = ctx.explain()
    assert sum(use.tokens for use in report.classes) == report.tokens
    assert sum(use.share_tokens for use in report.classes) <= 600


def test_history_is_told_with_the_priority_it_has_now() -> None:
    """Priorities decay with age, and the report says how far."""
    ctx = builder()
    ctx.extend(turns(3))
    assert [one.priority for one in ctx.explain().outcomes] == [60, 60, 65, 65, 90, 70]


def test_a_superseded_result_is_not_told_as_kept() -> None:
    """Not even when it had to be repaired, and its call is edited."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    old = ctx.add_tool_result("search", "old \0", tool_call_id="a", cache_key="k")
    ctx.add_memory("new", cache_key="k")
    ctx.edit("i2", content="Let me see.")
    assert outcome(ctx, old.id).action == "deduplicated"


def test_a_repair_is_told_even_of_what_was_shortened() -> None:
    """Broken input is repaired, and the repair is reported."""
    ctx = builder(tool_result_max_chars=20)
    ctx.add_user_message("go")
    orphan = ctx.add_tool_result("search", "word " * 50)
    assert "nobody asked for it" in outcome(ctx, orphan.id).reason


def test_a_source_of_ones_own_hides_no_item() -> None:
    """The names of the library's own items are refused: every item has an outcome."""
    ctx = builder()
    with pytest.raises(InvalidItemError):
        ctx.add_message("user", "x", source="repair")


def test_of_a_result_that_was_cut_and_then_cleared_the_clearing_is_told() -> None:
    """The heavier loss is told: a reference is not called shortened."""
    ctx = builder(640, recall_share=0)
    ctx.add_user_message("What broke?")
    ctx.add_assistant_message(tool_calls=[tool_call("call_1", "read_log")])
    ctx.add_tool_result("read_log", "\n".join(f"step {n}: ok" for n in range(400)))
    assert outcome(ctx, "i3").action == "shortened"
    ctx.add_assistant_message("Nothing broke.")
    ctx.add_user_message("And now? " + "Look again. " * 40)
    told = outcome(ctx, "i3")
    assert "left out; it can be fetched again" in str(ctx.build())
    assert told.action == "referenced"
    assert told.reason == "over budget: an older result, replaced by a reference"
