"""Decides whether to ask again after what became of earlier wishes. Pure.

Time is told in compactions, not in seconds, so that a session that is played again asks
at the same places. Nobody is asked twice about the same messages.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.summarizers.settings import SummaryPolicy

__all__ = ["Attempt", "BreakerState", "breaker_state", "may_ask"]

BreakerState = Literal["closed", "open", "half_open"]
"""`closed`: ask. `open`: do not. `half_open`: let one try through."""


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """A wish for a summary, and what became of it."""

    accepted: bool
    covered: tuple[str, ...]
    """The ids of the items that it was about."""
    compactions: int
    """How many compactions had left something out by then."""


def breaker_state(
    attempts: Sequence[Attempt], *, compactions: int, policy: SummaryPolicy
) -> BreakerState:
    """Say whether refusals in a row have opened the breaker.

    Args:
        attempts: The past ones, oldest first; the last `max_refusals` are enough.
        compactions: How many compactions have left something out until now.
        policy: How many refusals open it, and how long it stays open.
    """
    tail = attempts[-policy.max_refusals :]
    if len(tail) < policy.max_refusals or any(attempt.accepted for attempt in tail):
        return "closed"
    waited = compactions - tail[-1].compactions
    return "half_open" if waited >= policy.pause_compactions else "open"


def may_ask(
    attempts: Sequence[Attempt],
    wanted: Sequence[str],
    *,
    compactions: int,
    policy: SummaryPolicy,
) -> bool:
    """Say whether the summariser is to be asked about these items now.

    After each attempt, something more has to be left out before the next.

    Args:
        attempts: The past ones, oldest first.
        wanted: The ids of the items that left and that no summary covers.
        compactions: How many compactions have left something out until now.
        policy: How many refusals open the breaker, and how long it stays open.
    """
    if not wanted:
        return False
    if not attempts:
        return True
    last = attempts[-1]
    if compactions <= last.compactions or set(wanted) <= set(last.covered):
        return False
    state = breaker_state(attempts, compactions=compactions, policy=policy)
    return state != "open"
