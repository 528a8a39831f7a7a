"""The policies that a replay knows by name. A new one is a line in the table."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from context_builder.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.settings import Settings

__all__ = ["POLICIES"]

POLICIES: Mapping[str, Callable[[], Settings]] = MappingProxyType(
    {
        "balanced": Policy.balanced,
        "cache_first": Policy.cache_first,
        "quality_first": Policy.quality_first,
        "classic": Policy.classic,
    }
)
"""How to make the settings of each policy."""
