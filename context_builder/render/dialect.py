"""What OpenAI-compatible vendors differ in, as data, and the request that follows.

A vendor is a `Dialect`; code asks its fields and never its name. What a vendor does not
take is left out of the request or said in its own way, and is named as a note.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from context_builder.render.adapter import Capabilities, Prompt
from context_builder.render.described import function_tool
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.ids import clean_name
from context_builder.render.left_out import (
    NARROWED,
    NO_BUDGET,
    allowed_mode,
    parallel_note,
)
from context_builder.render.validate_openai_compatible import (
    COMPATIBLE_RULES,
    FamilyRules,
)

if TYPE_CHECKING:
    from context_builder.settings import RequestOptions

__all__ = [
    "COMPATIBLE",
    "Dialect",
    "asked_of",
    "json_schema_of",
    "said_tools",
    "without_none",
]

_ALL_CHOICES = frozenset({"auto", "none", "required", "named"})
_FUNCTION_KEYS = frozenset({"name", "description", "parameters"})
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

ReasoningField = Literal["reasoning_content", "reasoning", "thinking"]
Thinking = Literal["effort", "switch", "switch_and_effort", "enable_and_budget"]

COMPATIBLE = Capabilities(
    notes="user",
    user_first=True,
    id_pattern=r"^[a-zA-Z0-9_-]+$",
    files=False,
    audio=False,
)
"""What practically every OpenAI-compatible server takes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Dialect:
    """One vendor that speaks Chat Completions, as data. The defaults are cautious."""

    name: str
    capabilities: Capabilities = COMPATIBLE
    rules: FamilyRules = COMPATIBLE_RULES
    """What its validator checks; written apart from the rest."""
    framing: ChatFraming = dataclasses.field(default_factory=ChatFraming)
    bridge: str | None = None
    """What the assistant says between a result and a user message, where one is due."""
    parallel_calls: bool = True
    """Whether one message may hold several calls; otherwise each gets its own."""
    parallel_flag: bool = True
    """Whether the request may say `parallel_tool_calls`."""
    null_content: Literal["null", "empty", "omit"] = "empty"
    """The content of a message that only calls."""
    named_roles: frozenset[str] = frozenset()
    """Roles whose messages may carry a participant's name."""
    reasoning_field: ReasoningField | None = None
    """Where reasoning goes back; None: it does not."""
    reasoning_on: Literal["calls", "all"] = "calls"
    """Which of the assistant's messages carry it."""
    reasoning_fill: str | None = None
    """What stands for reasoning that is demanded and not there."""
    refuses_reasoning: tuple[str, ...] = ()
    """Beginnings of the names of models that refuse reasoning in the input."""
    thinking: Thinking = "effort"
    """How the settings of reasoning are said; see `_THINKING`."""
    tool_choices: frozenset[str] = _ALL_CHOICES
    """Of auto, none, required, and `named` for a certain function."""
    json_schema: bool = True
    """Whether an answer can be held to a schema; otherwise only to JSON."""
    temperature: bool = True
    """Whether the temperature may be set."""
    cache_key: bool = False
    """Whether the request may name its prompt cache."""
    function_keys: frozenset[str] = _FUNCTION_KEYS
    """What a function's definition may hold."""
    needs_parameters: bool = False
    """Whether a function without parameters has to say so."""


# --- the request besides its messages -------------------------------------------------


def said_tools(prompt: Prompt, dialect: Dialect) -> list[dict[str, Any]]:
    """Return the tools as the vendor's function tools."""
    tools = [function_tool(tool, keep=dialect.function_keys) for tool in prompt.tools]
    if dialect.needs_parameters:
        for tool in tools:
            tool["function"].setdefault("parameters", dict(_NO_PARAMETERS))
    return tools


