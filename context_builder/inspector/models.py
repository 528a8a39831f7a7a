"""Names a model for a request that is only looked at, where the session has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.limits import provider_of
from context_builder.render import adapter_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXAMPLES", "model_for"]

NO_MODEL = "model"
"""Stands in a request to a vendor that serves any model."""
EXAMPLES: Mapping[str, str] = {
    "anthropic": "claude-opus-5",
    "bedrock": "claude-opus-5",
    "cohere": "command-a-03-2025",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-2.5-pro",
    "glm": "glm-5.3",
    "kimi": "kimi-k3",
    "mistral": "mistral-large-latest",
    "openai-responses": "gpt-6-sol",
    "qwen": "deepseek-v4-pro",
    "xai": "grok-4.7",
}
"""For vendors that do not serve any model: one that they do serve."""


def model_for(target: str, session_model: str | None) -> str:
    """Return the session's model if that vendor may have it, and one of its own if not.

    Raises:
        AdapterError: If there is no vendor of that name.
    """
    served = adapter_for(target).capabilities.providers
    provider = provider_of(session_model) if session_model else None
    if session_model and (not served or provider is None or provider in served):
        return session_model
    return EXAMPLES.get(target, NO_MODEL)
