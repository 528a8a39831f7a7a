"""Profiles the hot paths: where the time of a step and of a load goes, and the memory.

    python -m benchmarks.profiles [append|load|memory] [--quick]

Without a name, all three. Times are those of the profiler: they tell shares, not speed.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import tracemalloc
from typing import TYPE_CHECKING

from benchmarks.generate import conversation
from benchmarks.timing import is_quick
from context_builder import ContextBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET_TOKENS = 16_000
LINES = 25


def _session() -> ContextBuilder:
    return ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)


def _print_profile(work: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(work)
    for order in ("tottime", "cumtime"):
        pstats.Stats(profile).strip_dirs().sort_stats(order).print_stats(LINES)


def profile_append() -> None:
    """Profile appending a message and building, compactions included."""
    length, appends = (200, 80) if is_quick() else (1_000, 800)
    messages = conversation(length + appends)
    ctx = _session()
    ctx.extend(messages[:length])
    ctx.build()

    def work() -> None:
        for message in messages[length:]:
            ctx.extend([message])
            ctx.build()

    _print_profile(work)


def profile_load() -> None:
    """Profile loading a long history and building."""
    messages = conversation(1_000 if is_quick() else 10_000)

    def work() -> None:
        ctx = _session()
        ctx.extend(messages)
        ctx.build()

    _print_profile(work)


def profile_memory() -> None:
    """Tell which lines hold the memory of sessions that were loaded and built once."""
    count = 5 if is_quick() else 50
    histories = [conversation(97, seed=seed) for seed in range(count)]
    gc.collect()
    tracemalloc.start(12)
    before = tracemalloc.get_traced_memory()[0]
    held = []
    for history in histories:
        ctx = _session()
        ctx.extend(history)
        ctx.build()
        held.append(ctx)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    print(f"{taken / len(held) / 1e3:,.1f} kB a session over its texts")
    here = tracemalloc.Filter(inclusive=False, filename_pattern=tracemalloc.__file__)
    snapshot = tracemalloc.take_snapshot().filter_traces([here])
    for line in snapshot.statistics("lineno")[:LINES]:
        print(f"{line.size / count / 1e3:9.2f} kB  {line.traceback[0]}")
    tracemalloc.stop()


PROFILES = {"append": profile_append, "load": profile_load, "memory": profile_memory}


def main() -> None:
    """Print the profiles that were asked for."""
    _session().build()
    asked = [name for name in sys.argv[1:] if name in PROFILES]
    for name in asked or PROFILES:
        print(f"== {name}")
        PROFILES[name]()


if __name__ == "__main__":
    main()