def without_none(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that say something."""
    return {key: value for key, value in asked.items() if value is not None}


def asked_of(prompt: Prompt, dialect: Dialect) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments besides the messages, and notes on what is not said."""
    options = prompt.options
    notes: list[str] = []
    asked, body = _THINKING[dialect.thinking](options, notes)
    tools = said_tools(prompt, dialect)
    asked |= {
        "model": prompt.model,
        "tools": tools or None,
        "tool_choice": _choice(options, dialect, notes) if tools else None,
        "parallel_tool_calls": _parallel(options, dialect) if tools else None,
        "prompt_cache_key": options.prompt_cache_key if dialect.cache_key else None,
        "max_tokens": options.max_output_tokens,
        "response_format": _format(options, dialect, notes),
        "temperature": _temperature(options, dialect, notes),
    }
    if not dialect.parallel_flag:
        notes += parallel_note(prompt)
    extra = dict(options.extra or {})
    body |= extra.pop("extra_body", None) or {}
    if body:
        extra["extra_body"] = body
    return without_none(asked) | extra, notes


def _choice(
    options: RequestOptions, dialect: Dialect, notes: list[str]
) -> str | dict[str, Any] | None:
    choice = options.tool_choice
    if choice is None:
        return None
    if mode := allowed_mode(choice):
        notes.append(NARROWED)
        choice = mode
    kind = choice if isinstance(choice, str) else "named"
    if kind not in dialect.tool_choices:
        notes.append(f"tool_choice {kind!r} is not known here: the model chooses")
        return "auto" if "auto" in dialect.tool_choices else None
    return choice if isinstance(choice, str) else _named_choice(choice)


def _named_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    said = choice.get("function") or choice.get("custom") or {}
    return {"type": "function", "function": {"name": clean_name(said.get("name", ""))}}


def _parallel(options: RequestOptions, dialect: Dialect) -> bool | None:
    if not dialect.parallel_flag:
        return None
    return options.parallel_tool_calls if dialect.parallel_calls else False


def _format(
    options: RequestOptions, dialect: Dialect, notes: list[str]
) -> dict[str, Any] | None:
    if options.response_format is None:
        return None
    if options.response_format.get("type") == "json_schema" and not dialect.json_schema:
        notes.append("response_format: JSON is asked for, but no schema is known here")
        return {"type": "json_object"}
    return dict(options.response_format)


def json_schema_of(response_format: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema that OpenAI's `response_format` holds; None: any JSON."""
    schema = (response_format.get("json_schema") or {}).get("schema")
    return schema if isinstance(schema, Mapping) else None


def _temperature(
    options: RequestOptions, dialect: Dialect, notes: list[str]
) -> float | None:
    if options.temperature is not None and not dialect.temperature:
        notes.append("temperature is fixed here")
        return None
    return options.temperature


# --- the settings of reasoning --------------------------------------------------------

Asked = tuple[dict[str, Any], dict[str, Any]]
"""Arguments of the call, and fields of the body that the SDK does not know."""


def _effort(options: RequestOptions, notes: list[str]) -> Asked:
    _without_budget(options, notes)
    return {"reasoning_effort": options.reasoning_effort}, {}


def _switch(options: RequestOptions, notes: list[str]) -> Asked:
    _without_budget(options, notes)
    state = _state(options)
    return {}, {"thinking": {"type": state}} if state else {}


def _switch_and_effort(options: RequestOptions, notes: list[str]) -> Asked:
    asked, body = _switch(options, notes)
    effort = options.reasoning_effort
    return asked | {"reasoning_effort": effort if effort != "none" else None}, body


def _enable_and_budget(options: RequestOptions, _notes: list[str]) -> Asked:
    state = _state(options)
    if state is None:
        return {}, {}
    body: dict[str, Any] = {"enable_thinking": state == "enabled"}
    if options.thinking_budget_tokens is not None and state == "enabled":
        body["thinking_budget"] = options.thinking_budget_tokens
    return {}, body


def _state(options: RequestOptions) -> str | None:
    if options.reasoning_effort == "none":
        return "disabled"
    asks = options.reasoning_effort or options.thinking_budget_tokens
    return "enabled" if asks else None


def _without_budget(options: RequestOptions, notes: list[str]) -> None:
    if options.thinking_budget_tokens is not None:
        notes.append(NO_BUDGET)


_THINKING: Mapping[Thinking, Callable[[RequestOptions, list[str]], Asked]] = {
    "effort": _effort,
    "switch": _switch,
    "switch_and_effort": _switch_and_effort,
    "enable_and_budget": _enable_and_budget,
}
