"""Rungs and priority rules of a caller's own: what they may decide."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    ContextItem,
    InvalidItemError,
)
from context_builder.hooks import (
    LADDER,
    ContextProvider,
    Hooks,
    Plan,
    Rules,
    Rung,
    Unit,
)
from context_builder.testing import WordCounter, tool_call, turns
from tests import strategies
from tests.checks import MODEL, check_valid
from tests.operations import Op, Session
from tests.recount import recount
from tests.trials import outcome_of, reloaded


def builder(max_tokens: int = 1_500, **hooks: Any) -> ContextBuilder:
    """Return a builder that counts words, with hooks."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), hooks=Hooks(**hooks)
    )


def talk(ctx: ContextBuilder, count: int, words: int = 40) -> None:
    """Have so many turns, each built."""
    for message in turns(count, words=words, tools=True):
        ctx.extend([message])
        ctx.build()


def drop_weather(plan: Plan, rules: Rules) -> Plan:
    """Leave out what the weather tool said, oldest first, until the plan fits."""
    del rules
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index, unit in enumerate(units):
        calls = unit.originals[0].tool_calls
        if excess_tokens > 0 and any(call.name == "weather" for call in calls):
            excess_tokens -= unit.tokens
            units[index] = unit.leave_out("the weather changes anyway")
    return dataclasses.replace(plan, units=tuple(units))


def with_weather(ctx: ContextBuilder, rounds: int = 6) -> None:
    """Have turns in which two tools are asked, one of them about the weather."""
    for number in range(rounds):
        ctx.add_user_message(f"turn {number}")
        for name in ("search", "weather"):
            call_id = f"{name}{number}"
            ctx.add_assistant_message(tool_calls=[tool_call(call_id, name)])
            ctx.add_tool_result(name, f"{name} " * 40, tool_call_id=call_id)
        ctx.add_assistant_message("ok")


def test_a_rung_of_one_s_own_goes_first() -> None:
    """All results of one tool leave before any other is touched."""
    ctx = builder(700, ladder=(Rung(drop_weather, may_be_skipped=False), *LADDER))
    with_weather(ctx)
    report = ctx.explain()
    assert report.compactions
    gone = [o for o in report.removed if o.role == "tool"]
    assert gone
    assert {o.reason for o in gone} == {"the weather changes anyway"}
    assert not ctx.hook_failures


def _grow(plan: Plan, rules: Rules) -> Plan:
    del rules
    units = tuple(
        dataclasses.replace(
            unit, items=tuple(i.with_content("w " * 99) for i in unit.items), sizes=(1,)
        )
        for unit in plan.units
    )
    return dataclasses.replace(plan, units=units, limit_tokens=10**9, fixed_tokens=0)


def _lie(plan: Plan, rules: Rules) -> Plan:
    del rules
    units = tuple(dataclasses.replace(u, sizes=(0,) * len(u.items)) for u in plan.units)
    return dataclasses.replace(plan, units=units)


def _gut(plan: Plan, rules: Rules) -> Plan:
    del rules
    return dataclasses.replace(plan, units=tuple(u.leave_out("") for u in plan.units))


def _part(plan: Plan, rules: Rules) -> Plan:
    del rules

    def cut(unit: Unit) -> Unit:
        return dataclasses.replace(unit, items=unit.items[:1], sizes=unit.sizes[:1])

    return dataclasses.replace(plan, units=tuple(map(cut, plan.units)))


def _swap(plan: Plan, rules: Rules) -> Plan:
    del rules
    return dataclasses.replace(plan, units=plan.units[::-1])


def _fail(plan: Plan, rules: Rules) -> Plan:
    del plan, rules
    raise RuntimeError


def _idle(plan: Plan, rules: Rules) -> Plan:
    del rules
    return plan


@given(
    strategies.logs(),
    strategies.budgets(),
    st.lists(
        st.sampled_from([_grow, _lie, _gut, _part, _swap, _fail, _idle, drop_weather]),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_no_ladder_breaks_a_promise(
    ops: list[Op], budget: int, steps: list[Any], usual: bool
) -> None:
    """Within budget, valid, the essentials there, and the same after a reload."""
    ladder = (*map(Rung, steps), *(LADDER if usual else ()))
    settings: dict[str, Any] = {
        "max_tokens": budget,
        "counter": WordCounter(),
        "hooks": Hooks(ladder=ladder),
    }
    session = Session(ContextBuilder(**settings)).apply(ops)
    ctx = session.ctx
    assert outcome_of(reloaded(ctx, **settings)) == outcome_of(ctx)
    try:
        request, report = ctx.request(model=MODEL), ctx.explain(model=MODEL)
    except (BudgetExceededError, AdapterError):
        return
    check_valid(request)
    assert recount(request, WordCounter().count) <= report.tokens <= budget
    for outcome in report.outcomes:
        assert outcome.reason or outcome.action == "kept"
    for item in session.items():
        if item.pinned and item.role == "user" and not item.cache_key:
            assert item.text[:40].encode("utf-8", "replace").decode() in str(request)


def test_a_ladder_that_frees_nothing_is_followed_by_the_usual_one() -> None:
    """It is never over the budget; what raised is reported."""
    ctx = builder(600, ladder=(Rung(_idle), Rung(_fail)))
    talk(ctx, 20)
    assert ctx.explain().tokens <= 600
    assert {(f.hook, f.name) for f in ctx.hook_failures} == {("ladder", "_fail")}


def test_a_priority_rule_decides_who_leaves() -> None:
    """By item, age and kind; a given priority still wins."""

    def rule(item: ContextItem, age: int, kind: str) -> int | None:
        if "keep me" in item.text:
            return 75
        return 10 if kind == "message" and age > 1 else None

    ctx = builder(400, priority_rule=rule)
    ctx.add_user_message("please keep me around")
    ctx.add_message("user", "rated keep me not", priority=3)
    for message in turns(20, words=40):
        ctx.extend([message])
    report = ctx.explain()
    fates = {outcome.item_id: outcome for outcome in report.outcomes}
    assert (fates["i1"].action, fates["i1"].priority) == ("kept", 75)
    assert (fates["i2"].action, fates["i2"].priority) == ("evicted", 3)
    assert fates["i5"].priority == 10
    assert report.compactions


@pytest.mark.parametrize("value", [101, -1, True, "high", 2.5])
def test_a_rule_that_is_wrong_counts_for_nothing(value: Any) -> None:
    """The usual priorities hold, and it is reported."""
    ctx = builder(600, priority_rule=lambda *_: value)
    plain = builder(600)
    for each in (ctx, plain):
        talk(each, 20)
    assert ctx.build() == plain.build()
    assert {f.hook for f in ctx.hook_failures} == {"priority_rule"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"ladder": ()},
        {"ladder": (drop_weather,)},
        {"before_build": ("x",)},
        {"on_compaction": (1,)},
        {"on_model_switch": 1},
        {"priority_rule": 7},
        {"context_providers": (lambda: "x",)},
        {
            "context_providers": (
                ContextProvider("a", lambda: "x"),
                ContextProvider("a", lambda: "y"),
            )
        },
    ],
)
def test_hooks_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    """When they are given, not when they would run."""
    with pytest.raises(InvalidItemError):
        builder(**wrong)
    with pytest.raises(InvalidItemError):
        ContextBuilder(max_tokens=100, hooks=wrong)  # type: ignore[arg-type]
