"""Qwen on DashScope, as data.

There is one system message at the front and at least one true user message; reasoning
comes out and need not go back.
"""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["QWEN", "QwenAdapter"]

QWEN = Dialect(
    name="qwen",
    capabilities=dataclasses.replace(
        COMPATIBLE, providers=("dashscope", "deepseek", "moonshot", "zai")
    ),
    rules=FamilyRules(),
    framing=ChatFraming(image_family="qwen"),
    thinking="enable_and_budget",
)


class QwenAdapter(CompatAdapter):
    """Qwen on DashScope."""

    def __init__(self) -> None:
        super().__init__(QWEN)
