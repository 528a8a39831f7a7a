"""Measures memory of many sessions, and the time of an import.

    python -m benchmarks.bench_memory

A thousand sessions of a hundred messages each, built once. What is reported is beyond
the texts themselves, which every session would hold anyway.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from typing import Any

from benchmarks.generate import conversation
from context_builder import ContextBuilder

SESSIONS = 1_000
MESSAGES = 97
IMPORTS = 7


def _text_bytes(messages: list[dict[str, Any]]) -> int:
    """Return what the texts of a conversation take as Python objects."""
    total = 0
    for message in messages:
        total += sys.getsizeof(message["content"] or "")
        for call in message.get("tool_calls", ()):
            total += sys.getsizeof(call["function"]["arguments"])
    return total


def _session_bytes() -> tuple[float, float]:
    """Return bytes a session takes in all, and the part that is its texts."""
    ContextBuilder(model="gpt-4o", max_tokens=16_000).build()
    texts = 0
    held = []
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(SESSIONS):
        messages = conversation(MESSAGES, seed=number % 20)
        texts += _text_bytes(messages)
        ctx = ContextBuilder(model="gpt-4o", max_tokens=16_000)
        ctx.extend(messages)
        ctx.build()
        held.append(ctx)
        del messages
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / SESSIONS, texts / SESSIONS


def _import_ms(statement: str) -> float:
    times = []
    for _ in range(IMPORTS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def main() -> None:
    """Print both tables."""
    bare = _import_ms("pass")
    print("| import | ms above bare Python |")
    print("| --- | --- |")
    for name in ("pydantic", "context_builder"):
        print(f"| {name} | {_import_ms(f'import {name}') - bare:,.0f} |")
    taken, texts = _session_bytes()
    print("\n| sessions | messages | kB a session | of it text | over its text |")
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| {SESSIONS:,} | {MESSAGES} | {taken / 1e3:,.1f} | {texts / 1e3:,.1f} | "
        f"{(taken - texts) / 1e3:,.1f} |"
    )


if __name__ == "__main__":
    main()
