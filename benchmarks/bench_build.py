"""Times building: from cold, after an append, and unchanged; at three lengths.

    python -m benchmarks.bench_build

The budget is 16,000 tokens, which the shortest history already exceeds, so compactions
are part of every row. Prints a Markdown table.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from benchmarks.generate import conversation
from context_builder import ContextBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTHS = (100, 1_000, 10_000)
BUDGET_TOKENS = 16_000
APPENDS = 400
REBUILDS = 200


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    """Print one row a length."""
    warm = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)
    warm.extend(conversation(50))
    warm.build()  # loads the vocabulary, which is measured elsewhere
    print(
        "| messages | cold ms | append us (p50 / mean / p99) "
        "| rebuild us | compactions |"
    )
    print("| --- | --- | --- | --- | --- |")
    for length in LENGTHS:
        messages = conversation(length + APPENDS)
        ctx = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)

        def cold(ctx: ContextBuilder = ctx, messages: list = messages[:length]) -> None:  # type: ignore[type-arg]
            ctx.extend(messages)
            ctx.build()

        cold_ms = _timed(cold) * 1e3
        appends = []
        for message in messages[length:]:

            def append(ctx: ContextBuilder = ctx, message: object = message) -> None:
                ctx.extend([message])
                ctx.build()

            appends.append(_timed(append) * 1e6)
        rebuild = statistics.median(_timed(ctx.build) * 1e6 for _ in range(REBUILDS))
        cut = statistics.quantiles(appends, n=100)
        print(
            f"| {length:,} | {cold_ms:,.0f} | {statistics.median(appends):,.0f} / "
            f"{statistics.mean(appends):,.0f} / {cut[98]:,.0f} | {rebuild:,.0f} | "
            f"{ctx.explain().compactions} |"
        )


if __name__ == "__main__":
    main()
