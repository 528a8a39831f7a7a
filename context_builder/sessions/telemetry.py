"""OpenTelemetry, where it is installed: a span a turn, and how long keeping it took.

Names follow the conventions for generative AI where these have one. Spans and metrics
hold ids, counts and durations, never content. Without the package, nothing happens.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_builder.sessions.store import SessionKey

__all__ = ["Telemetry"]

_SCOPE = "context_builder.sessions"


class Telemetry:
    """Reports to whatever provider the application has set up."""

    def __init__(self, *, store: str, model: str | None) -> None:
        self._facts: dict[str, Any] = {"context_builder.store": store}
        if model is not None:
            self._facts["gen_ai.request.model"] = model
        self._tracer: Any = None
        self._turns: Any = None
        self._commits: Any = None
        try:
            from opentelemetry import metrics, trace  # noqa: PLC0415 (an extra)
        except ModuleNotFoundError:
            return
        self._tracer = trace.get_tracer(_SCOPE)
        meter = metrics.get_meter(_SCOPE)
        self._turns = meter.create_histogram(
            "context_builder.session.open.duration",
            unit="s",
            description="How long it took to open a session, waiting included.",
        )
        self._commits = meter.create_histogram(
            "context_builder.session.commit.duration",
            unit="s",
            description="How long it took to keep what came in.",
        )

    @contextmanager
    def turn(self, key: SessionKey) -> Iterator[None]:
        """Span a block in which a session is open."""
        if self._tracer is None:
            yield
            return
        facts = self._facts | {
            "gen_ai.conversation.id": key.session_id,
            "context_builder.namespace": key.namespace,
        }
        with self._tracer.start_as_current_span(
            "context_builder.session",
            attributes=facts,
            record_exception=False,  # its message and its trace may hold content
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                raise

    def opened(self, duration_seconds: float) -> None:
        """Count an opening."""
        if self._turns is not None:
            self._turns.record(duration_seconds, self._facts)

    def kept(self, duration_seconds: float) -> None:
        """Count a commit."""
        if self._commits is not None:
            self._commits.record(duration_seconds, self._facts)
