"""Refuses a tool's parameters that are no JSON Schema, by the path of what is wrong.

Only what renderers and counters walk through is looked at: a word that holds schemas or
names holds them in the shape that JSON Schema gives it. What else a schema says is the
caller's, and goes to the vendor as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.collect.plain import wrong

__all__ = ["check_schema"]

_NAMED = ("properties", "$defs", "definitions", "patternProperties")
"""Words that hold schemas by name."""
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
"""Words that hold a list of schemas."""
_SINGLE = ("items", "additionalProperties", "not")
"""Words that may hold one schema."""


def check_schema(schema: object, field: str) -> None:
    """Check one schema and all that it holds.

    Raises:
        InvalidItemError: If it is none; `field` is the path of what is wrong.
    """
    waiting = [(schema, field)]
    while waiting:
        each, path = waiting.pop()
        if isinstance(each, bool):
            continue  # anything, or nothing
        if not isinstance(each, Mapping):
            raise wrong(each, path, "a JSON Schema")
        _check_names(each, path)
        waiting += _inner(each, path)


def _check_names(schema: Mapping[str, Any], path: str) -> None:
    required = schema.get("required")
    is_list = isinstance(required, Sequence) and not isinstance(required, str)
    # A lone true or false comes from an older draft, and names nothing.
    if not is_list and required is not None and not isinstance(required, bool):
        raise wrong(required, f"{path}.required", "a list of names")


def _inner(schema: Mapping[str, Any], path: str) -> Iterator[tuple[object, str]]:
    yield from _named(schema, path)
    for word in _LISTED:
        held = schema.get(word)
        if held is not None and (
            isinstance(held, str) or not isinstance(held, Sequence)
        ):
            raise wrong(held, f"{path}.{word}", "a list of schemas")
        for number, each in enumerate(held or ()):
            yield each, f"{path}.{word}[{number}]"
    for word in _SINGLE:
        if isinstance(schema.get(word), Mapping):
            yield schema[word], f"{path}.{word}"


def _named(schema: Mapping[str, Any], path: str) -> Iterator[tuple[object, str]]:
    for word in _NAMED:
        held = schema.get(word)
        if held is not None and not isinstance(held, Mapping):
            raise wrong(held, f"{path}.{word}", "an object")
        for name, each in (held or {}).items():
            yield each, f"{path}.{word}.{name}"
