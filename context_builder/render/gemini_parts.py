"""Says content in the parts of Gemini's generateContent, keys as the SDK has them."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from context_builder.render.described import described_part
from context_builder.render.frames import frame

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.messages import Content, FilePart, ImagePart, Part

__all__ = [
    "NAME",
    "is_own_part",
    "marks_of",
    "said_arguments",
    "said_content",
    "said_response",
    "signature_of",
]

NAME = "gemini"
_NO_OUTPUT = "(no output)"
_PICTURES = frozenset(
    {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
)
_DOCUMENTS = ("application/pdf", "text/", "audio/", "video/")
_ADDRESSES = ("http://", "https://", "gs://")
_PLAIN_KEYS = frozenset({"output", "error"})
"""Under which a result stands that is not an object by itself."""

_Said = dict[str, Any]


def marks_of(extra: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what this vendor put on a part, a call or an answer."""
    marks = (extra or {}).get(NAME)
    return marks if isinstance(marks, Mapping) else {}


def signature_of(marks: Mapping[str, Any]) -> str | None:
    """Return the signature on a part, in base64."""
    found = marks.get("thought_signature") or marks.get("thoughtSignature")
    return found if isinstance(found, str) else None


def is_own_part(part: Mapping[str, Any]) -> bool:
    """Say whether a part of the vendor's own is one that the API takes back.

    It holds one thing, or nothing but its signature.
    """
    held = [part[key] for key in _OWN if part.get(key) is not None]
    if not held:
        return bool(part.get("thought_signature"))
    said = held[0]
    if "text" in part:
        says = isinstance(said, str) and bool(said.strip())
        return len(held) == 1 and (says or bool(part.get("thought_signature")))
    return len(held) == 1 and isinstance(said, Mapping)


_OWN = (
    "text",
    "inline_data",
    "file_data",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)
"""What such a part may hold: a thought, code, a call of the vendor's own tools."""


def said_content(content: Content) -> tuple[list[_Said], list[str]]:
    """Say content as parts, and what had to be put into words instead."""
    if isinstance(content, str):
        return ([{"text": content}] if content.strip() else []), []
    parts: list[_Said] = []
    marks: list[str] = []
    for part in content:
        said = _said_part(part)
        if said is None:
            said = {"text": described_part(part)}
            marks.append(f"{described_part(part)}: Gemini does not take it")
        said |= _said_marks(part)
        if "text" not in said and (name := getattr(part, "filename", None)):
            # Not every host takes a name on the file itself.
            parts.append({"text": f"[{name}]"})
        if said.get("text", "-").strip() or "thought_signature" in said:
            parts.append(said)
    return parts, marks


def _said_marks(part: Part) -> _Said:
    marks = marks_of(part.extra)
    said = {key: marks[key] for key in _PART_MARKS if key in marks}
    signature = signature_of(marks)
    return said | ({"thought_signature": signature} if signature else {})


_PART_MARKS = ("media_resolution", "video_metadata")


def _said_part(part: Part) -> _Said | None:
    match part.type:
        case "text":
            return {"text": part.text}
        case "image":
            return _said_media(part, part.media_type or "image/png", _is_picture)
        case "audio":
            blob = {"mime_type": part.media_type, "data": part.data}
            return {"inline_data": blob} if part.data else None
        case "file":
            if part.text is not None:
                named = {"name": part.filename} if part.filename else {}
                return {
                    "text": frame("file", part.text, **named) if named else part.text
                }
            return _said_media(part, part.media_type or "application/pdf", _is_document)


def _is_picture(kind: str) -> bool:
    return kind in _PICTURES


def _is_document(kind: str) -> bool:
    return kind.startswith(_DOCUMENTS) or kind in _PICTURES


def _said_media(
    part: ImagePart | FilePart, kind: str, takes: Callable[[str], bool]
) -> _Said | None:
    if part.data is not None:
        blob = {"mime_type": kind, "data": part.data}
        return {"inline_data": blob} if part.data and takes(kind) else None
    address = part.url or part.file_id or ""
    if not address.startswith(_ADDRESSES):
        return None
    known = part.media_type or mimetypes.guess_type(address.partition("?")[0])[0]
    file = {"file_uri": address} | ({"mime_type": known} if known else {})
    return {"file_data": file}


# --- calls and results ----------------------------------------------------------------


def said_arguments(arguments: str, *, is_free_text: bool = False) -> _Said:
    """Return a call's arguments as the object that they have to be."""
    if is_free_text:
        return {"input": arguments}
    parsed = _parsed(arguments or "{}")
    return {"_raw": arguments} if parsed is None else parsed


def said_response(item: ContextItem, *, has_media: bool) -> _Said:
    """Return a result as an object: its own, or one around its text.

    Text that is the JSON of an object goes as that object, but only where reading it
    back gives the very same text.
    """
    text = item.text
    if not text:
        if item.is_error:
            return {"error": _NO_OUTPUT}
        return {} if has_media else {"output": _NO_OUTPUT}
    own = _own_object(text)
    if item.is_error:
        return own if own is not None and set(own) == {"error"} else {"error": text}
    return {"output": text} if own is None or set(own) == {"error"} else own


def _own_object(text: str) -> _Said | None:
    if not text.startswith("{"):
        return None
    parsed = _parsed(text)
    if not parsed or json.dumps(parsed, ensure_ascii=False) != text:
        return None
    # An object like the ones we put around texts would be taken for one of them.
    looks_wrapped = len(parsed) == 1 and _PLAIN_KEYS.issuperset(parsed)
    is_plain = looks_wrapped and isinstance(next(iter(parsed.values())), str)
    return None if is_plain else parsed


def _parsed(text: str) -> _Said | None:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> object:
    raise ValueError(constant)
