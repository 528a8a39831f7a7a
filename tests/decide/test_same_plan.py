"""What is not done twice: sums of a plan, references, and what finds nothing to do."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from context_builder import ContextBuilder
from context_builder.decide.clear import clear_old_results, to_reference
from context_builder.decide.dedup import drop_superseded
from context_builder.decide.evict import drop_optional, evict_least_important
from context_builder.decide.passing import drop_passing
from context_builder.decide.rules import Memo, Rules
from context_builder.settings import Settings
from context_builder.testing import WordCounter, tool_call, turns
from tests.decide.test_rungs import RULES, Ruler, answer, memory, plan, tools, user
from tests.test_complexity import calls_of

if TYPE_CHECKING:
    from context_builder.decide.rules import Step


@pytest.mark.parametrize(
    "step", [drop_passing, drop_optional, drop_superseded, clear_old_results]
)
def test_a_rung_that_finds_nothing_returns_the_same_plan(step: Step) -> None:
    """There is nothing to count anew, and nothing to go on with."""
    before = plan(user(1, 1), answer(2, 1), user(3, 2), tools(4, 2, 9), target=1)
    assert step(before, RULES) is before


@pytest.mark.parametrize("step", [drop_optional, clear_old_results])
def test_a_rung_that_finds_something_returns_another(step: Step) -> None:
    """Its tokens are those of what is left."""
    before = plan(memory(1), tools(2, 1, 90), user(5, 2), target=1)
    after = step(before, RULES)
    assert after.tokens == sum(unit.tokens for unit in after.units) < before.tokens


def test_a_plan_adds_its_units_up_once() -> None:
    """It is asked at every rung; a plan made from it adds up its own."""
    units = [answer(number, 1) for number in range(40)]
    asked = plan(*units, target=1)
    tokens = sum(unit.tokens for unit in units)
    assert asked.tokens == tokens
    assert calls_of(lambda: asked.tokens) < 5
    fewer = dataclasses.replace(asked, units=asked.units[1:], fixed_tokens=3)
    assert fewer.tokens == 3 + tokens - units[0].tokens
    assert (
        dataclasses.replace(asked, has_gap=True, notice_tokens=7).tokens == tokens + 7
    )
    assert asked == plan(*units, target=1)  # whether it was asked makes no difference


def test_a_reference_that_lasts_is_made_once() -> None:
    """For who takes a session over again and again; others make it per compaction."""
    memo: Memo = {}
    unit = tools(1, 1, 200)
    first, second = (Rules(Ruler(), Settings(), lasting=memo) for _ in range(2))
    assert to_reference(unit, first) is to_reference(unit, second)
    assert len(memo) == 1
    assert to_reference(unit, RULES) == to_reference(unit, first)
    RULES.memo.clear()


def test_what_is_left_out_is_rated_once_a_rung() -> None:
    """Somebody's own rule may be slow."""
    asked: list[str] = []

    def rated(item: object, age: int, kind: str) -> int | None:
        del item, age
        asked.append(kind)
        return 10

    units = [answer(number, 1) for number in range(9)]
    rules = Rules(Ruler(), Settings(), priority_rule=rated)
    after = evict_least_important(plan(*units, user(9, 2), target=1), rules)
    assert not any(unit.is_shown for unit in after.units[:-1])
    assert len(asked) <= 2 * len(units)  # to put them in order, and when their turn is


# --- while calls wait ---------------------------------------------------------------


def waiting(max_tokens: int) -> ContextBuilder:
    """Return a session of which the newest call waits for its result."""
    ctx = ContextBuilder(max_tokens=max_tokens, counter=WordCounter())
    ctx.extend(turns(12, words=20))
    ctx.add_user_message("look it up")
    ctx.add_assistant_message(tool_calls=[tool_call("c1", "look_up")])
    return ctx


def test_a_request_in_between_is_decided_on_a_copy_only_where_it_has_to_be() -> None:
    """Where all fits, there is nothing to decide."""
    for max_tokens, is_copied in ((5_000, False), (150, True)):
        ctx = waiting(max_tokens)
        ctx.build()
        fold = next(iter(ctx._targets.values())).fold
        fold.limit_tokens = max_tokens if not is_copied else fold.tokens - 1
        assert (fold.settled() is not fold) is is_copied


def test_a_result_costs_no_more_where_much_has_left() -> None:
    """What is told of what left is not gone through for a call that waited."""

    def calls(count: int) -> int:
        ctx = ContextBuilder(max_tokens=1_500, counter=WordCounter())
        for number in range(count):
            names = " ".join(f"item_{number}_{near}" for near in range(20))
            ctx.add_user_message(f"look for {names}")
            ctx.add_assistant_message("done " * 20)
        ctx.build()
        ctx.add_assistant_message(tool_calls=[tool_call("c1", "look_up")])
        ctx.build()
        ctx.add_tool_result("look_up", "found", tool_call_id="c1")
        return calls_of(ctx.build)

    assert calls(120) < 1.5 * calls(30)
