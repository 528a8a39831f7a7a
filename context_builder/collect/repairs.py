"""Makes single items fit to be shown: whole text, whole calls, an answer for each call.

Every function is pure and says what it repaired; the log keeps what came in.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder.collect.arguments import CutOffError, tidy_arguments
from context_builder.collect.content import is_blank, is_blank_part, joined
from context_builder.copies import changed
from context_builder.items import ContextItem, Mark
from context_builder.unicode import is_well_formed, repair_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from context_builder.messages import Content, Part, ReasoningPart, ToolCall

__all__ = [
    "CUT_OFF",
    "NO_OUTPUT",
    "NO_RESULT",
    "asked_ids",
    "is_stand_in",
    "stand_in",
    "tidy_item",
    "tidy_result",
]

CUT_OFF = "[cut off here: the answer was interrupted]"
"""Stands at the end of an answer that came in only in part."""
NO_OUTPUT = "(no output)"
"""Stands for a tool result without content: its call needs an answer."""
NO_RESULT = "[no result: this call did not finish]"
"""Stands for the result of a call that was never answered. It must not read like
success."""
NAMELESS = "tool"
"""What a call is to that names none, as a broken stream may leave behind."""
_BROKEN_TEXT = "unpaired surrogates or NULs replaced"
_TEXT_FIELDS = ("url", "data", "text", "file_id", "media_type", "filename")


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
    changes: dict[str, Any] = {"content": _tidy_content(item, marks)}
    if item.tool_calls or item.reasoning:
        changes["tool_calls"] = _tidy_calls(item, marks) if item.tool_calls else ()
        changes["reasoning"] = _tidy_reasoning(item, marks) if item.reasoning else ()
    if not _has_sound_names(item):
        changes |= _tidy_names(item, marks)
    tidy = _changed(item, changes)
    said = tidy.text if tidy.role == "system" else tidy.content
    if is_blank(said) and not tidy.tool_calls and not tidy.reasoning:
        return None, [Mark(item.id, "repaired", "left out: nothing of it arrived")]
    return tidy, marks


def _changed(item: ContextItem, changes: dict[str, Any]) -> ContextItem:
    """Return the item with its changes, or the same one if there are none."""
    if all(value is getattr(item, name) for name, value in changes.items()):
        return item
    return dataclasses.replace(item, **changes)


def _has_sound_names(item: ContextItem) -> bool:
    """Say whether the short texts of an item can go out, as nearly all can."""
    return (
        is_well_formed(item.source)
        and (item.name is None or is_well_formed(item.name))
        and (item.tool_name is None or is_well_formed(item.tool_name))
    )


def _tidy_names(item: ContextItem, marks: list[Mark]) -> dict[str, str | None]:
    """Return the short texts of an item that are not fit to go out, made fit."""
    named = (
        ("name", item.name),
        ("source", item.source),
        ("tool_name", item.tool_name),
    )
    changes = {
        name: repair_text(value) or None
        for name, value in named
        if value is not None and not is_well_formed(value)
    }
    if "source" in changes:
        changes["source"] = changes["source"] or "message"
    if changes:
        marks.append(Mark(item.id, "repaired", _BROKEN_TEXT))
    return changes


# --- content --------------------------------------------------------------------------


def _tidy_content(item: ContextItem, marks: list[Mark]) -> Content:
    content = item.content
    if not _is_clean(content):
        content = _clean(content)
        marks.append(Mark(item.id, "repaired", _BROKEN_TEXT))
    if not isinstance(content, str) and any(map(is_blank_part, content)):
        content = joined(content)
    if item.partial and item.role != "tool" and not is_blank(content):
        marks.append(
            Mark(item.id, "repaired", "received in part, and marked as cut off")
        )
        content = _append(content, CUT_OFF)
    return content


def _is_clean(content: Content) -> bool:
    if isinstance(content, str):
        return is_well_formed(content)
    return all(
        all(is_well_formed(text) for _, text in _texts(part)) and _is_sound(part.extra)
        for part in content
    )


def _texts(part: Part) -> Iterable[tuple[str, str]]:
    for name in _TEXT_FIELDS:
        value = getattr(part, name, None)
        if value is not None:
            yield name, value


def _clean(content: Content) -> Content:
    if isinstance(content, str):
        return repair_text(content)
    return tuple(_clean_part(part) for part in content)


def _clean_part(part: Part) -> Part:
    changes: dict[str, Any] = {
        name: repair_text(text)
        for name, text in _texts(part)
        if not is_well_formed(text)
    }
    if not _is_sound(part.extra):
        changes["extra"] = None
    return part.model_copy(update=changes) if changes else part


def _append(content: Content, note: str) -> Content:
    if isinstance(content, str):
        return f"{content}\n{note}"
    *first, last = content
    if last.type != "text":
        return content
    return (*first, last.model_copy(update={"text": f"{last.text}\n{note}"}))


def _is_sound(data: object) -> bool:
    """Say whether every text in what a vendor put there is well-formed."""
    match data:
        case str():
            return is_well_formed(data)
        case list() | tuple():
            return all(map(_is_sound, data))
        case dict():
            return all(map(_is_sound, data)) and all(map(_is_sound, data.values()))
        case _:
            return True


def _tidy_reasoning(item: ContextItem, marks: list[Mark]) -> tuple[ReasoningPart, ...]:
    """Leave out reasoning that cannot go out: it goes back unchanged, or not at all."""
    sound = tuple(
        part
        for part in item.reasoning
        if _is_sound((part.text, part.signature, part.data))
    )
    if len(sound) == len(item.reasoning):
        return item.reasoning
    reason = "reasoning left out: unpaired surrogates or NULs in it"
    marks.append(Mark(item.id, "repaired", reason))
    return sound


# --- calls ----------------------------------------------------------------------------


def _tidy_calls(item: ContextItem, marks: list[Mark]) -> tuple[ToolCall, ...]:
    """Return the calls with ids of their own and arguments that parse."""
    calls = [call for call, _ in _kept_calls(item, marks)]
    same = len(calls) == len(item.tool_calls) and all(
        new is old for new, old in zip(calls, item.tool_calls, strict=True)
    )
    return item.tool_calls if same else tuple(calls)


def asked_ids(item: ContextItem, tidy: ContextItem) -> tuple[str, ...]:
    """Return the id under which each call of the tidied item was asked.

    Results come in under it, where a repair had to rename the call.
    """
    if tidy.tool_calls is item.tool_calls:
        return tuple(call.id for call in tidy.tool_calls)
    return tuple(asked for _, asked in _kept_calls(item, []))


def _kept_calls(item: ContextItem, marks: list[Mark]) -> list[tuple[ToolCall, str]]:
    """Return the calls that can be shown, each with the id that it came with."""
    kept: list[tuple[ToolCall, str]] = []
    taken: set[str] = set()
    asked = {call.id for call in item.tool_calls}
    for number, call in enumerate(item.tool_calls):
        try:
            arguments = tidy_arguments(call, item, marks)
        except CutOffError:
            continue
        call_id = repair_text(call.id) or f"call_{item.id}_{number}"
        if call_id in taken:
            call_id = _free_id(call_id, taken | asked)
            marks.append(Mark(item.id, "repaired", "two calls had one id"))
        if not call.name:
            marks.append(Mark(item.id, "repaired", f"a call of no tool: {NAMELESS!r}"))
        taken.add(call_id)
        kept.append((_tidy_call(call, call_id, arguments), call.id or call_id))
    return kept


def _tidy_call(call: ToolCall, call_id: str, arguments: str) -> ToolCall:
    changes = {
        "id": call_id,
        "name": repair_text(call.name) or NAMELESS,
        "arguments": arguments,
        "extra": call.extra if _is_sound(call.extra) else None,
    }
    if all(value is getattr(call, name) for name, value in changes.items()):
        return call
    return dataclasses.replace(call, **changes)  # type: ignore[arg-type]


def _free_id(call_id: str, taken: set[str]) -> str:
    number = 2
    while f"{call_id}_{number}" in taken:
        number += 1
    return f"{call_id}_{number}"


def tidy_result(
    item: ContextItem, call: ToolCall
) -> tuple[ContextItem, Sequence[Mark]]:
    """Return a tool's result as the answer to `call`, and what was done to it."""
    marks: list[Mark] = []
    content = _tidy_content(item, marks)
    if is_blank(content):
        content = NO_OUTPUT
        marks.append(Mark(item.id, "repaired", "empty: a stand-in keeps its place"))
    changes = {} if _has_sound_names(item) else _tidy_names(item, marks)
    if (
        not changes
        and content == item.content
        and (item.tool_call_id, item.tool_name) == (call.id, call.name)
    ):
        return item, marks
    named = {"content": content, "tool_call_id": call.id, "tool_name": call.name}
    return changed(item, **(changes | named)), marks
