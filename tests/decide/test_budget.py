"""Shares of the budget: soft, and together never more than there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide.budget import allowances, demand, low_mark
from context_builder.items import ContextItem, Plan, Unit, UnitKind
from context_builder.settings import ContextClass, Settings, Shares

CLASSES: tuple[ContextClass, ...] = (
    "system",
    "latest_turn",
    "tool_results",
    "history",
    "background",
)


def needs(*tokens: int) -> dict[ContextClass, int]:
    """Return what each class asks for, in the order of `CLASSES`."""
    return dict(zip(CLASSES, tokens, strict=True))


def unit(number: int, kind: UnitKind, turn: int, tokens: int) -> Unit:
    """Return a unit of so many tokens."""
    items = (ContextItem(role="user", content="x", id=f"i{number}"),)
    return Unit(
        number, items, items, kind, turn, sizes=(tokens,), whole_sizes=(tokens,)
    )


def test_who_needs_less_than_its_share_gets_what_it_needs() -> None:
    """And everybody is content where all fits."""
    asked = needs(100, 100, 100, 100, 10)
    assert allowances(asked, Shares(), 1_000) == asked


def test_what_one_leaves_the_others_may_use() -> None:
    """An unused share flows on, in proportion to the shares of those in need."""
    granted = allowances(needs(0, 0, 9_000, 9_000, 0), Shares(), 11_000)
    assert granted["tool_results"] == pytest.approx(6_000, abs=1)
    assert granted["history"] == pytest.approx(5_000, abs=1)


def test_the_system_gets_all_it_needs() -> None:
    """Nothing of it can yield, so the others share what is left."""
    granted = allowances(needs(900, 500, 500, 500, 500), Shares(), 1_000)
    assert granted["system"] == 900
    assert sum(granted.values()) <= 1_000


@given(
    tokens=st.tuples(*[st.integers(0, 100_000)] * 5),
    limit=st.integers(1, 100_000),
)
def test_what_is_granted_is_never_more_than_asked_or_than_there_is(
    tokens: tuple[int, ...], limit: int
) -> None:
    """No class gets more than it needs, and together they get what there is."""
    asked = needs(*tokens)
    granted = allowances(asked, Shares(), limit)
    assert all(granted[name] <= asked[name] for name in CLASSES)
    assert sum(granted.values()) <= max(limit, asked["system"])


def test_a_share_of_nothing_is_allowed() -> None:
    """A class may have no share at all."""
    shares = Shares(system=0, latest_turn=1, tool_results=0, history=0, background=0)
    granted = allowances(needs(0, 50, 50, 50, 50), shares, 60)
    assert granted["latest_turn"] == 50
    assert sum(granted.values()) <= 60


def test_demand_counts_every_unit_in_its_class() -> None:
    """System is what no step can change; notes count in it as well."""
    plan = Plan(
        units=(
            unit(1, "background", 1, 1),
            unit(2, "note", 1, 2),
            unit(3, "tool", 1, 4),
            unit(4, "message", 1, 8),
            unit(5, "summary", 2, 16),
            unit(6, "message", 2, 32),
            unit(7, "tool", 2, 64),
        ),
        fixed_tokens=100,
        target_tokens=1_000,
        limit_tokens=1_000,
        current_turn=2,
        notice_tokens=7,
        has_gap=True,
    )
    assert demand(plan) == needs(102, 96, 4, 31, 1)
    assert sum(demand(plan).values()) == plan.tokens


def test_the_low_mark_is_a_share_of_the_budget() -> None:
    """By default 65 %, while the part that cannot move is small."""
    assert low_mark(1_000, 100, Settings()) == 650


def test_a_large_fixed_part_leaves_half_of_what_can_move() -> None:
    """Otherwise every message would compact again."""
    assert low_mark(1_000, 800, Settings()) == 900


@pytest.mark.parametrize("untouchable", [0, 500, 1_000, 5_000])
@pytest.mark.parametrize("low_water", [0.01, 0.65, 1.0])
def test_the_low_mark_is_never_over_the_budget(
    untouchable: int, low_water: float
) -> None:
    """Fitting always wins."""
    mark = low_mark(1_000, untouchable, Settings(low_water=low_water))
    assert 0 <= mark <= 1_000
