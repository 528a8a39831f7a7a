"""Says in plain text what a vendor has no form for: media, calls, results, free text.

What cannot be shown is named with its kind and size, so that the model knows of it.
Calls and results that become text stand in frames that their own text cannot close.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from context_builder.messages import AudioPart, FilePart, ImagePart, Part, ToolCall
from context_builder.render.frames import frame
from context_builder.render.ids import clean_name
from context_builder.render.tool_schemas import FREE_TEXT, with_object_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.items import ContextItem

__all__ = [
    "call_text",
    "described",
    "described_part",
    "framed_result",
    "function_arguments",
    "function_tool",
    "has_no_data",
    "is_text",
    "person_name",
]

_BASE64_BYTES = 0.75
_KIB = 1024


def described_part(part: Part) -> str:
    """Return a text as it is; name another part: kind, name or address, type, size."""
    if part.type == "text" or (part.type == "file" and part.text is not None):
        return part.text or ""
    said = ", ".join(filter(None, [_identity(part), part.media_type, _size(part)]))
    return f"[{part.type} not shown: {said}]" if said else f"[{part.type} not shown]"


def described(item: ContextItem) -> str:
    """Return the text of an item, its other parts named in their places."""
    if isinstance(item.content, str):
        return item.content
    return "\n".join(map(described_part, item.content))


def is_text(part: Part) -> bool:
    """Say whether a part is text, or a document that is given as text."""
    return part.type == "text" or (part.type == "file" and part.text is not None)


def has_no_data(part: Part) -> bool:
    """Say whether a part was given data that holds nothing: no vendor takes it."""
    return part.type != "text" and part.data == ""


def person_name(name: str) -> str:
    """Return a participant's name without the characters that no API takes."""
    return re.sub(r"[\s<|\\/>]", "_", name)[:64]


def _identity(part: ImagePart | FilePart | AudioPart) -> str:
    if isinstance(part, AudioPart):
        return ""
    name = part.filename if isinstance(part, FilePart) else None
    return name or part.url or part.file_id or ""


def _size(part: ImagePart | FilePart | AudioPart) -> str:
    if not part.data:
        return ""
    size = int(len(part.data) * _BASE64_BYTES)
    return f"{max(1, size // _KIB)} KiB"


# --- calls and results as text --------------------------------------------------------


def call_text(call: ToolCall) -> str:
    """Say a call where a template knows no calls."""
    return frame("tool-call", call.arguments, name=call.name)


def framed_result(item: ContextItem, text: str) -> str:
    """Say a result where a template knows no results."""
    return frame("tool-result", text, name=item.tool_name or "tool")


# --- OpenAI's custom tools, for vendors that know functions only ----------------------


def function_arguments(call: ToolCall) -> str:
    """Return a call's arguments as a JSON object; free text becomes its `input`."""
    if call.type == "custom":
        return json.dumps({"input": call.arguments}, ensure_ascii=False)
    return call.arguments


def function_tool(tool: Mapping[str, Any], *, keep: frozenset[str]) -> dict[str, Any]:
    """Return a tool as a function tool that has no other keys than `keep`."""
    if "custom" in tool:
        said = {**tool["custom"], "parameters": FREE_TEXT}
    else:
        said = dict(with_object_schema(tool["function"]))
    function = {key: value for key, value in said.items() if key in keep}
    function["name"] = clean_name(said["name"])
    return {"type": "function", "function": function}
