"""Says a prompt as Ollama's own chat (`ollama.Client.chat`).

The window is what `num_ctx` says, whatever the model could hold, and what does not fit
is cut off silently: so it is always sent.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError
from context_builder.items import ContextItem, Mark
from context_builder.messages import Content, ImagePart, Part, ToolCall
from context_builder.render.adapter import Capabilities, Problem, Prompt, Rendering
from context_builder.render.described import described_part, function_arguments
from context_builder.render.dialect import (
    Dialect,
    json_schema_of,
    said_tools,
    without_none,
)
from context_builder.render.ids import clean_name
from context_builder.render.left_out import NO_BUDGET, parallel_note
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_ollama import validate_ollama
from context_builder.tokens import resolve_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_builder.render.chat_turns import Turns
    from context_builder.settings import RequestOptions

__all__ = ["OLLAMA", "OllamaAdapter"]

_SMALLEST_WINDOW = 4_096
_LEAST_OUTPUT = 1_024
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium"}

OLLAMA = Dialect(
    name="ollama",
    capabilities=Capabilities(
        notes="user",
        arguments="object",
        id_chars=64,
        images_in_results=True,
        files=False,
        audio=False,
        reasoning="ollama",
    ),
    reasoning_field="thinking",
)


class OllamaAdapter(CompatAdapter):
    """Ollama's own API."""

    format_key = "format"

    def __init__(self) -> None:
        super().__init__(OLLAMA)

    # --- the request ------------------------------------------------------------------

    def _asked(self, prompt: Prompt) -> tuple[dict[str, Any], list[str]]:
        options, notes = prompt.options, list[str]()
        extra = dict(options.extra or {})
        settings = without_none(
            {
                "num_ctx": extra.pop("num_ctx", None) or _window(prompt.model),
                "num_predict": options.max_output_tokens,
                "temperature": options.temperature,
            }
        )
        tools = said_tools(prompt, self.dialect)
        asked = {
            "model": prompt.model,
            "tools": _chosen(tools, options, notes) or None,
            "format": _format(options),
            "think": _think(options, notes),
            "options": settings | dict(extra.pop("options", None) or {}),
        }
        return without_none(asked) | extra, notes + parallel_note(prompt)

    def _rendering(self, prompt: Prompt, turns: Turns) -> Rendering:
        rendering = super()._rendering(prompt, turns)
        settings = rendering.request["options"]
        if "num_ctx" in settings:
            return rendering
        tokens = self.request_tokens(
            rendering.request, self.counter(prompt.model).count
        )
        settings["num_ctx"] = _room_for(tokens, prompt.options.max_output_tokens)
        note = (
            "num_ctx was chosen by the size of the request, as the window of the model "
            "is not known; pass extra={'options': {'num_ctx': ...}}"
        )
        mark = Mark("request", "repaired", note)
        return dataclasses.replace(rendering, repairs=(*rendering.repairs, mark))

    # --- messages ---------------------------------------------------------------------

    def _takes(self, part: Part) -> bool:
        return part.type == "image" and bool(part.data)

    def _user_content(self, content: Content) -> dict[str, Any]:
        if isinstance(content, str):
            return {"content": content}
        said = [described_part(part) for part in content if not self._takes(part)]
        return {"content": "\n".join(said), **_images(content)}

    def _said_call(self, call: ToolCall, call_id: str) -> dict[str, Any]:
        said = {"name": clean_name(call.name), "arguments": _object_of(call)}
        return {"id": call_id, "type": "function", "function": said}

    def _say_result(self, item: ContextItem, call_id: str) -> dict[str, Any]:
        said = super()._say_result(item, call_id)
        name = clean_name(item.tool_name or "tool")
        return {**said, "tool_name": name, **_images(item.content)}

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of Ollama that the request breaks."""
        return validate_ollama(request)


def _images(content: Content) -> dict[str, Any]:
    if isinstance(content, str):
        return {}
    images = [
        part.data for part in content if isinstance(part, ImagePart) and part.data
    ]
    return {"images": images} if images else {}


def _window(model: str | None) -> int | None:
    """Return the window that the model is loaded with; None: it is not known."""
    if model is None:
        return None
    for name in (f"ollama/{model.removeprefix('ollama/')}", model):
        try:
            return resolve_model(name).context_window
        except UnknownModelError:
            continue
    return None


def _room_for(tokens: int, max_output_tokens: int | None) -> int:
    """Return a window that holds a request, in steps: a new one reloads the model."""
    needed = tokens + (max_output_tokens or max(tokens // 2, _LEAST_OUTPUT))
    window = _SMALLEST_WINDOW
    while window < needed:
        window *= 2
    return window


def _chosen(
    tools: list[dict[str, Any]], options: RequestOptions, notes: list[str]
) -> list[dict[str, Any]]:
    if options.tool_choice is None or options.tool_choice == "auto" or not tools:
        return tools
    if options.tool_choice == "none":
        notes.append("tool_choice 'none': the tools are left out")
        return []
    notes.append("tool_choice is not known here: the model chooses")
    return tools


def _format(options: RequestOptions) -> str | dict[str, Any] | None:
    wanted = options.response_format
    if wanted is None or wanted.get("type") == "text":
        return None
    schema = json_schema_of(wanted)
    return "json" if schema is None else dict(schema)


def _think(options: RequestOptions, notes: list[str]) -> bool | str | None:
    if options.thinking_budget_tokens is not None:
        notes.append(NO_BUDGET)
    if options.reasoning_effort is None:
        return True if options.thinking_budget_tokens is not None else None
    if options.reasoning_effort == "none":
        return False
    return _EFFORTS.get(options.reasoning_effort, "high")


def _object_of(call: ToolCall) -> dict[str, Any]:
    """Return arguments as an object. Broken ones are mended before they are sent.

    They are only counted then, in the report of a call that was left out.
    """
    try:
        read = json.loads(function_arguments(call))
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"_raw": call.arguments}
