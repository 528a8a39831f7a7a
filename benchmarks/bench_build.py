"""Times building: a history loaded at once, and a build where nothing changed.

    python -m benchmarks.bench_build [--quick]

The budget is 16,000 tokens, which the shortest history already exceeds. A load is
beside both floors. An unchanged build is beside a copy of the same messages by hand,
and beside `view`, which copies nothing.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.floors import EagerFloor, LazyFloor, copied_by_hand
from benchmarks.generate import conversation
from benchmarks.timing import is_quick, print_table, seconds, take_turns
from context_builder import ContextBuilder
from context_builder.tokens import counter_for

if TYPE_CHECKING:
    from collections.abc import Sequence

BUDGET_TOKENS = 16_000
LENGTHS = (100, 1_000, 10_000)


def cold(messages: Sequence[dict[str, Any]]) -> ContextBuilder:
    """Load a history and build."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=BUDGET_TOKENS)
    ctx.extend(messages)
    ctx.build()
    return ctx


def ask(ctx: ContextBuilder) -> None:
    """Ask the first question after a load: now what left is indexed for recall."""
    ctx.add_user_message("Which order was delayed before Friday?")
    ctx.build()


def cold_floor(
    kind: type[EagerFloor | LazyFloor], messages: Sequence[dict[str, Any]]
) -> None:
    """Load a history and cut a window."""
    floor = kind(BUDGET_TOKENS, counter_for("o200k_base").count)
    for message in messages:
        floor.append(message)
    floor.build()


def main() -> None:
    """Print both tables."""
    lengths = LENGTHS[:2] if is_quick() else LENGTHS
    rounds, rebuilds = (2, 50) if is_quick() else (7, 1_000)
    cold(conversation(50))  # loads the vocabulary, which is measured elsewhere
    loads, same = [], []
    for length in lengths:
        messages = conversation(length)
        times = take_turns(
            {
                "ours": lambda m=messages: cold(m),  # type: ignore[misc]
                "eager": lambda m=messages: cold_floor(EagerFloor, m),  # type: ignore[misc]
                "lazy": lambda m=messages: cold_floor(LazyFloor, m),  # type: ignore[misc]
            },
            rounds,
        )
        ours, eager, lazy = (statistics.median(taken) for taken in times.values())
        ctx = cold(messages)
        asking = seconds(lambda c=ctx: ask(c))  # type: ignore[misc]
        loads.append(
            (
                f"{length:,}",
                f"{ours * 1e3:,.1f}",
                f"{eager * 1e3:,.1f}",
                f"{lazy * 1e3:,.1f}",
                f"{ours / eager:.2f}",
                f"{asking * 1e3:,.1f}",
            )
        )
        built = ctx.build()
        assert copied_by_hand(built) == built == list(ctx.view())
        times = take_turns(
            {
                "build": ctx.build,
                "by hand": lambda b=built: copied_by_hand(b),  # type: ignore[misc]
                "view": ctx.view,
            },
            rebuilds,
        )
        build, by_hand, view = (statistics.median(taken) for taken in times.values())
        same.append(
            (
                f"{length:,}",
                len(built),
                f"{build * 1e6:,.1f}",
                f"{by_hand * 1e6:,.1f}",
                f"{build / by_hand:.2f}",
                f"{view * 1e6:,.1f}",
            )
        )
    print_table(
        (
            "messages",
            "load and build, ms",
            "eager floor, ms",
            "lazy floor, ms",
            "over eager floor",
            "first question, ms",
        ),
        loads,
    )
    print_table(
        (
            "messages",
            "in the request",
            "unchanged build, us",
            "copy by hand, us",
            "ratio",
            "view, us",
        ),
        same,
    )


if __name__ == "__main__":
    main()
