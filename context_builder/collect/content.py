"""Reads what callers hand in as content: text, parts of any usual shape, or data.

It decides what counts as blank and how a tool's result becomes text. It refuses what
it does not know with the name of the field, and never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from context_builder.collect.plain import to_json, wrong
from context_builder.errors import InvalidItemError
from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)
from context_builder.unicode import quoted

__all__ = ["is_blank", "read_content", "read_result", "split_data_url"]

_PART: TypeAdapter[Part] = TypeAdapter(Part)
_PART_TYPES = (TextPart, ImagePart, FilePart, AudioPart)


def is_blank(content: Content) -> bool:
    """Say whether nothing would be left of the content but white space."""
    if isinstance(content, str):
        return not content or content.isspace()
    return not content


def is_blank_part(part: Part) -> bool:
    """Say whether a part has nothing to say: blank text without a vendor's mark."""
    if part.type == "file":
        return part.text is not None and is_blank(part.text)
    return part.type == "text" and not part.extra and is_blank(part.text)


def read_content(value: object, *, field: str = "content") -> Content:
    """Read text, or a list of parts, into the library's own shape.

    Blank text parts are left out, unless they carry a vendor's signature. One plain
    text part alone becomes text.

    Raises:
        InvalidItemError: If it is neither, or a part is of no known type.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (Mapping, _PART_TYPES)):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, bytes | bytearray):
        raise wrong(value, field, "text or a list of parts")
    parts = [
        read_part(part, field=f"{field}[{number}]") for number, part in enumerate(value)
    ]
    return joined([part for part in parts if part is not None])


def joined(parts: Iterable[Part]) -> Content:
    """Return parts as content: without blank ones, and one text alone as text."""
    kept = tuple(part for part in parts if not is_blank_part(part))
    if len(kept) == 1 and kept[0].type == "text" and not kept[0].extra:
        return kept[0].text
    return kept


def read_part(value: object, *, field: str) -> Part | None:
    """Read one part in OpenAI's, Anthropic's or the library's own shape.

    Raises:
        InvalidItemError: If its type is not known, or something is missing from it.
    """
    if isinstance(value, _PART_TYPES):
        return value
    if isinstance(value, str):
        return TextPart(text=value)
    value = as_mapping(value)
    if value is None:
        msg = f"{field} is not a part"
        raise InvalidItemError(msg, field=field, value=value)
    kind = value.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        message = (
            f"{field}.type {quoted(kind)} is not a known kind of part; known are "
            f"{', '.join(sorted(_READERS))}"
        )
        raise InvalidItemError(message, field=f"{field}.type", value=kind)
    try:
        return reader(value)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{field} of type {kind!r} lacks {error}"
        raise InvalidItemError(message, field=field, value=value) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join([field, *(str(step) for step in first["loc"])])
        message = f"{path}: {first['msg']}"
        raise InvalidItemError(message, field=path) from None


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """Return a mapping for a dict or an SDK's model; None for anything else."""
    if type(value) is dict or isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        dumped = _dumped(dump)
        return dumped if isinstance(dumped, Mapping) else None
    return None


def _dumped(dump: Callable[..., object]) -> object:
    """Dump an SDK's model without pydantic's warnings, which show what it holds.

    It warns where a model holds a subclass of what was declared, as parsed answers do.
    """
    try:
        return dump(exclude_none=True, warnings=False)
    except TypeError:  # not pydantic's, and takes no such argument
        return dump(exclude_none=True)


