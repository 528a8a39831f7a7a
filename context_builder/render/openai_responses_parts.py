"""Says content in the parts of OpenAI Responses; what it has no part for, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)
from context_builder.render.described import described_part
from context_builder.render.frames import frame

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["said_parts", "said_result"]

_NO_OUTPUT = "(no output)"
_ERROR = "Error: "
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_OWN_FILE = "file-"
"""How this vendor's ids of uploaded files begin."""

_Parts = list[dict[str, Any]]


def said_parts(
    content: Content, *, is_text_only: bool = False
) -> tuple[str | _Parts, list[str]]:
    """Say content as text or parts, and what had to be put into words instead."""
    if isinstance(content, str):
        return content, []
    parts: _Parts = []
    marks: list[str] = []
    for part in content:
        said = None
        if part.type == "text" or not is_text_only:
            said = _said_part(part)
        if said is None:
            said = _text(described_part(part))
            marks.append(f"{described_part(part)}: there is no place for it")
        if said["type"] != "input_text" or said["text"].strip():
            parts.append(said)
    return parts, marks


def said_result(item: ContextItem) -> tuple[str | _Parts, list[str]]:
    """Say a tool's result. There is no flag for an error: the text says so."""
    content, marks = said_parts(item.content)
    warning = _ERROR if _is_silent_error(item) else ""
    if isinstance(content, str):
        return f"{warning}{content}" or _NO_OUTPUT, marks
    if warning:
        content = [_text(f"{warning}{item.tool_name or 'the tool'} failed"), *content]
    return content or _NO_OUTPUT, marks


def _is_silent_error(item: ContextItem) -> bool:
    said = item.text[:200].lower()
    return item.is_error and item.source != "repair" and "error" not in said


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _said_part(part: Part) -> dict[str, Any] | None:
    match part:
        case TextPart():
            return _text(part.text)
        case ImagePart():
            return _said_image(part)
        case FilePart():
            return _said_file(part)
        case AudioPart():
            return None


def _said_image(part: ImagePart) -> dict[str, Any] | None:
    detail = {"detail": part.detail or "auto"}
    if part.file_id is not None:
        if not part.file_id.startswith(_OWN_FILE):
            return None
        return {"type": "input_image", "file_id": part.file_id, **detail}
    url = part.url
    if url is None:
        kind = part.media_type or "image/png"
        if kind not in _PICTURES or not part.data:
            return None
        url = f"data:{kind};base64,{part.data}"
    elif not url.startswith(("http://", "https://")):
        return None
    return {"type": "input_image", "image_url": url, **detail}


def _said_file(part: FilePart) -> dict[str, Any] | None:
    if part.text is not None:
        named = {"name": part.filename} if part.filename else {}
        return _text(frame("file", part.text, **named) if named else part.text)
    if part.file_id is not None:
        is_own = part.file_id.startswith(_OWN_FILE)
        return {"type": "input_file", "file_id": part.file_id} if is_own else None
    if part.url is not None:
        is_web = part.url.startswith(("http://", "https://"))
        return {"type": "input_file", "file_url": part.url} if is_web else None
    return _said_document(part)


def _said_document(part: FilePart) -> dict[str, Any] | None:
    kind = part.media_type or "application/pdf"
    if kind.startswith(("audio/", "video/", "image/")) or not part.data:
        return None
    return {
        "type": "input_file",
        "file_data": f"data:{kind};base64,{part.data}",
        # A name is demanded beside data; where nobody gave one, its kind says enough.
        "filename": part.filename or f"file.{kind.rpartition('/')[2]}",
    }
