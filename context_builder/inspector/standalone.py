"""Works out all that a page of its own can be asked for: it cannot ask again."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from context_builder.errors import ContextBuilderError
from context_builder.inspector.models import model_for
from context_builder.inspector.plans import Plans, budget_grid
from context_builder.inspector.window import item_text, items_of, window_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from context_builder.builder import ContextBuilder
    from context_builder.inspector.requests import Timeline

__all__ = ["standalone_data"]


def standalone_data(
    ctx: ContextBuilder,
    timeline: Timeline,
    *,
    target: str,
    targets: Iterable[str],
) -> dict[str, Any]:
    """Return what the page shows of a session.

    Args:
        ctx: The session.
        timeline: The same conversation, followed to its end, with its differences.
        target: The vendor whose request is explained.
        targets: The vendors whose requests can be looked at.

    Raises:
        BudgetExceededError: If what may not be left out is larger than the budget.
        AdapterError: If the vendor cannot express it.
    """
    window = window_of(ctx, target=target)
    report = ctx.explain(target)
    plans = Plans()
    window["plan"] = plans.add(report)
    window["items"] = items_of(ctx, report)
    budgets = budget_grid(report)
    planned = {
        str(budget): _or_problem(partial(_planned, ctx, target, budget, plans))
        for budget in budgets
        if budget != report.budget_tokens
    }
    window |= plans.words()
    asked = timeline.asking(ctx)
    return {
        "window": window,
        "budgets": budgets,
        "plans": planned,
        "timeline": {
            "requests": [dataclasses.asdict(one) for one in timeline.requests]
        },
        "differences": {
            str(number): dataclasses.asdict(found)
            for number, found in timeline.differences.items()
        },
        "bodies": {name: _or_problem(partial(_body, asked, name)) for name in targets},
        "texts": {item.id: item_text(item) for item in ctx.items},
    }


def _planned(
    ctx: ContextBuilder, target: str, budget: int, plans: Plans
) -> dict[str, Any]:
    return plans.add(ctx.plan(target, what_if_max_tokens=budget))


def _body(ctx: ContextBuilder, target: str) -> dict[str, Any]:
    return ctx.request(target, model=model_for(target, ctx.model))


def _or_problem(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except ContextBuilderError as error:
        return {"problem": str(error)}
