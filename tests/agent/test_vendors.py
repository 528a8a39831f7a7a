from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilder
from context_builder.agent import TurnResult, tool
from tests.agent.conftest import WAYS, Way
from tests.agent.vendors import MODELS, Says, ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = (
    Says("Let me look.", (("size", {"of": "Rome"}), ("size", {"of": "Bern"}))),
    Says("", (("count", {"letters": "Rome"}),)),
    Says("Rome is larger."),
)


@tool
def size(of: str) -> Mapping[str, Any]:
    """Return how large a city is.

    Args:
        of: The city.
    """
    return {"city": of, "people": {"Rome": 2_800_000, "Bern": 134_000}[of]}


@tool
async def count(letters: str) -> int:
    """Count letters."""
    return len(letters)


def session(target: str) -> ContextBuilder:
    """Return a session whose clock stands still."""
    return ContextBuilder(
        model=MODELS[target],
        max_tokens=20_000,
        system_prompt="You compare cities.",
        clock=lambda: 1.0,
    )


def take(
    way: Way, server: ScriptedServer, target: str
) -> tuple[ContextBuilder, TurnResult]:
    """Run the scripted turn."""
    server.play(*SCRIPT)
    ctx = session(target)
    question = "Which is larger, Rome or Bern?"
    return ctx, way.take(server, ctx, question, target=target, tools=[size, count])


def test_a_turn_goes_its_rounds(way: Way, server: ScriptedServer, target: str) -> None:
    """Calls of a round are answered in order; then comes the answer. Bills add up."""
    ctx, result = take(way, server, target)
    assert result.text == "Rome is larger."
    assert (result.stop_reason, result.rounds, result.tool_calls) == ("answered", 2, 3)
    assert (result.usage.input_tokens, result.usage.cached_tokens) == (120, 24)
    assert result.usage.output_tokens == 30
    assert [item.id for item in ctx.items if item.role != "system"] == list(
        result.item_ids
    )
    assert [item.role for item in ctx.items][1:] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [item.text for item in ctx.items if item.role == "tool"] == [
        '{"city": "Rome", "people": 2800000}',
        '{"city": "Bern", "people": 134000}',
        "4",
    ]
    assert len(server.sent) == 3


def test_all_ways_send_the_same(server: ScriptedServer, target: str) -> None:
    """Requests and session are the same, whichever way the turn is run."""
    seen = []
    for way in WAYS:
        ctx, result = take(way, server, target)
        seen.append((list(server.sent), ctx.dump(), result))
    assert seen == [seen[0]] * len(WAYS)
