"""What a model may call: a name, a description, a schema, and what is run."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, overload

from context_builder.agent.docstrings import described
from context_builder.agent.signatures import ArgumentsError, Bound, Signature
from context_builder.errors import InvalidItemError

__all__ = ["Tool", "as_tools", "tool"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every vendor takes as a name."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """Something that a model may call. `@tool` makes one from a function.

    One made by hand says its arguments as a JSON Schema of an object; that the required
    ones are there is checked here, the rest by what is run.

    Raises:
        InvalidItemError: If the name is none that vendors take, or nothing can be run.
    """

    name: str
    """1 to 64 letters, digits, `_` or `-`."""
    description: str
    """For the model: what it does, and when to use it."""
    parameters: Mapping[str, Any]
    """The arguments as a JSON Schema."""
    function: Callable[..., Any] | None = None
    """Run in a thread. None: there is only `afunction`."""
    afunction: Callable[..., Awaitable[Any]] | None = None
    """Run in the event loop. None: there is only `function`."""
    timeout_seconds: float | None = None
    """How long a call may take; None: what the agent says."""
    reader: Callable[[str], Bound] | None = None
    """Reads and checks the arguments of a call; None: by `parameters`."""

    def __post_init__(self) -> None:
        given: object = self.name
        if not isinstance(given, str) or not _NAME.fullmatch(given):
            message = f"{given!r} is no name of a tool: 1 to 64 letters, digits, _ or -"
            raise InvalidItemError(message, field="name", value=self.name)
        if self.function is None and self.afunction is None:
            message = f"tool {self.name!r} has nothing to run"
            raise InvalidItemError(message, field="function")
        if self.timeout_seconds is not None and self.timeout_seconds <= 0:
            message = f"timeout_seconds must be positive; it is {self.timeout_seconds}"
            raise InvalidItemError(message, field="timeout_seconds")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function itself, as if it had not been made a tool."""
        run = self.function or self.afunction
        return run(*arguments, **named) if run else None

    @property
    def definition(self) -> dict[str, Any]:
        """What a model is told: a function tool in OpenAI's format."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }

    def read(self, arguments: str) -> Bound:
        """Return the arguments of a call, checked.

        Raises:
            ArgumentsError: If they are not what the tool takes; for the model.
        """
        if self.reader is not None:
            return self.reader(arguments)
        try:
            named = json.loads(arguments.strip() or "{}")
        except (ValueError, RecursionError) as error:
            message = f"the arguments are not valid JSON ({error})"
            raise ArgumentsError(message) from error
        if not isinstance(named, dict):
            message = f"the arguments must be an object, not {type(named).__name__}"
            raise ArgumentsError(message)
        missing = [
            key for key in self.parameters.get("required", ()) if key not in named
        ]
        if missing:
            problems = [f"{key}: this argument is required" for key in missing]
            raise ArgumentsError("; ".join(problems))
        return [], named


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a typed function, sync or async.

    The schema comes from its types, what it and its arguments are for from its
    docstring, in Google's style. The tool can still be called as the function.

    Args:
        function: The function; left out where the decorator has arguments.
        name: For the model; None: the function's.
        description: For the model; None: the docstring's.
        timeout_seconds: How long a call may take; None: what the agent says.

    Raises:
        InvalidItemError: If an argument has no type, or one that JSON cannot say.
    """
    here = inspect.currentframe()
    around = here.f_back.f_locals if here and here.f_back else {}

    def made(function: Callable[..., Any]) -> Tool:
        said = described(inspect.getdoc(function))
        signature = Signature(function, descriptions=said.arguments, names=around)
        is_async = inspect.iscoroutinefunction(function) or (
            inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
        )
        return Tool(
            name=name or str(getattr(function, "__name__", type(function).__name__)),
            description=said.text if description is None else description,
            parameters=signature.schema,
            function=None if is_async else function,
            afunction=function if is_async else None,
            timeout_seconds=timeout_seconds,
            reader=signature.read,
        )

    return made if function is None else made(function)


def as_tools(tools: object) -> tuple[Tool, ...]:
    """Return tools; plain functions are made into some.

    Raises:
        InvalidItemError: If one is neither, or two have the same name.
    """
    if not isinstance(tools, (list, tuple)):
        message = f"tools must be a list, not {type(tools).__name__}"
        raise InvalidItemError(message, field="tools", value=tools)
    made: list[Tool] = []
    for number, one in enumerate(tools):
        if not isinstance(one, Tool) and not callable(one):
            message = f"tools[{number}] is neither a Tool nor a function"
            raise InvalidItemError(message, field=f"tools[{number}]", value=one)
        made.append(one if isinstance(one, Tool) else tool(one))
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            message = f"two tools are called {name!r}"
            raise InvalidItemError(message, field="tools", value=name)
    return tuple(made)
