"""An agent as another's tool: a session of its own, and only the result comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.calls import Returned
from context_builder.agent.nesting import depth
from context_builder.agent.tools import Tool
from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.agent.agent import Agent
    from context_builder.agent.events import TurnResult
    from context_builder.builder import ContextBuilder

__all__ = ["subagent_tool"]

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "description": "What to do, with all that it takes to know: the one who "
            "does it sees nothing of this conversation.",
        }
    },
    "required": ["task"],
    "additionalProperties": False,
}


def subagent_tool(
    agent: Agent,
    name: str,
    description: str,
    *,
    new_context: Callable[[], ContextBuilder],
    max_depth: int,
    timeout_seconds: float | None,
    can_block: bool,
) -> Tool:
    """Return a tool that gives a task to an agent.

    Raises:
        InvalidItemError: If the name is none, or `max_depth` is less than 1.
    """
    if max_depth < 1:
        message = f"max_depth must be at least 1; it is {max_depth}"
        raise InvalidItemError(message, field="max_depth", value=max_depth)

    def refused() -> Returned | None:
        if depth() <= max_depth:
            return None
        text = (
            f"Error: agents may be nested {max_depth} deep, and this is deeper; do "
            "the task yourself"
        )
        return Returned(text, is_error=True)

    def run(task: str) -> Returned:
        return refused() or _told(agent.run(new_context(), task))

    async def arun(task: str) -> Returned:
        return refused() or _told(await agent.arun(new_context(), task))

    return Tool(
        name=name,
        description=description,
        parameters=_PARAMETERS,
        function=run if can_block else None,
        afunction=arun,
        timeout_seconds=timeout_seconds,
    )


def _told(result: TurnResult) -> Returned:
    """Return what the agent above is told: the answer, or why there is none."""
    if result.stop_reason == "answered":
        return Returned(result.text)
    reason = f"it ended with {result.stop_reason}, not with an answer"
    if not result.text:
        return Returned(f"Error: {reason}", is_error=True)
    return Returned(f"{result.text}\n[{reason}]")
