"""Two tools that most chats can use: a clock and a calculator. They change nothing."""

from __future__ import annotations

import ast
import operator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from context_builder.agent.tools import tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["calculator", "clock"]

_MOST_CHARS = 200
_MOST_BITS = 4_096
"""Of a number on the way to the result: larger ones only cost time."""

_TWO: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_ONE: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


@tool
def clock(zone: str = "UTC") -> str:
    """Say what time it is.

    Args:
        zone: A time zone's name, such as `Europe/Berlin`.
    """
    try:
        place = UTC if zone == "UTC" else ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"{zone!r} is no time zone that is known here"
        raise ValueError(message) from None
    return datetime.now(place).isoformat(timespec="seconds")


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression, such as `(3 + 4) * 2 / 5`.

    Args:
        expression: Numbers, + - * / // % ** and brackets.
    """
    if len(expression) > _MOST_CHARS:
        message = f"an expression has {_MOST_CHARS} characters at most"
        raise ValueError(message)
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError):  # ValueError: a zero byte in it
        message = f"{expression!r} is no expression"
        raise ValueError(message) from None
    try:
        return str(_value(tree.body))
    except ArithmeticError as error:
        message = f"there is no result: {error}"
        raise ValueError(message) from None


def _value(node: ast.expr) -> Any:
    """Work out a tree of numbers and operators, and nothing else.

    Raises:
        ArithmeticError: If there is no result, or it would be too large.
        ValueError: If there is anything else in it.
    """
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _in_reach(node.value)
        case ast.UnaryOp(op=sign) if type(sign) in _ONE:
            return _ONE[type(sign)](_value(node.operand))
        case ast.BinOp(op=sign) if type(sign) in _TWO:
            return _two(sign, _value(node.left), _value(node.right))
        case _:
            message = "only numbers, + - * / // % ** and brackets are understood"
            raise ValueError(message)


def _two(sign: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(sign, ast.Pow) and _bits(left) * abs(right) > _MOST_BITS:
        message = "that power is too large"
        raise OverflowError(message)
    return _in_reach(_TWO[type(sign)](left, right))


def _in_reach(value: Any) -> Any:
    """Return a real number that is not too large.

    Raises:
        ArithmeticError: If it is complex, or has too many digits.
    """
    if isinstance(value, complex):
        message = "it is not a real number"
        raise ArithmeticError(message)  # noqa: TRY004  the model reads it
    if _bits(value) > _MOST_BITS:
        message = "that number is too large"
        raise OverflowError(message)
    return value


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0
