"""One run: every peer does the same tasks over the same histories, in turns.

Figures that are compared are taken in turns, so that a busy moment of the machine hits
all of them, and only one worker works at a time. A peer that has used up its time at a
length is left alone there, and what it did until then is told.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.generate import conversation
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.driver import (
    START_SECONDS,
    PeerFailedError,
    PeerTooSlowError,
    WorkerProcess,
)
from benchmarks.peers.judge import Verdict, judge
from benchmarks.timing import percentiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


__all__ = ["Figure", "Plan", "Results", "run"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    budget_tokens: int = 16_000
    lengths: tuple[int, ...] = (100, 1_000, 10_000)
    cold_rounds: int = 5
    warm_rounds: int = 20
    steps_a_round: int = 20
    """Messages appended before the next peer has its turn."""
    warm_up: int = 20
    """Messages appended before that: after a load, some do work once that was put off.
    The slowest of these steps is told apart."""
    rebuilds: int = 200
    box_seconds: float = 60.0
    """How long a peer may take for one answer: a load, or a round of steps."""
    share_seconds: float = 12.0
    """After how long at one task and length a peer has no further turn."""
    sessions: int = 30
    """Sessions that are held at once while memory is measured."""
    session_messages: int = 97
    judged_length: int = 400
    """Where the judged session begins; it ends `judged_steps` later."""
    judged_steps: int = 80
    clock: str = "wall"
    """`wall`, or `cpu`: the processor's time, all threads together."""


QUICK = Plan(
    lengths=(100, 1_000),
    cold_rounds=2,
    warm_rounds=4,
    steps_a_round=10,
    warm_up=8,
    rebuilds=20,
    box_seconds=15.0,
    share_seconds=3.0,
    sessions=5,
    judged_length=100,
    judged_steps=40,
)
"""A run of a minute or two."""


@dataclass(slots=True)
class Figure:
    """What was measured of one peer at one task and length."""

    wall: list[float] = field(default_factory=list)
    """Seconds of each time, by the clock."""
    cpu: list[float] = field(default_factory=list)
    """Seconds of the processor, all threads together, of the same."""
    clock: str = "wall"
    """Which of the two the tables tell."""
    is_over: bool = False
    """Its time was over, so there may be fewer, or none."""
    problem: str = ""

    @property
    def taken(self) -> list[float]:
        """Seconds of each time, by the clock that was chosen."""
        return self.cpu if self.clock == "cpu" else self.wall

    @property
    def p50(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.taken)

    @property
    def p99(self) -> float:
        """The 99th percentile, in seconds."""
        return percentiles(self.taken)[1]

    @property
    def mean(self) -> float:
        """The mean, in seconds: compactions have their share in it."""
        return statistics.mean(self.taken)


