"""The tools that the chatbot has when nobody gives it others: small, and harmless."""

from __future__ import annotations

import ast
import importlib
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from context_builder.agent import Tool, tool
from context_builder.errors import InvalidItemError

__all__ = ["BUILT_IN", "tools_named"]

_MOST_CHARS = 200
_MOST_POWER = 1_000
_MOST_BITS = 14_000
"""Python writes no integer of more than 4,300 digits."""

_TWO: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ONE: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


@tool
def calculate(expression: str) -> str:
    """Work out an arithmetic expression, such as `(3 + 4) * 2 / 5`.

    Args:
        expression: Numbers, + - * / // % ** and brackets.
    """
    if len(expression) > _MOST_CHARS:
        message = f"an expression has {_MOST_CHARS} characters at most"
        raise ValueError(message)
    return str(_value(ast.parse(expression.strip(), mode="eval").body))


@tool
def current_time(zone: str = "UTC") -> str:
    """Say what time it is.

    Args:
        zone: A time zone's name, such as `Europe/Berlin`.
    """
    try:
        place = UTC if zone == "UTC" else ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        message = f"{zone!r} is no time zone that is known here"
        raise ValueError(message) from None
    return datetime.now(place).isoformat(timespec="seconds")


BUILT_IN: tuple[Tool, ...] = (calculate, current_time)


def tools_named(name: str | None) -> list[Tool | Callable[..., Any]]:
    """Return the tools that `module:name` names; None: the built-in ones.

    Raises:
        InvalidItemError: If there are none of that name.
    """
    if name is None:
        return list(BUILT_IN)
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


def _value(node: ast.expr) -> Any:
    """Work out a tree of numbers and operators, and nothing else.

    Raises:
        ValueError: If there is anything else in it, or it would be too large.
    """
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return node.value
        case ast.UnaryOp(op=sign) if type(sign) in _ONE:
            return _ONE[type(sign)](_value(node.operand))
        case ast.BinOp(op=ast.Pow()):
            return _power(_value(node.left), _value(node.right))
        case ast.BinOp(op=sign) if type(sign) in _TWO:
            return _bounded(_TWO[type(sign)](_value(node.left), _value(node.right)))
        case _:
            message = "only numbers, + - * / // % ** and brackets are understood"
            raise ValueError(message)


def _power(base: float, exponent: float) -> Any:
    bits = base.bit_length() * abs(exponent) if isinstance(base, int) else 0
    if abs(exponent) > _MOST_POWER or bits > _MOST_BITS:
        message = "that power is too large"
        raise ValueError(message)
    return _bounded(base**exponent)


def _bounded(value: Any) -> Any:
    """Return a number that is small enough to be worked with, and written.

    Raises:
        ValueError: If it is larger.
    """
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        message = f"that number has more than {_MOST_BITS:,} bits"
        raise ValueError(message)
    return value
