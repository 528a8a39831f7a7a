"""What the tests of Anthropic's adapter share: how to render, and what to compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import strategies as st
from pydantic import TypeAdapter

from context_builder.items import ContextItem
from context_builder.render.adapter import Prompt, Rendering
from context_builder.render.anthropic import AnthropicAdapter
from context_builder.settings import RequestOptions
from tests.render.conversations_anthropic import (
    TOOLS,
)

ADAPTER = AnthropicAdapter()
SDK: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsNonStreaming)
SYSTEM = ContextItem(role="system", content="You are terse.", source="system_prompt")
OLDER, NEWER, BOUND = "claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5"
LONG = "many words here " * 400
MODELS = st.sampled_from([None, OLDER, NEWER, BOUND, "claude-haiku-4-5"])
DATA = Path(__file__).parents[1] / "data" / "anthropic_usage.jsonl"


def render(
    items: tuple[ContextItem, ...],
    model: str | None = OLDER,
    *,
    stable: int = 0,
    system: ContextItem | None = SYSTEM,
    tools: tuple[Any, ...] = TOOLS,
    **options: Any,
) -> Rendering:
    """Say a conversation."""
    prompt = Prompt(
        items=items,
        system=system,
        tools=tools,
        model=model,
        options=RequestOptions(**options),
        stable_items=stable,
    )
    return ADAPTER.render(prompt)


def unmarked(value: Any) -> Any:
    """Return a request without its cache marks."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(member) for member in value] if isinstance(value, list) else value


def parts_of(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a request says, block by block."""
    return [
        (message["role"], json.dumps(block, sort_keys=True))
        for message in unmarked(request["messages"])
        for block in message["content"]
    ]


def marks_of(request: dict[str, Any]) -> list[str]:
    """Return where the cache marks are."""
    found = [
        f"{name}[{number}]"
        for name in ("tools", "system")
        for number, block in enumerate(request.get(name) or ())
        if "cache_control" in block
    ]
    return found + [
        f"messages[{number}][{place}]"
        for number, message in enumerate(request["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]
