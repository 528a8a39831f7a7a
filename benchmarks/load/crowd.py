"""Starts workers, kills some of them, and starts others in their place."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from context_builder.sessions import SessionManager

if TYPE_CHECKING:
    from benchmarks.load.worker import Job

__all__ = ["Crowd", "acknowledged", "contents", "wipe"]

ROOT = Path(__file__).parents[2]


class Crowd:
    """Processes that work on one job."""

    def __init__(self, job: Job, *, processes: int, seed: int = 1) -> None:
        self._job = job
        self._processes = processes
        self._chance = random.Random(seed)
        self.killed = 0

    def run(self, *, kills: int, timeout_seconds: float) -> float:
        """Let them work, killing one every now and then; return the seconds it took.

        Raises:
            AssertionError: If a worker failed, or they did not come to an end.
        """
        crowd = [self._start(number) for number in range(self._processes)]
        try:
            return self._watch(crowd, kills, timeout_seconds)
        finally:
            for process in crowd:
                process.kill()
                process.wait()

    def _watch(
        self, crowd: list[subprocess.Popen[bytes]], kills: int, timeout_seconds: float
    ) -> float:
        started = time.monotonic()
        next_kill = started + 1.0
        while crowd:
            now = time.monotonic()
            assert now - started < timeout_seconds, "they wait for one another for ever"
            if self.killed < kills and now > next_kill:
                victim = self._chance.randrange(len(crowd))
                crowd[victim].kill()
                crowd[victim].wait()
                crowd[victim] = self._start(self._processes + self.killed)
                self.killed += 1
                next_kill = now + self._chance.uniform(0.2, 1.0)
            for process in list(crowd):
                if process.poll() is not None:
                    assert process.returncode == 0, "a worker failed"
                    crowd.remove(process)
            time.sleep(0.005)
        return time.monotonic() - started

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        job = dataclasses.replace(
            self._job,
            acks=f"{self._job.acks}.{number}",
            first_writer=number * self._job.tasks,
        )
        told = json.dumps(dataclasses.asdict(job))
        command = [sys.executable, "-m", "benchmarks.load.worker", told]
        return subprocess.Popen(command, cwd=ROOT)  # noqa: S603 (ourselves)


def acknowledged(job: Job) -> list[tuple[str, int, str]]:
    """Return what workers were told is safe: session, place, text."""
    folder, name = Path(job.acks).parent, Path(job.acks).name
    return [
        tuple(json.loads(line))
        for path in folder.glob(f"{name}.*")
        for line in path.read_text("utf-8").splitlines()
    ]


def contents(job: Job) -> dict[str, list[str]]:
    """Return the texts of every session, read by a process that wrote none of it."""
    found = {}
    with SessionManager(
        store=job.store, namespace=job.namespace, max_tokens=4_096, max_sessions=5
    ) as sessions:
        for info in sessions.list():
            with sessions.open(info.session_id) as ctx:
                assert ctx.damage == ()
                found[info.session_id] = [item.text for item in ctx.items]
    return found


def wipe(store: str, namespace: str) -> None:
    """Delete what a proof has left in a store."""
    with SessionManager(store=store, namespace=namespace, max_tokens=4_096) as sessions:
        for info in sessions.list():
            sessions.delete(info.session_id)
