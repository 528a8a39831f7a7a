"""Checks what messages to Claude hold: blank text, blocks, pictures, characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.tokens.images import image_size
from context_builder.unicode import is_well_formed

__all__ = [
    "blank_problems",
    "block_problems",
    "blocks_of",
    "found_until_misshapen",
    "image_problems",
    "role_at",
    "text_problems",
]

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_IN_USER = frozenset(
    {
        "text",
        "image",
        "document",
        "search_result",
        "tool_result",
        "container_upload",
    }
)
_IN_RESULT = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)
_IN_SYSTEM = frozenset({"text", "tool_addition", "tool_removal"})
_NOT_ASSISTANT = frozenset(
    {"image", "document", "tool_result", "search_result", "container_upload"}
)

MAX_SIDE = 8_000
MAX_SIDE_OF_MANY = 2_000
MANY_PICTURES = 20
MAX_PICTURES = 600
MAX_PICTURES_OF_SMALL = 100
"""How many pictures a request holds; of models with a window of 200,000 tokens."""


def role_at(messages: Sequence[Any], number: int) -> str | None:
    """Return the role of a message; None: there is none."""
    message = messages[number] if 0 <= number < len(messages) else None
    return message.get("role") if isinstance(message, Mapping) else None


def blocks_of(message: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of a message; text alone is one block."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, Sequence):
        yield from (block for block in content if isinstance(block, Mapping))


# --- blank text: what was measured ---------------------------------------------------


def blank_problems(message: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """Yield it where a message is blank in a way that the API refuses."""
    content, role = message.get("content"), message.get("role")
    if content is None or (role == "user" and not content):
        rule = f"{role} messages must have non-empty content"
        yield Problem(where, rule, "Leave the message out, or say something")
        return
    texts = [content] if isinstance(content, str) else _only_texts(content)
    if role == "assistant" and isinstance(content, str) and not content:
        return
    if texts and not any(text.strip() for text in texts):
        rule = "text content blocks must contain non-whitespace text"
        yield Problem(f"{where}.content", rule, "Leave the blank text out")


def _only_texts(content: Sequence[Any]) -> list[str]:
    """Return the texts of a message that holds nothing else."""
    blocks = [block for block in content if isinstance(block, Mapping)]
    if any(block.get("type") != "text" for block in blocks):
        return []
    return [str(block.get("text") or "") for block in blocks]


# --- blocks --------------------------------------------------------------------------


def block_problems(block: Any, where: str, *, role: str) -> Iterator[Problem]:
    """Yield what is wrong with one block of a message."""
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        yield Problem(where, "a block is an object with a type", "Give it a type")
        return
    kind = block["type"]
    if not _may_stand(kind, role):
        rule = f"a block of type {kind!r} may not stand in a message of the {role}"
        yield Problem(where, rule, "Leave it out, or describe it in text")
    if kind in _CHECKS:
        yield from _CHECKS[kind](block, where)


def _may_stand(kind: str, role: str) -> bool:
    if role == "user":
        return kind in _IN_USER
    if role == "system":
        return kind in _IN_SYSTEM
    return kind not in _NOT_ASSISTANT


def _text(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not block.get("text"):
        rule = "text content blocks must be non-empty"
        yield Problem(where, rule, "Leave the block out")


def _thinking(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not isinstance(block.get("thinking"), str):
        yield Problem(where, "a thinking block has the field thinking", "Leave it out")
    if not block.get("signature"):
        rule = "a thinking block goes back with its signature"
        yield Problem(f"{where}.signature", rule, "Leave the block out")


def _redacted(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not block.get("data"):
        rule = "a redacted_thinking block goes back with its data"
        yield Problem(f"{where}.data", rule, "Leave the block out")


def _call(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not _ID.fullmatch(str(block.get("id") or "")):
        rule = f"an id matches {_ID.pattern}"
        yield Problem(f"{where}.tool_use.id", rule, "Map the id")
    if not block.get("name"):
        yield Problem(f"{where}.tool_use.name", "a call has a name", "Name the tool")
    if not isinstance(block.get("input"), Mapping):
        rule = "input should be a valid dictionary"
        yield Problem(f"{where}.tool_use.input", rule, "Send an object")


def _result(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not _ID.fullmatch(str(block.get("tool_use_id") or "")):
        rule = f"an id matches {_ID.pattern}"
        yield Problem(f"{where}.tool_use_id", rule, "Map the id")
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    for number, part in enumerate(content):
        path = f"{where}.content[{number}]"
        kind = part.get("type")
        if kind not in _IN_RESULT:
            rule = f"a block of type {kind!r} may not stand in a tool_result"
            yield Problem(path, rule, "Describe it in text")
        elif kind in {"image", "document"}:
            yield from _CHECKS[kind](part, path)


def _image(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    source = block.get("source") or {}
    kind = source.get("type")
    if kind not in {"base64", "url", "file"}:
        rule = "a picture comes as base64, url or file"
        yield Problem(f"{where}.source", rule, "Use one of them")
    if kind == "base64" and source.get("media_type") not in _PICTURES:
        rule = f"media_type is one of {', '.join(sorted(_PICTURES))}"
        yield Problem(f"{where}.source.media_type", rule, "Convert the picture")
    if kind == "base64" and not source.get("data"):
        yield Problem(f"{where}.source.data", "data is not empty", "Leave it out")


def _document(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    source = block.get("source") or {}
    kind = source.get("type")
    expected = {"base64": "application/pdf", "text": "text/plain"}
    if kind not in {"base64", "text", "content", "url", "file"}:
        rule = "a document comes as base64, text, content, url or file"
        yield Problem(f"{where}.source", rule, "Use one of them")
    if kind in expected and source.get("media_type") != expected[kind]:
        rule = f"a {kind} source has the media type {expected[kind]}"
        yield Problem(f"{where}.source.media_type", rule, "Send the text of the file")


_CHECKS = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _image,
    "document": _document,
}


# --- the whole -----------------------------------------------------------------------


def image_problems(
    messages: Sequence[Any], most_pictures: int = MAX_PICTURES
) -> Iterator[Problem]:
    """Yield it where there are too many pictures, or pictures that are too large."""
    pictures = list(_pictures(messages))
    if len(pictures) > most_pictures:
        rule = f"a request holds at most {most_pictures} pictures with this model"
        yield Problem("messages", rule, "Leave the oldest out")
    most = MAX_SIDE_OF_MANY if len(pictures) > MANY_PICTURES else MAX_SIDE
    for where, data in pictures:
        size = image_size(data) if data else None
        if size is not None and max(size) > most:
            rule = f"a picture has at most {most:,} pixels on a side"
            yield Problem(where, rule, "Make it smaller")


def _pictures(messages: Sequence[Any]) -> Iterator[tuple[str, str | None]]:
    for number, message in enumerate(messages):
        content = message.get("content") if isinstance(message, Mapping) else None
        yield from _pictures_in(content, f"messages[{number}].content")


def _pictures_in(content: Any, where: str) -> Iterator[tuple[str, str | None]]:
    if not isinstance(content, Sequence) or isinstance(content, str):
        return
    for number, block in enumerate(content):
        if not isinstance(block, Mapping):
            continue
        path = f"{where}[{number}]"
        if block.get("type") == "image":
            yield path, (block.get("source") or {}).get("data")
        elif block.get("type") == "tool_result":
            yield from _pictures_in(block.get("content"), f"{path}.content")


def found_until_misshapen(problems: Iterator[Problem]) -> list[Problem]:
    """Collect problems; where a value is of no usable shape, say so and stop."""
    found: list[Problem] = []
    try:
        found.extend(problems)
    except (AttributeError, KeyError, TypeError, ValueError):
        rule = "a value in it is not of the kind that the API takes"
        found.append(Problem("request", rule, "Compare it with the API reference"))
    return found


def text_problems(value: Any, where: str = "") -> Iterator[Problem]:
    """Yield every text that does not encode as strict UTF-8, or holds a NUL."""
    if isinstance(value, str):
        if not is_well_formed(value):
            rule = "text is well-formed unicode without NUL"
            yield Problem(where, rule, "Repair the text")
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from text_problems(member, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for number, member in enumerate(value):
            yield from text_problems(member, f"{where}[{number}]")
