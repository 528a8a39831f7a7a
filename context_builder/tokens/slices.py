"""Cutting a huge text so that its slices can be counted one by one.

tiktoken fails on a run of half a million spaces, and holds one number per token in
memory. Slices bound both. A cut where every known pattern starts a new piece anyway
leaves the count exactly as it was.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SLICE_CHARS", "slices"]

SLICE_CHARS = 100_000
"""No slice is longer; texts up to this many characters are never cut."""

# Between a letter or digit and what can neither continue a word nor be a mark on a
# letter. The apostrophe is left out: "it's" may be one piece.
_SAFE_PLACE = re.compile(
    r"[^\W_](?=[ \n\r\t!-&(-/:-@\[-^`{-~"
    r"\u3001\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f])"
)


def slices(text: str) -> Iterator[str]:
    """Cut a text into slices whose token counts add up to the count of the text.

    Exactly so wherever a slice holds a word followed by a space or a punctuation mark.
    A run of 100,000 characters without one (one letter repeated, base64 without
    line ends, spaces only) is cut hard; each such cut can add a token or two.
    """
    if len(text) <= SLICE_CHARS:
        yield text
        return
    start = 0
    while len(text) - start > SLICE_CHARS:
        end = _safe_end(text, start)
        yield text[start:end]
        start = end
    yield text[start:]


def _safe_end(text: str, start: int) -> int:
    end = start + SLICE_CHARS
    for begin, until in _windows(start, end):
        places = [place.end() for place in _SAFE_PLACE.finditer(text, begin, until)]
        if places:
            return places[-1]
    return end


def _windows(start: int, end: int) -> Iterator[tuple[int, int]]:
    # Backwards, in steps: a normal text has a safe place among the last few characters.
    edges = (end, end - 200, end - 20_000, start)
    for until, begin in pairwise(edges):
        yield begin, until
