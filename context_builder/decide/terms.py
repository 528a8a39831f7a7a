"""Cuts text into the terms that the archive is indexed by.

Words in lower case for scripts with spaces; single characters and pairs of them for
Chinese, Japanese and Korean. Dates become one term however they are written.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["date_stamp", "term_counts", "terms"]

_CJK = "぀-ヿ㐀-䶿一-鿿가-힯"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_FIRST_CJK = re.compile(rf"[{_CJK}]")
_MONTHS = {
    name[:3]: number
    for number, name in enumerate(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        start=1,
    )
}
_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\b(?:\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}})(?!\d)"
    rf"|(\d{{1,2}})\s*月\s*(\d{{1,2}})\s*[日号號]"
    rf"|\b{_NAME}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*:)"
    rf"|\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}\b",
    re.IGNORECASE,
)
_NEAR_MONTH = re.compile(rf"{_NAME}\s+\d|\d(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}")
"""Most names of months are beginnings of words, such as market, and no day is near."""
_STAMP = re.compile(r"\W{0,3}\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_SEPARATED = re.compile(r"\d[-/.]\d")
_ENDINGS = ("ies", "ing", "ed", "es", "s")
_LAST_OF_ENDINGS = frozenset(ending[-1] for ending in _ENDINGS)
_LEAST_STEM = 3
_AS_WORDS = {
    code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)
}
"""Leaves of an ASCII text its words, in lower case, and blanks."""


def terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, as often as they occur."""
    for word in _WORD.findall(text):
        if _FIRST_CJK.match(word):
            yield from word
            yield from map(operator.add, word, word[1:])
        else:
            yield _stem(word.lower())
    yield from _dates(text)


def term_counts(text: str) -> Counter[str]:
    """Return how often each term stands in a text. Each word is looked at once."""
    counts = _plain_counts(text) if text.isascii() else _mixed_counts(text)
    for date in _dates(text):
        counts[date] += 1
    return counts


def _plain_counts(text: str) -> Counter[str]:
    """Return the terms of an ASCII text: several times as fast as by the pattern."""
    counts = Counter(text.translate(_AS_WORDS).split())
    ending = [word for word in counts if word[-1] in _LAST_OF_ENDINGS]
    for word, times in [(word, counts.pop(word)) for word in ending]:
        stem = _stem(word)
        counts[stem] = counts.get(stem, 0) + times
    return counts


def _mixed_counts(text: str) -> Counter[str]:
    found: list[str] = []
    for word, times in Counter(_WORD.findall(text)).items():
        if not word.isascii() and _FIRST_CJK.match(word):
            for _ in range(times):
                found += word
                found += map(operator.add, word, word[1:])
        elif times == 1:
            found.append(_stem(word.lower()))
        else:
            found += (_stem(word.lower()),) * times
    return Counter(found)


def _dates(text: str) -> Iterator[str]:
    if not _may_be_dated(text):
        return
    for match in _DATE.finditer(text):
        month, day = next(
            (one, other)
            for one, other in (
                match.group(1, 2),
                match.group(3, 4),
                match.group(5, 6),
                match.group(8, 7),
            )
            if one is not None
        )
        number = int(month) if month.isdigit() else _MONTHS[month[:3].casefold()]
        yield f"@{number}-{int(day)}"


def _may_be_dated(text: str) -> bool:
    """Say whether it is worth looking for dates: no text with one is missed."""
    if "月" in text or _SEPARATED.search(text):
        return True
    lowered = text.lower()
    if not any(name in lowered for name in _MONTHS):
        return False
    return not lowered.isascii() or _NEAR_MONTH.search(lowered) is not None


def date_stamp(text: str) -> str | None:
    """Return the term of the date that a text begins with, and that dates the rest."""
    if not _STAMP.match(text):
        return None
    return next(_dates(text[:24]), None)


def _stem(word: str) -> str:
    """Take off the endings that English words change most often."""
    if word[-1] not in _LAST_OF_ENDINGS:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            stem = word[: -len(ending)]
            return f"{stem}y" if ending == "ies" else stem
    return word
