"""Says plans in few bytes: many items have the same few fates and reasons.

A plan names what became of an item, and why, by numbers into two lists of words. Plans
that are sent together share the lists.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_builder.report import Report

__all__ = ["Plans", "budget_grid", "plan_of"]


class Plans:
    """Plans for the same items, and the words that they share."""

    def __init__(self) -> None:
        self._actions: dict[str, int] = {}
        self._reasons: dict[str, int] = {}

    def add(self, report: Report) -> dict[str, Any]:
        """Return a report as a plan; `fates` has one line an item.

        A fate is: the number of what became of it, its tokens in the request, and the
        number of the reason.
        """
        return {
            "budget_tokens": report.budget_tokens,
            "tokens": report.tokens,
            "compactions": report.compactions,
            "classes": [dataclasses.asdict(use) for use in report.classes],
            "fates": [
                [
                    self._actions.setdefault(outcome.action, len(self._actions)),
                    outcome.tokens_after,
                    self._reasons.setdefault(outcome.reason, len(self._reasons)),
                ]
                for outcome in report.outcomes
            ],
        }

    def words(self) -> dict[str, list[str]]:
        """Return the words that the plans' numbers stand for, so far."""
        return {"actions": list(self._actions), "reasons": list(self._reasons)}


def plan_of(report: Report) -> dict[str, Any]:
    """Return one plan with its words."""
    plans = Plans()
    return {"plan": plans.add(report), **plans.words()}


def budget_grid(report: Report, *, steps: int = 24) -> list[int]:
    """Return budgets that are worth looking at, in tokens, the report's own included.

    They go up by equal factors, from a tenth of the budget to what everything would
    take whole, or to twice the budget.
    """
    fixed = report.tokens - sum(outcome.tokens_after for outcome in report.outcomes)
    whole = fixed + sum(outcome.tokens_before for outcome in report.outcomes)
    lowest = max(1, report.budget_tokens // 10)
    highest = max(2 * report.budget_tokens, min(whole, 100 * report.budget_tokens))
    factor = math.log(highest / lowest) / max(1, steps - 1)
    grid = {round(lowest * math.exp(factor * step)) for step in range(steps)}
    return sorted(grid | {report.budget_tokens})
