from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.sessions import Session, SessionKey, SessionManager, telemetry
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
    assert good.status.status_code is trace_api.StatusCode.UNSET
    assert (bad.attributes or {})["error.type"] == "ValueError"
    assert bad.status.status_code is trace_api.StatusCode.ERROR
    assert bad.status.description is None
    assert not bad.events
    assert "walnut" not in bad.to_json()
    data = numbers.get_metrics_data()
    assert data is not None
    text = data.to_json()
    assert "context_builder.session.open.duration" in text
    assert "context_builder.session.commit.duration" in text
    assert "user-1" not in text


def points_of(numbers: InMemoryMetricReader) -> dict[str, Any]:
    """Return the points of each metric, by its name."""
    data = numbers.get_metrics_data()
    assert data is not None
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_a_build_is_a_span_with_its_figures(
    reported: tuple[InMemorySpanExporter, InMemoryMetricReader], tmp_path: Path
) -> None:
    """By the conventions' names of provider, model and conversation; no content."""
    spans, numbers = reported
    url = f"sqlite:///{tmp_path}/s.db"
    with (
        SessionManager(model="gpt-4o", max_tokens=300, store=url) as sessions,
        sessions.open("user-1") as ctx,
    ):
        for number in range(30):
            ctx.add_user_message(f"walnut {number} " + "word " * 20)
            ctx.add_assistant_message("walnut")
        ctx.add_user_message("walnut")
        report = ctx.explain("openai-responses")
        ctx.request("openai-responses")  # the same one: no second build
    build, block = spans.get_finished_spans()
    assert build.name == "context_builder.build"
    assert build.parent is not None
    assert build.parent.span_id == block.context.span_id
    assert dict(build.attributes or {}) == {
        "gen_ai.conversation.id": "user-1",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "context_builder.namespace": "default",
        "context_builder.input_tokens": report.tokens,
        "context_builder.budget_tokens": 300,
        "context_builder.messages": len(ctx.build("openai-responses")),
        "context_builder.compactions": report.compactions,
    }
    assert report.compactions > 0
    assert (block.attributes or {})["db.system.name"] == "sqlite"
    assert "walnut" not in build.to_json() + block.to_json()
    points = points_of(numbers)
    about = {"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}
    (tokens,) = points["context_builder.build.input_tokens"]
    (compactions,) = points["context_builder.compactions"]
    assert (tokens.count, tokens.sum) == (1, report.tokens)
    assert compactions.value == report.compactions
    assert dict(tokens.attributes) == dict(compactions.attributes) == about
    assert points["context_builder.build.duration"][0].count == 1


def test_names_are_those_of_the_conventions() -> None:
    """Attributes in the namespaces of the conventions are in their registry."""
    incubating = pytest.importorskip("opentelemetry.semconv._incubating.attributes")
    registry = Path(next(iter(incubating.__path__)))
    text = "".join(path.read_text("utf-8") for path in registry.glob("*.py"))
    stable = registry.parents[1] / "attributes"
    text += "".join(path.read_text("utf-8") for path in stable.glob("*.py"))
    source = Path(telemetry.__file__).read_text("utf-8")
    names = set(re.findall(r'"((?:gen_ai|db|error)\.[a-z_.]+)"', source))
    assert len(names) >= 5
    for name in names:
        assert f'"{name}"' in text, name


def test_without_the_package_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry is an extra."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    silent = Telemetry(store="memory", model=None)
    key = SessionKey("default", "s")
    with silent.turn(key):
        silent.opened(1.0)
        silent.kept(1.0)
        silent.built(key, {})
