"""The ladder, and how a plan goes down it. The whole algorithm is here.

A compaction takes the cheapest loss first and stops as soon as the low mark is reached.
Rungs marked `needs_limit` touch what the user is waiting for: they are taken only while
the request does not fit at all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.clear import clear_old_results
from context_builder.decide.current import (
    clear_current_rounds,
    drop_notice,
    evict_current_rounds,
    keep_only_the_question,
    shorten_current_results,
    shorten_latest_round,
    shorten_latest_user,
    shorten_results_over_share,
)
from context_builder.decide.dedup import drop_superseded
from context_builder.decide.evict import drop_optional, evict_least_important
from context_builder.decide.rules import Rules, Step

if TYPE_CHECKING:
    from context_builder.items import Plan

__all__ = ["LADDER", "Rung", "descend"]


@dataclasses.dataclass(frozen=True, slots=True)
class Rung:
    """A step of the ladder, and when it may be taken."""

    step: Step
    needs_limit: bool = False
    """Only while the plan is over the budget itself, not just over the low mark."""
    may_be_skipped: bool = True
    """Whether it is skipped for a small gain. Not where the less important would then
    outlive the more important."""


LADDER: tuple[Rung, ...] = (
    Rung(drop_optional),
    Rung(drop_superseded),
    Rung(clear_old_results),
    Rung(shorten_results_over_share),
    Rung(evict_least_important, may_be_skipped=False),
    Rung(clear_current_rounds, needs_limit=True),
    Rung(shorten_current_results, needs_limit=True),
    Rung(evict_current_rounds, needs_limit=True),
    Rung(shorten_latest_round, needs_limit=True),
    Rung(drop_notice, needs_limit=True),
    Rung(shorten_latest_user, needs_limit=True),
    Rung(keep_only_the_question, needs_limit=True),
)
"""From the cheapest loss to the dearest."""


def descend(plan: Plan, rules: Rules, ladder: tuple[Rung, ...] = LADDER) -> Plan:
    """Take the cheapest loss first, until the plan fits or the ladder ends.

    A rung that frees little is skipped where the later ones reach the low mark without
    it. The result may still be over the limit: then nothing more can be done.
    """
    least_tokens = int(plan.limit_tokens * rules.settings.min_gain_share)
    thrifty = _walk(plan, rules, ladder, least_tokens)
    return thrifty if thrifty.fits else _walk(plan, rules, ladder, 0)


def _walk(
    plan: Plan, rules: Rules, ladder: tuple[Rung, ...], least_tokens: int
) -> Plan:
    for rung in ladder:
        if plan.fits or (rung.needs_limit and plan.fits_limit):
            break
        lower = rung.step(plan, rules)
        gain_tokens = plan.tokens - lower.tokens
        if lower.fits or not rung.may_be_skipped or gain_tokens >= least_tokens:
            plan = lower
    return plan
