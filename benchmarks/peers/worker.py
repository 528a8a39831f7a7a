"""Runs one peer: reads a task a line, answers with a line of JSON.

    python -m benchmarks.peers.worker MODULE [VARIANT] [BUDGET]

It is started by the driver in the peer's own environment, so it knows only the standard
library and the peer's module. Only taking messages in and building is timed; turning
JSON into messages, and what was built into messages of Chat Completions, is not.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import os
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.peers.session import Message, Session

__all__ = ["Worker", "serve"]

Answer = dict[str, Any]


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return how long some work takes by the clock, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _text_bytes(messages: list[Message]) -> int:
    """Return what the texts of a conversation take as Python objects."""
    total = 0
    for message in messages:
        total += sys.getsizeof(message["content"] or "")
        for call in message.get("tool_calls") or ():
            total += sys.getsizeof(call["function"]["arguments"])
    return total


class Worker:
    """Does the tasks of one peer. Every public method is a task."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._lines: list[str] = []
        self._session: Session | None = None
        self._place = 0

    def _messages(self, first: int, last: int) -> list[Message]:
        """Make new objects, so that nothing is left over from an earlier task."""
        return [json.loads(line) for line in self._lines[first:last]]

    def take(self, lines: list[str]) -> Answer:
        """Take the history, and do everything once that is done once a process."""
        self._lines = lines
        self._load(min(9, len(lines)))
        return {"messages": len(lines)}

    def _load(self, length: int) -> tuple[Session, tuple[float, float]]:
        messages = self._messages(0, length)
        session = self._open()

        def work() -> None:
            session.extend(messages)
            session.build()

        gc.collect()
        return session, _timed(work)

    def cold(self, length: int) -> Answer:
        """Time loading a history at once and building."""
        self._session = None
        _, (wall, cpu) = self._load(length)
        return {"wall": [wall], "cpu": [cpu]}

    def open(self, length: int) -> Answer:
        """Open the session that `warm` and `rebuild` go on with."""
        self._session = None
        self._session, _ = self._load(length)
        self._place = length
        gc.collect()
        return {"messages": length}

    def _steps(self, count: int) -> Iterator[Callable[[], object]]:
        session = self._opened()
        for message in self._messages(self._place, self._place + count):
            self._place += 1

            def work(message: Message = message) -> None:
                session.extend([message])
                session.build()

            yield work

    def _opened(self) -> Session:
        if self._session is None:
            msg = "No session is open; send `open` first."
            raise RuntimeError(msg)
        return self._session

    def warm(self, count: int, box_seconds: float) -> Answer:
        """Time steps, each a message and a build, until the time is over."""
        return self._until(self._steps(count), box_seconds)

    def rebuild(self, count: int, box_seconds: float, door: str = "build") -> Answer:
        """Time builds where nothing changed."""
        again = getattr(self._opened(), door)
        return self._until((again for _ in range(count)), box_seconds)

    @staticmethod
    def _until(works: Iterator[Callable[[], object]], box_seconds: float) -> Answer:
        ends = time.perf_counter() + box_seconds
        answer: Answer = {"wall": [], "cpu": []}
        for work in works:
            wall, cpu = _timed(work)
            answer["wall"].append(wall)
            answer["cpu"].append(cpu)
            if time.perf_counter() > ends:
                break
        return answer

    def memory(self, sessions: int, length: int) -> Answer:
        """Return bytes a session, and the part that is its texts."""
        held: list[Session] = []
        texts = 0
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(sessions):
            messages = self._messages(0, length)
            texts += _text_bytes(messages)
            session = self._open()
            session.extend(messages)
            session.build()
            held.append(session)
            del messages
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        return {"bytes": taken / len(held), "text_bytes": texts / len(held)}

    def requests(self, length: int, steps: int, box_seconds: float) -> Answer:
        """Return what would be sent before each of the model's next answers."""
        session, _ = self._load(length)
        ends = time.perf_counter() + box_seconds
        made = []
        for place in range(length, length + steps):
            (message,) = self._messages(place, place + 1)
            session.extend([message])
            built = session.build()
            if message["role"] in {"user", "tool"}:
                made.append({"length": place + 1, "messages": session.shown(built)})
            if time.perf_counter() > ends:
                break
        return {"requests": made}


def _versions(names: list[str]) -> Answer:
    return {name: importlib.metadata.version(name) for name in names}


def serve(worker: Worker, answers: int) -> None:
    """Answer task after task, until the input ends."""
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in sys.stdin:
            task = json.loads(line)
            name = task.pop("task")
            try:
                work = _versions if name == "versions" else getattr(worker, name)
                answer = work(**task)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            json.dump(answer, out)
            out.write("\n")
            out.flush()


def main() -> None:
    """Open the peer and serve; what it prints must not mix with the answers."""
    answers = os.dup(1)
    os.dup2(2, 1)
    module, variant, budget = sys.argv[1:4]
    peer = importlib.import_module(module)
    serve(Worker(lambda: peer.open_session(variant, int(budget))), answers)


if __name__ == "__main__":
    main()
