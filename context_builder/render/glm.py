"""Z.ai's GLM, as data: reasoning is kept with the calls that it led to."""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["GLM", "GlmAdapter"]

_CHOICES = frozenset({"auto"})

GLM = Dialect(
    name="glm",
    capabilities=dataclasses.replace(COMPATIBLE, providers=("zai",), reasoning="glm"),
    rules=FamilyRules(
        reasoning_field="reasoning_content",
        tool_choices=_CHOICES,
        json_schema=False,
        refused=frozenset(
            {"max_completion_tokens", "functions", "parallel_tool_calls"}
        ),
    ),
    parallel_flag=False,
    reasoning_field="reasoning_content",
    thinking="switch",
    tool_choices=_CHOICES,
    json_schema=False,
)


class GlmAdapter(CompatAdapter):
    """Z.ai's GLM."""

    def __init__(self) -> None:
        super().__init__(GLM)
