"""How OpenAI shows tools to its models: as TypeScript, written out from JSON Schema.

The bill counts this text, not the JSON that was sent. The layout is not published; it
was worked out from the bills of recorded requests and agrees with them to the token for
comments, titles, defaults, enums, unions, nested objects and arrays of objects. It
knows no tokenizer: its business ends at the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["functions_text", "schema_text"]

Schema = Mapping[str, Any]

_MAX_DEPTH = 20
"""Deeper than this a schema refers to itself; the vendor allows five levels."""

_LIMITS: Mapping[str, str] = {
    "minimum": "min",
    "maximum": "max",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "format": "format",
}


def functions_text(functions: Sequence[Schema]) -> str:
    """Write functions as the vendor does, in a TypeScript namespace."""
    return "\n".join(
        (
            "namespace functions {\n",
            *(_function(function) for function in functions),
            "} // namespace functions",
        )
    )


def schema_text(schema: Schema) -> str:
    """Write one JSON Schema as a TypeScript type."""
    return _Writer(_definitions(schema)).type(schema, 0)


def _function(function: Schema) -> str:
    parameters = function.get("parameters") or {}
    comment = "".join(_comment(function.get("description")))
    has_arguments = bool(parameters.get("properties"))
    arguments = f"_: {schema_text(parameters)}" if has_arguments else ""
    return f"{comment}type {function.get('name', '')} = ({arguments}) => any;\n"


def _definitions(schema: Schema) -> Schema:
    return {
        f"#/{place}/{name}": definition
        for place in ("$defs", "definitions")
        for name, definition in (schema.get(place) or {}).items()
    }


def _comment(text: object) -> Iterator[str]:
    # Lines lose their indentation, and an empty line keeps its slashes.
    if isinstance(text, str) and text.strip():
        for line in text.strip().split("\n"):
            yield f"// {line.strip()}".rstrip() + "\n"


def _heading(schema: Schema) -> str:
    """The comment above a property or a nested object: its title, its description."""
    title = "".join(_comment(schema.get("title")))
    description = "".join(_comment(schema.get("description")))
    return title + ("//\n" if title and description else "") + description


def _note(schema: Schema) -> str:
    """The comment behind a property: its default value and its limits."""
    notes = [f"{name}: {schema[key]}" for key, name in _LIMITS.items() if key in schema]
    if "default" in schema:
        notes.append(f"default: {_literal(schema['default'])}")
    return f" // {', '.join(notes)}" if notes else ""


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the types of one schema, whose definitions it looks up."""

    definitions: Schema

    def type(self, schema: Schema, depth: int) -> str:
        schema = self._resolved(schema)
        if depth > _MAX_DEPTH:
            return "any"
        if values := _values(schema):
            return " | ".join(map(_literal, values))
        if variants := _variants(schema):
            return self._union(variants, depth)
        kind = schema.get("type")
        if kind == "object" or (kind is None and schema.get("properties")):
            return self._object(schema, depth)
        return self._array(schema, depth) if kind == "array" else str(kind or "any")

    def _resolved(self, schema: Schema | bool | Sequence[Schema]) -> Schema:
        if not isinstance(schema, Mapping):
            return {}  # anything, nothing, or one for each place: no type is named
        found = self.definitions.get(schema.get("$ref", ""), {})
        return {**found, **schema} if found else schema

    def _object(self, schema: Schema, depth: int) -> str:
        properties = schema.get("properties") or {}
        if not properties:
            return "object"
        required = schema.get("required")
        required = required if isinstance(required, list | tuple) else ()
        written = [
            self._property(name, self._resolved(value), name in required, depth)
            for name, value in properties.items()
        ]
        if any("\n" in text or "//" in text for text in written):
            return "{\n" + "".join(f"{text}\n" for text in written) + "}"
        # Without a comment in it, an object stands on one line.
        return "{" + " ".join(written).rstrip(",") + "}"

    def _property(self, name: str, schema: Schema, required: bool, depth: int) -> str:
        mark = "" if required else "?"
        written = self.type(schema, depth + 1)
        return f"{_heading(schema)}{name}{mark}: {written},{_note(schema)}"

    def _array(self, schema: Schema, depth: int) -> str:
        items = self._resolved(schema.get("items") or {})
        written = self.type(items, depth + 1)
        heading = _heading(items) if items.get("properties") else ""
        if heading or "\n" in written:
            return f"Array<\n{heading}{written}\n>"
        return f"Array<{written}>" if " " in written else f"{written}[]"

    def _union(self, variants: Sequence[Schema], depth: int) -> str:
        resolved = [self._resolved(variant) for variant in variants]
        written = [self.type(variant, depth + 1) for variant in resolved]
        remarks = [_heading(variant).strip() for variant in resolved]
        if not any(remarks) and not any("\n" in text for text in written):
            return " | ".join(written)
        lines = (
            f" | {text} {remark}".rstrip()
            for text, remark in zip(written, remarks, strict=True)
        )
        return "\n" + "\n".join(lines) + "\n"


def _values(schema: Schema) -> Sequence[object]:
    return [schema["const"]] if "const" in schema else schema.get("enum") or ()


def _variants(schema: Schema) -> Sequence[Schema]:
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return tuple(schema[key])
    if isinstance(schema.get("type"), list):
        return tuple({**schema, "type": name} for name in schema["type"])
    return ()
