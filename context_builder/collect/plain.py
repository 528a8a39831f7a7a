"""Plain data: what JSON can say, and the typed errors for what it cannot.

What a caller hands in is copied here once, so that nobody can change it afterwards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from context_builder.errors import InvalidItemError
from context_builder.settings import MOST_TOKENS
from context_builder.unicode import repair_text

__all__ = [
    "MOST_NESTED",
    "need_list",
    "need_text",
    "need_tokens",
    "plain_json",
    "repair_json",
    "to_json",
    "wrong",
]

MOST_NESTED = 200
"""Data nested deeper than this is refused: no vendor takes it, and Python trips."""
_MOST_BITS = 14_000
"""Python writes no integer of more than 4,300 digits."""


def wrong(value: object, field: str, wanted: str) -> InvalidItemError:
    """Return the error for a value that is not what its field takes."""
    message = f"{field} must be {wanted}, not {type(value).__name__}"
    return InvalidItemError(message, field=field, value=value)


def need_list(value: object, field: str) -> list[Any]:
    """Return what can be gone through as a list; text and one object are no lists.

    Raises:
        InvalidItemError: If it is none.
    """
    if type(value) is list:  # as nearly always: the other questions take longer
        return value.copy()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise wrong(value, field, "a list")
    return list(value)


def need_text(value: object, field: str) -> str:
    """Return text that is not empty.

    Raises:
        InvalidItemError: If it is none.
    """
    if not isinstance(value, str) or not value:
        raise wrong(value, field, "text that is not empty")
    return value


def need_tokens(value: object, field: str) -> int:
    """Return a number of tokens: whole, more than none, and no more than there are.

    Raises:
        InvalidItemError: If it is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise wrong(value, field, "a whole number of tokens, more than 0")
    if value > MOST_TOKENS:
        message = f"{field} must be at most {MOST_TOKENS:,} tokens"
        raise InvalidItemError(message, field=field)
    return value


def plain_json(value: object, field: str, *, depth: int = 0) -> Any:
    """Copy JSON data all the way down; tuples become lists.

    Raises:
        InvalidItemError: If JSON cannot say it, or it is nested too deep.
    """
    if depth > MOST_NESTED:
        message = f"{field} is nested deeper than {MOST_NESTED} levels"
        raise InvalidItemError(message, field=field, value=value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise wrong(value, field, "JSON with text as keys")
        return {
            k: plain_json(part, field, depth=depth + 1) for k, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain_json(part, field, depth=depth + 1) for part in value]
    if not _is_simple(value):
        raise wrong(value, field, "data that JSON can say")
    return value


def _is_simple(value: object) -> bool:
    if value is None or isinstance(value, str):
        return True
    if isinstance(value, int):
        return value.bit_length() <= _MOST_BITS
    return isinstance(value, float) and math.isfinite(value)


def repair_json(value: Any) -> Any:
    """Copy JSON data with all its texts well-formed, and its numbers finite.

    Raises:
        RecursionError: If it is nested too deep.
    """
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, list | tuple):
        return [repair_json(part) for part in value]
    if isinstance(value, Mapping):
        return {repair_text(key): repair_json(part) for key, part in value.items()}
    return value


def to_json(value: object, field: str) -> str:
    """Write data as strict JSON; numbers that JSON does not have become text.

    Raises:
        InvalidItemError: If it cannot be written.
    """
    try:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except ValueError:
            return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{field} of type {type(value).__name__} cannot be written as JSON"
        raise InvalidItemError(message, field=field, value=value) from error


def _finite(value: object) -> object:
    if isinstance(value, float):
        return repair_json(value)
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    return value
