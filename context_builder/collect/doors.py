"""Makes context items from what a caller hands to a door, and checks it there."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, get_args

from context_builder.collect.checks import check_item
from context_builder.collect.content import is_blank, read_content, read_result
from context_builder.collect.imports.openai_chat import read_call
from context_builder.collect.plain import need_list, wrong
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem, default_priority
from context_builder.messages import Content, ReasoningPart, Role, ToolCall
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "assistant_item",
    "check_item",
    "edited_item",
    "is_void",
    "message_item",
    "result_item",
]

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

    A system message says text only: without text it is blank.

    Raises:
        InvalidItemError: If a field is not what it has to be.
    """
    item = check_item(_item(role, read_content(content), **fields))
    return None if is_void(item) else item


def is_void(item: ContextItem) -> bool:
    """Say whether nothing came in with an item: a door ignores it."""
    if item.role == "tool" or item.tool_calls or item.reasoning:
        return False
    return is_blank(item.text if item.role == "system" else item.content)


def _item(role: object, content: Content, **fields: Any) -> ContextItem:
    if not isinstance(role, str) or role not in get_args(Role):
        message = f"role {quoted(role)} is none of {', '.join(get_args(Role))}"
        raise InvalidItemError(message, field="role", value=role)
    given = {name: value for name, value in fields.items() if value is not None}
    _check_given(given.get("priority"))
    return ContextItem(role=role, content=content, **given)  # type: ignore[arg-type]


def _check_given(priority: object) -> None:
    """Refuse the number that stands for no priority.

    Raises:
        InvalidItemError: If it was given as one.
    """
    if isinstance(priority, int) and priority < 0:
        message = f"priority {quoted(priority)} is not from 0 to 100"
        raise InvalidItemError(message, field="priority", value=priority)


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
    item = _item(
        "assistant",
        "" if is_blank(read) else read,
        tool_calls=_read_calls(tool_calls),
        reasoning=_read_reasoning(reasoning),
        **fields,
    )
    return None if is_void(item) else check_item(item)


def _read_calls(calls: Iterable[object] | None) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    listed = calls if isinstance(calls, str) else need_list(calls, "tool_calls")
    return tuple(
        call
        if isinstance(call, ToolCall)
        else read_call(call, field=f"tool_calls[{n}]")
        for n, call in enumerate(listed)
    )


def _read_reasoning(
    reasoning: str | Iterable[ReasoningPart] | None,
) -> tuple[ReasoningPart, ...]:
    if not reasoning and isinstance(reasoning, str | None):
        return ()
    if isinstance(reasoning, str):
        return (ReasoningPart(provider="openai-compatible", text=reasoning),)
    parts = tuple(need_list(reasoning, "reasoning"))
    for number, part in enumerate(parts):
        if not isinstance(part, ReasoningPart):
            raise wrong(part, f"reasoning[{number}]", "a ReasoningPart")
    return parts


def result_item(tool_name: str | None, result: object, **fields: Any) -> ContextItem:
    """Make the item of a tool's result. It may be empty: its call needs an answer.

    Raises:
        InvalidItemError: If the result cannot be written as JSON.
    """
    if isinstance(result, BaseException):
        fields["is_error"] = True
    content = read_result(result)
    fields["tool_call_id"] = (
        fields.get("tool_call_id") or None
    )  # some vendors have none
    name = tool_name or None  # a broken call may have none: its result is no worse
    return check_item(
        _item("tool", content, tool_name=name, source="tool_result", **fields)
    )


def edited_item(item: ContextItem, changes: Mapping[str, Any]) -> ContextItem:
    """Return another version of an item, same id.

    Raises:
        InvalidItemError: If a field may not be edited, or its value is not allowed.
        Blank content is not: an item is taken out with `remove`.
    """
    for name in changes:
        if name not in _EDITABLE:
            known = ", ".join(sorted(_EDITABLE))
            message = f"{quoted(name)} cannot be edited; editable are {known}"
            raise InvalidItemError(message, field=name, value=changes[name])
    edited = dict(changes)
    if "content" in edited:
        reader = read_result if item.role == "tool" else read_content
        edited["content"] = reader(edited["content"])
    if "priority" in edited:
        _check_given(edited["priority"])
        edited["has_own_priority"] = True
    elif "optional" in edited and not item.has_own_priority:
        edited["priority"] = default_priority(
            item.role, item.source, optional=edited["optional"] is True
        )
    made = check_item(dataclasses.replace(item, **edited))
    if "content" in edited and is_void(made):
        message = f"{item.id} cannot become blank; take it out with remove()"
        raise InvalidItemError(message, field="content", value=changes["content"])
    return made
