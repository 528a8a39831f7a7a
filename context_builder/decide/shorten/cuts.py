"""Where a text may be cut, and what stands in the gap.

Decides positions only: never inside a character as people see it (an extended
grapheme cluster), a surrogate pair or a backslash escape; at the end of a line, a
sentence or a word when one is near. Looks at the surroundings of the cut alone, so a
cut costs the same in a text of a million characters. Knows nothing of tokens.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SMALLEST_MARKER",
    "briefly_left_out",
    "cut_after",
    "cut_before",
    "keep_around",
    "keep_ends",
    "keep_head",
    "left_out",
    "truncate_chars",
]

SMALLEST_MARKER: Final = "[...]"
"""What is left of a text when there is not even room to say how much is missing."""

HEAD_SHARE: Final = 0.55
"""Share of the kept characters that come from the beginning."""

_LOOK_BACK_CHARS: Final = 1_024
"""How far a cut looks back for a sure boundary; longer clusters are broken text."""

_SNAP_CHARS: Final = 160
"""How far a cut moves to end on a line, a sentence or a word."""

_FLAG_ROW: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[0-9a-fA-F]{4}|\\.",
    re.DOTALL,
)
_LONGEST_ESCAPE: Final = 12
_ENDS: Final = (
    re.compile(r"\n"),
    re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]*(?=\s)|[\u3002\uff01\uff1f\uff61]"),
    re.compile(r"\s"),
)


def left_out(amount: int, what: str = "characters") -> str:
    """Say how much is missing, where it is missing."""
    unit = what if amount != 1 else what.removesuffix("s")
    return f"[... {amount:,} {unit} left out ...]"


def briefly_left_out(amount: int) -> str:
    """Say how much is missing where there is hardly room to say it."""
    return f"[...{amount:,}]"


def cut_before(text: str, index: int) -> int:
    """Move `index` back to the nearest place where `text` may be cut."""
    index = min(max(index, 0), len(text))
    # Both rules have to agree: a combining mark can stand right behind an escape.
    while (moved := _cluster(text, _escape(text, index)[0])[0]) != index:
        index = moved
    return index


def cut_after(text: str, index: int) -> int:
    """Move `index` on to the nearest place where `text` may be cut."""
    index = min(max(index, 0), len(text))
    while (moved := _cluster(text, _escape(text, index)[1])[1]) != index:
        index = moved
    return index


def keep_ends(
    text: str,
    kept_chars: int,
    *,
    head_share: float = HEAD_SHARE,
    marker: Callable[[int], str] = left_out,
) -> str:
    """Keep the two ends of `text`, at most `kept_chars` of it, and mark the gap.

    Args:
        text: Any text.
        kept_chars: Characters of `text` to keep; the marker comes on top.
        head_share: How much of them is from the beginning.
        marker: Says how many characters are missing.
    """
    if kept_chars >= len(text):
        return text
    head_chars = int(max(kept_chars, 0) * head_share)
    start = len(text) - (max(kept_chars, 0) - head_chars)
    return keep_around(
        text, head_chars, _line_or_word_start(text, start), marker=marker
    )


def keep_around(
    text: str,
    head_chars: int,
    tail_start: int,
    *,
    marker: Callable[[int], str] = left_out,
) -> str:
    """Keep at most `head_chars` and all from `tail_start` on, and mark the gap."""
    end = cut_before(text, _line_or_word_end(text, head_chars))
    start = cut_after(text, tail_start)
    return text[:end] + marker(start - end) + text[start:]


def keep_head(text: str, kept_chars: int, ending: str = "...") -> str:
    """Keep the beginning of `text`; the whole is at most `kept_chars` long."""
    if len(text) <= kept_chars:
        return text
    end = cut_before(text, max(kept_chars - len(ending), 0))
    return (text[:end].rstrip() + ending)[: max(kept_chars, 0)]


def truncate_chars(text: str, limit_chars: int) -> str:
    """Keep `limit_chars` characters of `text`, from both ends, and note the rest.

    The head gets `limit_chars // 2`, the tail what remains (an odd limit favours the
    tail). The notice between them comes on top of the limit; 0 keeps the notice only.
    A character made of several code points is left out whole, so that fewer than
    `limit_chars` may be kept, never more. Text within the limit is returned as it is.

    Raises:
        InvalidItemError: If `limit_chars` is negative.
    """
    if limit_chars < 0:
        message = f"limit_chars must be 0 or more characters, not {limit_chars!r}."
        raise InvalidItemError(message, field="limit_chars", value=limit_chars)
    if len(text) <= limit_chars:
        return text
    head_chars = limit_chars // 2
    end = _cluster(text, head_chars)[0]
    start = _cluster(text, len(text) - (limit_chars - head_chars))[1]
    return text[:end] + left_out(start - end) + text[start:]


def _line_or_word_end(text: str, index: int) -> int:
    """Move `index` back to just after the best break nearby."""
    first = index - _snap_room(index)
    for pattern in _ENDS:
        ends = [match.end() for match in pattern.finditer(text, first, index)]
        if ends:
            return ends[-1]
    return index


def _line_or_word_start(text: str, index: int) -> int:
    """Move `index` on to the best break nearby; the white space goes with the tail."""
    room = _snap_room(len(text) - index)
    for pattern in _ENDS:
        match = pattern.search(text, index, index + room)
        if match:
            return match.start() if match.group().isspace() else match.end()
    return index


def _snap_room(kept_chars: int) -> int:
    """Return how much of what is kept a nicer cut may cost."""
    return min(_SNAP_CHARS, max(kept_chars // 4, min(kept_chars // 2, 12)))


def _cluster(text: str, index: int) -> tuple[int, int]:
    """Return the span of the character that `index` would split, else twice `index`."""
    if not 0 < index < len(text) or _is_sure_boundary(text, index):
        return index, index
    if "\ud800" <= text[index - 1] <= "\udbff" and "\udc00" <= text[index] <= "\udfff":
        return index - 1, index + 1
    first = _sure_boundary_before(text, index)
    # A slice, because the pattern would look back past a start position for flags.
    for match in _pattern(r"\X").finditer(text[first : index + _LOOK_BACK_CHARS]):
        start, end = first + match.start(), first + match.end()
        if start < index < end:
            return start, end
        if start >= index:
            break
    return index, index


def _sure_boundary_before(text: str, index: int) -> int:
    """Find where a reading of clusters can begin and not be out of step."""
    first = max(0, index - _LOOK_BACK_CHARS)
    for position in range(index - 1, first, -1):
        if _is_sure_boundary(text, position):
            return position
    # A long row of flags: two letters are one flag, so count from the row's beginning.
    if _FLAG_ROW.match(text, first):
        row = _FLAG_ROW.match(text[:first][::-1])
        first -= len(row.group()) % 2 if row else 0
    return first


def _is_sure_boundary(text: str, index: int) -> bool:
    """Say whether `index` is a boundary whatever stands further away."""
    return _is_plain(text[index]) and (
        _is_plain(text[index - 1])
        or not _pattern(r"[\r\p{GCB=Prepend}]").match(text, index - 1)
    )


@functools.cache
def _pattern(pattern: str) -> Any:
    """Return a pattern that only `regex` knows, which is loaded with the first cut."""
    import regex  # type: ignore[import-untyped]  # noqa: PLC0415

    return regex.compile(pattern)


def _is_plain(char: str) -> bool:
    """Say whether `char` never joins what stands before it."""
    return " " <= char <= "~" or char == "\n" or "\u4e00" <= char <= "\u9fff"


def _escape(text: str, index: int) -> tuple[int, int]:
    r"""Return the span of the escape (`\n`, `\u00e9`) that `index` would split."""
    first = max(0, index - _LONGEST_ESCAPE)
    if "\\" not in text[first:index]:
        return index, index
    if text[first - 1 : first] == "\\":
        # An even row of backslashes is complete; the last of an odd row begins one.
        first -= (first - len(text[:first].rstrip("\\"))) % 2
    for match in _ESCAPE.finditer(text, first, index + _LONGEST_ESCAPE):
        if match.start() < index < match.end():
            return match.span()
    return index, index
