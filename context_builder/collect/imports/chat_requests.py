"""Reads whole requests of vendors whose bodies are a list of messages beside arguments.

It splits the system prompt off, reads the tools, and names what has no place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.imports.openai_chat import read_tool
from context_builder.collect.imports.reading import Imported, need_mapping
from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["SETTINGS", "lost_of", "read_chat_request"]

SETTINGS = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
    }
)
"""Arguments that are the conversation, or that settings of ours say."""


def read_chat_request(
    request: Mapping[str, Any],
    read: Callable[[Sequence[object]], list[ContextItem]],
    *,
    fields: Mapping[str, frozenset[str]],
    settings: frozenset[str] = SETTINGS,
) -> Imported:
    """Read a body whose messages `read` understands.

    Args:
        request: The body, or the arguments of the SDK's call.
        read: Reads the messages.
        fields: The fields of each role's messages that `read` takes over.
        settings: Arguments that are not lost.

    Raises:
        InvalidItemError: If it has no list of messages, or one is not understood.
    """
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        found = f"messages must be a list, not {type(messages).__name__}"
        raise InvalidItemError(found, field="messages")
    items = read(messages)
    leading = _leading_systems(items)
    system = "\n\n".join(item.text for item in items[:leading])
    tools = enumerate(request.get("tools") or ())
    return Imported(
        items=tuple(items[leading:]),
        system=system or None,
        tools=tuple(read_tool(tool, number) for number, tool in tools),
        lost=(
            *(
                key
                for key in request
                if key not in settings and request[key] is not None
            ),
            *lost_of(messages, fields),
        ),
    )


def _leading_systems(items: Sequence[ContextItem]) -> int:
    for number, item in enumerate(items):
        if item.role != "system":
            return number
    return len(items)


def lost_of(
    messages: Sequence[object], fields: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Name the fields of messages that are not taken over, by their paths."""
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        data = need_mapping(message, where)
        known = fields.get(str(data.get("role")), frozenset())
        for key, value in data.items():
            if key not in known and value not in (None, [], False):
                yield f"{where}.{key}"
        yield from _cache_marks(data.get("content"), where)


def _cache_marks(content: object, where: str) -> Iterator[str]:
    if not isinstance(content, Sequence) or isinstance(content, str):
        return
    for number, part in enumerate(content):
        if isinstance(part, Mapping) and part.get("cache_control"):
            yield f"{where}.content[{number}].cache_control"
