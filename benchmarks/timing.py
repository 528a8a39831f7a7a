"""What all benchmarks share: clocks that take turns, and tables.

Figures that are compared are taken in turns, so that a busy moment of the machine hits
all of them. They are told as medians, and as ratios of one run.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["is_quick", "percentiles", "print_table", "seconds", "take_turns"]


def is_quick() -> bool:
    """Say whether a short run was asked for, with `--quick`."""
    return "--quick" in sys.argv[1:]


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def take_turns(
    works: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, list[float]]:
    """Time several works in turns; return the seconds of each round, by name."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


def percentiles(times: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the 99th percentile and the mean."""
    cut = statistics.quantiles(times, n=100) if len(times) > 1 else [times[0]] * 99
    return statistics.median(times), cut[98], statistics.mean(times)


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"| {' | '.join(head)} |")
    print(f"| --- |{' ---: |' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
    print(flush=True)
