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
_SINGLE = ("additionalProperties", "not")
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
        _check_words(each, path)
        waiting += _inner(each, path)


def _check_words(schema: Mapping[str, Any], path: str) -> None:
    required = schema.get("required")
    # A lone true or false comes from an older draft, and names nothing.
    if not isinstance(required, bool) and not _is_list(required):
        raise wrong(required, f"{path}.required", "a list of names")
    if not _is_list(schema.get("enum")):
        raise wrong(schema["enum"], f"{path}.enum", "a list of values")
    if not isinstance(schema.get("$ref", ""), str):
        raise wrong(schema["$ref"], f"{path}.$ref", "the place of a schema")


def _is_list(value: object) -> bool:
    """Say whether a value is a list, or is not there."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
    return value is None or is_sequence


def _inner(schema: Mapping[str, Any], path: str) -> Iterator[tuple[object, str]]:
    yield from _named(schema, path)
    for word in _LISTED:
        if not _is_list(schema.get(word)):
            raise wrong(schema[word], f"{path}.{word}", "a list of schemas")
        yield from _numbered(schema.get(word), f"{path}.{word}")
    for word in _SINGLE:
        if isinstance(schema.get(word), Mapping):
            yield schema[word], f"{path}.{word}"
    # One for all, or, in older drafts, one for each place.
    items = schema.get("items")
    if items is not None and _is_list(items):
        yield from _numbered(items, f"{path}.items")
    elif items is not None:
        yield items, f"{path}.items"


def _numbered(held: Sequence[object] | None, path: str) -> Iterator[tuple[object, str]]:
    for number, each in enumerate(held or ()):
        yield each, f"{path}[{number}]"


def _named(schema: Mapping[str, Any], path: str) -> Iterator[tuple[object, str]]:
    for word in _NAMED:
        held = schema.get(word)
        if held is not None and not isinstance(held, Mapping):
            raise wrong(held, f"{path}.{word}", "an object")
        for name, each in (held or {}).items():
            yield each, f"{path}.{word}.{name}"
