"""What a chat request costs with vendors that publish no framing: texts and constants.

One walk over the finished messages serves all vendors whose messages look like OpenAI's
(`content`, `tool_calls`, a text of reasoning). The constants are upper-ish figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from context_builder.tokens.images import image_tokens

__all__ = ["ChatFraming", "json_tokens", "message_tokens", "tools_tokens"]

Count = Callable[[str], int]

_TEXT_KEYS = ("name", "reasoning_content", "reasoning", "thinking", "tool_plan")
_FILE_TOKENS = 3_000
"""What a document or a sound counts whose length cannot be read from its head."""


@dataclass(frozen=True, slots=True)
class ChatFraming:
    """The constants of one vendor. All figures are tokens."""

    request: int = 20
    """Once for each request."""
    message: int = 4
    call: int = 8
    result: int = 0
    """For each result, besides its message."""
    tool: int = 8
    image_family: str = ""
    """Whose formula prices pictures; see `image_tokens`."""


def message_tokens(
    message: Mapping[str, Any], count: Count, framing: ChatFraming, model: str | None
) -> int:
    """Count one message."""
    tokens = framing.message + _content_tokens(message, count, framing, model)
    tokens += sum(count(message[key]) for key in _TEXT_KEYS if _is_text(message, key))
    tokens += sum(
        _picture(image, framing, model) for image in message.get("images") or ()
    )
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        tokens += framing.call + count(function["name"]) + count(arguments)
    return tokens + (framing.result if message["role"] == "tool" else 0)


def _is_text(message: Mapping[str, Any], key: str) -> bool:
    return isinstance(message.get(key), str)


def _content_tokens(
    message: Mapping[str, Any], count: Count, framing: ChatFraming, model: str | None
) -> int:
    content = message.get("content")
    if isinstance(content, str):
        return count(content)
    return sum(_part_tokens(part, count, framing, model) for part in content or ())


def _part_tokens(
    part: Mapping[str, Any], count: Count, framing: ChatFraming, model: str | None
) -> int:
    match part.get("type"):
        case "text":
            return count(part["text"])
        case "thinking":
            return _thinking_tokens(part["thinking"], count)
        case "image_url":
            image = part["image_url"]
            url = image if isinstance(image, str) else image["url"]
            return _picture(url, framing, model)
        case "document":
            return json_tokens(part["document"], count)
        case _:
            return _FILE_TOKENS


def _thinking_tokens(thinking: str | Iterable[Mapping[str, Any]], count: Count) -> int:
    if isinstance(thinking, str):
        return count(thinking)
    return sum(count(chunk.get("text") or "") for chunk in thinking)


def _picture(image: object, framing: ChatFraming, model: str | None) -> int:
    known = image if isinstance(image, str) else None
    return image_tokens(known, family=framing.image_family, model=model)


def tools_tokens(
    tools: Iterable[Mapping[str, Any]], count: Count, framing: ChatFraming
) -> int:
    """Count tool definitions: most templates write them out as JSON."""
    return sum(framing.tool + json_tokens(tool, count) for tool in tools)


def json_tokens(value: object, count: Count) -> int:
    """Count data as the JSON that it is sent as; 0 for none."""
    return count(json.dumps(value, ensure_ascii=False)) if value else 0
