"""Joins what words find with what an embedder found: by rank, not by score.

Scores of words and of vectors have no common scale; places in two lists have. The
embedder itself is asked elsewhere: what it answered is an entry of the log, so that the
decision follows from the log alone.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.decide.archive import Search
    from context_builder.items import PassagesMatched

__all__ = ["AskedFor", "by_words_and_meaning", "may_ask"]

_SMOOTHING = 20
"""How slowly worth falls with rank: the first of a list is worth twice the 21st."""
_LEAST_SHARE_OF_WORDS = 0.1
"""What matches much worse by its words than the best has no place among them."""
_LEAST_SHARE_OF_BEST = 0.05
"""Of the fused ranks: about what is 180th in one list and not in the other."""
_MOST_FAILURES = 3
_PAUSE_TURNS = 8
"""After so many failures in a row, the embedder is left alone for so many turns."""


class AskedFor:
    """What was asked of an embedder, as a fold remembers it."""

    __slots__ = ("failed_turn", "failures", "newest", "told")

    def __init__(self) -> None:
        self.newest: PassagesMatched | None = None
        """The last answer."""
        self.failures = 0
        """How often in a row there was none."""
        self.failed_turn = 0
        """The turn of the last failure."""
        self.told: list[str] = []
        """Each failure: the message, who was asked, and the kind of error."""

    def note(self, entry: PassagesMatched, turn: int) -> None:
        """Remember an answer, or that there was none."""
        self.newest = entry
        if entry.error is None:
            self.failures = 0
            return
        self.failures += 1
        self.failed_turn = turn
        self.told.append(f"{entry.item_id}: {entry.made_by}: {entry.error}")

    def may_ask(self, turn: int) -> bool:
        """Say whether to ask again now, after what came of earlier questions."""
        return may_ask(self.failures, turn - self.failed_turn)


def may_ask(failures: int, turns_since: int) -> bool:
    """Say whether an embedder that failed so often in a row is asked again."""
    return failures < _MOST_FAILURES or turns_since >= _PAUSE_TURNS


def by_words_and_meaning(
    words: Search, meant: Sequence[tuple[float, int]], shown_score: float
) -> Search:
    """Return the passages by reciprocal rank fusion of both lists.

    G. V. Cormack, C. L. A. Clarke, S. Buettcher: Reciprocal Rank Fusion outperforms
    Condorcet and Individual Rank Learning Methods, SIGIR 2009.

    Args:
        words: What words found.
        meant: (cosine, number of a passage), best first.
        shown_score: The best cosine of what is in the request anyway.

    Returns:
        The fused ranks; the need is the larger of both: what no shared word tells may
        be asked for all the same.
    """
    if not meant:
        return words
    fused: dict[int, float] = {}
    least = words.ranked[0][0] * _LEAST_SHARE_OF_WORDS if words.ranked else 0.0
    telling = [one for one in words.ranked if one[0] >= least]
    for ranked in (telling, meant):
        for place, (_, number) in enumerate(ranked):
            worth = 1 / (_SMOOTHING + place)
            fused[number] = fused.get(number, 0.0) + worth
    best_first = sorted(
        ((worth, number) for number, worth in fused.items()),
        key=lambda one: (-one[0], -one[1]),
    )
    return dataclasses.replace(
        words,
        ranked=tuple(best_first),
        need=max(words.need, meant[0][0] - shown_score),
        least=best_first[0][0] * _LEAST_SHARE_OF_BEST,
    )
