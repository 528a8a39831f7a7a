"""Makes context items from what a caller hands to a door, and checks it there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from context_builder.collect.content import is_blank, read_content, read_result
from context_builder.collect.imports.openai_chat import read_call
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import Content, ReasoningPart, Role, ToolCall

__all__ = ["assistant_item", "check_item", "edited_item", "message_item", "result_item"]

_EDITABLE = frozenset(
    {
        "content",
        "priority",
        "pinned",
        "optional",
        "cache_key",
        "name",
        "metadata",
        "is_error",
        "timestamp",
    }
)


def message_item(role: str, content: object, **fields: Any) -> ContextItem | None:
    """Make an item that speaks; None if it is blank.

    Raises:
        InvalidItemError: If a field is not what it has to be.
    """
    read = read_content(content)
    if is_blank(read):
        return None
    return check_item(_item(role, read, **fields))


def _item(role: str, content: Content, **fields: Any) -> ContextItem:
    if role not in get_args(Role):
        known = ", ".join(get_args(Role))
        raise InvalidItemError(
            f"role {role!r} is none of {known}", field="role", value=role
        )
    given = {name: value for name, value in fields.items() if value is not None}
    return ContextItem(role=role, content=content, **given)  # type: ignore[arg-type]


def assistant_item(
    content: object,
    *,
    tool_calls: Iterable[object] | None,
    reasoning: str | Iterable[ReasoningPart] | None,
    **fields: Any,
) -> ContextItem | None:
    """Make an assistant's item; None if it neither says, thinks nor calls anything.

    Raises:
        InvalidItemError: If a call has no name, or a field is not what it has to be.
    """
    read = read_content(content)
    calls = tuple(
        call if isinstance(call, ToolCall) else read_call(call, field=f"tool_calls[{n}]")
        for n, call in enumerate(tool_calls or ())
    )
    thoughts = _read_reasoning(reasoning)
    blank = is_blank(read)
    if blank and not calls and not thoughts:
        return None
    return check_item(
        _item(
            "assistant",
            "" if blank else read,
            tool_calls=calls,
            reasoning=thoughts,
            **fields,
        )
    )


def _read_reasoning(
    reasoning: str | Iterable[ReasoningPart] | None,
) -> tuple[ReasoningPart, ...]:
    if reasoning is None:
        return ()
    if isinstance(reasoning, str):
        return (ReasoningPart(provider="openai-compatible", text=reasoning),)
    parts = tuple(reasoning)
    for number, part in enumerate(parts):
        if not isinstance(part, ReasoningPart):
            raise InvalidItemError(
                f"reasoning[{number}] must be a ReasoningPart, not "
                f"{type(part).__name__}",
                field=f"reasoning[{number}]",
                value=part,
            )
    return parts


def result_item(tool_name: str | None, result: object, **fields: Any) -> ContextItem:
    """Make the item of a tool's result. It may be empty: its call needs an answer.

    Raises:
        InvalidItemError: If the result cannot be written as JSON.
    """
    if isinstance(result, BaseException):
        fields["is_error"] = True
    content = read_result(result)
    return check_item(
        _item("tool", content, tool_name=tool_name, source="tool_result", **fields)
    )


_TEXT_FIELDS = ("source", "cache_key", "tool_call_id", "tool_name", "name")
_FLAGS = ("optional", "pinned", "is_error", "partial")


def check_item(item: ContextItem) -> ContextItem:
    """Return the item if every field has the type that it must have.

    Raises:
        InvalidItemError: For the first field that does not.
    """
    for name in _TEXT_FIELDS:
        value = getattr(item, name)
        if value is not None and not (isinstance(value, str) and value):
            raise _wrong(name, "text that is not empty", value)
    for name in _FLAGS:
        if not isinstance(getattr(item, name), bool):
            raise _wrong(name, "True or False", getattr(item, name))
    if isinstance(item.priority, bool) or not isinstance(item.priority, int):
        raise _wrong("priority", "a whole number from 0 to 100", item.priority)
    if item.metadata is not None and not isinstance(item.metadata, Mapping):
        raise _wrong("metadata", "a mapping", item.metadata)
    return item


def _wrong(name: str, wanted: str, value: object) -> InvalidItemError:
    return InvalidItemError(
        f"{name} must be {wanted}, not {type(value).__name__}", field=name, value=value
    )


def edited_item(item: ContextItem, changes: Mapping[str, Any]) -> ContextItem:
    """Return another version of an item, same id.

    Raises:
        InvalidItemError: If a field may not be edited, or its value is not allowed. Blank
            content is not: an item is taken out with `remove`.
    """
    for name in changes:
        if name not in _EDITABLE:
            raise InvalidItemError(
                f"{name} cannot be edited; editable are {', '.join(sorted(_EDITABLE))}",
                field=name,
                value=changes[name],
            )
    edited = dict(changes)
    if "content" in edited:
        reader = read_result if item.role == "tool" else read_content
        edited["content"] = reader(edited["content"])
        if is_blank(edited["content"]) and item.role != "tool" and not item.tool_calls:
            raise InvalidItemError(
                f"{item.id} cannot become blank; take it out with remove()",
                field="content",
                value=changes["content"],
            )
    if "priority" in edited:
        edited["has_own_priority"] = True
    return check_item(dataclasses.replace(item, **edited))
