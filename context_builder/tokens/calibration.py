"""Learns from bills how far an estimate is off, for one model in one session.

A bill is what a vendor counted for a request that was counted here as well. Their ratio
is smoothed, as requests differ in what they hold, and kept within bounds, as no
estimate is further off: such a figure is about something else. Pure: who keeps the
state decides when it changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Calibration", "calibrated"]

SMOOTHING_SHARE = 0.3
"""How much a new bill counts against all former ones."""
LOWEST_RATIO = 0.7
HIGHEST_RATIO = 1.6
MIN_TOKENS = 50
"""Bills of smaller requests say nothing: one token more or less is no measure."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many of the vendor's tokens one of ours stands for."""

    ratio: float = 1.0
    bills: int = 0
    """From how many bills it was learned."""

    def billed(self, tokens: int) -> int:
        """Return what a count of ours is likely to be billed as, rounded up."""
        return math.ceil(tokens * self.ratio)

    def counted(self, tokens: int) -> int:
        """Return how much may be counted here so that no more than that is billed."""
        return math.floor(tokens / self.ratio)


def calibrated(
    former: Calibration, *, billed_tokens: int, estimated_tokens: int
) -> Calibration:
    """Return the calibration with one more bill.

    Args:
        former: What was known before; `Calibration()` at first.
        billed_tokens: All input that the vendor counted, cached tokens included.
        estimated_tokens: What was counted here of the very same request.
    """
    if min(billed_tokens, estimated_tokens) < MIN_TOKENS:
        return former
    seen = _bounded(billed_tokens / estimated_tokens)
    ratio = former.ratio + SMOOTHING_SHARE * (seen - former.ratio)
    return Calibration(_bounded(ratio), former.bills + 1)


def _bounded(ratio: float) -> float:
    return min(HIGHEST_RATIO, max(LOWEST_RATIO, ratio))
