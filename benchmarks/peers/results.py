"""What a run is asked for, and what it found: values, and their form in a file."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.judge import Verdict
from benchmarks.timing import percentiles

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["QUICK", "Figure", "Plan", "Results"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    budget_tokens: int = 16_000
    lengths: tuple[int, ...] = (100, 1_000, 10_000)
    cold_rounds: int = 3
    warm_rounds: int = 20
    steps_a_round: int = 20
    """Messages appended before the next peer has its turn."""
    warm_up: int = 20
    """Messages appended before that: after a load, some do work once that was put off.
    The slowest of these steps is told apart."""
    rebuilds: int = 200
    box_seconds: float = 60.0
    """How long a peer may take for one answer: a load, or a round of steps."""
    share_seconds: float = 5.0
    """After how long at one task and length a peer has no further turn."""
    sessions: int = 10
    """Sessions that are held at once while memory is measured."""
    session_messages: int = 97
    judged_length: int = 120
    """Where the judged session begins; it ends `judged_steps` later."""
    judged_steps: int = 60
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

    def told(self) -> dict[str, Any]:
        """Return it without the single times."""
        said: dict[str, Any] = {"is_over": self.is_over, "problem": self.problem}
        for clock in ("wall", "cpu"):
            taken: list[float] = getattr(self, clock)
            said[clock] = None
            if taken:
                p50, p99, mean = (float(f"{one:.4g}") for one in percentiles(taken))
                times = {"n": len(taken), "p50": p50, "p99": p99, "mean": mean}
                said[clock] = times
        return said

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

    def each(self) -> Iterator[tuple[str, str, int, Figure]]:
        """Yield every figure with its task, its peer and its length."""
        for task, by_peer in self.figures.items():
            for peer, by_length in by_peer.items():
                for length, figure in by_length.items():
                    yield task, peer, length, figure

    def to_json(self) -> str:
        """Return all of it, each single time included."""
        figures = [(*where, asdict(figure)) for *where, figure in self.each()]
        return json.dumps(self._about() | {"figures": figures})

    def summary(self) -> str:
        """Return it as JSON with median, 99th percentile and mean in place of times."""
        figures = [
            {"task": task, "peer": peer, "messages": length, **figure.told()}
            for task, peer, length, figure in self.each()
        ]
        return json.dumps(self._about() | {"seconds": figures}, indent=1)

    def _about(self) -> dict[str, Any]:
        return {
            "plan": asdict(self.plan),
            "versions": self.versions,
            "missing": self.missing,
            "bytes_a_session": self.memory,
            "verdicts": {peer: asdict(each) for peer, each in self.verdicts.items()},
        }

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the results of an earlier run, told by the clock that it chose."""
        said = json.loads(text)
        said["plan"]["lengths"] = tuple(said["plan"]["lengths"])
        results = cls(
            Plan(**said["plan"]),
            tuple(peer for peer in PEERS if peer.name in said["versions"]),
            said["versions"],
            said["missing"],
            memory=said["bytes_a_session"],
            verdicts={peer: Verdict(**each) for peer, each in said["verdicts"].items()},
        )
        for task, peer, length, figure in said["figures"]:
            results.figures[task][peer][length] = Figure(**figure)
        return results

    def by(self, clock: str) -> None:
        """Tell all of it by the other clock from now on."""
        self.plan = replace(self.plan, clock=clock)
        for *_, figure in self.each():
            figure.clock = clock
