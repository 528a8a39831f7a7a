"""The tools that the chatbot has when nobody gives it others: small, and harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.agent.everyday import calculator, clock

if TYPE_CHECKING:
    from context_builder.agent import Tool

__all__ = ["BUILT_IN"]

BUILT_IN: tuple[Tool, ...] = (calculator, clock)
