"""What became of every item, and why: for people as a table, for programs as data."""

from context_builder.report.report import (
    ClassUse,
    Outcome,
    Report,
    RequestSize,
    SummaryAction,
    SummaryOutcome,
)

__all__ = [
    "ClassUse",
    "Outcome",
    "Report",
    "RequestSize",
    "SummaryAction",
    "SummaryOutcome",
]
