from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from context_builder.sessions import Session, SessionKey, SessionManager
from context_builder.sessions.telemetry import Telemetry

trace = pytest.importorskip(
    "opentelemetry.sdk.trace", reason="needs the OpenTelemetry SDK"
)

from opentelemetry import metrics as metrics_api  # noqa: E402
from opentelemetry import trace as trace_api  # noqa: E402
from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def reported(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[InMemorySpanExporter, InMemoryMetricReader]]:
    """Give what was reported, to providers of this test alone."""
    spans, numbers = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = trace.TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider([numbers])
    monkeypatch.setattr(trace_api, "get_tracer", tracers.get_tracer)
    monkeypatch.setattr(metrics_api, "get_meter", meters.get_meter)
    yield spans, numbers
    tracers.shutdown()
    meters.shutdown()


def fail_in(ctx: Session) -> None:
    """Let a turn fail with content in its error."""
    ctx.add_user_message("walnut")
    message = "walnut"
    raise ValueError(message)


async def test_a_block_is_a_span(
    reported: tuple[InMemorySpanExporter, InMemoryMetricReader],
) -> None:
    """With the conversation's id and the model's name, and no content."""
    spans, numbers = reported
    sessions = SessionManager(model="gpt-4o")
    async with sessions.open("user-1") as ctx:
        ctx.add_user_message("walnut")
        with trace_api.get_tracer("app").start_as_current_span("call"):
            await ctx.acommit()
    with pytest.raises(ValueError, match="walnut"), sessions.open("user-1") as ctx:
        fail_in(ctx)
    call, good, bad = spans.get_finished_spans()
    assert call.parent is not None
    assert call.parent.span_id == good.context.span_id
    assert good.name == "context_builder.session"
    assert dict(good.attributes or {}) == {
        "gen_ai.conversation.id": "user-1",
        "gen_ai.request.model": "gpt-4o",
        "context_builder.namespace": "default",
        "context_builder.store": "memory",
    }
    assert (bad.attributes or {})["error.type"] == "ValueError"
    assert not bad.events
    assert "walnut" not in bad.to_json()
    data = numbers.get_metrics_data()
    assert data is not None
    text = data.to_json()
    assert "context_builder.session.open.duration" in text
    assert "context_builder.session.commit.duration" in text
    assert "user-1" not in text


def test_without_the_package_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry is an extra."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    telemetry = Telemetry(store="memory", model=None)
    with telemetry.turn(SessionKey("default", "s")):
        telemetry.opened(1.0)
        telemetry.kept(1.0)
