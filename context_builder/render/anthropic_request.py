"""Says the settings of a request in Anthropic's words: limits, tools, thinking, format.

What a model refuses is left out, and it is told that it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError
from context_builder.render.anthropic_blocks import NAME_CHARS
from context_builder.render.claude import Claude, claude_of
from context_builder.render.claude_tools import (
    answer_schema,
    chosen_tool,
    effort_tokens,
    thinking_settings,
)
from context_builder.render.ids import clean_name
from context_builder.render.left_out import NARROWED, allowed_mode
from context_builder.render.tool_schemas import input_schema
from context_builder.tokens import resolve_model

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

__all__ = [
    "default_max_tokens",
    "effort_word",
    "said_settings",
    "said_tool",
    "starts_with_thought",
]

Report = Callable[[str], None]
"""Takes the reason why something was left out."""

DEFAULT_MAX_TOKENS = 8_192
"""The output's limit where nobody set one; the API wants one in every request."""

_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_NEWER_EFFORTS = {"xhigh": "xhigh", "max": "max"}
_THOUGHTS = {"thinking", "redacted_thinking"}


def said_settings(
    prompt: Prompt, messages: Sequence[Mapping[str, Any]], report: Report
) -> dict[str, Any]:
    """Return the arguments besides messages and system."""
    options = prompt.options
    claude = claude_of(prompt.model)
    max_tokens = default_max_tokens(prompt)
    choice = _tool_choice(prompt, claude, report)
    thinking = thinking_settings(
        options, claude, adapter="anthropic", max_tokens=max_tokens
    )
    if thinking and (refusal := _refusal(thinking, choice, messages)):
        report(f"thinking was left out: {refusal}")
        thinking = None
    asked = {
        "max_tokens": max_tokens,
        "tools": [said_tool(tool) for tool in prompt.tools] or None,
        "tool_choice": choice,
        "thinking": thinking,
        "output_config": _output_config(prompt, claude, report) or None,
        "extra_body": _body(_temperature(prompt, claude, thinking, report)),
    }
    return {key: value for key, value in asked.items() if value is not None}


def default_max_tokens(prompt: Prompt) -> int:
    """Return the output's limit: the one that was set, or a usual one."""
    options = prompt.options
    if options.max_output_tokens is not None:
        return options.max_output_tokens
    thought = options.thinking_budget_tokens or effort_tokens(
        options, claude_of(prompt.model)
    )
    wanted = DEFAULT_MAX_TOKENS + thought
    try:
        most = resolve_model(prompt.model).max_output_tokens if prompt.model else None
    except UnknownModelError:
        most = None
    return min(wanted, most) if most else wanted


# --- tools ---------------------------------------------------------------------------


def said_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Say one tool definition."""
    said = tool.get("function") or tool.get("custom") or {}
    defined: dict[str, Any] = {"name": clean_name(said["name"], max_chars=NAME_CHARS)}
    if (said.get("description") or "").strip():
        defined["description"] = said["description"]
    defined["input_schema"] = input_schema(tool)
    if said.get("strict"):
        defined["strict"] = True
    return defined


def _tool_choice(
    prompt: Prompt, claude: Claude, report: Report
) -> dict[str, Any] | None:
    options = prompt.options
    if not prompt.tools:
        return None
    kind, name = chosen_tool(options.tool_choice)
    if allowed_mode(options.tool_choice):
        report(NARROWED)
    if kind in {"any", "tool"} and not claude.takes_forced_tool:
        report(f"tool_choice {kind!r} became 'auto': the model refuses to be forced")
        kind, name = "auto", None
    one_at_a_time = options.parallel_tool_calls is False and kind != "none"
    if options.tool_choice is None and not one_at_a_time:
        return None
    choice: dict[str, Any] = {"type": kind}
    if name is not None:
        choice["name"] = clean_name(name, max_chars=NAME_CHARS)
    if one_at_a_time:
        choice["disable_parallel_tool_use"] = True
    return choice


# --- thinking ------------------------------------------------------------------------


def _refusal(
    thinking: Mapping[str, Any],
    choice: Mapping[str, Any] | None,
    messages: Sequence[Mapping[str, Any]],
) -> str | None:
    """Say why the API would refuse a thinking budget here; None: it does not."""
    if thinking["type"] != "enabled":
        return None
    if choice and choice["type"] in {"any", "tool"}:
        return "a forced tool_choice excludes it"
    if not starts_with_thought(messages):
        return "the running tool calls were made without it"
    return None


def starts_with_thought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the turn that is running, if one is, starts with a thought.

    With a thinking budget the API demands it of the assistant's last message, where
    that is followed by nothing but results, or by nothing.
    """
    for message in reversed(messages):
        if message["role"] == "assistant":
            return bool(message["content"][0]["type"] in _THOUGHTS)
        if any(block["type"] != "tool_result" for block in message["content"]):
            return True
    return True


# --- the rest ------------------------------------------------------------------------


def _output_config(prompt: Prompt, claude: Claude, report: Report) -> dict[str, Any]:
    config: dict[str, Any] = {}
    effort = effort_word(prompt.options.reasoning_effort, claude)
    if effort is not None:
        config["effort"] = effort
    wanted = prompt.options.response_format or {}
    if wanted.get("type") == "json_schema":
        described = wanted.get("json_schema") or {}
        schema = described.get("schema") or wanted.get("schema") or {}
        config["format"] = {"type": "json_schema", "schema": answer_schema(schema)}
    elif wanted.get("type") not in {None, "text"}:
        report(
            f"response_format {wanted['type']!r} was left out: it takes a schema only"
        )
    return config


def effort_word(effort: str | None, claude: Claude) -> str | None:
    """Return the word for how hard to try as the model knows it; None: none is said."""
    if effort is None or not claude.takes_effort:
        return None
    if effort in _NEWER_EFFORTS and not claude.takes_adaptive_thinking:
        return "high"
    if effort == "xhigh" and claude.takes_thinking_budget:
        return "max"  # the word is younger than these models
    return {**_EFFORTS, **_NEWER_EFFORTS}.get(effort)


def _body(temperature: float | None) -> dict[str, Any] | None:
    """Return what newer SDKs have no argument for; the API takes it all the same."""
    return None if temperature is None else {"temperature": temperature}


def _temperature(
    prompt: Prompt, claude: Claude, thinking: Mapping[str, Any] | None, report: Report
) -> float | None:
    asked = prompt.options.temperature
    if asked is None:
        return None
    if not claude.takes_sampling:
        report("temperature was left out: the model takes none")
        return None
    if thinking and thinking["type"] != "disabled":
        report("temperature was left out: it does not go with thinking")
        return None
    if asked > 1:
        report("temperature became 1, the most that is taken")
    return min(asked, 1.0)
