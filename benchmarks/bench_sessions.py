"""Holds many sessions in one process, and takes a turn in each of them.

    python -m benchmarks.bench_sessions [--quick]

Ten thousand sessions of two turns each in a manager with the store in memory. Each
turn opens its session, adds a question and an answer, builds, and closes: what a server
does. What is told is the time of a turn while there are few sessions and many, and the
memory that a session takes, its texts and its log in the store included.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
import tracemalloc

from benchmarks.generate import turn
from benchmarks.timing import is_quick, percentiles, print_table
from context_builder import SessionManager

SESSIONS = 10_000
QUICK_SESSIONS = 300


async def _turn(sessions: SessionManager, number: int, which: int) -> float:
    messages = turn(number * 7 + which, seed=number % 50)
    started = time.perf_counter()
    async with sessions.open(f"user-{number}") as ctx:
        ctx.extend(messages)
        ctx.build()
    return time.perf_counter() - started


async def _all(count: int) -> tuple[list[float], list[float], float]:
    """Return the seconds of all first and second turns, and bytes a session."""
    sessions = SessionManager(model="gpt-4o", max_tokens=16_000, store="memory:")
    await _turn(sessions, 10**9, 0)  # loads the vocabulary
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(min(count, 200)):
        await _turn(sessions, -1 - number, 0)
    gc.collect()
    taken = (tracemalloc.get_traced_memory()[0] - before) / min(count, 200)
    tracemalloc.stop()
    first = [await _turn(sessions, number, 0) for number in range(count)]
    second = [await _turn(sessions, number, 1) for number in range(count)]
    return first, second, taken


def main() -> None:
    """Print one table."""
    count = QUICK_SESSIONS if is_quick() else SESSIONS
    first, second, taken = asyncio.run(_all(count))
    rows = []
    for name, times in (
        ("first turn, the first tenth", first[: count // 10]),
        ("first turn, the last tenth", first[-count // 10 :]),
        ("second turn", second),
    ):
        p50, p99, _ = (value * 1e3 for value in percentiles(times))
        rate = 1 / statistics.mean(times)
        rows.append((name, f"{p50:,.2f}", f"{p99:,.2f}", f"{rate:,.0f}"))
    print(f"{count:,} sessions, {taken / 1e3:,.1f} kB each after one turn\n")
    print_table(("", "ms p50", "p99", "turns a second"), rows)


if __name__ == "__main__":
    main()
