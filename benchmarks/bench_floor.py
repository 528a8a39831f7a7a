"""Times the two floors themselves: what the figures of the library are ratios of.

    python -m benchmarks.bench_floor [--quick]

Each message is appended and a window built after it, over the same histories as in
`bench_append`; cold is all messages at once and one window.
"""

from __future__ import annotations

import statistics

from benchmarks.floors import EagerFloor, LazyFloor
from benchmarks.generate import conversation
from benchmarks.timing import is_quick, percentiles, print_table, seconds
from context_builder.tokens import counter_for

BUDGET_TOKENS = 16_000
LENGTHS = (100, 1_000, 10_000)
APPENDS = 400


def main() -> None:
    """Print a row for each floor and length."""
    lengths = LENGTHS[:2] if is_quick() else LENGTHS
    appends = 60 if is_quick() else APPENDS
    count = counter_for("o200k_base").count
    count("load")
    rows = []
    for length in lengths:
        messages = conversation(length + appends)
        for name, kind in (("eager", EagerFloor), ("lazy", LazyFloor)):

            def cold(
                kind: type[EagerFloor | LazyFloor] = kind,
                messages: list = messages[:length],  # type: ignore[type-arg]
            ) -> EagerFloor | LazyFloor:
                floor = kind(BUDGET_TOKENS, count)
                for message in messages:
                    floor.append(message)
                floor.build()
                return floor

            cold_seconds = statistics.median(seconds(cold) for _ in range(3))
            floor, warm = cold(), []
            for message in messages[length:]:

                def append(
                    floor: EagerFloor | LazyFloor = floor,
                    message: dict = message,  # type: ignore[type-arg]
                ) -> None:
                    floor.append(message)
                    floor.build()

                warm.append(seconds(append) * 1e6)
            p50, p99, mean = percentiles(warm)
            rows.append(
                (
                    name,
                    f"{length:,}",
                    f"{cold_seconds * 1e3:,.1f}",
                    f"{p50:,.0f}",
                    f"{p99:,.0f}",
                    f"{mean:,.0f}",
                )
            )
    print_table(("floor", "messages", "cold ms", "append us p50", "p99", "mean"), rows)


if __name__ == "__main__":
    main()
