"""How well passages match: the arithmetic of a search, which knows no text.

The formula is BM25 as in Robertson and Zaragoza (2009), with k1 = 1.2 and b = 0.75. A
match lifts its neighbours, since a question stands beside its answer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, repeat
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["best_of", "lifted", "norms", "score_of", "weighed", "with_regions"]

_K1 = 1.2
_B = 0.75
_NEIGHBOUR_SHARE = 0.4
"""How much of a match's score its neighbours get."""
_REGION = 12
"""So far a match lifts what stands around it: what is talked of there is near."""
_REGION_SHARE = 0.12


def norms(lengths: Iterable[int], total: int, count: int) -> list[float]:
    """Return what one occurrence in each of some passages is divided by.

    Args:
        lengths: Theirs.
        total: The length of all there are.
        count: How many there are.
    """
    slope = _K1 * _B * count / total
    return [1 + _K1 * (1 - _B) + slope * length for length in lengths]


def _score(weight: float, again: float, once: float) -> float:
    """Return the score of a passage.

    Args:
        weight: That of the terms that it has.
        again: What their repeats add.
        once: What one occurrence is divided by.
    """
    return (_K1 + 1) * (weight / once + again)


def _again(often: int, once: float) -> float:
    """Return what the repeats of a term add: less and less."""
    return often / (once + (often - 1)) - 1 / once


def score_of(
    counts: Mapping[str, int], rarities: Mapping[str, float], once: float
) -> float:
    """Return the score of one passage by the terms that stand in it; 0: none does."""
    weight = again = 0.0
    for term, rarity in rarities.items():
        often = counts.get(term)
        if often is not None:
            weight += rarity
            again += rarity * _again(often, once)
    return _score(weight, again, once)


def weighed(
    found: Sequence[tuple[float, Sequence[int], bytes]],
    once_of: Callable[[Iterable[int]], Sequence[float]],
) -> tuple[dict[int, float], dict[int, float]]:
    """Return what passages have of a query, and their scores, by number.

    The first is the weight of their terms. For the score, repeats count as well, but
    less and less, and all counts for less in a longer passage.

    Args:
        found: For each term its weight, the passages, and how often it is in each.
        once_of: Says of passages what one occurrence in each is divided by.
    """
    numbers = sorted(set[int]().union(*(places for _, places, _ in found)))
    # Lists by number: several times as fast as dictionaries, and soon thrown away.
    count = numbers[-1] + 1 if numbers else 0
    weights, again, onces = [0.0] * count, [0.0] * count, [0.0] * count
    for number, once in zip(numbers, once_of(numbers), strict=True):
        onces[number] = once
    for rarity, places, times in found:
        for number in places:
            weights[number] += rarity
        if times.count(1) < len(times):
            for number, often in zip(places, times, strict=True):
                if often > 1:
                    again[number] += rarity * _again(often, onces[number])
    return {n: weights[n] for n in numbers}, {
        n: _score(weights[n], again[n], onces[n]) for n in numbers
    }


def lifted(
    scores: Mapping[int, float], before: Sequence[int], after: Sequence[int]
) -> dict[int, float]:
    """Return the scores with those of neighbours, and of these as well, by number.

    Args:
        scores: By number of the passage.
        before: The passage before each; below 0: there is none.
        after: The passage after each.
    """
    near = set(scores)
    near.update(map(before.__getitem__, scores), map(after.__getitem__, scores))
    near.discard(-1)
    own = scores.get
    found = {}
    for number in sorted(near):
        one, other = own(before[number], 0.0), own(after[number], 0.0)
        most = one if one > other else other
        found[number] = own(number, 0.0) + most * _NEIGHBOUR_SHARE
    return found


def best_of(ranks: Mapping[int, float], most: int) -> dict[int, float]:
    """Return the best, at most so many, and of equal ones the newest; by number."""
    if len(ranks) <= most:
        return dict(ranks)
    least = sorted(ranks.values())[-most]
    best = {number: rank for number, rank in ranks.items() if rank >= least}
    for number in [n for n, rank in best.items() if rank == least]:
        if len(best) <= most:
            break
        del best[number]
    return best


def with_regions(ranks: Mapping[int, float]) -> list[tuple[float, int]]:
    """Lift passages by all that match around them, the nearer the more.

    A match counts in full at its own place, and for nothing `_REGION` places away. Sums
    from the beginning make that the same work for each, however many stand around it.

    Args:
        ranks: By number, ascending.

    Returns:
        (rank, number), best first, and of equal ones the newest first.
    """
    numbers = list(ranks)
    sums = [0.0, *accumulate(ranks.values())]
    moments = [0.0, *accumulate(map(mul, ranks.values(), numbers))]
    firsts = map(bisect_left, repeat(numbers), [n - _REGION for n in numbers])
    lasts = map(bisect_right, repeat(numbers), [n + _REGION for n in numbers])
    found = []
    for place, (number, first, last) in enumerate(
        zip(numbers, firsts, lasts, strict=True)
    ):
        at, moment = sums[place], moments[place]
        before, after = at - sums[first], sums[last] - at
        turning = moments[last] - moment - (moment - moments[first])
        near = before + after - (turning - number * (after - before)) / _REGION
        found.append((ranks[number] + _REGION_SHARE * near, number))
    found.sort(reverse=True)
    return found
