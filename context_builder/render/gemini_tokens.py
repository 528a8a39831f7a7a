"""What Gemini bills for a request: texts by estimate, media by the vendor's figures.

There is next to nothing around a text; calls, results and tools cost a few tokens each,
and with the oldest models no more than the words in them. A signature stands for the
thoughts behind it, which the newer models read again until the turn is over: its length
tells how many there are.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.tokens.images import gemini_image_tokens, image_size

if TYPE_CHECKING:
    from context_builder.render.adapter import Count
    from context_builder.tokens.images import Detail

__all__ = ["body_tokens", "fixed_tokens", "parts_tokens"]

_Object = Mapping[str, Any]

_CONTENT = 1
"""Around the parts of a content and the system prompt; with older models nothing is."""
_CALL = 5
"""Around a call, besides its name and arguments."""
_RESULT = 5
"""Around a result, besides its name and the object."""
_TOOL = 12
_PROPERTY = 8
"""Around a tool, and around each of its arguments."""
_OTHER_PART = 8
"""Around code and other parts that only the vendor writes."""
_SIGNATURE_SHARE = 0.21
_OLDER_SIGNATURE_SHARE = 0.05
"""Tokens for each character of a signature in base64, ..."""
_SIGNATURE_WRAPPING_CHARS = 160
"""... less what the newer models wrap it in."""
_PAGE_TOKENS = 560
_PAGE_TOKENS_AT: Mapping[str, int] = {"LOW": 280, "HIGH": 1_120, "ULTRA_HIGH": 1_120}
_PICTURE_AT: Mapping[str, Detail] = {"LOW": "low", "ULTRA_HIGH": "original"}
"""At which resolutions a page or a picture has another price than unasked, or could
have a higher one."""
_OLDER_PAGE_TOKENS = 258
_BYTES_PER_PAGE = 50_000
_UNKNOWN_PAGES = 10
"""How long a document is thought to be that has to be fetched."""
_BYTES_PER_TOKEN: Mapping[str, int] = {"audio/wav": 500, "audio/": 250, "video/": 400}
"""Sound and film by their size: 32 tokens a second, and 300."""
_FILM_TOKENS_PER_SECOND = 102
_OLDER_FILM_TOKENS_PER_SECOND = 295
"""A frame and the sound of a second, where a film says how long it is."""
_FILM_HEADER_CHARS = 65_536
"""How much of a film in base64 is read, at its beginning and at its end."""
_UNKNOWN_FILM_TOKENS = 18_000
"""A minute of film: what one is thought to cost that has to be fetched."""


def body_tokens(request: _Object, count: Count) -> int:
    """Count a finished request from nothing but its body."""
    model = request.get("model")
    config = request.get("config") or {}
    contents = request.get("contents") or ()
    turn = _current_turn(contents)
    return (
        sum(
            parts_tokens(
                content.get("parts") or (), count, model, is_over=number < turn
            )
            for number, content in enumerate(contents)
        )
        + _system_tokens(config, count, model)
        + _tools_tokens(config, count, model)
    )


def _current_turn(contents: Sequence[_Object]) -> int:
    """Return where the current turn begins: with the last words of the user's own."""
    for number in range(len(contents) - 1, -1, -1):
        content = contents[number]
        if content.get("role") == "user" and not all(
            "function_response" in part for part in content.get("parts") or ()
        ):
            return number
    return 0


def fixed_tokens(
    request: _Object, system_parts: Sequence[_Object], first: str, count: Count
) -> Mapping[str, int]:
    """Count what a request without a conversation costs, by what it is for.

    Args:
        request: The arguments of the call, without contents.
        system_parts: The system prompt where it stands among the contents.
        first: What is put before a conversation that the model begins.
        count: Counts a text.
    """
    config = request.get("config") or {}
    model = request.get("model")
    folded = parts_tokens(system_parts, count, model) if system_parts else 0
    return {
        "system": _system_tokens(config, count, model) + folded,
        "tools": _tools_tokens(config, count, model),
        "overhead": count(first) + _CONTENT,
    }


def parts_tokens(
    parts: Sequence[_Object],
    count: Count,
    model: str | None,
    *,
    is_over: bool = False,
) -> int:
    """Count one content, or that part of it that an item contributes.

    Args:
        parts: In the SDK's spelling.
        count: Counts a text.
        model: The model; left out: of the newest generation.
        is_over: Whether its turn is known to be over; its signatures are free then.
    """
    around = 0 if _is_older(model) else _CONTENT
    said = sum(_part_tokens(part, count, model) for part in parts)
    if is_over:
        return around + said
    return around + said + sum(_signature_tokens(part, model) for part in parts)


def _signature_tokens(part: _Object, model: str | None) -> int:
    chars = len(str(part.get("thought_signature") or ""))
    if _is_older(model):
        return math.ceil(chars * _OLDER_SIGNATURE_SHARE)
    return math.ceil(max(0, chars - _SIGNATURE_WRAPPING_CHARS) * _SIGNATURE_SHARE)


def _is_older(model: object) -> bool:
    """Say whether a model is of a generation before the third."""
    found = re.search(r"gemini-[12](\D|$)|gemma", str(model or "").lower())
    return found is not None


def _says_words_only(model: object) -> bool:
    """Say whether a model is shown the words of calls and tools, and no JSON."""
    found = re.search(r"gemini-(1(\D|$)|2[.-]0)", str(model or "").lower())
    return found is not None


def _said(value: object, model: object) -> str:
    return _words(value) if _says_words_only(model) else _dumps(value)


def _words(value: object) -> str:
    """Return the keys and values of an object, in order."""
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_words(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_words, value))
    return "" if value is None else str(value)


