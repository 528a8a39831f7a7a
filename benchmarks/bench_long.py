"""Runs long: ten thousand steps without drift or leak, and a million items at once.

    python -m benchmarks.bench_long [--quick]

A step appends a message and builds. Drift is the mean of the last tenth of the steps
over the mean of the second; a leak is memory that grows beyond the texts and the log.
The million items repeat the texts of ten thousand, so that they fit into memory.
"""

from __future__ import annotations

import gc
import statistics
import tracemalloc
from typing import TYPE_CHECKING, Any

from benchmarks.generate import conversation
from benchmarks.timing import is_quick, print_table, seconds
from context_builder import ContextBuilder, Settings
from context_builder.settings import ItemLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

BUDGET_TOKENS = 16_000
STEPS = 10_000
ITEMS = 1_000_000
APPENDS = 200


def _step(ctx: ContextBuilder, message: dict[str, Any]) -> None:
    ctx.extend([message])
    ctx.build()


def _steps(ctx: ContextBuilder, messages: Sequence[dict[str, Any]]) -> list[float]:
    return [seconds(lambda m=message: _step(ctx, m)) for message in messages]  # type: ignore[misc]


def drift(steps: int) -> tuple[float, float, float, float]:
    """Return both means in seconds, and bytes a step in both halves of a run."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)
    messages = conversation(steps)
    times = _steps(ctx, messages)
    tenth = steps // 10
    early = statistics.mean(times[tenth : 2 * tenth])
    late = statistics.mean(times[-tenth:])
    traced = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)
    quarter = steps // 4
    _steps(traced, messages[:quarter])
    gc.collect()
    tracemalloc.start()
    marks = [tracemalloc.get_traced_memory()[0]]
    for part in (messages[quarter : 2 * quarter], messages[2 * quarter : 3 * quarter]):
        _steps(traced, part)
        gc.collect()
        marks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return (
        early,
        late,
        (marks[1] - marks[0]) / quarter,
        (marks[2] - marks[1]) / quarter,
    )


def with_items(items: int, appends: int) -> float:
    """Return the mean seconds of a step in a session that holds so many items."""
    limits = ItemLimits(max_items=2 * items)  # the default is a million
    settings = Settings(item_limits=limits)
    ctx = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS, settings=settings)
    base = conversation(10_000)[1:]
    base = base[: len(base) - len(base) % 4]
    left = items
    while left > 0:
        ctx.extend(base[:left])
        left -= len(base)
    ctx.add_user_message("Go on.")
    ctx.build()
    messages = conversation(50 + appends, seed=7)
    _steps(ctx, messages[1:50])
    gc.collect()
    gc.freeze()  # a million objects that stay are not what a step has to walk
    return statistics.mean(_steps(ctx, messages[50:]))


def main() -> None:
    """Print both tables."""
    steps = 400 if is_quick() else STEPS
    appends = 40 if is_quick() else APPENDS
    items = 20_000 if is_quick() else ITEMS
    early, late, first, second = drift(steps)
    print_table(
        ("steps", "early us", "late us", "late over early", "B a step", "later"),
        [
            (
                f"{steps:,}",
                f"{early * 1e6:,.0f}",
                f"{late * 1e6:,.0f}",
                f"{late / early:.2f}",
                f"{first:,.0f}",
                f"{second:,.0f}",
            )
        ],
    )
    few, many = with_items(10_000, appends), with_items(items, appends)
    print_table(
        ("items", "step us, mean", "over 10,000 items"),
        [
            ("10,000", f"{few * 1e6:,.0f}", "1.00"),
            (f"{items:,}", f"{many * 1e6:,.0f}", f"{many / few:.2f}"),
        ],
    )


if __name__ == "__main__":
    main()
