"""Says in one line what a text was."""

from __future__ import annotations

import re
from typing import Final, cast

from context_builder.decide.shorten.cuts import keep_head
from context_builder.decide.shorten.values import parse_json
from context_builder.unicode import repair_text

__all__ = ["gist"]

_LOOK_CHARS: Final = 8_192
_LOOK_LINES: Final = 40
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TELLING: Final = re.compile(r"[^\W_]{2}|[^\W_\x00-\x7f]")
_LINE_NUMBER: Final = re.compile(r"^\s*\d+[\u2192:|\t]\s*(?=\S)")
_JSON_START: Final = re.compile(r"\s*[{\[]")


def gist(text: str, max_chars: int = 120) -> str:
    """Say in one line of at most `max_chars` characters what `text` is.

    JSON is told by its keys or its number of items, all else by its first line that
    says something. Blank text has an empty gist; no other text has.
    """
    line = _json_gist(text) if _JSON_START.match(text) else ""
    line = line or _first_telling_line(text)
    line = repair_text(line)
    if not line and text.strip():
        line = f"{len(text):,} characters"
    short = keep_head(line, max_chars)
    return short or line[: max(max_chars, 0)]


def _json_gist(text: str) -> str:
    value = parse_json(text)
    if isinstance(value, tuple):
        return _one_line(
            f"JSON object: {_keys(value)}" if value else "JSON object, empty"
        )
    if not isinstance(value, list):
        return ""
    if not value:
        return "JSON array, empty"
    items = f"JSON array of {len(value):,} item{'s' if len(value) != 1 else ''}"
    first = value[0]
    return _one_line(f"{items}: {_keys(first)}" if isinstance(first, tuple) else items)


def _keys(pairs: tuple[object, ...]) -> str:
    return ", ".join(cast("tuple[str, object]", pair)[0][:40] for pair in pairs[:40])


def _first_telling_line(text: str) -> str:
    lines = text.lstrip()[:_LOOK_CHARS].split("\n")[:_LOOK_LINES]
    plain = (_LINE_NUMBER.sub("", line) for line in lines)
    shown = [line for line in map(_one_line, plain) if line]
    telling = (line for line in shown if _TELLING.search(line))
    return next(telling, shown[0] if shown else "")


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
