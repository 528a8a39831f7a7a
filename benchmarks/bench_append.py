"""Times appending one message and building, compactions included, beside the floors.

    python -m benchmarks.bench_append [--quick]

The budget is 16,000 tokens, which the shortest history already exceeds. Each message
goes to the library and to both floors in turn. The ratio is that of the means.
"""

from __future__ import annotations

import gc
import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.floors import EagerFloor, LazyFloor
from benchmarks.generate import conversation
from benchmarks.timing import is_quick, percentiles, print_table, seconds
from context_builder import ContextBuilder
from context_builder.tokens import counter_for

if TYPE_CHECKING:
    from collections.abc import Sequence

BUDGET_TOKENS = 16_000
LENGTHS = (100, 1_000, 10_000)
APPENDS = 800
WARM_UP = 40
"""Steps that nobody times: the first question after a load indexes what left."""


def step(ctx: ContextBuilder, message: dict[str, Any]) -> None:
    """Append a message and build."""
    ctx.extend([message])
    ctx.build()


def floor_step(floor: EagerFloor | LazyFloor, message: dict[str, Any]) -> None:
    """Append a message and build."""
    floor.append(message)
    floor.build()


def loaded(messages: Sequence[dict[str, Any]]) -> ContextBuilder:
    """Return a session that has taken in and built a history."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)
    ctx.extend(messages)
    ctx.build()
    return ctx


def fills(messages: Sequence[dict[str, Any]], start: int) -> list[float]:
    """Return how full each request was that a compaction came right after."""
    ctx = loaded(messages[:start])
    before, found = ctx.explain(), []
    for message in messages[start:]:
        step(ctx, message)
        now = ctx.explain()
        if now.compactions > before.compactions:
            found.append(before.tokens / before.budget_tokens)
        before = now
    return found


def measure(length: int, appends: int) -> dict[str, list[float]]:
    """Return the seconds of each step at one length, by who took it."""
    count = counter_for("o200k_base").count
    messages = conversation(length + WARM_UP + appends)
    ctx = loaded(messages[:length])
    for message in messages[length : length + WARM_UP]:
        step(ctx, message)
    length += WARM_UP
    floors = {
        "eager floor": EagerFloor(BUDGET_TOKENS, count),
        "lazy floor": LazyFloor(BUDGET_TOKENS, count),
    }
    for floor in floors.values():
        for message in messages[:length]:
            floor.append(message)
        floor.build()
    times: dict[str, list[float]] = {"context_builder": [], **{n: [] for n in floors}}
    gc.collect()
    for message in messages[length:]:
        times["context_builder"].append(seconds(lambda m=message: step(ctx, m)))  # type: ignore[misc]
        for name, floor in floors.items():
            work = lambda f=floor, m=message: floor_step(f, m)  # type: ignore[misc]  # noqa: E731
            times[name].append(seconds(work))
    return times


def main() -> None:
    """Print both tables."""
    lengths = LENGTHS[:2] if is_quick() else LENGTHS
    appends = 120 if is_quick() else APPENDS
    loaded(conversation(50))  # loads the vocabulary, which is measured elsewhere
    rows, means = [], {}
    for length in lengths:
        times = measure(length, appends)
        eager = statistics.mean(times["eager floor"])
        means[length] = statistics.mean(times["context_builder"])
        for name, taken in times.items():
            p50, p99, mean = (value * 1e6 for value in percentiles(taken))
            rows.append(
                (
                    f"{length:,}",
                    name,
                    f"{p50:,.0f}",
                    f"{p99:,.0f}",
                    f"{mean:,.0f}",
                    f"{mean / 1e6 / eager:.2f}",
                )
            )
    print_table(
        ("messages", "who", "us p50", "p99", "mean", "mean over eager floor"), rows
    )
    full = fills(conversation(100 + appends), 100)
    print_table(
        ("", "figure"),
        [
            (
                f"mean at {max(lengths):,} over mean at {min(lengths):,}",
                f"{means[max(lengths)] / means[min(lengths)]:.2f}",
            ),
            ("steps a compaction", f"{appends / max(1, len(full)):.1f}"),
            ("fill right before a compaction, median", f"{_median(full):.1%}"),
        ],
    )


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


if __name__ == "__main__":
    main()
