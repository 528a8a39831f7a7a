"""DeepSeek's own API, as data.

A message that calls must carry its reasoning in all later requests, except with the
first reasoning model, which refuses it.
"""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["DEEPSEEK", "DeepSeekAdapter"]

_REFUSES_REASONING = ("deepseek-reasoner", "deepseek-r1")

DEEPSEEK = Dialect(
    name="deepseek",
    capabilities=dataclasses.replace(
        COMPATIBLE,
        providers=("deepseek",),
        user_first=False,
        images=False,
        reasoning="deepseek",
    ),
    rules=FamilyRules(
        user_first=False,
        images=False,
        reasoning_field="reasoning_content",
        reasoning_required=True,
        refuses_reasoning=_REFUSES_REASONING,
        json_schema=False,
    ),
    framing=ChatFraming(request=76),
    parallel_flag=False,
    reasoning_field="reasoning_content",
    reasoning_fill=" ",
    refuses_reasoning=_REFUSES_REASONING,
    thinking="switch_and_effort",
    json_schema=False,
)


class DeepSeekAdapter(CompatAdapter):
    """DeepSeek."""

    def __init__(self) -> None:
        super().__init__(DEEPSEEK)
