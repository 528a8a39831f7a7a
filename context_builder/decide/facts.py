"""Picks out of a text what later calls are likely to need: names, ids, dates, amounts.

A generic extractor without lists of domain words. What it keeps is what cannot be
reworded: a path, an identifier, a number, a short value of a JSON field, a quoted name,
a line that reports an error. Pure text work; it knows no tokens.
"""

from __future__ import annotations

import functools
import json
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["WEIGHTS", "facts"]

_LONGEST_CHARS = 160
_SHORTEST_CHARS = 3
_VALUE_CHARS = 60
_LEAST_NUMBER = 100
_MOST_FACTS = 400
_SCAN_CHARS = 60_000
"""Only so much of a text is looked at, from its head and from its tail."""

# What a strange text repeats is tried at every character: a run that may fail at its
# end is bounded, or the time would grow with the square of the text.
_URL = r"(?P<url>\bhttps?://[^\s\"'<>\\)]+)"
_MAIL = r"(?P<mail>\b[\w.+-]{1,64}+@[\w-]+\.[\w.-]+\b)"
_PATH = (
    r"(?P<path>(?:~|\.{1,2})?/?(?:[\w.@+-]{1,255}+/)+[\w.@+-]+|/[\w.@+-]{2,}"
    r"|\b[\w-]{1,128}+\.(?=\w*[a-z])\w{1,5}\b)"
)
_DATE = (
    r"(?P<date>\b\d{4}-\d{2}-\d{2}(?:[T\ ]\d{2}:\d{2}(?::\d{2})?)?"
    r"|\b\d{1,2}:\d{2}\b|\d{4}年\d{1,2}月(?:\d{1,2}日)?)"
)
_IDENT_WITH_DIGIT = r"\b(?=\w*\d)(?=\w*[^\W\d_])[\w-]{4,}\b"
_IDENT_WITH_JOINT = r"\b\w[^\W_]*+_\w++\b|\b\w++(?:-\w++){0,16}+\#\w+\b"
_NUMBER = (
    r"(?P<number>[$€£¥]?\b\d+(?:[.,]\d+)+%?|[$€£¥]\d+|\b\d{3,}\b"
    r"|\b\d+(?:元|分|%|公里|人))"
)
_NAME = (
    r"(?P<name>\b[A-Z]{2,}\b|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b"
    r"|\b[a-z]+(?:[A-Z][a-z]+)+\b)"
)
_VALUE = r'(?P<value>"[^"\\\n{}\[\]]{2,40}"(?!\s*:))'
_QUOTED = (
    r"(?:[“《「『](?P<said>[^”》」』\n]{2,40})[”》」』]"
    r"|`(?P<code>[^`\n]{2,80})`)(?P<quoted>)"
)

_SIGNS = (
    re.compile(r"[/@]|\.\w"),
    re.compile(r"\d"),
    re.compile(r"[_#]"),
    re.compile(r"[A-Z]"),
    re.compile(r"[\"`“《「『]"),
)
"""What a text must hold for any fact of a kind to be in it; see `_pattern`."""


@functools.cache
def _pattern(signs: tuple[bool, ...]) -> re.Pattern[str] | None:
    """Return the pattern of the facts that a text with these signs can hold.

    It finds what the pattern of all kinds would find. Most texts hold few signs, and
    each kind that is left out is one less to be tried at every character.
    """
    has_punctuation, has_digit, has_joint, has_capital, has_quote = signs
    kinds = []
    if has_punctuation:
        kinds += [_URL, _MAIL, _PATH]
    if has_digit:
        kinds.append(_DATE)
    kinds += _idents(has_digit=has_digit, has_joint=has_joint)
    if has_digit:
        kinds.append(_NUMBER)
    if has_capital:
        kinds.append(_NAME)
    if has_quote:
        kinds += [_VALUE, _QUOTED]
    return re.compile("|".join(kinds)) if kinds else None


def _idents(*, has_digit: bool, has_joint: bool) -> list[str]:
    idents = [_IDENT_WITH_DIGIT] if has_digit else []
    idents += [_IDENT_WITH_JOINT] if has_joint else []
    return [f"(?P<ident>{'|'.join(idents)})"] if idents else []


def _pattern_for(text: str) -> re.Pattern[str] | None:
    """Return what finds the facts in a text; None: there can be none."""
    return _pattern(tuple(sign.search(text) is not None for sign in _SIGNS))


WEIGHTS: Mapping[str, float] = {
    "url": 3.0,
    "mail": 3.0,
    "path": 3.0,
    "ident": 3.0,
    "date": 2.5,
    "value": 1.5,
    "quoted": 2.0,
    "name": 1.5,
    "number": 1.0,
}
"""How likely a kind of fact is to be needed again, one against the other."""


def facts(text: str) -> list[tuple[str, float]]:
    """Return what a text holds that cannot be reworded, each once, in order.

    Beside each fact stands its weight by kind, see `WEIGHTS`.
    """
    data = _parsed(text)
    if data is None and len(text) > 2 * _SCAN_CHARS:
        text = f"{text[:_SCAN_CHARS]}\n{text[-_SCAN_CHARS:]}"
    found: dict[str, float] = {}
    for fact, weight in _found(text) if data is None else _leaves(data):
        found.setdefault(fact, weight)
        if len(found) >= _MOST_FACTS:
            break
    return list(found.items())


def _parsed(text: str) -> object | None:
    """Return JSON data; None for what is none, or too large to look at whole."""
    if text[:1] not in "[{" or len(text) > 4 * _SCAN_CHARS:
        return None
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data


def _leaves(data: object) -> Iterator[tuple[str, float]]:
    """Yield the short values of data, depth first, and the keys that look like ids."""
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack += reversed(list(value.values()))
            for key in value:
                if any(map(str.isdigit, key)) and _is_short_line(key):
                    yield key, WEIGHTS["ident"]
        elif isinstance(value, list):
            stack += reversed(value)
        elif isinstance(value, str):
            yield from _short_or_found(value)
        elif _is_telling_number(value):
            yield str(value), WEIGHTS["number"]


def _is_telling_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False  # Python reads them, and JSON does not have them
    return abs(value) >= _LEAST_NUMBER or value != int(value)


def _short_or_found(value: str) -> Iterator[tuple[str, float]]:
    value = value.strip()
    if not _is_short_line(value):
        yield from _found(value)
    elif value:
        pattern = _pattern_for(value)
        match = pattern.fullmatch(value) if pattern else None
        kind = (match.lastgroup if match else None) or "value"
        yield value, WEIGHTS.get(kind, WEIGHTS["value"])


def _is_short_line(value: str) -> bool:
    """Say whether a value can stand in a list as it is, and open no line of its own."""
    return len(value) <= _VALUE_CHARS and len(value.splitlines()) <= 1


def _found(text: str) -> Iterator[tuple[str, float]]:
    pattern = _pattern_for(text)
    for match in pattern.finditer(text) if pattern else ():
        inner = match["said"] or match["code"] if match.lastgroup == "quoted" else None
        fact = (inner or match[0]).strip(' .,;:"')
        if _SHORTEST_CHARS <= len(fact) <= _LONGEST_CHARS or (
            len(fact) > 1 and not fact.isascii()
        ):
            yield fact, WEIGHTS.get(match.lastgroup or "", 1.0)
