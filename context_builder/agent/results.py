"""What a tool returned, as content: text, parts, or data as JSON."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from context_builder.collect import read_content, read_result
from context_builder.errors import InvalidItemError
from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["content_of", "text_of"]

_PARTS = (TextPart, ImagePart, FilePart, AudioPart)
_IMAGES: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_PDF = b"%PDF-"


def content_of(value: object) -> Content:
    """Return a tool's value as content.

    Text stays as it is; bytes become a picture, a document or the text that they are;
    pictures of libraries that draw are taken as PNG; everything else is JSON.

    Raises:
        InvalidItemError: If it is none of these.
    """
    if isinstance(value, (list, tuple)) and any(map(_is_shown, value)):
        return read_content([_as_part(member) for member in value], field="result")
    if _is_shown(value):
        part = _as_part(value)
        return part.text if isinstance(part, TextPart) and not part.extra else (part,)
    return read_result(value)


def text_of(content: Content) -> str:
    """Return content as text for people; what is no text is named in brackets."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part.text if isinstance(part, TextPart) else f"[{part.type}]"
        for part in content
    )


def _is_shown(value: object) -> bool:
    """Say whether it is a part, or bytes, or draws itself."""
    return isinstance(value, (*_PARTS, bytes, bytearray)) or _draws(value) is not None


def _draws(value: object) -> Any:
    """Return what makes a PNG of an object, as notebooks ask for it."""
    draw = getattr(value, "_repr_png_", None)
    return draw if callable(draw) and not isinstance(value, type) else None


def _as_part(value: object) -> Part:
    if isinstance(value, _PARTS):
        return value
    draw = _draws(value)
    if draw is not None:
        value = draw()
    if isinstance(value, bytes | bytearray):
        return _of_bytes(bytes(value))
    content = read_result(value)
    return TextPart(text=content if isinstance(content, str) else text_of(content))


def _of_bytes(data: bytes) -> Part:
    media_type = _media_type(data)
    if media_type is not None:
        encoded = base64.b64encode(data).decode("ascii")
        if media_type == "application/pdf":
            return FilePart(data=encoded, media_type=media_type, filename="result.pdf")
        return ImagePart(data=encoded, media_type=media_type)
    try:
        return TextPart(text=data.decode("utf-8"))
    except UnicodeDecodeError:
        message = (
            f"result of {len(data):,} bytes is neither text nor a PNG, JPEG, GIF, WebP "
            "or PDF"
        )
        raise InvalidItemError(message, field="result") from None


def _media_type(data: bytes) -> str | None:
    if data.startswith(_PDF):
        return "application/pdf"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for head, kind in _IMAGES.items() if data.startswith(head)), None)
