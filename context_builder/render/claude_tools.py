"""Tools, schemas and thinking as Claude takes them, whoever hosts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_builder.errors import AdapterError
from context_builder.render.left_out import allowed_mode

if TYPE_CHECKING:
    from context_builder.render.claude import Claude
    from context_builder.settings import RequestOptions

__all__ = ["answer_schema", "chosen_tool", "effort_tokens", "thinking_settings"]

_UNCHECKED = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    }
)
"""What a schema for an answer may not hold."""

_MIN_BUDGET = 1_024
_BUDGET_BY_EFFORT: Mapping[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_768,
}
"""Tokens to think for models that take no word for it."""


def answer_schema(schema: Any) -> Any:
    """Return a schema of the answer as the vendor takes it: its objects are closed."""
    if isinstance(schema, list):
        return [answer_schema(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    cleaned = {
        key: {name: answer_schema(member) for name, member in value.items()}
        if key in {"properties", "$defs", "definitions"} and isinstance(value, Mapping)
        else value
        if key in {"enum", "const", "required", "default", "examples"}
        else answer_schema(value)
        for key, value in schema.items()
        if key not in _UNCHECKED
    }
    if cleaned.get("type") == "object":
        cleaned["additionalProperties"] = False
    return cleaned


def chosen_tool(choice: str | Mapping[str, Any] | None) -> tuple[str, str | None]:
    """Read OpenAI's `tool_choice` as (auto, none, any or tool; the tool's name)."""
    if mode := allowed_mode(choice):
        return ("any" if mode == "required" else "auto"), None
    if isinstance(choice, Mapping):
        said = choice.get("function") or choice.get("custom") or choice
        name = said.get("name")
        return ("tool", str(name)) if name else ("auto", None)
    return {"required": "any", "any": "any", "none": "none"}.get(
        choice or "", "auto"
    ), None


def effort_tokens(options: RequestOptions, claude: Claude) -> int:
    """Return the tokens that are thought where a word becomes a budget; 0 elsewhere.

    The output's limit has to leave room for them and for the answer.
    """
    is_word = options.reasoning_effort not in {None, "none"}
    if not is_word or options.thinking_budget_tokens is not None:
        return 0
    if claude.takes_adaptive_thinking or not (
        claude.takes_thinking_budget or not claude.is_known
    ):
        return 0
    return _budget_of(options.reasoning_effort)


def _budget_of(effort: str | None) -> int:
    return _BUDGET_BY_EFFORT.get(effort or "", _BUDGET_BY_EFFORT["medium"])


def thinking_settings(
    options: RequestOptions, claude: Claude, *, adapter: str, max_tokens: int
) -> dict[str, Any] | None:
    """Return how the model is told to think; None: nothing is said.

    Raises:
        AdapterError: If the output's limit leaves no room for the least budget.
    """
    effort = options.reasoning_effort
    if effort == "none":
        return {"type": "disabled"} if claude.thinking_can_be_disabled else None
    budget = options.thinking_budget_tokens
    if budget is None and effort is None:
        return None
    if claude.takes_adaptive_thinking and (
        budget is None or not claude.takes_thinking_budget
    ):
        return {"type": "adaptive"}
    if claude.is_known and not claude.takes_thinking_budget:
        return None
    if budget is None:
        budget = _budget_of(effort)
    if max_tokens <= _MIN_BUDGET:
        message = (
            f"thinking takes at least {_MIN_BUDGET:,} tokens of the output; raise "
            f"max_output_tokens above that (it is {max_tokens:,})"
        )
        raise AdapterError(message, adapter=adapter)
    return {
        "type": "enabled",
        "budget_tokens": min(max(budget, _MIN_BUDGET), max_tokens - 1),
    }
