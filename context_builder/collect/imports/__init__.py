"""Vendor formats read into context items: the mirror image of `render`.

One file a format. A reader takes what that vendor's API takes or gives, as plain data
or as the SDK's own objects, and refuses what it does not know by the path of the field.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from context_builder.collect.content import as_mapping
from context_builder.collect.imports import chat_requests, openai_chat
from context_builder.collect.imports.reading import (
    Imported,
    MessageReader,
    Reply,
    RequestReader,
    ResponseReader,
    Usage,
    need_str,
)
from context_builder.collect.imports.schemas import check_schema
from context_builder.collect.imports.usages import answer_with
from context_builder.collect.plain import need_list, plain_json, repair_json, wrong
from context_builder.errors import AdapterError, ContextBuilderError, InvalidItemError
from context_builder.tokens.openai_schemas import functions_text
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = [
    "Imported",
    "Reply",
    "Usage",
    "import_formats",
    "read_messages",
    "read_request",
    "read_response",
    "read_tools",
    "read_usage",
    "stream_in",
]

_OWN = ("anthropic", "bedrock", "cohere", "gemini", "mistral", "ollama")
"""Formats with a module of their own name."""
_FAMILIES = (
    "deepseek",
    "glm",
    "groq",
    "kimi",
    "openai-compatible",
    "qwen",
    "strict",
    "xai",
)
_CHAT_FIELDS = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {"role", "content", "name", "tool_calls", "refusal", "reasoning_content"}
    ),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_ANSWERS = (
    "openai_responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "openai_compatible",
    "cohere",
    "ollama",
    "openai_chat",
)
"""Modules whose `read_response` is asked, in this order: the most particular first."""


class _Reader(Protocol):
    @property
    def read_messages(self) -> MessageReader: ...

    @property
    def read_request(self) -> RequestReader: ...


class _OpenAIReader:
    read_messages = staticmethod(openai_chat.read_messages)

    @staticmethod
    def read_request(request: Mapping[str, Any]) -> Imported:
        """Read a whole request."""
        return chat_requests.read_chat_request(
            request, openai_chat.read_messages, fields=_CHAT_FIELDS
        )


def import_formats() -> tuple[str, ...]:
    """Return the names of the formats that can be read."""
    return tuple(sorted(("openai", "openai-responses", *_OWN, *_FAMILIES)))


_DAMAGE = (
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading trips on where something is not what the format says."""


class _Typed:
    """Turns what Python says of damaged data into an error of the library.

    As a generator it would take several times as long, for each message that comes in.
    """

    __slots__ = ("_field",)

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        """Let what the library says pass.

        Raises:
            InvalidItemError: If something is not what the format says.
        """
        if isinstance(error, _DAMAGE) and not isinstance(error, ContextBuilderError):
            found = type(error).__name__
            message = f"{self._field} is not what the format says ({found})"
            raise InvalidItemError(message, field=self._field) from error


def _reader(format: str) -> _Reader:
    if not isinstance(format, str):
        raise wrong(format, "format", "the name of a format")
    return _known_reader(format)


@functools.cache
def _known_reader(format: str) -> _Reader:
    if format == "openai":
        return _OpenAIReader()
    if format in _FAMILIES:
        module = _module("openai_compatible")
        return cast("_Reader", module.READERS[format])
    if format in _OWN or format == "openai-responses":
        return cast("_Reader", _module(format.replace("-", "_")))
    message = (
        f"there is no reader for the format {quoted(format)}; known are "
        f"{', '.join(import_formats())}"
    )
    raise AdapterError(message, adapter=format)


def _module(name: str) -> Any:
    return importlib.import_module(f"context_builder.collect.imports.{name}")


def read_messages(
    messages: Iterable[object], *, format: str = "openai"
) -> list[ContextItem]:
    """Read a vendor's list of messages into items that have no ids yet.

    Raises:
        AdapterError: If the format is not known.
        InvalidItemError: If a message is not what the format says; `field` is its path.
    """
    reader = _reader(format)
    listed = need_list(messages, "messages")
    with _Typed("messages"):
        return reader.read_messages(listed)


def read_request(request: Mapping[str, Any], *, format: str = "openai") -> Imported:
    """Read a vendor's whole request: conversation, system prompt and tools.

    Raises:
        AdapterError: If the format is not known.
        InvalidItemError: If it is not what the format says; `field` is the path.
    """
    reader = _reader(format)
    with _Typed("request"):
        return reader.read_request(request)


