"""Reads the parts of Gemini's contents, in REST's spelling and in the SDK's.

Keys become the SDK's (`thought_signature`), bytes become base64; arguments and
responses keep the keys that the tool knows.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from context_builder.items import ContextItem
from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
)

__all__ = [
    "NAME",
    "answer_item",
    "as_json",
    "in_snake_case",
    "is_opaque",
    "is_plain",
    "read_block",
    "read_call",
    "read_part",
    "read_response_text",
    "single_parts",
    "tidy",
]

NAME = "gemini"
_Object = Mapping[str, Any]

_KEPT_KEYS = frozenset({"args", "response", "parameters", "parameters_json_schema"})
"""Under which everything is spelled as the caller's tools spell it."""
_MARKS = ("thought_signature", "media_resolution", "video_metadata")
_SHOWN = ("text", "inline_data", "file_data")
_FEWEST_KEYS = frozenset({"output", "error"})
_THINGS = (
    *_SHOWN,
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
    "function_call",
    "function_response",
)
"""What a part holds one of, in the order in which several are taken."""


def in_snake_case(value: object, *, is_kept: bool = False) -> Any:
    """Return plain JSON with the SDK's spelling of the vendor's own keys."""
    if isinstance(value, Mapping):
        return {
            str(key) if is_kept else (name := _snake(str(key))): in_snake_case(
                inner, is_kept=is_kept or name in _KEPT_KEYS
            )
            for key, inner in value.items()
            if inner is not None or is_kept
        }
    if isinstance(value, list | tuple):
        return [in_snake_case(inner, is_kept=is_kept) for inner in value]
    return as_json(value)


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()


def as_json(value: object) -> Any:
    """Return a leaf as JSON has it: bytes in base64, an enum by its value."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Enum):
        return value.value
    return value


def single_parts(part: _Object) -> list[_Object]:
    """Take a part that holds several things apart: the API knows none such.

    What stands beside them goes along with what it is said of: a thought is a text, a
    signature is that of a call, where there is one, and the rest belongs to media.
    """
    things = [key for key in _THINGS if part.get(key) is not None]
    if len(things) < 2:  # noqa: PLR2004  one thing, as it should be
        return [part]
    owners = {
        "thought": things[0],
        "thought_signature": "function_call"
        if "function_call" in things
        else things[-1],
    }
    media = next((key for key in things if key.endswith("_data")), things[-1])
    single: dict[str, dict[str, Any]] = {key: {key: part[key]} for key in things}
    for key in part.keys() - set(things):
        single[owners.get(key, media)][key] = part[key]
    return list(single.values())


def is_opaque(part: _Object) -> bool:
    """Say whether a part is none of ours: a thought, code, a call of the vendor's."""
    if part.get("thought"):
        return True
    return "function_call" not in part and not any(key in part for key in _SHOWN)


def is_plain(part: _Object) -> bool:
    """Say whether a part is nothing but text, which more text may be added to."""
    return set(part) <= {"text", "thought"} and "text" in part


def _marks(part: _Object, *, model: str | None = None) -> dict[str, Any]:
    marks = {key: part[key] for key in _MARKS if part.get(key)}
    if model is not None and "thought_signature" in marks:
        marks["model"] = model
    return marks


def read_part(part: _Object) -> Part | None:
    """Read text or media; None for text that says nothing."""
    marks = _marks(part)
    extra = {NAME: marks} if marks else None
    if "text" in part:
        text = str(part["text"] or "")
        return TextPart(text=text, extra=extra) if text.strip() or extra else None
    if "inline_data" in part:
        return _read_blob(part["inline_data"], extra)
    return _read_file(part["file_data"], extra)


def _read_blob(blob: _Object, extra: _Object | None) -> Part:
    kind, data = str(blob.get("mime_type") or ""), str(blob.get("data") or "")
    if kind.startswith("image/"):
        return ImagePart(data=data, media_type=kind, extra=extra)
    if kind.startswith("audio/"):
        return AudioPart(data=data, media_type=kind, extra=extra)
    name = blob.get("display_name")
    return FilePart(data=data, media_type=kind or None, filename=name, extra=extra)


def _read_file(file: _Object, extra: _Object | None) -> Part:
    kind, address = file.get("mime_type"), str(file.get("file_uri") or "")
    if str(kind).startswith("image/"):
        return ImagePart(url=address, media_type=kind, extra=extra)
    name = file.get("display_name")
    return FilePart(url=address, media_type=kind, filename=name, extra=extra)


def read_block(part: _Object, model: str | None) -> ReasoningPart:
    """Read a part that goes back as it is, to this vendor only."""
    signature = part.get("thought_signature")
    return ReasoningPart(
        provider=NAME,
        text=str(part.get("text") or ""),
        signature=signature if isinstance(signature, str) else None,
        model=model,
        data=dict(part),
    )


def read_call(part: _Object, call_id: str, model: str | None) -> ToolCall:
    """Read a call. Where the vendor gave it no id, it goes back without one."""
    call = part["function_call"]
    marks = _marks(part, model=model)
    if not call.get("id"):
        marks["has_no_id"] = True
    arguments = call.get("args") or {}
    return ToolCall(
        id=call.get("id") or call_id,
        name=str(call.get("name") or ""),
        arguments=json.dumps(arguments, ensure_ascii=False),
        extra={NAME: marks} if marks else None,
    )


def read_response_text(response: object) -> tuple[str, bool]:
    """Return a response as text, and whether it says that the tool failed.

    What stands alone under `output` or `error` is taken out of its object.
    """
    if not isinstance(response, Mapping):
        is_text = isinstance(response, str)
        return (str(response) if is_text else _dumps(response)), False
    is_error = set(response) == {"error"}
    if len(response) == 1 and _FEWEST_KEYS.issuperset(response):
        value = next(iter(response.values()))
        if isinstance(value, str):
            return value, is_error
    return ("" if not response else _dumps(response)), is_error


def _dumps(value: object) -> str:
    if isinstance(value, Mapping | Sequence) or value is None:
        return json.dumps(value, ensure_ascii=False, default=str)
    return json.dumps(value, default=str)


def tidy(parts: Sequence[Part | None]) -> Content:
    """Return parts as content; one plain text alone as text."""
    kept = tuple(part for part in parts if part is not None)
    if len(kept) == 1 and isinstance(kept[0], TextPart) and not kept[0].extra:
        return kept[0].text
    return kept


def answer_item(
    parts: Sequence[_Object], *, prefix: str | None, model: str | None = None
) -> ContextItem | None:
    """Read the parts of an answer as one item; None: it says nothing.

    Args:
        parts: In the SDK's spelling.
        prefix: What the ids begin with of calls that have none; None: they stay empty.
        model: The model that answered, where known.
    """
    blocks: list[ReasoningPart] = []
    spoken: list[Part] = []
    calls: list[ToolCall] = []
    order = ""
    for part in parts:
        if is_opaque(part):
            blocks.append(read_block(part, model))
            order += "r"
        elif "function_call" in part:
            call_id = "" if prefix is None else f"{prefix}_{len(calls)}"
            calls.append(read_call(part, call_id, model))
            order += "c"
        elif (shown := read_part(part)) is not None:
            spoken.append(shown)
            order += "p"
    if not order:
        return None
    is_usual = order == "".join(sorted(order, key="rpc".index))
    return ContextItem(
        role="assistant",
        content=tidy(spoken) or "",
        source="assistant",
        tool_calls=tuple(calls),
        reasoning=tuple(blocks),
        metadata=None if is_usual else {"extra": {NAME: {"order": order}}},
    )
