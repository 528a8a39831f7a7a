"""Measures how fast each counter counts, and how long a vocabulary takes to load.

    python -m benchmarks.bench_count

Text is generated from a seed: prose, code, JSON and Chinese in equal parts. Each figure
is the best of five runs; loading is measured in processes of its own.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from context_builder.tokens import counter_for
from context_builder.tokens.fast_counter import quicktok_is_installed

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ("the", "of", "report", "budget", "and", "review", "measure", "line", "tokens")
HAN = "今天气很好我们去市场买新鲜水果然后回家准备晚餐明再见"
CHARS = 2_000_000
RUNS = 5

LOAD = (
    "import time, context_builder.tokens as tokens\n"
    "import tiktoken\n"
    "started = time.perf_counter()\n"
    "tokens.counter_for({encoding!r}).count('x')\n"
    "print(time.perf_counter() - started)\n"
)


def mixed_text(chars: int, seed: int = 1) -> str:
    """Make a text of about so many characters."""
    rng = random.Random(seed)
    kinds: tuple[Callable[[], str], ...] = (
        lambda: " ".join(rng.choices(WORDS, k=60)).capitalize() + ".\n",
        lambda: (
            f"def f{rng.randrange(99)}(x):\n    return x * {rng.random():.3f}\n" * 7
        ),
        lambda: f'{{"id": {rng.randrange(10**6)}, "tags": ["a", "bc"]}}\n' * 9,
        lambda: "".join(rng.choices(HAN, k=350)) + "\u3002\n",
    )
    pieces = (rng.choice(kinds)() for _ in range(chars // 300))
    return "".join(pieces)[:chars]


def best(work: Callable[[], object]) -> float:
    """Return the shortest time of a few runs, in seconds."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def sum_of(count: Callable[[str], int], texts: list[str]) -> int:
    """Count many texts, one by one."""
    return sum(map(count, texts))


def load_seconds(encoding: str) -> float:
    """Measure the first count of a new process."""
    program = LOAD.format(encoding=encoding)
    times = [
        float(subprocess.check_output([sys.executable, "-c", program]))  # noqa: S603
        for _ in range(3)
    ]
    return min(times)


def main() -> None:
    """Print both tables."""
    text = mixed_text(CHARS)
    short = [text[at : at + 400] for at in range(0, 400_000, 400)]
    print("| counter | characters/s, one text | characters/s, 1,000 short texts |")
    print("| --- | ---: | ---: |")
    counters = [
        counter_for("o200k_base"),
        counter_for("cl100k_base"),
        counter_for(None),
    ]
    if quicktok_is_installed():
        counters.insert(0, counter_for("o200k_base", fast=True))
    for counter in counters:
        count = counter.count
        count("load")
        whole = len(text) / best(partial(count, text))
        each = 400_000 / best(partial(sum_of, count, short))
        name = f"{counter.name} ({type(counter).__name__})"
        print(f"| {name} | {whole:,.0f} | {each:,.0f} |")
    print("\n| vocabulary | first count, s |\n| --- | ---: |")
    for encoding in ("o200k_base", "cl100k_base"):
        print(f"| {encoding} | {load_seconds(encoding):.2f} |")


if __name__ == "__main__":
    main()
