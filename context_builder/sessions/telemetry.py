"""OpenTelemetry, where it is installed: a span a block, a span a build, and figures.

Names follow the conventions for generative AI and for databases where these have one;
the others begin with `context_builder.`. Tokens that a vendor billed are reported by
whoever calls the vendor, not here, so that nothing is counted twice. Spans and metrics
hold ids, counts and durations, never content. Without the package, nothing happens.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.sessions.store import SessionKey

__all__ = ["Telemetry"]

_SCOPE = "context_builder.sessions"
_PROVIDERS = {
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "kimi": "moonshot_ai",
    "mistral": "mistral_ai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""Targets that the conventions have another name for."""
_DATABASES = {"postgres": "postgresql", "redis": "redis", "sqlite": "sqlite"}
"""The kinds of stores that are databases, as the conventions name them."""


class Telemetry:
    """Reports to whatever provider the application has set up.

    Args:
        store: The kind of store, such as `sqlite`.
        model: The model of the manager, if it has one.
    """

    def __init__(self, *, store: str, model: str | None) -> None:
        self._facts: dict[str, Any] = {"context_builder.store": store}
        if store in _DATABASES:
            self._facts["db.system.name"] = _DATABASES[store]
        self._model = model
        self._api: Any = None
        self._tracer: Any = None
        try:
            from opentelemetry import metrics, trace  # noqa: PLC0415 (an extra)
        except ModuleNotFoundError:
            return
        self._api = trace
        self._tracer = trace.get_tracer(_SCOPE)
        self._make_instruments(metrics.get_meter(_SCOPE))

    def _make_instruments(self, meter: Any) -> None:
        self._opens = meter.create_histogram(
            "context_builder.session.open.duration",
            unit="s",
            description="How long it took to open a session, waiting included.",
        )
        self._commits = meter.create_histogram(
            "context_builder.session.commit.duration",
            unit="s",
            description="How long it took to keep what came in.",
        )
        self._builds = meter.create_histogram(
            "context_builder.build.duration",
            unit="s",
            description="How long it took to build a request.",
        )
        self._tokens = meter.create_histogram(
            "context_builder.build.input_tokens",
            unit="{token}",
            description="Tokens of a request as built, tools and framing included.",
        )
        self._compactions = meter.create_counter(
            "context_builder.compactions",
            unit="{compaction}",
            description="Compactions that builds needed.",
        )

    @contextmanager
    def turn(self, key: SessionKey) -> Iterator[None]:
        """Span a block in which a session is open."""
        if self._tracer is None:
            yield
            return
        facts = self._facts | _of_session(key) | _of_model(self._model)
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
                span.set_status(self._api.StatusCode.ERROR)
                raise

    def opened(self, duration_seconds: float) -> None:
        """Count an opening."""
        if self._tracer is not None:
            self._opens.record(duration_seconds, self._facts)

    def kept(self, duration_seconds: float) -> None:
        """Count a commit."""
        if self._tracer is not None:
            self._commits.record(duration_seconds, self._facts)

    def built(self, key: SessionKey, facts: Mapping[str, Any]) -> None:
        """Count a build, and span it; the facts are those of `context_built`."""
        if self._tracer is None:
            return
        seconds = float(facts["duration_seconds"])
        target = str(facts["target"])
        about = {
            "gen_ai.provider.name": _PROVIDERS.get(target, target),
            **_of_model(facts["model"]),
        }
        self._builds.record(seconds, about)
        self._tokens.record(int(facts["tokens"]), about)
        if facts["compactions"]:
            self._compactions.add(int(facts["compactions"]), about)
        ended = time.time_ns()
        span = self._tracer.start_span(
            "context_builder.build",
            start_time=ended - round(seconds * 1e9),
            attributes={
                **about,
                **_of_session(key),
                "context_builder.input_tokens": facts["tokens"],
                "context_builder.budget_tokens": facts["budget_tokens"],
                "context_builder.messages": facts["messages"],
                "context_builder.compactions": facts["compactions"],
            },
        )
        span.end(ended)


def _of_session(key: SessionKey) -> dict[str, Any]:
    return {
        "gen_ai.conversation.id": key.session_id,
        "context_builder.namespace": key.namespace,
    }


def _of_model(model: str | None) -> dict[str, Any]:
    return {} if model is None else {"gen_ai.request.model": model}
