"""Prints a report as a plain table that reads well in a terminal, a log or a mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.report.report import Outcome, Report, SummaryOutcome

__all__ = ["table"]

_HEADS = ("item", "from", "what", "before", "after", "why")
_RIGHT = {3, 4}
_RUN = 3
"""From so many items alike in a row on, one line says it for all."""


def table(report: Report) -> str:
    """Return the report as text: one line an item, then the classes and the totals."""
    rows = [_HEADS, *_rows(report.outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    lines += ["", *_classes(report), "", *map(_summary, report.summaries)]
    lines += [f"recalled by words alone: {one}" for one in report.embedding_failures]
    return "\n".join([*lines, _total(report), *_guess(report)])


def _rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    start = 0
    while start < len(outcomes):
        end = start + 1
        while end < len(outcomes) and _is_alike(outcomes[start], outcomes[end]):
            end += 1
        run = outcomes[start:end]
        rows += [_row(run)] if len(run) >= _RUN else [_row([one]) for one in run]
        start = end
    return rows


def _is_alike(one: Outcome, other: Outcome) -> bool:
    return (one.action, one.reason) == (other.action, other.reason)


def _row(run: Sequence[Outcome]) -> tuple[str, ...]:
    first, last = run[0], run[-1]
    name = first.item_id if len(run) == 1 else f"{first.item_id}-{last.item_id}"
    return (
        name,
        first.source if len(run) == 1 else f"{len(run)} items",
        first.action,
        f"{sum(outcome.tokens_before for outcome in run):,}",
        f"{sum(outcome.tokens_after for outcome in run):,}",
        first.reason,
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if column in _RIGHT else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _classes(report: Report) -> list[str]:
    return [
        f"{use.name:<13} {use.tokens:>9,} of {use.share_tokens:>9,} tokens"
        for use in report.classes
    ]


def _summary(outcome: SummaryOutcome) -> str:
    name = f"summary {outcome.summary_id}" if outcome.summary_id else "a summary"
    action = outcome.action.replace("_", " ")
    why = f": {outcome.reason}" if outcome.reason else ""
    return f"{name} of {outcome.items} items by {outcome.made_by} {action}{why}"


def _guess(report: Report) -> list[str]:
    if report.guessed_from is None or report.context_window is None:
        return []
    said = f"the window of {report.context_window:,} tokens is a guess"
    return [f"{said}: {report.model} is not known, it counts as {report.guessed_from}"]


def _total(report: Report) -> str:
    share = report.tokens / report.budget_tokens if report.budget_tokens else 0
    about = "" if report.is_exact else "about "
    return (
        f"{about}{report.tokens:,} of {report.budget_tokens:,} tokens ({share:.0%}) "
        f"for {report.target}{f' {report.model}' if report.model else ''}; "
        f"{report.compactions} compaction{'' if report.compactions == 1 else 's'}, "
        f"{len(report.removed)} of {len(report.outcomes)} items not whole"
    )
