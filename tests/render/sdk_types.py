"""What the vendors' own SDKs say about a request: their types, asked as they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import boto3  # type: ignore[import-untyped]
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from botocore.validate import ParamValidator  # type: ignore[import-untyped]
from cohere.types import ChatMessageV2, ToolV2
from google.genai import types as gemini
from mistralai.client.models import ChatCompletionRequest
from ollama import Message, Tool
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
)
from pydantic import TypeAdapter, ValidationError

__all__ = ["MODELS", "sdk_refusals"]

Json = Mapping[str, Any]

MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-4-6",
    "bedrock": "anthropic.claude-sonnet-4-6",
    "cohere": "command-a-03-2025",
    "deepseek": "deepseek-v4-flash",
    "gemini": "gemini-3.5-flash",
    "glm": "glm-5.2",
    "groq": "groq/openai/gpt-oss-120b",
    "kimi": "kimi-k2.6",
    "mistral": "mistral-large-latest",
    "ollama": "llama3.1",
    "openai": "gpt-4o",
    "openai-compatible": "some-model",
    "openai-responses": "gpt-5.4",
    "qwen": "qwen3-max",
    "strict": "some-model",
    "xai": "grok-4.5",
}
"""A model of each target."""


def sdk_refusals(target: str, request: Json) -> list[str]:
    """Return what the vendor's SDK refuses of a request; empty: it takes it."""
    try:
        return list(_CHECKS.get(target, _chat)(request))
    except ValidationError as error:
        return [f"{problem['loc']}: {problem['msg']}" for problem in error.errors()]


def _walk(value: object) -> None:
    """Go through lazily validated iterables, so that all of them are validated."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for member in value:
            _walk(member)


def _typed(shape: Any) -> Callable[[Json], Iterable[str]]:
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    names = _names(shape)

    def check(request: Json) -> Iterable[str]:
        given = {key: value for key, value in request.items() if key != "extra_body"}
        yield from (f"{key}: no such argument" for key in sorted({*given} - names))
        _walk(adapter.validate_python(given))

    return check


def _names(shape: Any) -> set[str]:
    return set().union(
        *(base.__annotations__ for base in (shape, *shape.__orig_bases__))
    )


def _gemini(request: Json) -> Iterable[str]:
    for content in request["contents"]:
        gemini.Content.model_validate(content)
    gemini.GenerateContentConfig.model_validate(request.get("config", {}))
    yield from sorted({*request} - {"model", "contents", "config"})


def _mistral(request: Json) -> Iterable[str]:
    ChatCompletionRequest.model_validate(request)
    yield from sorted({*request} - {*ChatCompletionRequest.model_fields})


def _cohere(request: Json) -> Iterable[str]:
    TypeAdapter(list[ChatMessageV2]).validate_python(request["messages"])
    for tool in request.get("tools") or ():
        ToolV2.model_validate(tool)
    return ()


def _ollama(request: Json) -> Iterable[str]:
    for message in request["messages"]:
        Message.model_validate(message)
    for tool in request.get("tools") or ():
        Tool.model_validate(tool)
    return ()


_CONVERSE = (
    boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="key",  # noqa: S106  it opens nothing
    )
    .meta.service_model.operation_model("Converse")
    .input_shape
)


def _bedrock(request: Json) -> Iterable[str]:
    report = ParamValidator().validate(request, _CONVERSE)
    return [report.generate_report()] if report.has_errors() else []


_chat = _typed(CompletionCreateParamsNonStreaming)

_CHECKS: Mapping[str, Callable[[Json], Iterable[str]]] = {
    "anthropic": _typed(MessageCreateParamsNonStreaming),
    "bedrock": _bedrock,
    "cohere": _cohere,
    "gemini": _gemini,
    "mistral": _mistral,
    "ollama": _ollama,
    "openai-responses": _typed(ResponseCreateParamsNonStreaming),
}
"""By target; the others speak through OpenAI's SDK."""
