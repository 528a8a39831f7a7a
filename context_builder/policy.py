"""Ready-made settings, and the small cost model that their marks come from.

A policy is nothing but `Settings`: take one, and change what you like with
`model_copy(update=...)`. What compacting costs is worked out by `CostModel`, from what
a vendor asks for cached tokens and how fast a session grows; put in your own numbers.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Final

from context_builder.settings import Settings

__all__ = ["CostModel", "Marks", "Policy"]

_LOW_MARKS: Final = tuple(mark / 20 for mark in range(6, 19))
"""From 0.30 to 0.90: finer marks than these are not worth telling apart."""
_INTERVAL_PARTS: Final = 7
"""A step has to put the next compaction off by one part in so many."""
_BALANCED_PREMIUM: Final = 0.30
_CACHE_FIRST_PREMIUM: Final = 0.15
_QUALITY_FIRST_PREMIUM: Final = 0.60


@dataclasses.dataclass(frozen=True, slots=True)
class Marks:
    """Where a compaction goes down to, and what makes it worth it.

    Shares of the input budget.
    """

    low_water: float
    batch_share: float
    """What one compaction frees: the budget less the low mark."""
    min_gain_share: float
    """A step that frees less is skipped while a later one can reach the low mark."""


@dataclasses.dataclass(frozen=True, slots=True)
class CostModel:
    """What a session costs whose beginning is cached, call by call.

    Between two compactions a request grows from the low mark to the budget. What it
    shares with the one before is billed at the cached price. A compaction changes the
    conversation from its beginning, so that the call after it pays the full price for
    all but the system prompt and the tools. The higher the low mark, the more is kept,
    and the sooner the next compaction comes.
    """

    cached_price_share: float = 0.10
    """What a cached input token costs, as a share of one that is not."""
    cache_lifetime_seconds: float = 300
    """How long the vendor keeps a beginning that nobody asks for."""
    seconds_between_calls: float = 30
    """The mean time between two calls of one session."""
    growth_share: float = 0.02
    """What comes in between two calls, as a share of the budget."""
    head_share: float = 0.10
    """System prompt and tools, as a share of the budget: cached all the time."""

    def __post_init__(self) -> None:
        limits = {
            "cached_price_share": (0.0, 1.0),
            "cache_lifetime_seconds": (0.0, math.inf),
            "seconds_between_calls": (0.0, math.inf),
            "growth_share": (1e-6, 1.0),
            "head_share": (0.0, 1.0),
        }
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if not least <= value <= most:
                message = f"{name} must be from {least:g} to {most:g}, not {value!r}"
                raise ValueError(message)

    @property
    def price_share(self) -> float:
        """What a token of the beginning costs on average, some calls finding it cold.

        Times between calls vary: a call finds the cache warm with the chance that an
        exponential wait is shorter than the lifetime.
        """
        if not self.seconds_between_calls:
            return self.cached_price_share
        waits = self.cache_lifetime_seconds / self.seconds_between_calls
        cold = math.exp(-waits)
        return cold + (1 - cold) * self.cached_price_share

    def premium(self, low_water: float) -> float:
        """Return what compactions add to the bill, as a share of it without them.

        Args:
            low_water: What a compaction goes down to, as a share of the budget.
        """
        saved = 1 - self.price_share
        calls = max(1.0, (1 - low_water) / self.growth_share)
        broken = saved * max(0.0, low_water - self.head_share) / calls
        unbroken = self.price_share * (1 + low_water) / 2 + saved * self.growth_share
        return broken / unbroken

    def marks(self, most_premium: float) -> Marks:
        """Return the highest marks whose compactions add no more than this to the bill.

        Args:
            most_premium: What keeping more is worth, as a share of the bill of a
                session that is never compacted. Where even the lowest mark costs more,
                that one is returned.
        """
        low = max(
            (mark for mark in _LOW_MARKS if self.premium(mark) <= most_premium),
            default=_LOW_MARKS[0],
        )
        batch = round(1 - low, 2)
        return Marks(
            low_water=low,
            batch_share=batch,
            min_gain_share=round(batch / _INTERVAL_PARTS, 2),
        )


_USUAL: Final = CostModel()


class Policy:
    """Settings for a purpose: `ContextBuilder(settings=Policy.cache_first())`."""

    @staticmethod
    def balanced(costs: CostModel = _USUAL) -> Settings:
        """Return the default: much is kept, and compactions add a third to the bill."""
        marks = costs.marks(_BALANCED_PREMIUM)
        return Settings(low_water=marks.low_water, min_gain_share=marks.min_gain_share)

    @staticmethod
    def cache_first(costs: CostModel = _USUAL) -> Settings:
        """Return settings that compact rarely, and recall only a little.

        For long runs of agents whose bill counts: compactions go deeper, so that the
        vendor's cache is emptied about half as often.
        """
        marks = costs.marks(_CACHE_FIRST_PREMIUM)
        return Settings(
            low_water=marks.low_water,
            min_gain_share=marks.min_gain_share,
            recall_share=0.20,
        )

    @staticmethod
    def quality_first(costs: CostModel = _USUAL) -> Settings:
        """Return settings that keep the most, and pay for it.

        For sessions where a forgotten detail costs more than tokens do: compactions
        free little at a time, and more of what left may come back.
        """
        marks = costs.marks(_QUALITY_FIRST_PREMIUM)
        return Settings(
            low_water=marks.low_water,
            min_gain_share=marks.min_gain_share,
            recall_share=0.75,
            reference_facts_tokens=240,
        )

    @staticmethod
    def classic() -> Settings:
        """Return the plain rules of simple agents: fixed, and blind to content.

        Priorities do not fall with age. Tool results are cut to 400 characters when
        they come in, and only the newest three stay; the first 3 and the last 47
        messages stay around a marker. Nothing is recalled.
        """
        return Settings(
            decay_per_turn=0,
            recall_share=0.0,
            digest_share=0.0,
            reference_facts_tokens=0,
            tool_result_max_chars=400,
            keep_tool_results=3,
            keep_first_messages=3,
            keep_last_messages=47,
        )