def read_response(response: object) -> Reply:
    """Read a vendor's answer, or the pieces of its stream, whole.

    Raises:
        InvalidItemError: If no known vendor answers in this shape.
    """
    if isinstance(response, Reply):  # it was read already
        return response
    response = stream_in(response)
    answer = as_mapping(response)
    if answer is not None:
        pieces: list[Mapping[str, Any]] | Mapping[str, Any] = answer
    elif isinstance(response, Iterable) and not isinstance(response, str | bytes):
        read = (as_mapping(piece) for piece in response)
        pieces = _as_sent([piece for piece in read if piece is not None])
    else:
        pieces = []
    for name in _ANSWERS if pieces else ():
        reply = _read_as(name, pieces)
        if reply is not None:
            return reply
    message = f"an answer of type {type(response).__name__} is of no known shape"
    if isinstance(response, AsyncIterable):
        message += "; of a stream that is awaited, pass the pieces as a list"
    raise InvalidItemError(message, field="response", value=response)


def read_usage(usage: object) -> Usage | None:
    """Read what was billed, by itself or from the answer that holds it.

    Raises:
        InvalidItemError: If no known vendor bills, or answers, in this shape.
    """
    bill = as_mapping(usage)
    holder = None if bill is None else answer_with(bill)
    return read_response(usage if holder is None else holder).usage


def stream_in(response: object) -> object:
    """Return the stream that a response only wraps, as Converse's does; else itself."""
    if isinstance(response, Mapping) and "output" not in response:
        stream = response.get("stream")
        if isinstance(stream, Iterable) and not isinstance(stream, str | bytes):
            return stream
    return response


def _as_sent(pieces: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the pieces that a vendor sent, where an SDK put events of its own between.

    OpenAI's `chat.completions.stream` does: each piece comes in an event of its own.
    """
    sent = [piece["chunk"] for piece in pieces if piece.get("type") == "chunk"]
    return sent if sent and all(isinstance(one, Mapping) for one in sent) else pieces


def _read_as(name: str, pieces: Any) -> Reply | None:
    """Read an answer as a vendor's; None: it is of another, or of nobody."""
    reader = cast("ResponseReader", _module(_answer_module(name)).read_response)
    try:
        return reader(pieces)
    except ContextBuilderError:
        raise
    except _DAMAGE:
        return None


def _answer_module(name: str) -> str:
    return f"{name}_answers" if name in {"gemini", "openai_responses"} else name


class ToolDefinitions(tuple[Mapping[str, Any], ...]):
    """Definitions that were read and checked; nobody else holds them."""

    __slots__ = ()


def read_tools(tools: Iterable[object]) -> tuple[Mapping[str, Any], ...]:
    """Read tool definitions in OpenAI's format; bare functions are wrapped.

    What was read here before is returned as it is: who has the same tools at each
    turn reads them once.

    Raises:
        InvalidItemError: If one has no name, or two have the same.
    """
    if isinstance(tools, ToolDefinitions):
        return tools
    read = ToolDefinitions(
        _read_tool(tool, number)
        for number, tool in enumerate(need_list(tools, "tools"))
    )
    names: set[str] = set()
    for number, name in enumerate(map(openai_chat.tool_name, read)):
        if name in names:
            message = f"two tools are called {quoted(name)}"
            raise InvalidItemError(message, field=f"tools[{number}].function.name")
        names.add(name)
    return read


def _read_tool(tool: object, number: int) -> Mapping[str, Any]:
    field = f"tools[{number}]"
    with _Typed(field):
        data = repair_json(plain_json(openai_chat.read_tool(tool, number), field))
        kind = "custom" if "custom" in data else "function"
        need_str(openai_chat.tool_name(data), f"{field}.{kind}.name")
    function = data.get("function")
    if isinstance(function, Mapping):
        _check_schema(function, f"{field}.function.parameters")
    read: Mapping[str, Any] = data
    return read


def _check_schema(function: Mapping[str, Any], field: str) -> None:
    """Refuse parameters that are no JSON Schema: they could not even be counted.

    Raises:
        InvalidItemError: If they are none.
    """
    parameters = function.get("parameters")
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):  # true and false are schemas, of no object
        raise wrong(parameters, field, "a JSON Schema")
    check_schema(parameters, field)
    with _Typed(field):
        functions_text([function])
