"""Says content in the parts of Chat Completions; what it has no part for, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.render.described import described_part, has_no_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.messages import AudioPart, Content, FilePart, ImagePart, Part

__all__ = ["obstacle", "say_content", "say_part"]

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SOUNDS: Mapping[str, str] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
}
"""What the API calls the two kinds of sound that it takes."""
_OWN_FILE = "file-"
"""How this vendor's ids of uploaded files begin."""


def say_content(content: Content) -> str | list[dict[str, Any]]:
    """Say content: text as text, parts as parts."""
    return content if isinstance(content, str) else [say_part(part) for part in content]


def say_part(part: Part) -> dict[str, Any]:
    """Say one part in the form that Chat Completions takes, or describe it."""
    if obstacle(part) is not None:
        return {"type": "text", "text": described_part(part)}
    match part.type:
        case "text":
            return {"type": "text", "text": part.text}
        case "image":
            return _say_picture(part)
        case "audio":
            sound = {"data": part.data, "format": _SOUNDS[_bare_type(part.media_type)]}
            return {"type": "input_audio", "input_audio": sound}
        case "file":
            return _say_file(part)


def obstacle(part: Part) -> str | None:
    """Say why Chat Completions takes no such part; None: it does."""
    if has_no_data(part):
        return "there is nothing in it: described"
    match part.type:
        case "image":
            return _picture_obstacle(part)
        case "file":
            return _file_obstacle(part)
        case "audio":
            return _sound_obstacle(part)
        case _:
            return None


def _picture_obstacle(part: ImagePart) -> str | None:
    if part.file_id is not None:
        return "Chat Completions takes no picture by file id: described"
    if part.url is not None and not part.url.startswith(("http://", "https://")):
        return "Chat Completions takes no picture from there: described"
    if part.data is not None and (part.media_type or "image/png") not in _PICTURES:
        return "Chat Completions takes no picture of that kind: described"
    return None


def _file_obstacle(part: FilePart) -> str | None:
    if part.text is not None:
        return None
    if part.url is not None:
        return "Chat Completions takes no file by address: described"
    if part.file_id is not None and not part.file_id.startswith(_OWN_FILE):
        return "Chat Completions takes no file of another vendor: described"
    if (part.media_type or "").startswith(("audio/", "video/", "image/")):
        return "Chat Completions takes documents as files only: described"
    return None


def _sound_obstacle(part: AudioPart) -> str | None:
    if _bare_type(part.media_type) not in _SOUNDS:
        return "Chat Completions takes no sound but WAV and MP3: described"
    return None


def _bare_type(media_type: str) -> str:
    """Return a media type without its parameters."""
    return media_type.partition(";")[0].strip().lower()


def _say_picture(part: ImagePart) -> dict[str, Any]:
    url = part.url or f"data:{part.media_type or 'image/png'};base64,{part.data}"
    detail = {"detail": part.detail} if part.detail else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _say_file(part: FilePart) -> dict[str, Any]:
    if part.text is not None:
        return {"type": "text", "text": part.text}
    named = {"filename": part.filename} if part.filename else {}
    if part.file_id is not None:
        return {"type": "file", "file": {"file_id": part.file_id, **named}}
    data = f"data:{part.media_type or 'application/pdf'};base64,{part.data}"
    return {"type": "file", "file": {"file_data": data, **named}}
