"""Policies are settings, and their marks come from what compacting costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import ContextBuilder, Policy, Settings
from context_builder.policy import CostModel
from context_builder.replay.policies import POLICIES
from context_builder.testing import WordCounter, turns

SHARES = st.floats(0.0, 1.0)
MODELS = st.builds(
    CostModel,
    cached_price_share=SHARES,
    cache_lifetime_seconds=st.floats(1, 10_000),
    seconds_between_calls=st.floats(0, 10_000),
    growth_share=st.floats(0.001, 0.5),
    head_share=st.floats(0, 0.9),
)


def simulated(model: CostModel, low_water: float, calls: int = 20_000) -> float:
    """Return the bill of many calls, compacted, over that of the same never broken."""
    price, size, cached = model.cached_price_share, low_water, 0.0
    billed = unbroken = 0.0
    for _ in range(calls):
        size += model.growth_share
        if size > 1:
            size, cached = low_water, model.head_share
        billed += price * cached + (size - cached)
        unbroken += price * size + (1 - price) * model.growth_share
        cached = size
    return billed / unbroken


@pytest.mark.parametrize("low_water", [0.45, 0.65, 0.8])
def test_the_premium_is_what_a_simulation_pays(low_water: float) -> None:
    """Within a few points: the formula leaves out that calls are whole."""
    model = CostModel()
    paid = simulated(model, low_water) - 1
    assert model.premium(low_water) == pytest.approx(paid, abs=0.05)


@given(MODELS, st.floats(0.0, 2.0), st.floats(0.0, 2.0))
def test_who_pays_more_keeps_more(model: CostModel, one: float, other: float) -> None:
    """A larger premium never gives a lower mark, and marks make sense."""
    less, more = (model.marks(premium) for premium in sorted((one, other)))
    assert less.low_water <= more.low_water
    for marks in (less, more):
        assert 0.3 <= marks.low_water <= 0.9
        assert marks.low_water + marks.batch_share == pytest.approx(1)
        assert 0 < marks.min_gain_share < marks.batch_share
        Settings(low_water=marks.low_water, min_gain_share=marks.min_gain_share)


@given(MODELS, st.floats(0.0, 2.0))
def test_the_highest_mark_that_is_cheap_enough_is_taken(
    model: CostModel, premium: float
) -> None:
    """The next one up would cost more."""
    low = model.marks(premium).low_water
    assert low == 0.3 or model.premium(low) <= premium
    assert low >= 0.9 or model.premium(round(low + 0.05, 2)) > premium


def test_a_cache_that_saves_nothing_costs_nothing_to_break() -> None:
    """Where calls find the cache cold, or cached tokens cost the same."""
    for model in (
        CostModel(cached_price_share=1.0),
        CostModel(cache_lifetime_seconds=0),
    ):
        assert model.premium(0.9) == 0
        assert Policy.cache_first(model).low_water == 0.9


def test_faster_growth_and_dearer_breaks_lower_the_mark() -> None:
    """The more often the mark is met, and the more a break costs."""
    slow, fast = CostModel(growth_share=0.005), CostModel(growth_share=0.1)
    assert fast.marks(0.3).low_water < slow.marks(0.3).low_water
    cheap = CostModel(cached_price_share=0.02)
    assert cheap.marks(0.3).low_water < CostModel().marks(0.3).low_water


@pytest.mark.parametrize(
    "wrong",
    [
        {"cached_price_share": 1.5},
        {"growth_share": 0.0},
        {"head_share": -0.1},
        {"seconds_between_calls": -1.0},
        {"cache_lifetime_seconds": float("nan")},
    ],
)
def test_a_model_refuses_what_makes_no_sense(wrong: dict[str, float]) -> None:
    """Early, and says why."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CostModel(**wrong)


def test_the_default_is_the_balanced_policy() -> None:
    """Its marks are what the cost model says of the usual case."""
    assert Policy.balanced() == Settings()
    assert Policy.cache_first().low_water < Settings().low_water
    assert Policy.quality_first().low_water > Settings().low_water


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_keeps_within_its_budget(policy: str) -> None:
    """And the latest question stays, pairs stay whole."""
    ctx = ContextBuilder(
        max_tokens=700, counter=WordCounter(), settings=POLICIES[policy]()
    )
    for number in range(12):
        ctx.extend(turns(3, words=20, tools=True))
        ctx.add_user_message(f"question {number}")
        messages = ctx.build()
        assert messages[-1]["content"] == f"question {number}"
        report = ctx.explain()
        assert report.tokens <= 700
        calls = [call["id"] for one in messages for call in one.get("tool_calls") or ()]
        answered = [one["tool_call_id"] for one in messages if one["role"] == "tool"]
        assert calls == answered


def test_policies_compact_as_often_as_they_say() -> None:
    """Cache first rarely, quality first often, balanced between."""
    counts: dict[str, int] = {}
    for name in ("cache_first", "balanced", "quality_first"):
        settings = POLICIES[name]().model_copy(update={"recall_share": 0.0})
        ctx = ContextBuilder(max_tokens=800, counter=WordCounter(), settings=settings)
        for message in turns(150, words=20):
            ctx.extend([message])
        counts[name] = ctx.explain().compactions
    assert 0 < counts["cache_first"] < counts["balanced"] < counts["quality_first"]


def long_session(**settings: Any) -> ContextBuilder:
    """Return a session of forty turns with tools, within a wide budget."""
    chosen = Policy.classic().model_copy(update=settings)
    ctx = ContextBuilder(max_tokens=90_000, counter=WordCounter(), settings=chosen)
    ctx.extend(turns(40, words=80, tools=True))
    return ctx


def test_the_classic_policy_goes_by_fixed_rules() -> None:
    """First 3 and last 47 messages, the newest 3 results, 400 characters each."""
    messages = long_session().build()
    marker = [n for n, m in enumerate(messages) if "[snipped" in str(m["content"])]
    assert len(marker) == 1
    assert len(messages[marker[0] + 1 :]) in (47, 48)
    results = [str(m["content"]) for m in messages if m["role"] == "tool"]
    assert all("left out; it can be fetched again" in text for text in results[:-3])
    assert not any("can be fetched again" in text for text in results[-3:])
    ratings = {
        one.priority for one in long_session().explain().outcomes if one.role == "user"
    }
    assert ratings == {70, 90}
