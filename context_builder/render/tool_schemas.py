"""Schemas of tools' arguments, as vendors take them: at the root an object.

A schema may be written without a type, as a reference, or as alternatives at its root.
Vendors refuse that, or take no word beside it; what it allows is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FREE_TEXT", "input_schema", "with_object_schema"]

FREE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The arguments of a tool that takes free text, for those who know none such."""
_COMBINATIONS = ("allOf", "anyOf", "oneOf")


def input_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments: at its root an object, and only that."""
    if "custom" in tool:
        return dict(FREE_TEXT)
    return _object_schema(tool["function"].get("parameters") or {})


def with_object_schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a function whose parameters are said to be an object, as they have to be.

    What says so is left as it is, to the letter; no parameters at all are left out.
    """
    parameters = function.get("parameters")
    if parameters is None or parameters.get("type") == "object":
        return function
    return {**function, "parameters": _object_schema(parameters)}


def _object_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    joined = _without_combinations(_resolved(parameters))
    return {**joined, "type": "object", "properties": joined.get("properties") or {}}


def _resolved(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Put what the root refers to in the root's place."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return dict(schema)
    found: Any = schema
    for step in reference[2:].split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or "$ref" in found:
        return {key: value for key, value in schema.items() if key != "$ref"}
    return {key: value for key, value in schema.items() if key != "$ref"} | dict(found)


def _without_combinations(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Join alternatives at the root into one object that allows for each of them."""
    joined = {key: value for key, value in schema.items() if key not in _COMBINATIONS}
    properties = dict(joined.get("properties") or {})
    required = _names(joined.get("required"))
    for kind in _COMBINATIONS:
        members = [_member(schema, member) for member in schema.get(kind) or ()]
        for member in members:
            properties.update(member.get("properties") or {})
        required += _required_by(members, every=kind == "allOf")
    if required:
        names = (name for name in required if isinstance(name, str))
        joined["required"] = list(dict.fromkeys(names))
    return {**joined, "properties": properties}


def _names(required: object) -> list[Any]:
    """Return what is required; older drafts of JSON Schema say true or false here."""
    return list(required) if isinstance(required, list | tuple) else []


def _member(schema: Mapping[str, Any], member: object) -> dict[str, Any]:
    if not isinstance(member, Mapping):
        return {}
    definitions = {
        key: schema[key] for key in ("$defs", "definitions") if key in schema
    }
    return _resolved({**definitions, **member})


def _required_by(members: Sequence[Mapping[str, Any]], *, every: bool) -> list[str]:
    named = [_names(member.get("required")) for member in members]
    if every or not named:
        return [name for names in named for name in names]
    return [name for name in named[0] if all(name in names for names in named)]
