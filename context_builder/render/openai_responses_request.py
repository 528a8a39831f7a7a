"""The arguments of `client.responses.create` besides the conversation itself."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_builder.render.ids import clean_name
from context_builder.render.tool_schemas import with_object_schema

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt
    from context_builder.settings import RequestOptions

__all__ = ["asked_for", "said_tool"]

_THINKS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)|gpt-oss|codex|computer-use)")
_CHATS = re.compile(r"-chat\b")
"""`gpt-5-chat-latest` is called like its family, and does not reason."""


def asked_for(prompt: Prompt, said: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the keyword arguments of the call."""
    options = prompt.options
    tools = [copy.deepcopy(said_tool(tool)) for tool in prompt.tools]
    asked = {
        "model": prompt.model,
        # Empty instructions would call up the vendor's own.
        "instructions": (prompt.system.text if prompt.system else "") or None,
        "input": said,
        "tools": tools or None,
        "tool_choice": copy.deepcopy(_said_choice(options.tool_choice))
        if tools
        else None,
        "parallel_tool_calls": options.parallel_tool_calls if tools else None,
        "max_output_tokens": options.max_output_tokens,
        "text": copy.deepcopy(_said_format(options.response_format)),
        "reasoning": _said_effort(options),
        "temperature": options.temperature,
        "prompt_cache_key": options.prompt_cache_key,
        "store": False,
        "include": ["reasoning.encrypted_content"] if _thinks(prompt.model) else None,
    }
    request = {key: value for key, value in asked.items() if value is not None}
    # The caller may change what it gets; tools and schemas stay ours.
    return request | copy.deepcopy(dict(options.extra or {}))


def _thinks(model: str | None) -> bool:
    """Say whether a model gives reasoning back; others refuse to be asked for it."""
    if model is None:
        return True
    name = model.lower().removeprefix("ft:")
    return _THINKS.search(name) is not None and _CHATS.search(name) is None


def _said_effort(options: RequestOptions) -> dict[str, Any] | None:
    effort = options.reasoning_effort
    return {"effort": effort} if effort is not None else None


def said_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Say a tool the flat way, `strict` or not: left out, the vendor assumes it."""
    if "custom" in tool:
        custom = tool["custom"]
        said = {"type": "custom", **custom, "name": clean_name(custom["name"])}
        if "format" in custom:
            said["format"] = _said_grammar(custom["format"])
        return said
    function = with_object_schema(tool["function"])
    schema = function.get("parameters") or _NO_PARAMETERS
    return {
        "type": "function",
        "name": clean_name(function["name"]),
        **_given(function, "description"),
        "parameters": schema,
        # A schema that is not strict is refused where it is said to be.
        "strict": bool(function.get("strict")) and _is_strict(schema),
    }


def _is_strict(schema: Mapping[str, Any]) -> bool:
    required = set(schema.get("required") or ())
    is_closed = schema.get("additionalProperties") is False
    return is_closed and required == set(schema.get("properties") or {})


_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


def _given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _said_grammar(given: Mapping[str, Any]) -> dict[str, Any]:
    inner = given.get("grammar")
    if isinstance(inner, Mapping):
        return {"type": "grammar", **inner}
    return dict(given)


def _said_choice(choice: str | Mapping[str, Any] | None) -> str | dict[str, Any] | None:
    if choice is None or isinstance(choice, str):
        return choice
    kind = choice.get("type")
    inner = choice.get(str(kind))
    if not isinstance(inner, Mapping):
        return dict(choice)
    if kind == "allowed_tools":
        tools = [_said_choice(tool) for tool in inner.get("tools") or ()]
        return {"type": kind, "mode": inner.get("mode", "auto"), "tools": tools}
    return {"type": kind, "name": clean_name(str(inner["name"]))}


def _said_format(asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    inner = asked.get("json_schema")
    if not isinstance(inner, Mapping):
        return {"format": dict(asked)}
    shown = _given(inner, "name", "description", "schema", "strict")
    return {"format": {"type": "json_schema", **shown}}
