"""Measures what a turn costs, by store and by length, and what a session weighs.

    python -m benchmarks.load.figures --stores sqlite redis postgres

A turn is: open, add what the user and the model said, leave. Beside the stores stands
the plain way in the same run, on the same data: load JSON, append, save JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
import tracemalloc
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.sessions import SessionManager

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["growth", "held", "live", "turns", "weight"]

QUESTION = "What is the status of order {}, and when will it arrive at the warehouse? "
ANSWER = "Order {} left on Tuesday. It passed the border and will arrive on Friday. "
URLS = {
    "redis": "redis://127.0.0.1:6379/0",
    "postgres": "postgresql://postgres@127.0.0.1/test",
}


def _manager(store: str, namespace: str = "figures", **settings: Any) -> SessionManager:
    settings = {"max_tokens": 2_048, "lease_seconds": 60} | settings
    return SessionManager(store=store, namespace=namespace, **settings)


def _turn(
    sessions: SessionManager, session_id: str, number: int, *, builds: bool = False
) -> None:
    with sessions.open(session_id) as ctx:
        ctx.add_user_message(QUESTION.format(number) * 2)
        if builds:
            ctx.build()
        ctx.add_assistant_message(ANSWER.format(number) * 4)


def _turn_of(manager: SessionManager, sessions: int, number: int) -> None:
    _turn(manager, f"s{number % sessions}", number)


def _history(messages: int) -> list[dict[str, str]]:
    return [
        {"role": "assistant", "content": ANSWER.format(number) * 4}
        if number % 2
        else {"role": "user", "content": QUESTION.format(number) * 2}
        for number in range(messages)
    ]


def _timed(work: Callable[[int], None], count: int) -> dict[str, float]:
    times = []
    for number in range(count):
        started = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - started)
    times.sort()
    return {
        "turns_per_second": round(1 / statistics.fmean(times), 1),
        "p50_ms": round(1e3 * times[len(times) // 2], 3),
        "p99_ms": round(1e3 * times[int(len(times) * 0.99)], 3),
    }


class _PlainJson:
    """The plain way: a file a session, read whole and written whole."""

    def __init__(self, folder: Path, *, flush: bool) -> None:
        self._folder = folder
        self._flush = flush

    def start(self, session_id: str, messages: list[dict[str, str]]) -> None:
        (self._folder / session_id).write_text(json.dumps(messages))

    def turn_of(self, sessions: int, number: int) -> None:
        self.turn(f"s{number % sessions}", number)

    def turn(self, session_id: str, number: int) -> None:
        path = self._folder / session_id
        messages = json.loads(path.read_text()) if path.exists() else []
        messages.append({"role": "user", "content": QUESTION.format(number) * 2})
        messages.append({"role": "assistant", "content": ANSWER.format(number) * 4})
        beside = path.with_suffix(".new")
        with beside.open("w") as file:
            json.dump(messages, file)
            if self._flush:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)


def turns(
    stores: dict[str, str], folder: Path, *, sessions: int, history: int, count: int
) -> dict[str, dict[str, float]]:
    """Measure turns of sessions that have a history, one after the other."""
    rows = {}
    for name, url in stores.items():
        namespace = f"figures-{uuid.uuid4().hex}"
        with _manager(url, namespace) as manager:
            for number in range(sessions):
                with manager.open(f"s{number}") as ctx:
                    ctx.extend(_history(history))
            rows[name] = _timed(partial(_turn_of, manager, sessions), count)
            for info in manager.list():
                manager.delete(info.session_id)
    for name, flush in (("plain JSON", False), ("plain JSON, flushed", True)):
        plain = _PlainJson(Path(tempfile.mkdtemp(dir=folder)), flush=flush)
        for number in range(sessions):
            plain.start(f"s{number}", _history(history))
        rows[name] = _timed(partial(plain.turn_of, sessions), count)
    return rows


def growth(
    stores: dict[str, str], *, lengths: tuple[int, ...], count: int
) -> dict[str, dict[int, float]]:
    """Measure the median turn in milliseconds by the length of the history.

    Lengths take turns, so that a slow moment of the machine hits all of them. `two
    workers`: each turn comes to the worker that did not serve the one before.
    """
    rows: dict[str, dict[int, float]] = {}
    for name, url in stores.items():
        namespace = f"figures-{uuid.uuid4().hex}"
        with _manager(url, namespace) as here, _manager(url, namespace) as there:
            for length in lengths:
                with here.open(f"s{length}") as ctx:
                    ctx.extend(_history(length))
            ways = {
                name: (count, (here, here), False),
                f"{name}, two workers": (count, (here, there), False),
                f"{name}, with a build": (max(10, count // 10), (here, here), True),
            }
            if name == "memory":
                del ways[f"{name}, two workers"]  # they would share none of it
            for way, (turns_each, managers, builds) in ways.items():
                rows[way] = _medians(lengths, turns_each, managers, builds=builds)
            for length in lengths:
                here.delete(f"s{length}")
    return rows


def _medians(
    lengths: tuple[int, ...],
    count: int,
    managers: tuple[SessionManager, SessionManager],
    *,
    builds: bool,
) -> dict[int, float]:
    times: dict[int, list[float]] = {length: [] for length in lengths}
    for number in range(-4, count):
        for length in lengths:
            started = time.perf_counter()
            _turn(managers[number % 2], f"s{length}", number, builds=builds)
            if number >= 0:  # the first ones warm up
                times[length].append(time.perf_counter() - started)
    return {
        length: round(1e3 * statistics.median(taken), 3)
        for length, taken in times.items()
    }


def weight(*, sessions: int, messages: int) -> dict[str, float]:
    """Measure the memory of a session in kB over its text, awake and asleep."""
    rows = {}
    texts = [f"{message['content']}" for message in _history(messages)]
    text_bytes = sum(map(len, texts))
    forms = {
        "awake, never built": (sessions, False),
        "awake, built": (sessions, True),
        "asleep": (1, True),
    }
    for name, (awake, builds) in forms.items():
        store = f"sqlite:///{tempfile.mkdtemp()}/s.db"
        with _manager(store, max_awake=awake, max_tokens=100_000) as manager:
            _fill(manager, "warm", messages, builds=builds)
            gc.collect()
            tracemalloc.start()
            for number in range(sessions):
                _fill(manager, f"s{number}", messages, builds=builds)
            _fill(manager, "warm", 2, builds=builds)
            gc.collect()
            held_bytes = tracemalloc.get_traced_memory()[0] / sessions
            tracemalloc.stop()
        rows[name] = round((held_bytes - text_bytes) / 1_000, 1)
    return {"text": round(text_bytes / 1_000, 1)} | rows


def live(*, sessions: tuple[int, ...], messages: int) -> dict[str, float]:
    """Measure all that a process holds in kB a session over its text, as it is used.

    Sessions come one after the other to one manager with its defaults, and each is
    built. What is told is of all of them, awake and asleep.
    """
    text_bytes = sum(len(message["content"]) for message in _history(messages))
    rows = {}
    store = f"sqlite:///{tempfile.mkdtemp()}/s.db"
    with _manager(store, max_tokens=100_000) as manager:
        _fill(manager, "warm", messages, builds=True)
        gc.collect()
        tracemalloc.start()
        for number in range(max(sessions)):
            _fill(manager, f"s{number}", messages, builds=True)
            if number + 1 in sessions:
                gc.collect()
                held_bytes = tracemalloc.get_traced_memory()[0] / (number + 1)
                rows[f"{number + 1:,}"] = round((held_bytes - text_bytes) / 1_000, 1)
        tracemalloc.stop()
    return rows


def _fill(
    manager: SessionManager, session_id: str, messages: int, *, builds: bool
) -> None:
    with manager.open(session_id) as ctx:
        ctx.extend(_history(messages))
        if builds:
            ctx.build()


def held(folder: Path, *, sessions: int, messages: int) -> dict[str, float]:
    """Hold so many sessions in one process, and go back to some of them."""
    text_bytes = sum(len(message["content"]) for message in _history(messages))
    with _manager(f"sqlite:///{folder}/held.db", max_tokens=100_000) as manager:
        _fill(manager, "warm", messages, builds=True)
        gc.collect()
        before, started = _resident_bytes(), time.perf_counter()
        for number in range(sessions):
            _fill(manager, f"s{number}", messages, builds=True)
        seconds = time.perf_counter() - started
        gc.collect()
        each = (_resident_bytes() - before) / sessions
        assert manager.live_sessions >= min(sessions, 10_000)
        woken = _timed(lambda n: _turn(manager, f"s{n * 7 % sessions}", n), 200)
        awake = _timed(lambda n: _turn(manager, f"s{n % 20}", n), 400)
    return {
        "sessions": sessions,
        "seconds": round(seconds, 1),
        "resident_kB_each": round(each / 1_000, 1),
        "over_text_kB_each": round((each - text_bytes) / 1_000, 1),
        "woken_turn_p50_ms": woken["p50_ms"],
        "awake_turn_p50_ms": awake["p50_ms"],
    }


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _table(title: str, rows: dict[str, Any]) -> None:
    print(f"\n{title}")
    for name, row in rows.items():
        print(f"  {name:<28}", row)


def main() -> None:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="*", default=["memory", "sqlite", *URLS])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--history", type=int, nargs="*", default=[100, 1_000])
    parser.add_argument("--lengths", type=int, nargs="*", default=[100, 10_000])
    parser.add_argument("--held", type=int, default=10_000)
    parser.add_argument("--live", type=int, nargs="*", default=[50, 200, 1_000])
    parser.add_argument("--messages", type=int, default=100)
    parser.add_argument("--folder", help="where files lie; default: a temporary one")
    args = parser.parse_args()
    folder = Path(args.folder or tempfile.mkdtemp())
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{folder}/figures.db"} | URLS
    stores = {name: urls[name] for name in args.stores}
    for history in args.history:
        title = f"turns of {args.sessions} sessions that hold {history} messages"
        rows = turns(
            stores, folder, sessions=args.sessions, history=history, count=args.turns
        )
        _table(title, rows)
    medians = growth(stores, lengths=tuple(args.lengths), count=args.turns // 2)
    _table("median turn in ms, by messages that the session holds", medians)
    _table(
        f"kB over the text, {args.messages} messages",
        weight(sessions=50, messages=args.messages),
    )
    _table(
        "kB over the text, by sessions held, with default settings",
        live(sessions=tuple(args.live), messages=args.messages),
    )
    _table(
        "sessions held in one process",
        held(folder, sessions=args.held, messages=args.messages),
    )


if __name__ == "__main__":
    main()
