"""Every default of summarising once, named, with its unit."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["SummaryPolicy"]

_WINDOW_SHARE = 0.25
"""Most of the summariser's window that its answer takes."""


class SummaryPolicy(BaseModel):
    """When a model is asked for a summary, how long that takes, how large it may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_share: float = Field(default=0.15, gt=0, le=0.5)
    """Most of the input budget that the summary takes."""
    min_tokens: int = Field(default=200, ge=1)
    """Less than this, newly left out, is not worth a call: the digest tells of it."""
    prepare_share: float = Field(default=0.8, gt=0, le=1)
    """From this share of the budget up, a summary is prepared ahead, where asked to."""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """How long a build waits for a summary, all calls together."""
    summarizer_window_tokens: int = Field(default=32_000, ge=2_000)
    """The summariser's own context window; longer input is worked off in chunks."""
    result_tokens: int = Field(default=400, ge=20)
    """Longer tool results and arguments are shown shortened to the summariser."""
    max_chunks: int = Field(default=8, ge=1)
    """Most chunks in one go; what is left waits for the next compaction."""
    max_refusals: int = Field(default=3, ge=1)
    """So many refusals in a row open the breaker: it is not asked for a while."""
    pause_compactions: int = Field(default=3, ge=1)
    """Compactions that an open breaker waits before it lets one more try through."""

    def max_tokens(self, budget_tokens: int) -> int:
        """Return what a summary may take of an input budget, at least one token."""
        most = int(self.summarizer_window_tokens * _WINDOW_SHARE)
        return max(1, min(int(budget_tokens * self.max_share), most))
