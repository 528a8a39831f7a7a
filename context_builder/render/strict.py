"""Chat templates that are strict about who speaks when, as data.

A model behind vLLM, llama.cpp or TGI is as strict as its template. `strict_dialect`
describes one: which roles it knows, how many calls at once, which ids.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from context_builder.render.dialect import COMPATIBLE, Dialect
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.validate_openai_compatible import FamilyRules

__all__ = ["STRICT", "StrictAdapter", "strict_dialect"]


def strict_dialect(
    *,
    system_role: Literal["first_only", "fold_into_user"] = "first_only",
    tool_role: bool = True,
    parallel_calls: bool = True,
    nine_char_ids: bool = False,
    bridge: str | None = None,
    images: bool = False,
    name: str = "strict",
) -> Dialect:
    """Describe a template.

    Args:
        system_role: `fold_into_user`: there is none; the system prompt opens the first
            user message (Gemma).
        tool_role: Whether it knows calls and results; otherwise both are said as text.
        parallel_calls: Whether one message may make several calls (not so Llama 3).
        nine_char_ids: Whether ids are nine letters or digits (Mistral).
        bridge: What the assistant says between a result and a user message, where the
            template takes no user message there (Mistral); None: it does.
        images: Whether it takes pictures. Otherwise they are described, and content is
            always one text.
        name: The name by which the target is asked for.
    """
    capabilities = dataclasses.replace(
        COMPATIBLE,
        system="message" if system_role == "first_only" else "fold_into_user",
        merges_neighbours=True,
        tool_role="tool" if tool_role else "user_text",
        images=images,
    )
    rules = FamilyRules(
        system_role=system_role == "first_only",
        tool_role=tool_role,
        alternates=True,
        user_after_tool=bridge is None,
        parallel_calls=parallel_calls,
        images=images,
    )
    if nine_char_ids:
        capabilities = dataclasses.replace(
            capabilities, id_pattern=r"^[a-zA-Z0-9]{9}$", id_exact_chars=9
        )
        rules = dataclasses.replace(
            rules,
            id_pattern=r"[a-zA-Z0-9]{9}",
            id_rule="an id is exactly nine letters or digits",
        )
    return Dialect(
        name=name,
        capabilities=capabilities,
        rules=rules,
        bridge=bridge,
        parallel_calls=parallel_calls,
    )


STRICT = strict_dialect()


class StrictAdapter(CompatAdapter):
    """A strict chat template; by default one that knows all roles."""

    def __init__(self, dialect: Dialect = STRICT) -> None:
        super().__init__(dialect)
