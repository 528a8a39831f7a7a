"""What the tests of Bedrock's adapter share: models, how to render, what to check."""

from __future__ import annotations

import json
from typing import Any

import botocore.session  # type: ignore[import-untyped]
from botocore.validate import ParamValidator  # type: ignore[import-untyped]

from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart
from context_builder.render.adapter import Prompt, Rendering
from context_builder.render.bedrock import BedrockAdapter
from context_builder.render.validate_bedrock import validate_bedrock
from context_builder.settings import RequestOptions
from tests.render.conversations_anthropic import (
    TOOLS,
)

ADAPTER = BedrockAdapter()
SHAPE = (
    botocore.session.get_session()
    .get_service_model("bedrock-runtime")
    .operation_model("Converse")
    .input_shape
)
SYSTEM = ContextItem(role="system", content="You are terse.", source="system_prompt")
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEWEST = "anthropic.claude-opus-5-5-v1:0"
NOVA = "amazon.nova-pro-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
OTHER = "moonshotai.kimi-k2.5"
MODELS = [CLAUDE, NEWEST, NOVA, LLAMA, OTHER]


def render(
    items: tuple[ContextItem, ...],
    model: str | None = CLAUDE,
    *,
    stable: int = 0,
    system: ContextItem | None = SYSTEM,
    tools: tuple[Any, ...] = TOOLS,
    **options: Any,
) -> Rendering:
    """Say a conversation."""
    return ADAPTER.render(
        Prompt(
            items=items,
            system=system,
            tools=tools,
            model=model,
            options=RequestOptions(**options),
            stable_items=stable,
        )
    )


def require_accepted(request: dict[str, Any]) -> None:
    """Check a request against the vendor's rules and against the SDK's own model."""
    assert validate_bedrock(request) == []
    report = ParamValidator().validate(request, SHAPE)
    assert not report.has_errors(), report.generate_report()


def parts_of(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a request says, block by block, without cache points."""
    return [
        (message["role"], json.dumps(block, sort_keys=True, default=repr))
        for message in request["messages"]
        for block in message["content"]
        if "cachePoint" not in block
    ]


def thought(signature: str | None = "c2ln", model: str | None = None) -> ReasoningPart:
    """Return reasoning as Bedrock gave it."""
    data = {"reasoningText": {"text": " as\tit is ", "signature": signature}}
    return ReasoningPart("bedrock", " as\tit is ", signature, model, data)
