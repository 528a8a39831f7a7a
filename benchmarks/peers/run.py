"""One run: every peer does the same tasks over the same histories, in turns.

Figures that are compared are taken in turns, so that a busy moment of the machine hits
all of them, and only one worker works at a time. A peer that has used up its time at a
length is left alone there, and what it did until then is told.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.generate import conversation
from benchmarks.peers.driver import (
    START_SECONDS,
    PeerFailedError,
    PeerTooSlowError,
    WorkerProcess,
)
from benchmarks.peers.judge import judge
from benchmarks.peers.results import Figure, Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from benchmarks.peers.catalogue import Peer
    from benchmarks.peers.results import Plan


__all__ = ["run"]


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
    keep: Callable[[Results], None] = lambda _: None,
) -> Results:
    """Measure and judge the peers whose environments are there.

    Args:
        peers: In the order of the tables.
        plan: How much is measured.
        python_of: Returns the Python that runs a peer, or None.
        vocabularies: The folder in which tiktoken finds its files.
        say: Told what is done.
        keep: Given what is found so far, so that a run that is broken off is of use.
    """
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
        results.peers = tuple(worker.peer for worker in going.workers)
        going.judged(history)
        say("judged")
        going.memory()
        say("memory: done")
        for length in plan.lengths:
            going.cold(length)
            say(f"cold, {length:,} messages: done")
            going.warm(length)
            say(f"warm, {length:,} messages: done")
            keep(results)
    finally:
        for worker in going.workers:
            worker.end()
    return results


def _start(going: _Run, worker: WorkerProcess) -> None:
    try:
        going.results.versions[worker.peer.name] = worker.versions()
    except (PeerFailedError, PeerTooSlowError) as error:
        worker.end()
        going.results.missing[worker.peer.name] = str(error)
    else:
        going.workers.append(worker)
