"""Says in plain text what a vendor has no form for: media, calls, results, free text.

What cannot be shown is named with its kind and size, so that the model knows of it.
Calls and results that become text stand in frames that their own text cannot close.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from context_builder.items import ContextItem
from context_builder.messages import AudioPart, FilePart, ImagePart, Part, ToolCall
from context_builder.render.frames import frame
from context_builder.render.ids import clean_name

__all__ = [
    "call_text",
    "described",
    "described_part",
    "framed_result",
    "function_arguments",
    "function_tool",
]

_BASE64_BYTES = 0.75
_KIB = 1024


def described_part(part: Part) -> str:
    """Name a part that is not shown: its kind, its name or address, its size."""
    if part.type == "text":
        return part.text
    facts = [fact for fact in (_identity(part), part_kind(part), _size(part)) if fact]
    return f"[{part.type} not shown: {', '.join(facts)}]" if facts else _bare(part)


def described(item: ContextItem) -> str:
    """Return the text of an item, its other parts named in their places."""
    if isinstance(item.content, str):
        return item.content
    return "\n".join(
        part.text
        if part.type == "file" and part.text is not None
        else described_part(part)
        for part in item.content
    )


def part_kind(part: ImagePart | FilePart | AudioPart) -> str:
    """Return the media type, where it is known."""
    return part.media_type or ""


def _bare(part: Part) -> str:
    return f"[{part.type} not shown]"


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
        said = {**tool["custom"], "parameters": _FREE_TEXT}
    else:
        said = dict(tool["function"])
    function = {key: value for key, value in said.items() if key in keep}
    function["name"] = clean_name(said["name"])
    return {"type": "function", "function": function}


_FREE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
