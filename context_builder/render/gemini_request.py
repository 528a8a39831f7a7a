"""The arguments of `client.models.generate_content` besides the conversation itself."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from context_builder.render.ids import clean_name
from context_builder.render.tool_schemas import FREE_TEXT, with_object_schema

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt
    from context_builder.settings import RequestOptions

__all__ = ["Dialect", "asked_for", "dialect_of", "generation_of", "said_name"]

_Said = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the generations of the vendor's models."""

    needs_signatures: bool = True
    """Whether the first call of each step must carry a signature."""
    media_in_results: bool = True
    """Whether a result may hold pictures; otherwise they stand behind the results."""
    system_field: bool = True
    """Whether there is a place for the system prompt."""
    thinking: Literal["level", "budget"] = "level"
    """How the amount of thinking is said."""


_NEWEST = Dialect()
_OLDER = Dialect(needs_signatures=False, media_in_results=False, thinking="budget")
_GEMMA = dataclasses.replace(_OLDER, system_field=False)


def generation_of(model: str | None) -> int | None:
    """Return the first number of a model's name: 2 for `gemini-2.5-pro`."""
    found = re.search(r"gemini-(\d+)", (model or "").lower())
    return int(found[1]) if found else None


def dialect_of(model: str | None) -> Dialect:
    """Return the dialect of a model; of an unknown one, the newest."""
    if "gemma" in (model or "").lower():
        return _GEMMA
    generation = generation_of(model)
    return _OLDER if generation is not None and generation < _FIRST_NEW else _NEWEST


_FIRST_NEW = 3


def asked_for(prompt: Prompt, contents: list[_Said]) -> _Said:
    """Return the keyword arguments of the call."""
    config = _config(prompt)
    extra = dict(prompt.options.extra or {})
    config |= dict(extra.pop("config", None) or {})
    asked = {name: extra.pop(name) for name in ("model", "contents") if name in extra}
    config |= extra
    if config.get("cached_content"):
        # They are part of what is cached, and must not be said again.
        for name in ("system_instruction", "tools", "tool_config"):
            config.pop(name, None)
    named = {"model": prompt.model} if prompt.model is not None else {}
    request = {**named, "contents": contents}
    # The caller may change what it gets; tools and schemas stay ours.
    return request | ({"config": copy.deepcopy(config)} if config else {}) | asked


def _config(prompt: Prompt) -> _Said:
    options = prompt.options
    system = prompt.system.text if prompt.system is not None else ""
    dialect = dialect_of(prompt.model)
    config = {
        "system_instruction": (system or None) if dialect.system_field else None,
        "tools": _said_tools(prompt) or None,
        "tool_config": _said_choice(options.tool_choice) if prompt.tools else None,
        "max_output_tokens": options.max_output_tokens,
        "temperature": options.temperature,
        "thinking_config": _said_thinking(options, dialect),
        **_said_format(options.response_format),
    }
    return {key: value for key, value in config.items() if value is not None}


# --- tools ----------------------------------------------------------------------------


def said_name(name: str) -> str:
    """Return a tool's name as the vendor takes it: it begins with a letter or `_`."""
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", name):
        return name
    cleaned = clean_name(name)
    # With a dot in front the name gets a hash, so that it is like no other.
    return cleaned if cleaned[:1].isalpha() else clean_name(f".{name}")


def _said_tools(prompt: Prompt) -> list[_Said]:
    if not prompt.tools:
        return []
    return [{"function_declarations": [_said_tool(tool) for tool in prompt.tools]}]


def _said_tool(tool: Mapping[str, Any]) -> _Said:
    if "custom" in tool:
        said: Mapping[str, Any] = {**tool["custom"], "parameters": FREE_TEXT}
    else:
        said = with_object_schema(tool["function"])
    declared: _Said = {"name": said_name(said["name"])}
    if said.get("description"):
        declared["description"] = said["description"]
    if said.get("parameters"):
        # This field takes JSON Schema; `parameters` takes a narrow dialect of it.
        declared["parameters_json_schema"] = said["parameters"]
    return declared


_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}


def _said_choice(choice: str | Mapping[str, Any] | None) -> _Said | None:
    if choice is None:
        return None
    if isinstance(choice, str):
        return {"function_calling_config": {"mode": _MODES.get(choice, "AUTO")}}
    allowed = choice.get("allowed_tools")
    names = [choice]
    mode = "ANY"
    if isinstance(allowed, Mapping):
        names = list(allowed.get("tools") or ())
        # AUTO takes no list of names; VALIDATED is AUTO with one.
        mode = "ANY" if allowed.get("mode") == "required" else "VALIDATED"
    called = [said_name(str(_function(each).get("name"))) for each in names]
    config = {"mode": mode, "allowed_function_names": called}
    return {"function_calling_config": config}


def _function(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    found = choice.get("function") or choice.get("custom") or choice
    return found if isinstance(found, Mapping) else {}


# --- thinking and the shape of the answer ---------------------------------------------

_BUDGETS = {
    "none": 0,
    "minimal": 1_024,
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
_LEVELS = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}


def _said_thinking(options: RequestOptions, dialect: Dialect) -> _Said | None:
    """Say how much to think. Budget and level together would be refused."""
    effort, budget = options.reasoning_effort, options.thinking_budget_tokens
    if dialect.thinking == "budget":
        budget = budget if budget is not None else _BUDGETS.get(effort or "")
        return {"thinking_budget": budget} if budget is not None else None
    if effort is not None:
        return {"thinking_level": _LEVELS.get(effort, effort.upper())}
    return {"thinking_budget": budget} if budget is not None else None


def _said_format(asked: Mapping[str, Any] | None) -> _Said:
    if asked is None or asked.get("type") == "text":
        return {}
    said: _Said = {"response_mime_type": "application/json"}
    schema = (asked.get("json_schema") or {}).get("schema")
    return said | ({"response_json_schema": schema} if schema else {})