@dataclass(slots=True)
class Results:
    """Everything that one run found."""

    plan: Plan
    peers: tuple[Peer, ...]
    """Those that were there."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Who was not there, or did not start, and why."""
    figures: dict[str, dict[str, dict[int, Figure]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """By task (`cold`, `first`, `warm`, `rebuild`, `view`), peer and length."""
    memory: dict[str, float] = field(default_factory=dict)
    """Bytes a session beyond its texts, by peer."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return all of it, each single time included."""
        plain = {
            "plan": asdict(self.plan),
            "versions": self.versions,
            "missing": self.missing,
            "seconds": {
                task: {
                    peer: {str(n): asdict(figure) for n, figure in by_length.items()}
                    for peer, by_length in by_peer.items()
                }
                for task, by_peer in self.figures.items()
            },
            "bytes_a_session": self.memory,
            "verdicts": {peer: asdict(each) for peer, each in self.verdicts.items()},
        }
        return json.dumps(plain, indent=1)


class _Run:
    """Workers, and what they found so far."""

    def __init__(
        self, plan: Plan, results: Results, say: Callable[[str], None]
    ) -> None:
        self.plan = plan
        self.results = results
        self.workers: list[WorkerProcess] = []
        self.say = say

    def figure(self, task: str, worker: WorkerProcess, length: int) -> Figure:
        by_length = self.results.figures[task][worker.peer.name]
        return by_length.setdefault(length, Figure(clock=self.plan.clock))

    def measure(
        self, task: str, worker: WorkerProcess, length: int, given: dict[str, Any]
    ) -> None:
        """Have a task done once more, unless its time is over or it failed."""
        name = {"view": "rebuild", "first": "warm"}.get(task, task)
        figure = self.figure(task, worker, length)
        if figure.is_over or figure.problem:
            return
        left = self.plan.share_seconds - sum(figure.wall)
        if left <= 0 or (task != "cold" and not worker.is_running):
            figure.is_over = True
            return
        if task != "cold":
            given = {**given, "box_seconds": left}
        # What is not timed takes time too: making the messages anew.
        within = self.plan.box_seconds + 1 + length / 2_000
        try:
            answer = worker.ask(name, within, **given)
        except PeerTooSlowError:
            figure.is_over = True
        except PeerFailedError as error:
            figure.problem = str(error)
        else:
            figure.wall += answer["wall"]
            figure.cpu += answer["cpu"]

    def cold(self, length: int) -> None:
        """Time loading a history at once and building."""
        for round_number in range(self.plan.cold_rounds):
            for worker in turned(self.workers, round_number):
                self.measure("cold", worker, length, {"length": length})

    def warm(self, length: int) -> None:
        """Time appending a message and building, and building once more."""
        ready = [worker for worker in self.workers if self.opened(worker, length)]
        for worker in ready:
            self.measure("first", worker, length, {"count": self.plan.warm_up})
        count = self.plan.steps_a_round
        for round_number in range(self.plan.warm_rounds):
            for worker in turned(ready, round_number):
                self.measure("warm", worker, length, {"count": count})
        again = {"count": self.plan.rebuilds}
        for worker in ready:
            self.measure("rebuild", worker, length, again)
        for worker in ready:
            if worker.peer.has_view:
                self.measure("view", worker, length, {**again, "door": "view"})

    def opened(self, worker: WorkerProcess, length: int) -> bool:
        """Open a session, unless the load alone took too long."""
        before = self.results.figures["cold"][worker.peer.name].get(length, Figure())
        figure = self.figure("warm", worker, length)
        figure.problem, figure.is_over = before.problem, not before.wall
        if figure.problem or figure.is_over:
            again = self.figure("rebuild", worker, length)
            again.problem, again.is_over = figure.problem, figure.is_over
            return False
        try:
            worker.ask("open", START_SECONDS, length=length)
        except (PeerTooSlowError, PeerFailedError) as error:
            figure.problem = str(error)
            return False
        return True

    def memory(self) -> None:
        """Measure what many sessions take beyond their texts."""
        plan = self.plan
        for worker in self.workers:
            try:
                answer = worker.ask(
                    "memory",
                    START_SECONDS,
                    sessions=plan.sessions,
                    length=plan.session_messages,
                )
            except (PeerTooSlowError, PeerFailedError) as error:
                self.say(f"memory: {error}")
                continue
            beyond = answer["bytes"] - answer["text_bytes"]
            self.results.memory[worker.peer.name] = beyond

    def judged(self, history: Sequence[dict[str, Any]]) -> None:
        """Judge what each would send, over consecutive requests of one session."""
        plan = self.plan
        for worker in self.workers:
            try:
                answer = worker.ask(
                    "requests",
                    START_SECONDS,
                    length=plan.judged_length,
                    steps=plan.judged_steps,
                    box_seconds=plan.box_seconds,
                )
            except (PeerTooSlowError, PeerFailedError) as error:
                self.say(f"judged: {error}")
                continue
            self.results.verdicts[worker.peer.name] = judge(
                answer["requests"], history, plan.budget_tokens
            )


def turned(workers: Sequence[WorkerProcess], by: int) -> Iterable[WorkerProcess]:
    """Return the workers, another one first each round."""
    start = by % len(workers) if workers else 0
    return [*workers[start:], *workers[:start]]


def run(
    peers: Sequence[Peer],
    plan: Plan,
    *,
    python_of: Callable[[Peer], Path | None],
    vocabularies: Path,
    say: Callable[[str], None] = print,
) -> Results:
    """Measure and judge the peers whose environments are there."""
    longest = max(*plan.lengths, plan.judged_length)
    steps = plan.warm_up + plan.warm_rounds * plan.steps_a_round
    extra = max(steps, plan.judged_steps)
    history = conversation(longest + extra)
    lines = [json.dumps(message, ensure_ascii=False) for message in history]
    results = Results(plan, tuple(peers))
    going = _Run(plan, results, say)
    try:
        for peer in peers:
            python = python_of(peer)
            if python is None:
                results.missing[peer.name] = "its environment is not installed"
                continue
            worker = WorkerProcess(
                peer,
                lines,
                python=python,
                vocabularies=vocabularies,
                budget_tokens=plan.budget_tokens,
            )
            _start(going, worker)
        going.judged(history)
        say("judged")
        for length in plan.lengths:
            going.cold(length)
            say(f"cold, {length:,} messages: done")
            going.warm(length)
            say(f"warm, {length:,} messages: done")
        going.memory()
    finally:
        for worker in going.workers:
            worker.end()
    results.peers = tuple(worker.peer for worker in going.workers)
    return results


def _start(going: _Run, worker: WorkerProcess) -> None:
    try:
        going.results.versions[worker.peer.name] = worker.versions()
    except (PeerFailedError, PeerTooSlowError) as error:
        worker.end()
        going.results.missing[worker.peer.name] = str(error)
    else:
        going.workers.append(worker)
