"""xAI's Grok, as data: every message has content, results stand in the calls' order."""

from __future__ import annotations

import dataclasses

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["XAI", "XaiAdapter"]

_NAMED = frozenset({"user"})

XAI = Dialect(
    name="xai",
    capabilities=dataclasses.replace(COMPATIBLE, providers=("xai",), user_first=False),
    rules=FamilyRules(user_first=False, results_in_order=True, named_roles=_NAMED),
    framing=ChatFraming(request=185),
    named_roles=_NAMED,
)


class XaiAdapter(CompatAdapter):
    """xAI's Grok."""

    def __init__(self) -> None:
        super().__init__(XAI)
