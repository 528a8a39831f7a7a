"""Gemini bodies brought to one form, so that two may be compared for what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["meaning"]

_KEPT = frozenset({"args", "response", "parameters", "parameters_json_schema"})
_SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
_NO_JSON_SCHEMA = frozenset({"nullable", "propertyOrdering"})


def meaning(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a body says: spellings, merged contents and blank parts apart."""
    request = {**body, **(body.get("generateContentRequest") or {})}
    request = _snake({**request, **(request.get("config") or {})})
    said: list[Any] = []
    for content in request["contents"]:
        role = content.get("role") or "user"
        parts = [_part(part) for part in content["parts"]]
        # Responses come first, whatever else stood beside them.
        parts.sort(key=lambda part: "function_response" not in part)
        said += [(role, part) for part in parts if part not in ({}, {"text": ""})]
    return {
        "system": _system(request.get("system_instruction")),
        "said": [each for each in said if not _is_label(each[1])],
        "tools": [
            _tool(tool)
            for given in _listed(request.get("tools"))
            for tool in given.get("function_declarations", ())
        ],
    }


def _snake(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            (name := re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()): inner
            if name in _KEPT
            else _snake(inner)
            for key, inner in value.items()
        }
    return [_snake(each) for each in value] if isinstance(value, list) else value


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, Mapping) else list(value or ())


def _system(said: Any) -> str | None:
    if isinstance(said, Mapping):
        return "\n".join(part["text"] for part in said["parts"])
    return None if said is None else str(said)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        key: value
        for key, value in part.items()
        if value is not None and (key, value) != ("thought_signature", _SKIP)
    }
    if "function_call" in shown:
        shown["function_call"] = {"args": {}, **shown["function_call"]}
    return shown


def _is_label(part: Mapping[str, Any]) -> bool:
    return str(part.get("text", "")).startswith("[attached: ")


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("parameters_json_schema") or tool.get("parameters")
    said = {key: tool[key] for key in ("name", "description") if tool.get(key)}
    return said | ({"schema": _schema(schema)} if schema else {})


def _schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    said = {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), key)
        if key in {"any_of", "property_ordering", "min_items", "max_items"}
        else key: _schema(value)
        for key, value in schema.items()
    }
    kind = said.get("type")
    if isinstance(kind, str):
        is_nullable = said.get("nullable") is True
        said["type"] = [kind.lower(), "null"] if is_nullable else kind.lower()
    return {key: said[key] for key in said if key not in _NO_JSON_SCHEMA}
