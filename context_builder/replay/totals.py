"""Adds up what was played: pooled by tokens, by calls and by pieces of evidence."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from context_builder.replay.judge import Kept
    from context_builder.replay.play import Played

__all__ = ["EvidenceTotal", "Totals", "cost_ratio", "evidence_totals", "totals"]


@dataclasses.dataclass(frozen=True, slots=True)
class EvidenceTotal:
    """How much evidence of one kind was kept. Shares are from 0 to 1."""

    kind: str
    count: int
    """Calls or questions."""
    whole_share: float
    """Of those, the share that found all they need."""
    item_share: float
    """The share of all values, or messages, that are there."""
    answer_share: float | None
    """The share of questions whose answer's text is there; None: no answers known."""

    @property
    def kept_share(self) -> float:
        """The main figure: for spans the share of messages, otherwise of whole ones."""
        return self.item_share if self.kind == "qa_span" else self.whole_share


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """All that one strategy did. Input tokens include cached ones."""

    strategy: str
    transcripts: int
    calls: int
    tokens: int
    cached_tokens: int
    billed_tokens: float
    compactions: int
    breaks: int
    """Calls whose request does not begin with the whole request before."""
    invalid: int
    over_budget: int
    failed: int
    """Calls that could not be made, as nothing fitted."""
    evidence: tuple[EvidenceTotal, ...]
    session_evidence: tuple[EvidenceTotal, ...]

    @property
    def cached_share(self) -> float:
        """The share of the input that the prompt cache serves."""
        return self.cached_tokens / self.tokens if self.tokens else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        data = dataclasses.asdict(self) | {"cached_share": self.cached_share}
        for name in ("evidence", "session_evidence"):
            for said, total in zip(data[name], getattr(self, name), strict=True):
                said["kept_share"] = total.kept_share
        return data


def totals(played: Iterable[Played]) -> dict[str, Totals]:
    """Pool what was played, by the name of the strategy."""
    by_strategy: dict[str, list[Played]] = {}
    for one in played:
        by_strategy.setdefault(one.strategy, []).append(one)
    return {name: _pooled(name, every) for name, every in by_strategy.items()}


def _pooled(name: str, every: Sequence[Played]) -> Totals:
    calls = [call for one in every for call in one.calls]
    return Totals(
        strategy=name,
        transcripts=len(every),
        calls=len(calls),
        tokens=sum(call.tokens for call in calls),
        cached_tokens=sum(call.cached_tokens for call in calls),
        billed_tokens=sum(call.billed_tokens for call in calls),
        compactions=sum(one.compactions for one in every),
        breaks=sum(call.is_break for call in calls),
        invalid=sum(bool(call.problems) for call in calls),
        over_budget=sum(call.is_over for call in calls),
        failed=sum(call.is_failed for call in calls),
        evidence=evidence_totals(kept for one in every for kept in one.evidence),
        session_evidence=evidence_totals(
            kept for one in every for kept in one.session_evidence
        ),
    )


def evidence_totals(every: Iterable[Kept]) -> tuple[EvidenceTotal, ...]:
    """Pool evidence by its kind."""
    by_kind: dict[str, list[Kept]] = {}
    for kept in every:
        by_kind.setdefault(kept.kind, []).append(kept)
    return tuple(_evidence_total(kind, kept) for kind, kept in by_kind.items())


def _evidence_total(kind: str, every: Sequence[Kept]) -> EvidenceTotal:
    answers = [kept.has_answer for kept in every if kept.has_answer is not None]
    needed = sum(kept.needed for kept in every)
    return EvidenceTotal(
        kind=kind,
        count=len(every),
        whole_share=sum(kept.is_whole for kept in every) / len(every),
        item_share=sum(kept.kept for kept in every) / needed if needed else 1.0,
        answer_share=sum(answers) / len(answers) if answers else None,
    )


def cost_ratio(played: Iterable[Played], strategy: str, against: str) -> float | None:
    """Return what one strategy's calls cost, over what another's did.

    Only calls that both could make count. None: there is none.
    """
    costs: dict[str, dict[tuple[str, str, int], float]] = {strategy: {}, against: {}}
    for one in played:
        if one.strategy in costs:
            costs[one.strategy] |= {
                (one.source, one.transcript, call.at): call.billed_tokens
                for call in one.calls
                if not call.is_failed
            }
    both = costs[strategy].keys() & costs[against].keys()
    paid = sum(costs[against][call] for call in both)
    return sum(costs[strategy][call] for call in both) / paid if paid else None
