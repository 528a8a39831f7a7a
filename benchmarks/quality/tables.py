"""Turns what was played into rows, and rows into Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.quality.goals import (
    CACHED_SHARE,
    COST_RATIO,
    GOALS,
    MIN_MESSAGES,
    SPAN_FACTOR,
)
from context_builder.replay import EvidenceTotal, Played, Totals, cost_ratio, totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["cost_rows", "evidence_rows", "markdown", "summary"]

Row = dict[str, Any]
RECENCIES = ("recency", "messages")
ROUNDING = 1e-9
EVIDENCE_COLUMNS = (
    "file, budget, kind, n, builder, goal, recency, messages, reference, "
    "items: builder, recency, answer: builder, recency, session: builder, recency"
)
COST_COLUMNS = (
    "budget, strategy, calls, input tokens, cached, billed, of recency, of messages, "
    "compactions, breaks, invalid, over budget, failed"
)


def evidence_rows(played: Sequence[Played]) -> list[Row]:
    """Return a row for each file, kind and share. Figures are per cent."""
    rows = []
    for source, share in sorted({(one.source, one.share or 0) for one in played}):
        pooled = totals(
            one for one in played if (one.source, one.share) == (source, share)
        )
        rows += [
            _evidence_row(source, share, evidence.kind, pooled)
            for evidence in pooled["builder"].evidence
        ]
    return rows


def _evidence_row(
    source: str, share: float, kind: str, pooled: dict[str, Totals]
) -> Row:
    found = {name: _of_kind(total.evidence, kind) for name, total in pooled.items()}
    session = {
        name: _of_kind(total.session_evidence, kind) for name, total in pooled.items()
    }
    kept = {name: _percent(one.kept_share) for name, one in found.items() if one}
    goal = GOALS.get((source, share))
    recency = max(kept[name] for name in RECENCIES)
    least = goal.at_least if goal else recency
    if kind == "qa_span":
        least = min(100.0, SPAN_FACTOR * recency)
    least = max(least, recency)
    return {
        "file": source,
        "share": share,
        "kind": kind,
        "count": found["builder"].count if found["builder"] else 0,
        "kept": kept,
        "items": {n: _percent(one.item_share) for n, one in found.items() if one},
        "answers": {
            name: _percent(one.answer_share)
            for name, one in found.items()
            if one and one.answer_share is not None
        },
        "session": {n: _percent(one.kept_share) for n, one in session.items() if one},
        "goal": least,
        "reference_recency": goal.recency if goal else None,
        "missed": kept["builder"] < least - ROUNDING,
    }


def _of_kind(every: Iterable[EvidenceTotal], kind: str) -> EvidenceTotal | None:
    return next((one for one in every if one.kind == kind), None)


def _percent(share: float) -> float:
    return round(100 * share, 1)


def cost_rows(played: Sequence[Played]) -> list[Row]:
    """Return a row for each share, over the longer transcripts of agents."""
    agents = [
        one
        for one in played
        if one.source.startswith("agent_") and one.messages >= MIN_MESSAGES
    ]
    rows = []
    for share in sorted({one.share or 0 for one in agents}):
        some = [one for one in agents if one.share == share]
        rows += [_cost_row(share, total, some) for total in totals(some).values()]
    return rows


def _cost_row(share: float, total: Totals, played: Sequence[Played]) -> Row:
    ratio, loose = (cost_ratio(played, total.strategy, name) for name in RECENCIES)
    is_costly = ratio is not None and ratio > COST_RATIO
    is_cold = share == 0.5 and total.cached_share < CACHED_SHARE
    is_broken = bool(total.invalid or total.over_budget)
    return {
        "share": share,
        "cost_ratio": None if ratio is None else round(ratio, 3),
        "cost_ratio_messages": None if loose is None else round(loose, 3),
        "missed": total.strategy == "builder" and (is_costly or is_cold or is_broken),
        **total.to_dict(),
    }


def markdown(evidence: Sequence[Row], costs: Sequence[Row]) -> str:
    """Return both tables."""
    lines = _head(EVIDENCE_COLUMNS)
    for row in evidence:
        cells = [
            row["file"],
            f"{row['share']:.0%}",
            row["kind"],
            row["count"],
            f"**{row['kept']['builder']:.1f}**",
            f"{row['goal']:g}",
            row["kept"]["recency"],
            row["kept"]["messages"],
            row["reference_recency"],
            *_pair(row["items"]),
            *_pair(row["answers"]),
            *_pair(row["session"]),
            "missed" if row["missed"] else "",
        ]
        lines.append(_line(cells))
    lines += [
        "",
        f"Agents' transcripts of {MIN_MESSAGES} messages and more, pooled by tokens:",
        "",
        *_head(COST_COLUMNS),
    ]
    for row in costs:
        cells = [
            f"{row['share']:.0%}",
            row["strategy"],
            row["calls"],
            f"{row['tokens']:,}",
            f"{row['cached_share']:.1%}",
            f"{row['billed_tokens']:,.0f}",
            row["cost_ratio"],
            row["cost_ratio_messages"],
            row["compactions"],
            row["breaks"],
            row["invalid"],
            row["over_budget"],
            row["failed"],
            "missed" if row["missed"] else "",
        ]
        lines.append(_line(cells))
    return "\n".join(lines)


def _head(columns: str) -> list[str]:
    names = [name.strip() for name in columns.split(",")]
    return [_line([*names, ""]), _line(["---"] * (len(names) + 1))]


def _pair(values: dict[str, float]) -> tuple[float | None, float | None]:
    return values.get("builder"), values.get("recency")


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def summary(evidence: Sequence[Row], costs: Sequence[Row]) -> str:
    """Say which goals are missed."""
    missed = [
        f"{row['file']} at {row['share']:.0%}: {row['kept']['builder']:.1f} of "
        f"{row['goal']:g}"
        for row in evidence
        if row["missed"]
    ]
    missed += [
        f"cost at {row['share']:.0%}: {row['cost_ratio']} of recency, "
        f"{row['cached_share']:.1%} cached"
        for row in costs
        if row["missed"]
    ]
    return "Missed: " + "; ".join(missed) if missed else "Every goal is met."
