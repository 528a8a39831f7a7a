"""What the service counts, in Prometheus' words: turns, their time, sizes of requests.

No label names a user or a conversation, and nothing that was said is counted by what it
was.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_OWN_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_TOKENS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)


class Metrics:
    """Counts for one application, also where several processes serve it."""

    def __init__(self) -> None:
        own = CollectorRegistry()
        self._registry = own
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # `serve` with several workers
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self.turns = Counter(
            "context_builder_turns",
            "Turns that ended, by how.",
            ["outcome"],
            registry=own,
        )
        self.turn_seconds = Histogram(
            "context_builder_turn_seconds",
            "From a message to the end of its turn, the model's time included.",
            buckets=_SECONDS,
            registry=own,
        )
        self.own_seconds = Histogram(
            "context_builder_own_seconds",
            "What a turn took beside the model's and the tools' time.",
            buckets=_OWN_SECONDS,
            registry=own,
        )
        self.request_tokens = Histogram(
            "context_builder_request_tokens",
            "Input tokens of the requests to the model, by our count.",
            buckets=_TOKENS,
            registry=own,
        )
        self.tokens = Counter(
            "context_builder_billed_tokens",
            "Tokens that vendors billed. Input includes cached tokens.",
            ["kind"],
            registry=own,
        )
        self.tool_calls = Counter(
            "context_builder_tool_calls",
            "Tools that were run, by how that ended.",
            ["outcome"],
            registry=own,
        )
        self.running = Gauge(
            "context_builder_running_turns",
            "Turns that are running now.",
            registry=own,
            multiprocess_mode="livesum",
        )

    def text(self) -> bytes:
        """Return all counts in Prometheus' text format."""
        return latest(self._registry)