def split_data_url(url: str) -> tuple[str, str] | None:
    """Split `data:image/png;base64,AAAA` into media type and data; None for others."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")].split(";")[0], data


def _read_text(value: Mapping[str, Any]) -> Part:
    return TextPart(text=value["text"], extra=value.get("extra"))


def _read_refusal(value: Mapping[str, Any]) -> Part:
    return TextPart(text=value["refusal"])


def _read_image_url(value: Mapping[str, Any]) -> Part:
    image = value["image_url"]
    if isinstance(image, str):
        image = {"url": image, "detail": value.get("detail")}
    return _image(image["url"], image.get("detail"))


def _image(url: str, detail: Any = None) -> Part:
    split = split_data_url(url)
    if split is None:
        return ImagePart(url=url, detail=detail)
    return ImagePart(data=split[1], media_type=split[0], detail=detail)


def _read_input_image(value: Mapping[str, Any]) -> Part:
    if value.get("file_id"):
        return ImagePart(file_id=value["file_id"], detail=value.get("detail"))
    return _image(value["image_url"], value.get("detail"))


def _read_image(value: Mapping[str, Any]) -> Part:
    source = value.get("source")
    if source is None:
        return _PART.validate_python(dict(value))
    return ImagePart(**_from_source(source))


def _read_document(value: Mapping[str, Any]) -> Part:
    source = value["source"]
    if source["type"] == "text":
        return FilePart(
            text=source["data"], media_type="text/plain", filename=value.get("title")
        )
    return FilePart(**_from_source(source), filename=value.get("title"))


def _from_source(source: Mapping[str, Any]) -> dict[str, Any]:
    match source["type"]:
        case "base64":
            return {"data": source["data"], "media_type": source["media_type"]}
        case "url":
            return {"url": source["url"]}
        case "file":
            return {"file_id": source["file_id"]}
        case other:
            msg = f"a known source type (found {quoted(other)})"
            raise KeyError(msg)


def _read_file(value: Mapping[str, Any]) -> Part:
    file = value.get("file")
    if file is None:
        return _PART.validate_python(dict(value))
    return _file(file)


def _read_input_file(value: Mapping[str, Any]) -> Part:
    return _file(value)


def _file(file: Mapping[str, Any]) -> Part:
    if file.get("file_id"):
        return FilePart(file_id=file["file_id"], filename=file.get("filename"))
    if file.get("file_url"):
        return FilePart(url=file["file_url"], filename=file.get("filename"))
    split = split_data_url(file["file_data"])
    media_type, data = split if split else (None, file["file_data"])
    return FilePart(data=data, media_type=media_type, filename=file.get("filename"))


def _read_audio(value: Mapping[str, Any]) -> Part:
    audio = value.get("input_audio")
    if audio is None:
        return _PART.validate_python(dict(value))
    return AudioPart(data=audio["data"], media_type=f"audio/{audio['format']}")


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "text": _read_text,
    "input_text": _read_text,
    "output_text": _read_text,
    "refusal": _read_refusal,
    "image_url": _read_image_url,
    "input_image": _read_input_image,
    "image": _read_image,
    "document": _read_document,
    "file": _read_file,
    "input_file": _read_input_file,
    "input_audio": _read_audio,
    "audio": _read_audio,
}


def read_result(value: object, *, field: str = "result") -> Content:
    """Turn what a tool returned into content: text as it is, parts, or data as JSON.

    Raises:
        InvalidItemError: If it cannot be written as JSON.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if (parts := _as_parts(value, field)) is not None:
        return parts
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    try:
        data = to_jsonable_python(
            value, serialize_unknown=False, inf_nan_mode="strings"
        )
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        message = (
            f"{field} of type {type(value).__name__} cannot be written as JSON; pass "
            "text, parts, or plain data"
        )
        raise InvalidItemError(message, field=field, value=value) from error
    return data if isinstance(data, str) else to_json(data, field)


def _as_parts(value: object, field: str) -> Content | None:
    """Read parts; None for data, also where it only looks like parts."""
    if not _looks_like_parts(value):
        return None
    try:
        return read_content(value, field=field)
    except InvalidItemError:
        return None


def _looks_like_parts(value: object) -> bool:
    """Say whether a tool returned parts, not data that happens to be a list."""
    if isinstance(value, _PART_TYPES):
        return True
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(
        isinstance(part, _PART_TYPES)
        or (isinstance(part, Mapping) and _is_part_shaped(part))
        for part in value
    )


def _is_part_shaped(part: Mapping[Any, Any]) -> bool:
    kind = part.get("type")
    if kind == "text":
        return set(part) <= {"type", "text", "cache_control", "extra", "annotations"}
    return kind in _READERS and any(
        key in part
        for key in (
            "image_url",
            "source",
            "file",
            "input_audio",
            "data",
            "url",
            "file_id",
        )
    )
