"""The ladder, and how a plan goes down it. The whole algorithm is here.

A compaction takes the cheapest loss first and stops as soon as the low mark is reached.
Rungs marked `needs_limit` touch what the user is waiting for: they are taken only while
the request does not fit at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.decide.clear import clear_old_results, keep_newest_results
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
from context_builder.decide.evict import (
    drop_optional,
    drop_summary,
    evict_least_important,
)
from context_builder.decide.passing import drop_latest_values, drop_passing
from context_builder.decide.rules import Rules, Rung, Step
from context_builder.decide.window import slide_window

if TYPE_CHECKING:
    from context_builder.items import Plan

__all__ = ["LADDER", "STANDING", "Rung", "descend"]


LADDER: tuple[Rung, ...] = (
    Rung(drop_passing, may_be_skipped=False),
    Rung(drop_optional),
    Rung(drop_superseded),
    Rung(clear_old_results),
    Rung(shorten_results_over_share),
    Rung(evict_least_important, may_be_skipped=False),
    Rung(clear_current_rounds, needs_limit=True),
    Rung(shorten_current_results, needs_limit=True),
    Rung(drop_summary, needs_limit=True),
    Rung(evict_current_rounds, needs_limit=True),
    Rung(shorten_latest_round, needs_limit=True),
    Rung(drop_latest_values, needs_limit=True),
    Rung(drop_notice, needs_limit=True),
    Rung(shorten_latest_user, needs_limit=True),
    Rung(keep_only_the_question, needs_limit=True),
)
"""From the cheapest loss to the dearest."""

STANDING: tuple[tuple[Step, str], ...] = (
    (slide_window, "the sliding window moved"),
    (keep_newest_results, "older results became references"),
)
"""Steps for those who ask for them: taken at every entry, whatever the budget is, each
with what is said where it changed something."""


def descend(plan: Plan, rules: Rules, ladder: tuple[Rung, ...] | None = None) -> Plan:
    """Take the cheapest loss first, until the plan fits or the ladder ends.

    A rung that frees little is skipped where the later ones reach the low mark without
    it. Where somebody's own ladder ends over the limit, the usual one goes on from
    there. The result may still be over the limit: then nothing more can be done.
    """
    ladder = ladder or rules.ladder or LADDER
    lower = _descend(plan, rules, ladder)
    if lower.fits_limit or ladder is LADDER:
        return lower
    return _descend(lower, rules, LADDER)


def _descend(plan: Plan, rules: Rules, ladder: tuple[Rung, ...]) -> Plan:
    least_tokens = int(plan.limit_tokens * rules.settings.min_gain_share)
    thrifty = _walk(plan, rules, ladder, least_tokens)
    return thrifty if thrifty.fits else _walk(plan, rules, ladder, 0)


def _walk(
    plan: Plan, rules: Rules, ladder: tuple[Rung, ...], least_tokens: int
) -> Plan:
    tokens = plan.tokens  # a sum over all units: once for each plan
    for rung in ladder:
        if _may_stop(plan, tokens, rung):
            break
        lower = rung.step(plan, rules)
        if lower is plan:
            continue
        lower_tokens = lower.tokens
        if (
            not rung.may_be_skipped
            or tokens - lower_tokens >= least_tokens
            or lower_tokens + lower.reserve_tokens <= lower.target_tokens
        ):
            plan, tokens = lower, lower_tokens
    return plan


def _may_stop(plan: Plan, tokens: int, rung: Rung) -> bool:
    """Say whether a plan of so many tokens needs a rung no more."""
    fits = tokens + plan.reserve_tokens <= plan.target_tokens
    return fits or (rung.needs_limit and tokens <= plan.limit_tokens)
