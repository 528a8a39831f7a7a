"""Says a prompt as Cohere's chat, version 2 (`ClientV2.chat`).

What the assistant says beside its calls is its `tool_plan`; there is no choice `auto`
and none of a certain tool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import Capabilities, Problem, Prompt
from context_builder.render.dialect import (
    Dialect,
    json_schema_of,
    said_tools,
    without_none,
)
from context_builder.render.left_out import NARROWED, allowed_mode, parallel_note
from context_builder.render.openai_compatible import CompatAdapter, Messages
from context_builder.render.validate_cohere import validate_cohere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_builder.items import ContextItem
    from context_builder.render.ids import IdMap
    from context_builder.settings import RequestOptions

__all__ = ["COHERE", "CohereAdapter"]

_CHOICES = {"required": "REQUIRED", "named": "REQUIRED", "none": "NONE"}

COHERE = Dialect(
    name="cohere",
    capabilities=Capabilities(
        providers=("cohere",),
        notes="user",  # the last message may not be a system message
        assistant_last=False,
        id_chars=64,
        files=False,
        audio=False,
        reasoning="cohere",
    ),
    null_content="omit",
    needs_parameters=True,
)


class CohereAdapter(CompatAdapter):
    """Cohere, version 2.

    Args:
        replay_reasoning: Send its own reasoning back. It is not needed, and off.
    """

    def __init__(self, *, replay_reasoning: bool = False) -> None:
        super().__init__(COHERE)
        self._replays = replay_reasoning

    # --- the request ------------------------------------------------------------------

    def _asked(self, prompt: Prompt) -> tuple[dict[str, Any], list[str]]:
        options, notes = prompt.options, list[str]()
        tools = said_tools(prompt, self.dialect)
        asked = {
            "model": prompt.model,
            "tools": tools or None,
            "tool_choice": _choice(options, notes) if tools else None,
            "max_tokens": options.max_output_tokens,
            "response_format": _format(prompt, notes),
            "temperature": options.temperature,
            "thinking": _thinking(options),
        }
        notes += parallel_note(prompt)
        return without_none(asked) | dict(options.extra or {}), notes

    # --- messages ---------------------------------------------------------------------

    def _say_assistant(
        self, item: ContextItem, ids: IdMap | None, model: str | None
    ) -> Messages:
        said = super()._say_assistant(item, ids, model)
        if said and item.tool_calls and "content" in said[0]:
            said[0]["tool_plan"] = said[0].pop("content")
        own = [part for part in item.reasoning if part.provider == "cohere"]
        if said and own and self._replays:
            chunks = [
                dict(part.data) if part.data else _thought(part.text) for part in own
            ]
            text = said[0].get("content")
            texts = [{"type": "text", "text": text}] if text else []
            said[0]["content"] = [*chunks, *texts]
        return said

    def _say_result(self, item: ContextItem, call_id: str) -> dict[str, Any]:
        said = super()._say_result(item, call_id)
        if not _is_json_object(said["content"]):
            # The API asks for a JSON object as text, or for blocks.
            said["content"] = [{"type": "text", "text": said["content"]}]
        return said

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of Cohere that the request breaks."""
        return validate_cohere(request)


def _thought(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text}


def _is_json_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _thinking(options: RequestOptions) -> dict[str, Any] | None:
    if options.reasoning_effort == "none":
        return {"type": "disabled"}
    budget = options.thinking_budget_tokens
    if budget is not None:
        return {"type": "enabled", "token_budget": budget}
    return {"type": "enabled"} if options.reasoning_effort else None


def _choice(options: RequestOptions, notes: list[str]) -> str | None:
    choice = options.tool_choice
    if choice is None:
        return None
    if mode := allowed_mode(choice):
        notes.append(NARROWED)
        choice = mode
    if not isinstance(choice, str):
        notes.append("tool_choice: some tool is required, as none can be named here")
        return "REQUIRED"
    return _CHOICES.get(choice)


def _format(prompt: Prompt, notes: list[str]) -> dict[str, Any] | None:
    wanted = prompt.options.response_format
    if wanted is None or wanted.get("type") == "text":
        return None
    if prompt.tools:
        notes.append("response_format is left out: it is not taken beside tools")
        return None
    schema = json_schema_of(wanted)
    said: dict[str, Any] = {"type": "json_object"}
    return said if schema is None else {**said, "json_schema": dict(schema)}
