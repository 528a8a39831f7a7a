"""Counts a finished request anew, from its body alone, with the published formulas.

The counts of texts are exact (o200k_base); everything round them is written down here
again, so that a mistake in the library's framing or bookkeeping does not go unseen.
Where the vendor publishes no figure the smaller one stands here: this count is never
more than what is billed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from context_builder.tokens import counter_for

__all__ = ["Count", "o200k", "recount", "recount_message", "recount_tools", "words"]

Count = Callable[[str], int]
Json = Any
"""A piece of a vendor's body."""

_IMAGE_TOKENS = 85
"""Least that a picture costs with the models that count by o200k_base."""
_PER_CALL = 3
"""Least that is said to frame a tool call."""


def o200k(text: str) -> int:
    """Count the tokens of a text."""
    return counter_for("o200k_base").count(text)


def words(text: str) -> int:
    """Count words: a counter that is easy to follow by eye."""
    return len(text.split())


def recount(request: Mapping[str, Any], count: Count = o200k) -> int:
    """Count a Chat Completions request: 3, and each message, and the tools."""
    return (
        3
        + sum(recount_message(message, count) for message in request["messages"])
        + recount_tools(request.get("tools") or (), count)
    )


def recount_message(message: Mapping[str, Any], count: Count = o200k) -> int:
    """Count a message: 3, its role, its content, its name and its calls."""
    tokens = 3 + 1
    if message["role"] == "tool" and isinstance(message["content"], str):
        tokens += _least(message["content"], count)
    else:
        tokens += _content(message.get("content"), count)
    if message.get("name") and message["role"] != "tool":
        tokens += count(message["name"])
    for call in message.get("tool_calls") or ():
        said = call.get("function") or call.get("custom")
        text = said.get("arguments", said.get("input"))
        tokens += _PER_CALL + count(said["name"]) + _least(text, count)
    return tokens


def _least(text: str, count: Count) -> int:
    """Count a text of a tool; JSON may be shown without blanks and escapes."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return count(text)
    bare = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return min(count(text), count(bare))


def _content(content: Json, count: Count) -> int:
    """Count what a message says; the texts of its parts are one text when billed."""
    if content is None or isinstance(content, str):
        return count(content or "")
    text = "".join(part["text"] for part in content if part["type"] == "text")
    pictures = len([part for part in content if part["type"] != "text"])
    return count(text) + pictures * _IMAGE_TOKENS


def recount_tools(tools: Json, count: Count = o200k) -> int:
    """Count tool definitions: the texts, and the least that was billed round them."""
    if not tools:
        return 0
    return 9 + sum(_function(tool.get("function") or {}, count) for tool in tools)


def _function(function: Mapping[str, Any], count: Count) -> int:
    about = (function.get("description") or "").rstrip(".")
    said = f"{function.get('name')}:{about}" if about else str(function.get("name"))
    properties = (function.get("parameters") or {}).get("properties") or {}
    return 6 + count(said) + _properties(properties, count)


def _properties(properties: Mapping[str, Any], count: Count) -> int:
    if not properties:
        return 0
    return 3 + sum(_property(name, said, count) for name, said in properties.items())


def _property(name: str, said: Mapping[str, Any], count: Count) -> int:
    about = (said.get("description") or "").rstrip(".")
    tokens = 2 + count(f"{name}:{said.get('type', '')}") + count(about)
    if "enum" in said:
        tokens += -3 + sum(2 + count(_plain(value)) for value in said["enum"])
    inner = said.get("properties") or (said.get("items") or {}).get("properties") or {}
    return tokens + _properties(inner, count)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
