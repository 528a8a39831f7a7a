"""Says a decision in a vendor's words: one adapter a vendor, one file an adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.errors import AdapterError
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    ProviderAdapter,
    Rendering,
)
from context_builder.render.openai_chat import OpenAIChatAdapter

__all__ = [
    "Capabilities",
    "Count",
    "Problem",
    "Prompt",
    "ProviderAdapter",
    "Rendering",
    "adapter_for",
    "adapter_names",
    "validate",
]

_ADAPTERS: Mapping[str, ProviderAdapter] = {"openai": OpenAIChatAdapter()}


def adapter_names() -> tuple[str, ...]:
    """Return the names of all targets."""
    return tuple(sorted(_ADAPTERS))


def adapter_for(target: str) -> ProviderAdapter:
    """Return the adapter of a target.

    Raises:
        AdapterError: If there is none of that name.
    """
    try:
        return _ADAPTERS[target]
    except KeyError:
        raise AdapterError(
            f"there is no adapter {target!r}; known are {', '.join(adapter_names())}",
            adapter=target,
        ) from None


def validate(request: Mapping[str, Any], target: str = "openai") -> Sequence[Problem]:
    """Return the rules of a vendor that a request breaks; empty: it is accepted."""
    return adapter_for(target).validate(request)
