"""One tool call: found, checked, and what became of it. It runs nothing itself.

Whatever goes wrong becomes a result that tells the model what, so that it can go on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import inspect
from collections.abc import Awaitable, Sequence
from typing import Any

from context_builder.agent.results import content_of, text_of
from context_builder.agent.signatures import ArgumentsError
from context_builder.agent.tools import Tool
from context_builder.errors import InvalidItemError
from context_builder.logs import log_event
from context_builder.messages import Content, ToolCall

__all__ = ["Prepared", "Returned", "Toolbox", "failed", "late", "not_run", "returned"]


@dataclasses.dataclass(frozen=True, slots=True)
class Returned:
    """What a model is told of its call."""

    content: Content
    is_error: bool = False
    duration_seconds: float = 0.0

    @property
    def text(self) -> str:
        """The content as text, for people."""
        return text_of(self.content)


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A call that can be made."""

    tool: Tool
    positional: Sequence[Any]
    named: dict[str, Any]

    def run(self, timeout_seconds: float) -> Any:
        """Run it in this thread, and return its value; nothing else may run here.

        Raises:
            TimeoutError: If it is asynchronous, and takes longer.
        """
        function = self.tool.function or self.tool.afunction
        value = function(*self.positional, **self.named) if function else None
        if not inspect.isawaitable(value):
            return value
        return asyncio.run(_awaited(value, timeout_seconds))

    def awaitable(self) -> Awaitable[Any] | None:
        """Return what to await; None: it is run in a thread."""
        if self.tool.afunction is None:
            return None
        return self.tool.afunction(*self.positional, **self.named)


async def _awaited(value: Awaitable[Any], timeout_seconds: float) -> Any:
    async with asyncio.timeout(timeout_seconds):
        return await value


class Toolbox:
    """The tools of one turn, by name."""

    def __init__(self, tools: Sequence[Tool], *, timeout_seconds: float) -> None:
        self.tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in tools}
        self._timeout_seconds = timeout_seconds

    def prepare(self, call: ToolCall) -> Prepared | Returned:
        """Return a call ready to be made, or what is wrong with it."""
        tool = self._by_name.get(call.name)
        if tool is None:
            return _error(self._no_such_tool(call.name))
        try:
            positional, named = tool.read(call.arguments)
        except ArgumentsError as error:
            return _error(f"{error}. Correct the arguments and call the tool again.")
        except Exception as error:  # a validator of the user's own
            return failed(call, error)
        return Prepared(tool, positional, named)

    def timeout_of(self, call: ToolCall) -> float:
        """Return how long a call may take, in seconds."""
        tool = self._by_name.get(call.name)
        own = None if tool is None else tool.timeout_seconds
        return self._timeout_seconds if own is None else own

    def _no_such_tool(self, name: str) -> str:
        known = sorted(self._by_name)
        if not known:
            return f"there is no tool {name!r}; there are no tools at all"
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"there is no tool {name!r}; there are {', '.join(known)}.{hint}"


def returned(call: ToolCall, value: object, *, seconds: float = 0.0) -> Returned:
    """Return what a tool gave back, as content."""
    if isinstance(value, Returned):
        return dataclasses.replace(value, duration_seconds=seconds)
    if isinstance(value, BaseException):
        return failed(call, value, seconds=seconds)
    try:
        return Returned(content_of(value), duration_seconds=seconds)
    except InvalidItemError as error:
        return failed(call, error, seconds=seconds)


def failed(call: ToolCall, error: BaseException, *, seconds: float = 0.0) -> Returned:
    """Return what a model is told of an exception."""
    log_event("tool_failed", tool=call.name, error=type(error).__name__)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _error(text, seconds)


def late(call: ToolCall, timeout_seconds: float) -> Returned:
    """Return what a model is told of a call that took too long."""
    log_event("tool_timed_out", tool=call.name, timeout_seconds=timeout_seconds)
    text = f"tool {call.name!r} did not answer within {timeout_seconds:g} seconds"
    return _error(text, timeout_seconds)


def not_run(why: str) -> Returned:
    """Return what a model is told of a call that was not made."""
    return _error(f"this call was not run: {why}")


def _error(text: str, seconds: float = 0.0) -> Returned:
    return Returned(f"Error: {text}", is_error=True, duration_seconds=seconds)
