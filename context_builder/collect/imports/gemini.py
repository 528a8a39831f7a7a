"""Reads Gemini's generateContent: contents, and whole requests.

Both spellings are read: REST's bodies (`systemInstruction`) and the arguments of the
google-genai client (`config`). Answers and streams are read by `gemini_answers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.collect.content import is_blank
from context_builder.collect.imports.gemini_answers import read_response
from context_builder.collect.imports.gemini_parts import (
    answer_item,
    in_snake_case,
    is_opaque,
    read_part,
    read_response_text,
    single_parts,
    tidy,
)
from context_builder.collect.imports.reading import Imported, need_mapping, need_str
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import TextPart, ToolCall
from context_builder.unicode import quoted

__all__ = ["read_messages", "read_request", "read_response"]

_Object = Mapping[str, Any]
_ROLES = frozenset({"user", "model", "function", "tool"})


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of contents.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    read: list[ContextItem] = []
    asked: list[ToolCall] = []
    open_parts: list[_Object] = []
    for number, message in enumerate(messages):
        field = f"contents[{number}]"
        role, parts = _content(message, field)
        if role != "model":
            open_parts = []
            read += _results(parts, asked, field)
            read += _user(parts)
            continue
        if open_parts:
            # Calls that nobody answered yet are one step with what follows them.
            parts = [*open_parts, *parts]
            read.pop()
        item = answer_item(parts, prefix=f"call_{number}")
        asked = list(item.tool_calls) if item is not None else []
        open_parts = parts if asked else []
        read += [item] if item is not None else []
    return read


def _content(message: object, field: str) -> tuple[str, list[_Object]]:
    """Return a content's role and parts. The SDK takes bare texts and parts as well."""
    if isinstance(message, str):
        return "user", [{"text": message}]
    data = in_snake_case(need_mapping(message, field))
    if "parts" not in data and "role" not in data:
        return "user", single_parts(data)
    role = data.get("role") or "user"
    if role not in _ROLES:
        msg = f"{field}.role {quoted(role)} is neither 'user' nor 'model'"
        raise InvalidItemError(msg, field=f"{field}.role", value=role)
    parts = data.get("parts") or ()
    parts = [parts] if isinstance(parts, Mapping) else parts
    return role, [
        single
        for number, part in enumerate(parts)
        for single in (
            [{"text": part}]
            if isinstance(part, str)
            else single_parts(_checked(part, f"{field}.parts[{number}]"))
        )
    ]


def _checked(part: object, field: str) -> _Object:
    data = need_mapping(part, field)
    for key in ("function_call", "function_response"):
        if key in data:
            said = need_mapping(data[key], f"{field}.{key}")
            need_str(said.get("name"), f"{field}.{key}.name")
    return data


def _user(parts: Sequence[_Object]) -> Iterator[ContextItem]:
    shown = [part for part in parts if "function_response" not in part]
    # A part that only the vendor understands means nothing in a user's mouth.
    content = tidy([read_part(part) for part in shown if not is_opaque(part)])
    if not is_blank(content):
        yield ContextItem(role="user", content=content, source="user")


def _results(
    parts: Sequence[_Object], asked: list[ToolCall], field: str
) -> Iterator[ContextItem]:
    for part in parts:
        result = part.get("function_response")
        if result is None:
            continue
        call = _answered(result, asked)
        text, is_error = read_response_text(result.get("response") or {})
        media = [read_part(each) for each in result.get("parts") or ()]
        content = tidy([TextPart(text=text) if text else None, *media])
        yield ContextItem(
            role="tool",
            content=content or "",
            source="tool_result",
            tool_call_id=call.id if call is not None else result.get("id"),
            tool_name=need_str(result.get("name"), f"{field}.function_response.name"),
            is_error=is_error,
        )


def _answered(result: _Object, asked: list[ToolCall]) -> ToolCall | None:
    """Find the call that a result answers: by its id, else the first of its name."""
    for call in asked:
        if call.id == result.get("id") or (
            not result.get("id") and call.name == result.get("name")
        ):
            asked.remove(call)
            return call
    return None


# --- whole requests -------------------------------------------------------------------


def read_request(request: _Object) -> Imported:
    """Read a whole request: a REST body, or the arguments of the SDK's call."""
    data = {**request}
    for name in ("generateContentRequest", "generate_content_request"):
        data = {**data, **(data.get(name) or {})}
    data |= {**(data.get("config") or {})}
    contents = _either(data, "contents") or ()
    if isinstance(contents, str | Mapping):
        contents = [contents]
    tools, lost = _tools(_either(data, "tools") or ())
    if _either(data, "cached_content"):
        lost.append("cached_content")
    return Imported(
        items=tuple(read_messages(contents)),
        system=_system(_either(data, "system_instruction")),
        tools=tuple(tools),
        lost=tuple(lost),
    )


def _either(data: _Object, name: str) -> Any:
    head, *rest = name.split("_")
    return data.get(name) or data.get(head + "".join(map(str.capitalize, rest)))


def _system(said: object) -> str | None:
    if said is None:
        return None
    if isinstance(said, Sequence) and not isinstance(said, str):
        return "\n".join(filter(None, map(_system, said))) or None
    _, parts = _content(said, "system_instruction")
    return "\n".join(str(part["text"]) for part in parts if part.get("text")) or None


def _tools(tools: object) -> tuple[list[_Object], list[str]]:
    given = [tools] if isinstance(tools, Mapping) else tools
    read: list[_Object] = []
    lost: list[str] = []
    for number, tool in enumerate(given if isinstance(given, Sequence) else ()):
        said = in_snake_case(tool)
        read += map(_tool, said.pop("function_declarations", ()))
        lost += [f"tools[{number}].{name}" for name in said]
    return read, lost


def _tool(declared: _Object) -> _Object:
    function = {
        key: declared[key] for key in ("name", "description") if key in declared
    }
    schema = declared.get("parameters_json_schema")
    if schema is None and declared.get("parameters") is not None:
        schema = _json_schema(declared["parameters"])
    if schema is not None:
        function["parameters"] = schema
    return {"type": "function", "function": function}


def _json_schema(schema: Any, *, is_names: bool = False) -> Any:
    """Turn the vendor's dialect of OpenAPI into JSON Schema."""
    if isinstance(schema, list):
        return [_json_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    said = {
        key if is_names else _camel(key): _json_schema(
            value, is_names=key == "properties" and not is_names
        )
        for key, value in schema.items()
        if is_names or _camel(key) not in {"nullable", "propertyOrdering"}
    }
    if not is_names and isinstance(said.get("type"), str):
        kind = said["type"].lower()
        said["type"] = [kind, "null"] if schema.get("nullable") is True else kind
    return said


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(map(str.capitalize, rest))
