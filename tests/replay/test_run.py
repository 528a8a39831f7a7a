from __future__ import annotations

from context_builder.replay import (
    Budget,
    BuilderStrategy,
    Recency,
    Strategy,
    cost_ratio,
    evidence_totals,
    replay,
    totals,
)
from context_builder.replay.judge import Kept
from tests.replay.conversations import transcript


def test_several_processes_play_the_same() -> None:
    """How the work is shared out changes nothing."""
    budgets = [Budget(share=0.3), Budget(share=0.6)]
    strategies: list[Strategy] = [BuilderStrategy(), Recency()]
    alone = [
        one for some in replay([transcript(4)], strategies, budgets) for one in some
    ]
    shared = [
        one
        for some in replay([transcript(4)], strategies, budgets, processes=2)
        for one in some
    ]
    assert shared == alone
    assert len(alone) == 4


def test_evidence_is_pooled_by_kind() -> None:
    """Whole pieces are the main figure, and for spans the messages."""
    every = [
        Kept("qa", 0, 2, 2),
        Kept("qa", 1, 1, 2, ("4",)),
        Kept("qa_span", 0, 1, 4, ("5", "6", "7"), has_answer=True),
    ]
    qa, span = evidence_totals(every)
    assert (qa.count, qa.kept_share, qa.item_share, qa.answer_share) == (
        2,
        0.5,
        0.75,
        None,
    )
    assert (span.kept_share, span.whole_share, span.answer_share) == (0.25, 0, 1)


def test_without_calls_there_are_no_costs() -> None:
    """Nothing played is not an error."""
    assert totals([]) == {}
    assert cost_ratio([], "builder", "recency") is None
