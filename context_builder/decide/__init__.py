"""What goes out: the fold over the log, the ladder, and what became of every item."""

from context_builder.decide.fold import Fold
from context_builder.decide.outcomes import (
    class_uses,
    outcomes,
    pending_calls,
    summary_outcomes,
)
from context_builder.decide.rules import Ruler, Rules

__all__ = [
    "Fold",
    "Ruler",
    "Rules",
    "class_uses",
    "outcomes",
    "pending_calls",
    "summary_outcomes",
]
