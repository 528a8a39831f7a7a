"""The two tools that a model may have over its own context, for one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder import builtin_tools
from context_builder.agent.tools import Tool
from context_builder.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.builder import ContextBuilder

__all__ = ["own_tools"]


def own_tools(
    ctx: ContextBuilder, target: str, *, recall: bool, compact: bool
) -> Iterator[Tool]:
    """Yield the tools that are wanted, bound to a session."""
    if recall:
        yield _tool(ctx, target, builtin_tools.RECALL_TOOL)
    if compact:
        yield _tool(ctx, target, builtin_tools.COMPACT_TOOL)


def _tool(ctx: ContextBuilder, target: str, definition: Mapping[str, Any]) -> Tool:
    function = definition["function"]

    def call(arguments: str) -> ToolCall:
        return ToolCall("own", function["name"], arguments)

    def run(arguments: str) -> str | None:
        return builtin_tools.answer(ctx, call(arguments), target=target)

    async def arun(arguments: str) -> str | None:
        return await builtin_tools.aanswer(ctx, call(arguments), target=target)

    return Tool(
        name=function["name"],
        description=function["description"],
        parameters=function["parameters"],
        function=run,
        afunction=arun,
        reader=lambda arguments: ([arguments], {}),  # they are read and checked there
    )
