"""Moonshot's Kimi, as data.

Its ids look like `functions.search:0` and are kept: the template may read the name out
of them. A message that calls must carry reasoning; the temperature is fixed.
"""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["KIMI", "KimiAdapter"]

_CHOICES = frozenset({"auto", "none"})

KIMI = Dialect(
    name="kimi",
    capabilities=dataclasses.replace(
        COMPATIBLE,
        providers=("moonshot",),
        user_first=False,
        id_pattern=r"^[a-zA-Z0-9_.:-]+$",
        id_chars=64,
        reasoning="kimi",
    ),
    rules=FamilyRules(
        user_first=False,
        id_pattern=r"[a-zA-Z0-9_.:-]{1,64}",
        id_rule="an id is 1 to 64 letters, digits, _, -, . or :",
        reasoning_field="reasoning_content",
        reasoning_required=True,
        tool_choices=_CHOICES,
        refused=frozenset(
            {
                "max_completion_tokens",
                "functions",
                "parallel_tool_calls",
                "temperature",
            }
        ),
    ),
    framing=ChatFraming(request=64),
    parallel_flag=False,
    reasoning_field="reasoning_content",
    reasoning_fill=" ",
    thinking="switch_and_effort",
    tool_choices=_CHOICES,
    temperature=False,
    cache_key=True,
)


class KimiAdapter(CompatAdapter):
    """Moonshot's Kimi."""

    def __init__(self) -> None:
        super().__init__(KIMI)
