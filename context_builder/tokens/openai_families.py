"""The constants that differ between families of OpenAI models. All figures are tokens.

Each was worked out from bills of recorded requests. Decides only which family a model
belongs to; what pictures cost is the business of `images`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OpenAIFraming", "framing_for"]


@dataclass(frozen=True, slots=True)
class OpenAIFraming:
    """What a family of models adds to the texts of a request."""

    per_message: int = 4
    """Around each message: two marks, the role, and the end."""
    answer_channel: int = 0
    """In front of what an assistant said: the name of its channel."""
    reply_priming: int = 3
    """The beginning of the answer, once a request."""
    tools_header: int = 5
    """The heading above the tool definitions."""
    extra_message: int = 4
    """Where no system message is there to carry tools or a response format."""
    section_gap: int = 1
    """The blank line between the system message and what is put behind it."""
    tools_in_own_message: bool = False
    """Whether tools stand apart even where there is a system message."""
    per_call_message: int = 9
    """Around an assistant message that calls tools, besides names and arguments."""
    per_tool_result: int = 3
    """Around a tool message."""
    named_choice: int = 7
    """Besides the name, where `tool_choice` names one tool; 0: it is free."""
    counts_named_choice: bool = True
    """Whether a named `tool_choice` is billed at all."""
    response_format: int = 1
    """Around a JSON Schema, besides its text and twice its name."""
    image_model: str = "gpt-4o"
    """The model whose price for pictures counts."""


_CHAT = OpenAIFraming()

# The reasoning models bill one less for a request, and one more for tools.
_O_SERIES = replace(_CHAT, reply_priming=2, tools_header=6)

# From gpt-5 on, tools stand in a message of their own, with instructions on how to call
# them, and what an assistant said names its channel.
_GPT_5 = replace(
    _CHAT,
    answer_channel=2,
    reply_priming=2,
    tools_header=91,
    extra_message=0,
    tools_in_own_message=True,
    per_call_message=15,
    counts_named_choice=False,
)

# By the beginning of the name, up to a dash or a dot.
_FAMILIES: Mapping[str, OpenAIFraming] = {
    "o1": _O_SERIES,
    "o3": _O_SERIES,
    "o4": _O_SERIES,
    "gpt-5": _GPT_5,
    "gpt-6": _GPT_5,
}


@functools.lru_cache(maxsize=1024)
def framing_for(model_name: str) -> OpenAIFraming:
    """Choose the framing of a model; of an unknown one, that of `gpt-4o`.

    Takes the names that `resolve_model` takes, with prefixes and dates.
    """
    name = model_name.strip().lower().rpartition("/")[2].removeprefix("ft:")
    name = name.partition(":")[0]
    for begin, framing in _FAMILIES.items():
        if f"{name}-".startswith((f"{begin}-", f"{begin}.")):
            return replace(framing, image_model=name)
    return replace(_CHAT, image_model=name) if name.startswith(_CHAT_NAMES) else _CHAT


_CHAT_NAMES = ("gpt-", "chatgpt-")
