"""Groq, as data: unknown fields and nulls are errors.

Its own field of reasoning is accepted by reasoning models only, so that by default no
reasoning goes back. `dataclasses.replace(GROQ, reasoning_field="reasoning", ...)` makes
a dialect in which it does.
"""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["GROQ", "GroqAdapter"]

GROQ = Dialect(
    name="groq",
    capabilities=dataclasses.replace(COMPATIBLE, user_first=False),
    rules=FamilyRules(user_first=False, null_is_omitted=True),
    null_content="omit",
)


class GroqAdapter(CompatAdapter):
    """Groq."""

    def __init__(self) -> None:
        super().__init__(GROQ)
