"""Says the settings of a request in Converse's words: limits, tools, thinking."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.render.anthropic_request import default_max_tokens, effort_word
from context_builder.render.claude import Claude, claude_of
from context_builder.render.claude_tools import (
    answer_schema,
    chosen_tool,
    thinking_settings,
)
from context_builder.render.ids import clean_name
from context_builder.render.left_out import (
    NARROWED,
    NO_BUDGET,
    NO_EFFORT,
    allowed_mode,
)
from context_builder.render.tool_schemas import input_schema

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

__all__ = ["said_settings"]

Report = Callable[[str], None]

_NO_TOOLS = "Do not call any tool. Answer in text."
"""Said in the system prompt: the API has no tool choice for it."""


def said_settings(
    prompt: Prompt, messages: Sequence[Mapping[str, Any]], report: Report
) -> dict[str, Any]:
    """Return the arguments besides messages; `system`: a text for the prompt's end."""
    options = prompt.options
    claude = claude_of(prompt.model)
    kind, name = chosen_tool(options.tool_choice) if prompt.tools else ("auto", None)
    if prompt.tools and allowed_mode(options.tool_choice):
        report(NARROWED)
    if kind in {"any", "tool"} and not claude.takes_forced_tool:
        report(f"tool_choice {kind!r} became 'auto': the model refuses to be forced")
        kind, name = "auto", None
    if options.parallel_tool_calls is False and prompt.tools:
        report("parallel_tool_calls was left out: the API has no such setting")
    fields = _fields(prompt, claude, kind, messages, report)
    thinks = (fields.get("thinking") or {}).get("type") in {"enabled", "adaptive"}
    asked = {
        "inferenceConfig": _inference(prompt, claude, thinks=thinks, report=report),
        "toolConfig": _tool_config(prompt, kind, name),
        "additionalModelRequestFields": fields,
        "outputConfig": _output_config(prompt, claude, report),
        "system": _NO_TOOLS if kind == "none" else "",
    }
    return {key: value for key, value in asked.items() if value}


def _inference(
    prompt: Prompt, claude: Claude, *, thinks: bool, report: Report
) -> dict[str, Any]:
    options = prompt.options
    said: dict[str, Any] = {}
    if options.max_output_tokens is not None or thinks:
        said["maxTokens"] = default_max_tokens(prompt)
    if options.temperature is None:
        return said
    if thinks or (claude.is_known and not claude.takes_sampling):
        report("temperature was left out: the model does not take it here")
    else:
        if options.temperature > 1:
            report("temperature became 1, the most that is taken")
        said["temperature"] = min(options.temperature, 1.0)
    return said


# --- tools ---------------------------------------------------------------------------


def _tool_config(prompt: Prompt, kind: str, name: str | None) -> dict[str, Any] | None:
    if not prompt.tools:
        return None
    config: dict[str, Any] = {"tools": [_said_tool(tool) for tool in prompt.tools]}
    if kind == "tool" and name is not None:
        config["toolChoice"] = {"tool": {"name": clean_name(name)}}
    elif kind == "any":
        config["toolChoice"] = {"any": {}}
    return config


def _said_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    said = tool.get("function") or tool.get("custom") or {}
    spec: dict[str, Any] = {"name": clean_name(said["name"])}
    if (said.get("description") or "").strip():
        spec["description"] = said["description"]
    spec["inputSchema"] = {"json": input_schema(tool)}
    if said.get("strict"):
        spec["strict"] = True
    return {"toolSpec": spec}


# --- thinking and format -------------------------------------------------------------


def _fields(
    prompt: Prompt,
    claude: Claude,
    choice: str,
    messages: Sequence[Mapping[str, Any]],
    report: Report,
) -> dict[str, Any]:
    """Return what only the hosted model understands."""
    if not claude.is_known:
        return _other_reasoning(prompt, report)
    thinking = thinking_settings(
        prompt.options, claude, adapter="bedrock", max_tokens=default_max_tokens(prompt)
    )
    if thinking is None:
        return {}
    if thinking["type"] == "enabled":
        if choice in {"any", "tool"}:
            report("thinking was left out: a forced tool_choice excludes it")
            return {}
        if not _starts_with_thought(messages):
            report("thinking was left out: the running tool calls were made without it")
            return {}
    return {"thinking": thinking}


def _starts_with_thought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the turn that is running, if one is, starts with a thought."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            return "reasoningContent" in message["content"][0]
        if any("toolResult" not in block for block in message["content"]):
            return True
    return True


def _other_reasoning(prompt: Prompt, report: Report) -> dict[str, Any]:
    effort = prompt.options.reasoning_effort
    name = (prompt.model or "").lower()
    if prompt.options.thinking_budget_tokens is not None:
        report(NO_BUDGET)
    if effort is None:
        return {}
    if "gpt-oss" in name:
        return {"reasoning_effort": effort}
    if "nova-2" in name:
        if effort == "none":
            return {"reasoningConfig": {"type": "disabled"}}
        level = {"minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}
    if effort != "none":
        report(NO_EFFORT)
    return {}


def _output_config(
    prompt: Prompt, claude: Claude, report: Report
) -> dict[str, Any] | None:
    config: dict[str, Any] = {}
    effort = effort_word(prompt.options.reasoning_effort, claude)
    if effort is not None:
        config["effort"] = effort
    wanted = prompt.options.response_format or {}
    if wanted.get("type") == "json_schema":
        described = wanted.get("json_schema") or {}
        schema = answer_schema(described.get("schema") or wanted.get("schema") or {})
        said = {"schema": json.dumps(schema, ensure_ascii=False)}
        if described.get("name"):
            said["name"] = described["name"]
        config["textFormat"] = {
            "type": "json_schema",
            "structure": {"jsonSchema": said},
        }
    elif wanted.get("type") not in {None, "text"}:
        report(
            f"response_format {wanted['type']!r} was left out: it takes a schema only"
        )
    return config or None
