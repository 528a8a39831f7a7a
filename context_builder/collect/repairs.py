"""Makes single items fit to be shown: whole text, whole calls, an answer for each call.

Every function is pure and says what it repaired; the log keeps what came in.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from context_builder.collect.content import is_blank
from context_builder.items import ContextItem, Mark
from context_builder.messages import Content, ToolCall
from context_builder.unicode import is_well_formed, repair_text

__all__ = ["CUT_OFF", "NO_OUTPUT", "NO_RESULT", "stand_in", "tidy_item", "tidy_result"]

CUT_OFF = "[cut off here: the answer was interrupted]"
"""Stands at the end of an answer that came in only in part."""
NO_OUTPUT = "(no output)"
"""Stands for a tool result without content: its call needs an answer."""
NO_RESULT = "[no result: this call did not finish]"
"""Stands for the result of a call that was never answered. It must not look like success."""


def stand_in(call: ToolCall, item_id: str) -> ContextItem:
    """Return the item that holds the place of a result that never came."""
    return ContextItem(
        role="tool",
        content=NO_RESULT,
        id=item_id,
        source="repair",
        tool_call_id=call.id,
        tool_name=call.name,
        is_error=True,
    )


def is_stand_in(item: ContextItem) -> bool:
    """Say whether the item holds the place of a result that never came."""
    return item.role == "tool" and item.source == "repair"


def tidy_item(item: ContextItem) -> tuple[ContextItem | None, list[Mark]]:
    """Return the item as it can be shown, or None, and what was done to it.

    Unpaired surrogates and NULs are replaced, an answer cut off says so, calls get ids
    and arguments that parse. A call cut off inside its arguments is taken out.
    """
    marks: list[Mark] = []
    content = _tidy_content(item, marks)
    calls = _tidy_calls(item, marks)
    if is_blank(content) and not calls and not item.reasoning:
        return None, [Mark(item.id, "repaired", "left out: nothing of it arrived")]
    if content is item.content and calls is item.tool_calls:
        return item, marks
    return dataclasses.replace(item, content=content, tool_calls=calls), marks


def _tidy_content(item: ContextItem, marks: list[Mark]) -> Content:
    content = item.content
    if not _is_clean(content):
        marks.append(Mark(item.id, "repaired", "unpaired surrogates or NULs replaced"))
        content = _clean(content)
    if item.partial and not is_blank(content):
        marks.append(Mark(item.id, "repaired", "received in part, and marked as cut off"))
        content = _append(content, CUT_OFF)
    return content


def _is_clean(content: Content) -> bool:
    if isinstance(content, str):
        return is_well_formed(content)
    return all(part.type != "text" or is_well_formed(part.text) for part in content)


def _clean(content: Content) -> Content:
    if isinstance(content, str):
        return repair_text(content)
    return tuple(
        part.model_copy(update={"text": repair_text(part.text)})
        if part.type == "text"
        else part
        for part in content
    )


def _append(content: Content, note: str) -> Content:
    if isinstance(content, str):
        return f"{content}\n{note}"
    *first, last = content
    if last.type != "text":
        return content
    return (*first, last.model_copy(update={"text": f"{last.text}\n{note}"}))


def _tidy_calls(item: ContextItem, marks: list[Mark]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for number, call in enumerate(item.tool_calls):
        arguments = _tidy_arguments(call, item, marks)
        if arguments is None:
            continue
        call_id = call.id or f"call_{item.id}_{number}"
        if call_id in taken:
            call_id = _free_id(call_id, taken)
            marks.append(Mark(item.id, "repaired", "two calls had one id"))
        taken.add(call_id)
        if arguments is not call.arguments or call_id != call.id:
            call = dataclasses.replace(call, id=call_id, arguments=arguments)
        calls.append(call)
    if all(new is old for new, old in zip(calls, item.tool_calls, strict=False)) and len(
        calls
    ) == len(item.tool_calls):
        return item.tool_calls
    return tuple(calls)


def _free_id(call_id: str, taken: set[str]) -> str:
    number = 2
    while f"{call_id}_{number}" in taken:
        number += 1
    return f"{call_id}_{number}"


def _tidy_arguments(call: ToolCall, item: ContextItem, marks: list[Mark]) -> str | None:
    """Return arguments that parse as an object; None for a call cut off inside them."""
    if call.type == "custom":
        return repair_text(call.arguments)
    if not call.arguments.strip():
        return "{}"
    if not is_well_formed(call.arguments):
        marks.append(Mark(item.id, "repaired", "arguments held unpaired surrogates"))
    text = repair_text(call.arguments)
    if _is_json_object(text):
        return text if _escapes_are_paired(text) else _rewritten(text)
    if item.partial:
        marks.append(
            Mark(item.id, "repaired", f"call of {call.name} left out: arguments cut off")
        )
        return None
    marks.append(Mark(item.id, "repaired", f"arguments of {call.name} were not an object"))
    return json.dumps({"_raw": text}, ensure_ascii=False)


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _escapes_are_paired(text: str) -> bool:
    r"""Say whether no `\ud83d` or `\u0000` escape hides what must not go out."""
    lowered = text.lower()
    if "\\ud" not in lowered and "\\u0000" not in lowered:
        return True
    return is_well_formed(json.dumps(json.loads(text), ensure_ascii=False)) and (
        "\\u0000" not in lowered
    )


def _rewritten(text: str) -> str:
    return json.dumps(_deep_repair(json.loads(text)), ensure_ascii=False)


def _deep_repair(value: object) -> object:
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, list):
        return [_deep_repair(part) for part in value]
    if isinstance(value, dict):
        return {repair_text(key): _deep_repair(part) for key, part in value.items()}
    return value


def tidy_result(
    item: ContextItem, call: ToolCall
) -> tuple[ContextItem, Sequence[Mark]]:
    """Return a tool's result as the answer to `call`, and what was done to it."""
    marks: list[Mark] = []
    content = _tidy_content(dataclasses.replace(item, partial=False), marks)
    if is_blank(content):
        content = NO_OUTPUT
        marks.append(Mark(item.id, "repaired", "empty: a stand-in keeps its place"))
    if (
        content is item.content
        and item.tool_call_id == call.id
        and item.tool_name == call.name
    ):
        return item, marks
    tidy = dataclasses.replace(
        item, content=content, tool_call_id=call.id, tool_name=call.name
    )
    return tidy, marks
