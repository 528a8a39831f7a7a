"""The policies that a replay knows by name. A new one is a line in the table."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from context_builder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["POLICIES"]

POLICIES: Mapping[str, Callable[[], Settings]] = MappingProxyType(
    {
        "balanced": Settings,
    }
)
"""How to make the settings of each policy."""
