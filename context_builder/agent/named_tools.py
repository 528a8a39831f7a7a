"""Finds the tools that somebody named on a command line: `module:name` of a list."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from context_builder.agent.tools import Tool

__all__ = ["tools_named"]


def tools_named(name: str) -> list[Tool | Callable[..., Any]]:
    """Return the tools that `module:name` names; the module is imported.

    Raises:
        InvalidItemError: If there are none of that name.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute or "TOOLS")
    except (ImportError, AttributeError, ValueError) as error:
        message = f"tools are named as module:name of a list; {error}"
        raise InvalidItemError(message, field="tools", value=name) from None
    if not isinstance(found, Iterable):
        message = "tools are named as module:name of a list"
        raise InvalidItemError(message, field="tools", value=name)
    return list(found)
