from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agent.vendors import Says, ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RESPONSES = "openai-responses"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Play the vendors; every request has to be valid."""
    with ScriptedServer() as made:
        yield made
    assert made.refused == []


def run(
    server: ScriptedServer,
    name: str,
    *models: str,
    said: str = "",
    openai: str = "openai",
) -> str:
    """Run an example as its docstring says, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *models],
        input=said,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
        env={
            "PATH": os.environ.get("PATH", ""),
            "PYTHONIOENCODING": "utf-8",
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": server.url(openai) + "/v1",
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": server.url("anthropic"),
            "LANGSMITH_TRACING": "false",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bodies(server: ScriptedServer) -> list[dict[str, Any]]:
    """Return what was sent."""
    return [body for _, body in server.sent]


def test_openai_loop(server: ScriptedServer) -> None:
    """Two turns, one with two tools at once; at the end, what became of every item."""
    dates = {"first": "2026-01-01", "last": "2026-03-01"}
    server.play(
        Says("", (("current_time", {}), ("days_between", dates))),
        Says("It is 59 days."),
        Says("You are welcome."),
    )
    printed = run(server, "openai_loop.py", "gpt-4o", said="How long?\nThanks.\n\n")
    assert "It is 59 days." in printed
    assert "You are welcome." in printed
    results = [m for m in bodies(server)[1]["messages"] if m["role"] == "tool"]
    assert results[1]["content"] == "59"
    assert "tokens" in printed


def test_anthropic_switch(server: ScriptedServer) -> None:
    """The second vendor gets what was said to the first."""
    server.play(Says("The Rhine."), Says("Switzerland and five more."))
    printed = run(server, "anthropic_switch.py", "gpt-4o", "claude-sonnet-4-6")
    assert "Switzerland and five more." in printed
    assert [target for target, _ in server.sent] == ["openai", "anthropic"]
    assert "The Rhine." in str(bodies(server)[1]["messages"])


def test_langgraph_node(server: ScriptedServer) -> None:
    """The graph runs the tools; the node sends calls and results as a whole."""
    cities = (("people_in", {"city": "Bern"}), ("people_in", {"city": "Rome"}))
    server.play(Says("", cities), Says("Rome is larger."))
    printed = run(server, "langgraph_node.py", "gpt-4o")
    assert printed.splitlines()[-1] == "ai: Rome is larger."
    last = bodies(server)[1]["messages"]
    assert [message["role"] for message in last] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert [message["content"] for message in last[-2:]] == ["134000", "2800000"]


def test_pydantic_ai_history(server: ScriptedServer) -> None:
    """A history that outgrows the budget is fitted; calls and results stay whole."""
    cities = (("people_in", {"city": "Bern"}), ("people_in", {"city": "Rome"}))
    server.play(Says("", cities), Says("Rome is larger."))
    turns = [f"Tell me of city {n}. " + "It is old. " * 120 for n in range(16)]
    said = "\n".join(["Which is larger?", *turns, "", ""])
    printed = run(server, "pydantic_ai_history.py", "gpt-4o", said=said)
    assert "Rome is larger." in printed
    sent = bodies(server)
    assert [m["content"] for m in sent[1]["messages"][-2:]] == ["134000", "2800000"]
    sizes = [len(str(body["messages"])) for body in sent]
    assert max(sizes) < 4_000 * 6
    assert "left out" in str(sent[-1]["messages"])
    assert sent[-1]["messages"][0]["content"] == "You compare cities."
    assert turns[-1].strip() in str(sent[-1]["messages"][-1])


def test_openai_agents_filter(server: ScriptedServer) -> None:
    """The SDK keeps the whole run; each of its requests is what fits of it."""
    cities = (("people_in", {"city": "Bern"}), ("people_in", {"city": "Rome"}))
    server.play(Says("", cities), Says("Rome is larger."))
    turns = [f"Tell me of city {n}. " + "It is old. " * 120 for n in range(16)]
    said = "\n".join(["Which is larger?", *turns, "", ""])
    printed = run(
        server, "openai_agents_filter.py", "gpt-5.4", said=said, openai=RESPONSES
    )
    assert "Rome is larger." in printed
    assert {target for target, _ in server.sent} == {RESPONSES}
    sent = bodies(server)
    outputs = [i["output"] for i in sent[1]["input"] if "output" in i]
    assert outputs == ["134000", "2800000"]
    assert all(body["instructions"] == "You compare cities." for body in sent)
    assert max(len(str(body["input"])) for body in sent) < 4_000 * 6
    assert "left out" in str(sent[-1]["input"])
    assert turns[-1].strip() in str(sent[-1]["input"][-1])
