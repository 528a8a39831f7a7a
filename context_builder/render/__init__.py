"""Says a decision in a vendor's words: one adapter a vendor, one file an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    ProviderAdapter,
    Rendering,
)
from context_builder.render.kept import KeptRendering
from context_builder.render.registry import adapter_for, adapter_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Capabilities",
    "Count",
    "KeptRendering",
    "Problem",
    "Prompt",
    "ProviderAdapter",
    "Rendering",
    "adapter_for",
    "adapter_names",
    "validate",
]


def validate(request: Mapping[str, Any], target: str = "openai") -> Sequence[Problem]:
    """Return the rules of a vendor that a request breaks; empty: it is accepted.

    Raises:
        AdapterError: If there is no adapter of that name.
    """
    return adapter_for(target).validate(request)
