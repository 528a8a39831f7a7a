"""Plays recorded conversations as an agent would, and measures what the model saw.

Evidence kept, tokens sent, what the prompt cache serves, what is billed: for the
library, and for the plain windows that it is compared with. It calls no model.
"""

from context_builder.replay.chart import Chart, chart_html, chart_png
from context_builder.replay.judge import Kept
from context_builder.replay.play import CACHED_PRICE, Budget, Call, Played, play
from context_builder.replay.policies import POLICIES
from context_builder.replay.run import replay
from context_builder.replay.strategies import (
    BuilderStrategy,
    Player,
    Recency,
    Strategy,
    Window,
)
from context_builder.replay.totals import (
    EvidenceTotal,
    Totals,
    cost_ratio,
    evidence_totals,
    totals,
)
from context_builder.replay.transcripts import Transcript

__all__ = [
    "CACHED_PRICE",
    "POLICIES",
    "Budget",
    "BuilderStrategy",
    "Call",
    "Chart",
    "EvidenceTotal",
    "Kept",
    "Played",
    "Player",
    "Recency",
    "Strategy",
    "Totals",
    "Transcript",
    "Window",
    "chart_html",
    "chart_png",
    "cost_ratio",
    "evidence_totals",
    "play",
    "replay",
    "totals",
]
