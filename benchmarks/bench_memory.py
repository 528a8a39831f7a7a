"""Measures memory of many sessions, and the time of an import.

    python -m benchmarks.bench_memory [--quick]

A thousand sessions of 97 messages each, built once, and once more after three steps
and a question that looks back, when all that a session keeps is there; and the same
asleep: held by a `SessionManager` for their next turn, log and decision packed. What is
told is beyond the texts themselves, which every session would hold anyway. An import is
measured in processes of its own.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from typing import Any

from benchmarks.generate import conversation, turn
from benchmarks.timing import is_quick, print_table
from context_builder import ContextBuilder, SessionManager

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


def _session_bytes(sessions: int, *, is_used: bool) -> tuple[float, float]:
    """Return bytes a session takes in all, and the part that is its texts."""
    loaded = ContextBuilder(model="gpt-4o", max_tokens=16_000)
    loaded.extend(conversation(MESSAGES))  # loads what all sessions share
    loaded.build()
    texts = 0
    held = []
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(sessions):
        messages = conversation(MESSAGES, seed=number % 20)
        ctx = ContextBuilder(model="gpt-4o", max_tokens=16_000)
        ctx.extend(messages)
        ctx.build()
        if is_used:
            messages += turn(MESSAGES, seed=number % 20)
            for message in messages[MESSAGES:]:
                ctx.extend([message])
                ctx.build()
        texts += _text_bytes(messages)
        held.append(ctx)
        del messages
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / sessions, texts / sessions


def _asleep_bytes(sessions: int) -> tuple[float, float]:
    """Return bytes a session takes that a manager holds, and what its texts would."""
    texts = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        SessionManager(
            model="gpt-4o",
            max_tokens=16_000,
            store=f"sqlite:///{folder}/sessions.db",
            max_awake=1,
        ) as manager,
    ):
        for number in range(sessions + 2):
            if number == 2:  # the first loaded what is shared, the second stays awake
                gc.collect()
                tracemalloc.start()
                before = tracemalloc.get_traced_memory()[0]
            messages = conversation(MESSAGES, seed=number % 20)
            with manager.open(f"s{number}") as ctx:
                ctx.extend(messages)
                ctx.build()
            texts += _text_bytes(messages) if number > 1 else 0
            del messages, ctx
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    return taken / sessions, texts / sessions


def _import_ms(statement: str) -> float:
    times = []
    for _ in range(IMPORTS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


STATEMENTS = (
    "import pydantic.main",
    "import context_builder",
    "from context_builder import ContextBuilder",
    "from context_builder import *",
)


def main() -> None:
    """Print both tables."""
    bare = _import_ms("pass")
    print_table(
        ("statement", "ms above bare Python"),
        [(f"`{name}`", f"{_import_ms(name) - bare:,.0f}") for name in STATEMENTS],
    )
    sessions = 20 if is_quick() else SESSIONS
    rows = []
    forms = {
        "built once": partial(_session_bytes, sessions, is_used=False),
        "a turn later": partial(_session_bytes, sessions, is_used=True),
        "asleep, built once": partial(_asleep_bytes, sessions),
    }
    for name, measure in forms.items():
        taken, texts = measure()
        rows.append(
            (
                f"{sessions:,}",
                name,
                f"{taken / 1e3:,.1f}",
                f"{texts / 1e3:,.1f}",
                f"{(taken - texts) / 1e3:,.1f}",
            )
        )
    print_table(("sessions", "", "kB a session", "of it text", "over its text"), rows)


if __name__ == "__main__":
    main()
