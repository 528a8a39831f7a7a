"""Which adapter serves which target. Adapters are loaded when they are first asked for.

A package of your own registers one as an entry point of the group
`context_builder.adapters`: the name is the target, the object a class without arguments
or an adapter.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from context_builder.errors import AdapterError
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.render.adapter import ProviderAdapter

__all__ = ["ENTRY_POINT_GROUP", "adapter_for", "adapter_names"]

ENTRY_POINT_GROUP = "context_builder.adapters"

_BUILT_IN: Mapping[str, str] = {
    "anthropic": "anthropic:AnthropicAdapter",
    "bedrock": "bedrock:BedrockAdapter",
    "cohere": "cohere:CohereAdapter",
    "deepseek": "deepseek:DeepSeekAdapter",
    "gemini": "gemini:GeminiAdapter",
    "glm": "glm:GlmAdapter",
    "groq": "groq:GroqAdapter",
    "kimi": "kimi:KimiAdapter",
    "mistral": "mistral:MistralAdapter",
    "ollama": "ollama:OllamaAdapter",
    "openai": "openai_chat:OpenAIChatAdapter",
    "openai-compatible": "openai_compatible:CompatAdapter",
    "openai-responses": "openai_responses:OpenAIResponsesAdapter",
    "qwen": "qwen:QwenAdapter",
    "strict": "strict:StrictAdapter",
    "xai": "xai:XaiAdapter",
}


@functools.cache
def _foreign() -> Mapping[str, EntryPoint]:
    """Return the adapters that other packages register; the library's own names win."""
    found = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return {name: entry for name, entry in found.items() if name not in _BUILT_IN}


def adapter_names() -> tuple[str, ...]:
    """Return the names of all targets."""
    return tuple(sorted({*_BUILT_IN, *_foreign()}))


@functools.cache
def adapter_for(target: str) -> ProviderAdapter:
    """Return the adapter of a target, always the same one.

    Raises:
        AdapterError: If there is none of that name, or it cannot be loaded.
    """
    own = _BUILT_IN.get(target)
    if own is not None:
        module, _, name = own.partition(":")
        made: ProviderAdapter = getattr(
            importlib.import_module(f"context_builder.render.{module}"), name
        )()
        return made
    entry = _foreign().get(target)
    if entry is None:
        known = ", ".join(adapter_names())
        msg = f"there is no adapter {quoted(target)}; known are {known}"
        raise AdapterError(
            msg,
            adapter=target,
        )
    return _loaded(entry)


def _loaded(entry: EntryPoint) -> ProviderAdapter:
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        msg = f"the adapter {entry.name!r} ({entry.value}) cannot be loaded: {error}"
        raise AdapterError(
            msg,
            adapter=entry.name,
        ) from error
    loaded: ProviderAdapter = found() if isinstance(found, type) else found
    return loaded
