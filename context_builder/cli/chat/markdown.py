"""A conversation as a text that people read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from context_builder.items import ContextItem
from context_builder.unicode import repair_text

__all__ = ["as_markdown"]

_HEADS = {"user": "You", "assistant": "Model", "system": "System prompt"}


def as_markdown(name: str, items: Iterable[ContextItem]) -> str:
    """Return all that was said, called and returned, under a heading each."""
    blocks = [f"# {name}", *(block for item in items for block in _blocks(item))]
    return repair_text("\n\n".join(blocks))


def _blocks(item: ContextItem) -> Iterator[str]:
    if item.role == "tool":
        yield f"## {item.tool_name or 'tool'} returned"
        yield _fenced(item.text)
        return
    yield f"## {_HEADS.get(item.role, item.role)}{' (cut off)' * item.partial}"
    if item.text:
        yield item.text
    for call in item.tool_calls:
        yield f"calls `{call.name}`"
        yield _fenced(call.arguments)


def _fenced(text: str) -> str:
    """Return a text in a fence that it cannot close itself."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