def _system_tokens(config: _Object, count: Count, model: str | None) -> int:
    system = config.get("system_instruction")
    around = 0 if _is_older(model) else _CONTENT
    return count(str(system)) + around if system else 0


def _tools_tokens(config: _Object, count: Count, model: str | None) -> int:
    return sum(
        _tool_tokens(tool, count, model)
        for given in config.get("tools") or ()
        for tool in given.get("function_declarations") or ()
    )


def _tool_tokens(tool: _Object, count: Count, model: str | None) -> int:
    """Estimate a tool, half way between the words of its schema and its JSON.

    How the vendor shows a schema is not known. Flat ones cost little more than their
    words, nested ones nearly their JSON.
    """
    schema = tool.get("parameters_json_schema") or tool.get("parameters")
    named = count(str(tool.get("name") or "")) + count(
        str(tool.get("description") or "")
    )
    if _says_words_only(model):
        return named + _words_tokens(schema, count, around=0)
    if not schema:
        return _TOOL + named
    return _TOOL + named + (count(_dumps(schema)) + _words_tokens(schema, count)) // 2


def _words_tokens(schema: object, count: Count, *, around: int = _PROPERTY) -> int:
    """Count the names and descriptions in a schema, some tokens around each."""
    if isinstance(schema, list):
        return sum(_words_tokens(each, count, around=around) for each in schema)
    if not isinstance(schema, Mapping):
        return 0
    properties = schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    words = [*named, *map(str, schema.get("enum") or ())]
    inner = [value for key, value in schema.items() if key != "properties"]
    said = schema.get("description")
    return (
        around * len(named)
        + sum(map(count, words))
        + (count(said) if isinstance(said, str) else 0)
        + sum(
            _words_tokens(each, count, around=around)
            for each in (*inner, *named.values())
        )
    )


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _part_tokens(part: _Object, count: Count, model: str | None) -> int:
    if "text" in part:
        return count(str(part["text"]))
    if "function_call" in part:
        call = part["function_call"]
        around = 0 if _says_words_only(model) else _CALL
        return around + count(call["name"]) + count(_said(call.get("args"), model))
    if "function_response" in part:
        return _result_tokens(part["function_response"], count, model)
    if "inline_data" in part or "file_data" in part:
        return _media_tokens(part, model)
    said = {key: value for key, value in part.items() if not key.startswith("thought")}
    return _OTHER_PART + count(_dumps(said)) if said else 0


def _result_tokens(result: _Object, count: Count, model: str | None) -> int:
    media = sum(_media_tokens(part, model) for part in result.get("parts") or ())
    said = count(str(result["name"])) + count(_said(result["response"], model))
    around = 0 if _says_words_only(model) else _RESULT
    return around + said + media


def _media_tokens(part: _Object, model: str | None) -> int:
    blob, file = part.get("inline_data"), part.get("file_data") or {}
    data = str(blob["data"]) if blob else None
    kind = str((blob or file).get("mime_type") or "")
    if kind.startswith("image/"):
        size = image_size(data) if data else None
        detail = _PICTURE_AT.get(_resolution(part))
        return gemini_image_tokens(size, model=model, detail=detail)
    for begin, bytes_per_token in _BYTES_PER_TOKEN.items():
        if kind.startswith(begin):
            return _timed_tokens(kind, data, bytes_per_token, model)
    if kind.startswith("text/") and data is not None:
        return math.ceil(len(data) / 4)
    pages = _UNKNOWN_PAGES
    if data is not None:
        pages = max(1, math.ceil(len(data) * 3 / 4 / _BYTES_PER_PAGE))
    return pages * _page_price(part, model)


def _timed_tokens(
    kind: str, data: str | None, bytes_per_token: int, model: str | None
) -> int:
    """Count sound or film."""
    if data is None:
        return _UNKNOWN_FILM_TOKENS
    seconds = _film_seconds(data) if kind.startswith("video/") else None
    if seconds is not None:
        return math.ceil(seconds * _film_price(model))
    return math.ceil(len(data) * 3 / 4 / bytes_per_token)


def _page_price(part: _Object, model: str | None) -> int:
    if _is_older(model):
        return _OLDER_PAGE_TOKENS
    return _PAGE_TOKENS_AT.get(_resolution(part), _PAGE_TOKENS)


def _resolution(part: _Object) -> str:
    """Return how closely the model is told to look at one part; empty: as ever."""
    said = part.get("media_resolution")
    level = said.get("level") if isinstance(said, Mapping) else said
    return str(level or "").rpartition("MEDIA_RESOLUTION_")[2]


def _film_price(model: str | None) -> int:
    older = _is_older(model)
    return _OLDER_FILM_TOKENS_PER_SECOND if older else _FILM_TOKENS_PER_SECOND


def _film_seconds(data: str) -> float | None:
    """Return how long an MP4 says that it is, from its header alone; None: unknown."""
    last = max(0, len(data) - _FILM_HEADER_CHARS) // 4 * 4
    for piece in (data[:_FILM_HEADER_CHARS], data[last:]):
        try:
            # The vendor writes base64 as addresses have it, others do not.
            whole = piece + "=" * (-len(piece) % 4)
            raw = base64.b64decode(whole.replace("-", "+").replace("_", "/"))
        except (binascii.Error, ValueError):
            continue
        header = raw[raw.find(b"mvhd") + 4 :] if b"mvhd" in raw else b""
        # Version 1 has times of eight bytes, the others of four.
        layout, skipped = (">IQ", 20) if header[:1] == b"\x01" else (">II", 12)
        if len(header) < skipped + struct.calcsize(layout):
            continue
        per_second, units = struct.unpack_from(layout, header, skipped)
        if per_second:
            return float(units / per_second)
    return None
