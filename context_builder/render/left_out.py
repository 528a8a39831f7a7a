"""Names what a request does not carry: reasoning, who spoke, and what was asked for.

It reads what was said, rather than asking each adapter: what is not in the messages of
an item was left out, whatever the reason.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.items import ContextItem, Mark
from context_builder.render.described import person_name

if TYPE_CHECKING:
    from context_builder.messages import ReasoningPart
    from context_builder.render.adapter import Prompt, Rendering

__all__ = [
    "NARROWED",
    "NO_BUDGET",
    "NO_EFFORT",
    "allowed_mode",
    "naming_losses",
    "parallel_note",
    "with_notes",
]

NO_BUDGET = "thinking_budget_tokens: no number of tokens is taken here"
NO_EFFORT = "reasoning_effort: no word for it is taken here"
NARROWED = "tool_choice: it cannot be narrowed to some tools here"

SHORTEST_SIGN = 8
"""Shorter texts of a vendor's block may stand in a message by chance."""


def allowed_mode(choice: object) -> str | None:
    """Return the mode of a choice among some tools: auto or required; None: no such."""
    if not isinstance(choice, Mapping) or choice.get("type") != "allowed_tools":
        return None
    allowed = choice.get("allowed_tools") or choice
    return "required" if allowed.get("mode") == "required" else "auto"


def parallel_note(prompt: Prompt) -> list[str]:
    """Tell of calls that were to come one at a time, where nobody can be told so."""
    asked = bool(prompt.tools) and prompt.options.parallel_tool_calls is False
    return ["parallel_tool_calls: it cannot be switched off here"] if asked else []


def with_notes(rendering: Rendering, notes: Sequence[str]) -> Rendering:
    """Return a rendering whose repairs tell what of the options was not said."""
    marks = [Mark("request", "repaired", note) for note in notes]
    if not marks:
        return rendering
    return dataclasses.replace(rendering, repairs=(*rendering.repairs, *marks))


def naming_losses(rendering: Rendering, items: Sequence[ContextItem]) -> Rendering:
    """Return a rendering whose repairs tell of what was left out of its messages."""
    concerned = [item for item in items if item.reasoning or item.name is not None]
    if not concerned:
        return rendering
    places: defaultdict[str, list[int]] = defaultdict(list)
    for item_id, place in rendering.spans:
        places[item_id].append(place)
    known = {
        mark.item_id
        for mark in rendering.repairs
        if "reasoning" in mark.reason or mark.reason.startswith("nothing")
    }
    marks = [
        Mark(item.id, "repaired", reason)
        for item in concerned
        for reason in _left_out(
            item, _text([rendering.messages[place] for place in places[item.id]])
        )
        if not (item.id in known and "reasoning" in reason)
    ]
    return dataclasses.replace(rendering, repairs=(*rendering.repairs, *marks))


def _left_out(item: ContextItem, said: str) -> Iterator[str]:
    lost = [part for part in item.reasoning if not _is_in(part, said)]
    if lost:
        whose = ", ".join(sorted({part.provider for part in lost}))
        yield f"reasoning ({whose}) was left out: it does not go to this vendor"
    if item.name is not None and person_name(item.name) not in said:
        yield "the participant's name was left out: there is no place for it"


def _is_in(part: ReasoningPart, said: str) -> bool:
    signs = [part.text, part.signature or "", *_signs(part.data)]
    given = [sign for sign in signs if sign]
    return not given or any(json.dumps(sign)[1:-1] in said for sign in given)


def _signs(value: Any) -> Iterator[str]:
    """Yield the texts by which a vendor's block can be found again."""
    if isinstance(value, str):
        if len(value) >= SHORTEST_SIGN:
            yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _signs(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _signs(member)


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(messages, default=_as_text)


def _as_text(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return str(value)
