"""Plays many transcripts with several strategies and budgets, on several processors."""

from __future__ import annotations

import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from context_builder.replay.play import Budget, Played, play
from context_builder.replay.ruler import Ruler
from context_builder.replay.strategies import Strategy
from context_builder.replay.transcripts import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["replay"]

Job = tuple[Transcript, tuple[Strategy, ...], tuple[Budget, ...]]


def replay(
    transcripts: Iterable[Transcript],
    strategies: Sequence[Strategy],
    budgets: Sequence[Budget],
    *,
    processes: int = 1,
) -> Iterator[list[Played]]:
    """Yield what was played of each transcript: every strategy at every budget.

    With several processes the largest transcripts are played first.
    """
    chosen = (tuple(strategies), tuple(budgets))
    if processes <= 1:
        yield from (_played((one, *chosen)) for one in transcripts)
        return
    ordered = sorted(transcripts, key=_work, reverse=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        # Each budget is a job of its own: the longest transcript decides when all ends.
        jobs: list[Job] = [
            (one, chosen[0], (budget,))
            for one, budget in itertools.product(ordered, chosen[1])
        ]
        yield from pool.map(_played, jobs)


def _work(transcript: Transcript) -> int:
    """Guess how long a transcript takes to play."""
    return len(transcript.messages) * (len(transcript.calls) + len(transcript.evidence))


def _played(job: Job) -> list[Played]:
    transcript, strategies, budgets = job
    ruler = Ruler()
    return [
        play(transcript, strategy, budget, ruler)
        for budget in budgets
        for strategy in strategies
    ]
