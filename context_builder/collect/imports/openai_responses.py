"""Reads OpenAI Responses: lists of input items and whole requests.

An answer in the list is read by `openai_responses_pieces`, a fresh answer or its stream
by `openai_responses_answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.collect.content import read_content
from context_builder.collect.imports.openai_responses_answers import read_response
from context_builder.collect.imports.openai_responses_pieces import CALLS, output_items
from context_builder.collect.imports.reading import Imported, need_mapping, need_str
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from context_builder.messages import Content, Role

__all__ = ["read_messages", "read_request", "read_response"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_SERVER_STATE = ("previous_response_id", "conversation", "prompt", "context_management")
_ERROR = "Error: "

_Object = Mapping[str, Any]


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of input items.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    read: list[ContextItem] = []
    said: list[_Object] = []
    for number, message in enumerate(messages):
        field = f"input[{number}]"
        data = need_mapping(message, field)
        kind = data.get("type") or "message"
        if kind == "message" and data.get("role") != "assistant":
            read += output_items(said)
            said = []
            read.append(_message(data, field))
        elif kind in _OUTPUTS:
            read += output_items(said)
            said = []
            read.append(_result(data, field))
        else:
            said.append(_checked(data, kind, field))
    return [*read, *output_items(said)]


def read_request(request: _Object) -> Imported:
    """Read a whole request: a body, or the arguments of the SDK's call."""
    said = request.get("input")
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    read = read_messages(items or ())
    system = request.get("instructions") or None
    if system is None and read and read[0].role == "system":
        system, read = read[0].text, read[1:]
    tools = list(enumerate(request.get("tools") or ()))
    known = [(number, _read_tool(tool)) for number, tool in tools]
    return Imported(
        items=tuple(read),
        system=system,
        tools=tuple(tool for _, tool in known if tool is not None),
        lost=(
            *(name for name in _SERVER_STATE if request.get(name)),
            *(f"tools[{number}]" for number, tool in known if tool is None),
            *(f"input[{number}].id" for number in _referred(items)),
        ),
    )


def _referred(items: object) -> Iterator[int]:
    for number, item in enumerate(items if isinstance(items, Sequence) else ()):
        if isinstance(item, Mapping) and item.get("type") == "item_reference":
            yield number


def _message(data: _Object, field: str) -> ContextItem:
    asked = data.get("role")
    role = _ROLES.get(asked) if isinstance(asked, str) else None
    if role is None:
        known = ", ".join(_ROLES)
        msg = f"{field}.role {quoted(asked)} is none of {known}"
        raise InvalidItemError(
            msg,
            field=f"{field}.role",
            value=asked,
        )
    content = read_content(data.get("content"), field=f"{field}.content")
    source = "system_prompt" if role == "system" else "user"
    return ContextItem(role=role, content=_defaults_out(content), source=source)


def _defaults_out(content: Content) -> Content:
    """Leave out a picture's detail where it is the one that is meant anyway."""
    if isinstance(content, str):
        return content
    return tuple(
        part.model_copy(update={"detail": None})
        if part.type == "image" and part.detail == "auto"
        else part
        for part in content
    )


def _result(data: _Object, field: str) -> ContextItem:
    content = read_content(data.get("output"), field=f"{field}.output")
    is_error = isinstance(content, str) and content.startswith(_ERROR)
    return ContextItem(
        role="tool",
        content=_defaults_out(content),
        source="tool_result",
        tool_call_id=_call_id(data, field),
        is_error=is_error,
    )


def _call_id(data: _Object, field: str) -> str:
    """Read a call's id. Some clients glue the item's id behind it."""
    call_id = need_str(data.get("call_id"), f"{field}.call_id")
    return call_id.partition("|")[0] or call_id


def _checked(data: _Object, kind: str, field: str) -> _Object:
    """Check a piece of an answer here, where its path is known."""
    if kind in CALLS:
        need_str(data.get("name"), f"{field}.name")
        return {**data, "call_id": _call_id(data, field)}
    if kind == "message":
        read_content(data.get("content"), field=f"{field}.content")
    elif data.get("type") is None:
        msg = f"{field} has neither a role nor a type"
        raise InvalidItemError(msg, field=f"{field}.type", value=data)
    return data


# --- tools ----------------------------------------------------------------------------

_READERS: Mapping[str, Callable[[dict[str, Any]], _Object]] = {
    "function": lambda said: {"type": "function", "function": said},
    "custom": lambda said: {"type": "custom", "custom": _custom(said)},
}


def _read_tool(tool: _Object) -> _Object | None:
    """Read a flat tool as Chat writes it; None: a tool that the vendor itself runs."""
    reader = _READERS.get(str(tool.get("type")))
    if reader is None:
        return None
    return reader(
        {key: tool[key] for key in tool if key != "type" and tool[key] is not None}
    )


def _custom(said: dict[str, Any]) -> dict[str, Any]:
    given = said.get("format") or {}
    if given.get("type") != "grammar" or "grammar" in given:
        return said
    grammar = {key: value for key, value in given.items() if key != "type"}
    return {**said, "format": {"type": "grammar", "grammar": grammar}}
