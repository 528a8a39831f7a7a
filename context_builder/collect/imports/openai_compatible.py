"""Reads vendors that speak Chat Completions with an accent: DeepSeek, Qwen and others.

The messages are OpenAI's. What differs is the reasoning beside them, which belongs to
the vendor that wrote it, and the names of some figures of usage.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.imports import openai_chat
from context_builder.collect.imports.chat_requests import SETTINGS, read_chat_request
from context_builder.collect.imports.reading import Imported, Reply, Usage

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["READERS", "FamilyReader", "family_of", "read_response"]

_FAMILIES: Mapping[str, str] = {
    "deepseek": "deepseek",
    "qwen": "qwen",
    "qwq": "qwen",
    "qvq": "qwen",
    "kimi": "kimi",
    "moonshot": "kimi",
    "glm": "glm",
    "grok": "xai",
}
"""The beginning of a model's name -> its vendor."""

_CUT_OFF = frozenset(
    {"model_context_window_exceeded", "insufficient_system_resource", "network_error"}
)
"""Reasons to stop, besides `length`, that cut an answer off."""

_SPEAKER = frozenset({"role", "content", "name"})
_FIELDS: Mapping[str, frozenset[str]] = {
    "system": _SPEAKER,
    "developer": _SPEAKER,
    "user": _SPEAKER,
    "assistant": _SPEAKER
    | {"refusal", "tool_calls", "function_call", "reasoning_content", "reasoning"},
    "tool": _SPEAKER | {"tool_call_id"},
    "function": _SPEAKER,
}
_SETTINGS = SETTINGS | {"extra_body", "thinking", "enable_thinking", "thinking_budget"}

_Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class FamilyReader:
    """Reads one vendor's messages, requests and answers."""

    provider: str
    """Whose reasoning it is."""

    def read_messages(self, messages: Sequence[object]) -> list[ContextItem]:
        """Read a list of messages."""
        return [
            self._owned(item, model=None)
            for item in openai_chat.read_messages(messages)
        ]

    def read_request(self, request: Mapping[str, Any]) -> Imported:
        """Read a whole request."""
        return read_chat_request(
            request, self.read_messages, fields=_FIELDS, settings=_SETTINGS
        )

    def read_response(self, answer: _Answer) -> Reply | None:
        """Read an answer, or the chunks of a stream; None: not of this shape."""
        reply = openai_chat.read_response(answer)
        if reply is None:
            return None
        usage = next(_usages(answer), None)
        items = tuple(self._owned(item, model=reply.model) for item in reply.items)
        if reply.stop_reason in _CUT_OFF:
            items = tuple(dataclasses.replace(item, partial=True) for item in items)
        return dataclasses.replace(
            reply, items=items, usage=_usage(usage) if usage else reply.usage
        )

    def _owned(self, item: ContextItem, *, model: str | None) -> ContextItem:
        if not item.reasoning:
            return item
        reasoning = tuple(
            dataclasses.replace(part, provider=self.provider, model=model)
            for part in item.reasoning
        )
        return dataclasses.replace(item, reasoning=reasoning)


READERS: Mapping[str, FamilyReader] = {
    name: FamilyReader(name)
    for name in (
        "deepseek",
        "glm",
        "groq",
        "kimi",
        "openai-compatible",
        "qwen",
        "strict",
        "xai",
    )
}
"""By the name of the format."""


def read_response(answer: _Answer) -> Reply | None:
    """Read an answer of whichever vendor it is of; None: of none of them."""
    family = family_of(answer)
    return READERS[family].read_response(answer) if family else None


def family_of(answer: _Answer) -> str | None:
    """Name the vendor that an answer gives away by its model or its own fields."""
    for piece in _pieces(answer):
        if "choices" not in piece:
            return None
        if "x_groq" in piece:
            return "groq"
        bare = str(piece.get("model") or "").lower().rpartition("/")[2]
        for beginning, family in _FAMILIES.items():
            if bare.startswith(beginning):
                return family
        if "prompt_cache_hit_tokens" in (piece.get("usage") or {}):
            return "deepseek"
    return None


def _pieces(answer: _Answer) -> Sequence[Mapping[str, Any]]:
    return [answer] if isinstance(answer, Mapping) else answer


# --- usage ----------------------------------------------------------------------------


def _usages(answer: _Answer) -> Iterator[Mapping[str, Any]]:
    """Yield the figures wherever a vendor puts them, the newest first."""
    for piece in reversed(_pieces(answer)):
        places = [piece, piece.get("x_groq") or {}, *(piece.get("choices") or ())]
        for place in places:
            usage = place.get("usage") if isinstance(place, Mapping) else None
            if isinstance(usage, Mapping) and "prompt_tokens" in usage:
                yield usage


def _usage(data: Mapping[str, Any]) -> Usage:
    of_input = data.get("prompt_tokens_details") or {}
    of_output = data.get("completion_tokens_details") or {}
    output_tokens = data.get("completion_tokens") or 0
    # Some count reasoning beside the completion: then only the total holds both.
    beside = (data.get("total_tokens") or 0) - data["prompt_tokens"] - output_tokens
    return Usage(
        input_tokens=data["prompt_tokens"],
        output_tokens=output_tokens + max(0, beside),
        cached_tokens=of_input.get("cached_tokens")
        or data.get("prompt_cache_hit_tokens")
        or data.get("cached_tokens")
        or 0,
        cache_write_tokens=of_input.get("cache_creation_input_tokens") or 0,
        reasoning_tokens=of_output.get("reasoning_tokens") or 0,
    )
