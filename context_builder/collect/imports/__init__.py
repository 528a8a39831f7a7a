"""Vendor formats read into context items: the mirror image of `render`.

One file a format. A reader takes what that vendor's API takes or gives, as plain data
or as the SDK's own objects, and refuses what it does not know by the path of the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from context_builder.collect.content import as_mapping
from context_builder.collect.imports import openai_chat
from context_builder.collect.imports.reading import MessageReader, Reply, ResponseReader
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.items import ContextItem

__all__ = ["Reply", "import_formats", "read_messages", "read_response", "read_tools"]

_MESSAGE_READERS: Mapping[str, MessageReader] = {"openai": openai_chat.read_messages}
_RESPONSE_READERS: tuple[ResponseReader, ...] = (openai_chat.read_response,)


def import_formats() -> tuple[str, ...]:
    """Return the names of the formats that `read_messages` knows."""
    return tuple(sorted(_MESSAGE_READERS))


def read_messages(
    messages: Iterable[object], *, format: str = "openai"
) -> list[ContextItem]:
    """Read a vendor's list of messages into items that have no ids yet.

    Raises:
        AdapterError: If the format is not known.
        InvalidItemError: If a message is not what the format says; `field` is its path.
    """
    reader = _MESSAGE_READERS.get(format)
    if reader is None:
        raise AdapterError(
            f"there is no reader for the format {format!r}; known are "
            f"{', '.join(import_formats())}",
            adapter=format,
        )
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidItemError(
            f"messages must be a list, not {type(messages).__name__}", field="messages"
        )
    return reader(list(messages))


def read_response(response: object) -> Reply:
    """Read a vendor's answer, or the pieces of its stream, whole.

    Raises:
        InvalidItemError: If no known vendor answers in this shape.
    """
    answer = as_mapping(response)
    if answer is not None:
        pieces: list[Mapping[str, Any]] | Mapping[str, Any] = answer
    elif isinstance(response, Iterable) and not isinstance(response, str | bytes):
        read = (as_mapping(piece) for piece in response)
        pieces = [piece for piece in read if piece is not None]
    else:
        pieces = []
    for reader in _RESPONSE_READERS:
        reply = reader(pieces)
        if reply is not None:
            return reply
    raise InvalidItemError(
        f"an answer of type {type(response).__name__} is of no known shape",
        field="response",
        value=response,
    )


def read_tools(tools: Iterable[object]) -> tuple[Mapping[str, Any], ...]:
    """Read tool definitions in OpenAI's format; bare functions are wrapped.

    Raises:
        InvalidItemError: If one has no name, or two have the same.
    """
    if isinstance(tools, str | bytes | Mapping):
        raise InvalidItemError(
            f"tools must be a list, not {type(tools).__name__}", field="tools"
        )
    read = tuple(openai_chat.read_tool(tool, number) for number, tool in enumerate(tools))
    names = [openai_chat.tool_name(tool) for tool in read]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InvalidItemError(
                f"two tools are called {name!r}", field=f"tools[{number}].function.name"
            )
    return read
