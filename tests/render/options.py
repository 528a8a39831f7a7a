"""Every setting of a request, and how each vendor and model is asked, word for word.

`python -m tests.render.options` writes the words anew, to be read before they are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.errors import AdapterError
from context_builder.messages import ToolCall
from context_builder.render import adapter_for
from tests.render.conversations_chat import assistant, note, prompt, result, user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WORDS = Path(__file__).parents[1] / "data" / "options.json"
MODELS: Mapping[str, Sequence[str | None]] = {
    "anthropic": (
        "claude-sonnet-4-5", "claude-opus-4-5", "claude-sonnet-4-6", "claude-opus-4-8",
        "claude-opus-5-5", "claude-x",
    ),
    "bedrock": (
        "anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-6",
        "anthropic.claude-opus-5-5", "amazon.nova-pro-v1:0", "amazon.nova-2-lite-v1:0",
        "openai.gpt-oss-120b-1:0", "meta.llama3-3-70b-instruct-v1:0",
    ),
    "cohere": ("command-a-03-2025",),
    "deepseek": ("deepseek-v4-pro",),
    "gemini": ("gemini-2.5-flash", "gemini-3-pro-preview", "gemma-3-27b-it"),
    "glm": ("glm-5.3",),
    "groq": ("groq/openai/gpt-oss-120b",),
    "kimi": ("kimi-k3",),
    "mistral": ("mistral-large-latest",),
    "ollama": ("llama3.1", None),
    "openai": ("gpt-4o", "gpt-5", None),
    "openai-compatible": (None,),
    "openai-responses": ("gpt-4o", "gpt-5"),
    "qwen": ("qwen3-max",),
    "strict": (None,),
    "xai": ("grok-4.7",),
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "minimum": {"type": "integer", "minimum": 1, "enum": [1, {"maximum": 2}]},
        "deep": {"type": "array", "items": {"type": "object"}, "maxItems": 3},
    },
    "required": ["minimum"],
    "$defs": {"maxLength": {"type": "string", "maxLength": 3}},
}
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "look at", "description": "Looks.", "strict": True,
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
        },
    },
    {"type": "function", "function": {"name": "now", "description": " "}},
    {"type": "custom", "custom": {"name": "sql", "description": "Asks."}},
)  # fmt: skip


def _function(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, kind: {"name": name}}


def asked() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the settings that are tried, by a name."""
    yield "nothing", {}
    yield "max_output_tokens", {"max_output_tokens": 3_000}
    yield from _choices()
    yield from _thoughts()
    for heat in (0.0, 0.5, 1.0, 1.5):
        yield f"temperature {heat}", {"temperature": heat}
    for kind in ("text", "json_object"):
        yield f"format {kind}", {"response_format": {"type": kind}}
    schema = {"name": "a", "schema": SCHEMA, "strict": True}
    for name, said in (("by a schema", schema), ("without a name", {"schema": SCHEMA})):
        form = {"type": "json_schema", "json_schema": said}
        yield f"format {name}", {"response_format": form}
    for key in ("key", "clé"):
        yield f"cache {key}", {"prompt_cache_key": key}
    extra = {"top_p": 0.5, "extra_body": {"seed": 1}, "stop": ["x"]}
    yield "extra", {"extra": extra, "reasoning_effort": "high"}


def _choices() -> Iterator[tuple[str, dict[str, Any]]]:
    for choice in ("auto", "none", "required"):
        yield f"choice {choice}", {"tool_choice": choice}
    yield "choice of a function", {"tool_choice": _function("function", "look at")}
    yield "choice of a custom tool", {"tool_choice": _function("custom", "sql")}
    for mode in ("auto", "required"):
        allowed = {"mode": mode, "tools": [_function("function", "look at")]}
        said = {"type": "allowed_tools", "allowed_tools": allowed}
        yield f"choice of some, {mode}", {"tool_choice": said}
    for flag in (True, False):
        yield f"parallel {flag}", {"parallel_tool_calls": flag}
    yield "one call, none", {"parallel_tool_calls": False, "tool_choice": "none"}


def _thoughts() -> Iterator[tuple[str, dict[str, Any]]]:
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
        yield f"effort {effort}", {"reasoning_effort": effort}
    for budget in (500, 2_000, 40_000):
        asked = {"thinking_budget_tokens": budget}
        yield f"budget {budget}", asked
        yield f"budget {budget} of 3,000", {**asked, "max_output_tokens": 3_000}
    asked = {"thinking_budget_tokens": 2_000}
    yield "budget without room", {**asked, "max_output_tokens": 1_024}
    yield "budget and effort", {**asked, "reasoning_effort": "low"}
    yield "budget, but none", {**asked, "reasoning_effort": "none"}
    yield "budget and heat", {**asked, "temperature": 0.5}
    yield "budget and force", {**asked, "tool_choice": "required"}


_CALL = ToolCall("callcall1", "now", "{}")
_LOOP = (user("?"), assistant("", _CALL), result(_CALL, "noon"))


def sayings(target: str, model: str | None) -> dict[str, str]:
    """Return how a vendor is asked: the arguments, what was repaired, the costs.

    Of each setting only what it changes, in one line.
    """
    adapter = adapter_for(target)
    said = {}
    for place, items, tools in (
        ("", (user("?"),), TOOLS),
        (", without tools", (user("?"),), ()),
        (", in a loop", _LOOP, TOOLS),
    ):
        plain: Any = {}
        for name, options in asked():
            if place and not _matters(name, place):
                continue
            given = prompt(
                *items, system="s", tools=tools, model=model, options=options
            )
            words = _said(adapter, given)
            said[f"{name}{place}"] = json.dumps(_changed(plain, words))
            plain = plain or words
    ended = prompt(user("?"), note("n"), model=model, tools=TOOLS[:1])
    said["a note at the end"] = json.dumps(_said(adapter, ended))
    return said


def _changed(before: Any, after: Any) -> Any:
    """Return what differs of two requests; `GONE`: it is no longer there."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = {key: "GONE" for key in before if key not in after}
    return gone | {
        key: _changed(before.get(key), value)
        for key, value in after.items()
        if key not in before or before[key] != value
    }


def _matters(name: str, place: str) -> bool:
    """Say whether a setting may be asked otherwise without tools, or in a loop."""
    words = ("choice", "parallel", "format by", "nothing")
    return name.startswith(words if place == ", without tools" else ("budget 2", "no"))


def _said(adapter: Any, given: Any) -> Any:
    try:
        rendering = adapter.render(given)
    except AdapterError as error:
        return str(error)
    request = {
        key: value
        for key, value in rendering.request.items()
        if value is not rendering.messages
    }
    repairs = [[m.item_id, m.action, m.reason] for m in rendering.repairs]
    costs = dict(adapter.fixed_tokens(given, len))
    return {"request": request, "repairs": repairs, "costs": costs}


def kept() -> dict[str, dict[str, str]]:
    """Return the words as they were read and kept."""
    words: dict[str, dict[str, str]] = json.loads(WORDS.read_text("utf-8"))
    return words


def cases() -> list[tuple[str, str | None]]:
    """Return each vendor with each of its models."""
    return [(target, model) for target, models in MODELS.items() for model in models]


if __name__ == "__main__":
    said = {f"{target} {model}": sayings(target, model) for target, model in cases()}
    WORDS.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
