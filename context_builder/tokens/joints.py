"""Where a text may be cut so that the counts of its parts add up to its own.

A tokenizer with a vocabulary first cuts a text into pieces by a pattern, and merges
within a piece only. Where every known pattern starts a new piece anyway, what stands
before does not change the count of what stands behind. So what is put together from
parts that were counted need not be counted again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["core_of", "counted_in_parts", "is_joint"]

_MARKS = (
    ' \n\r\t!"#$%&()*+,-./:;<=>?@[\\]^`{|}~'
    "\u3001\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
"""What continues no word and is no mark on a letter; the apostrophe may do both."""
_AFTER_WORD = frozenset(_MARKS)
_JOINT = re.compile(rf"[^\W_](?=[{re.escape(_MARKS)}])")
_EDGE_CHARS = 48
"""So far from the ends of a text somebody looks for a joint."""


def is_joint(before: str, after: str) -> bool:
    """Say whether a new piece starts between two characters in every known pattern.

    After a word, what is no part of one; after what is no blank, a blank; after a line
    break, what is neither another blank nor a slash: these go with the line break.
    """
    if after == " ":
        return not before.isspace()
    if before == "\n":
        return not after.isspace() and after != "/"
    return after in _AFTER_WORD and before.isalnum()


def core_of(text: str) -> tuple[int, int]:
    """Return from where to where a text counts the same whatever stands around it.

    A beginning of 0 says that there is no joint near it: what stands before the text
    counts with it, unless there is a joint just there. An end of 0 says the same of the
    end.
    """
    first = _JOINT.search(text, 0, _EDGE_CHARS)
    if text[-1:].isalnum():
        return (first.end() if first else 0), len(text)
    last = 0
    for place in _JOINT.finditer(text, max(0, len(text) - _EDGE_CHARS)):
        last = place.end()
    return (first.end() if first else 0), last


def counted_in_parts(
    parts: Iterable[str], count: Callable[[str], int], known: Mapping[int, int]
) -> tuple[int, dict[int, int]]:
    """Return what parts take that are said one after another, and what each takes.

    Those that count only together are joined first.

    Args:
        parts: What is said.
        count: Counts a text.
        known: What parts took before, by their hash: these are not counted.

    Returns:
        The tokens of all, and those of each by its hash.
    """
    total = 0
    sizes: dict[int, int] = {}
    for part in _joined(parts):
        key = hash(part)
        tokens = known.get(key)
        if tokens is None:
            tokens = count(part)
        sizes[key] = tokens
        total += tokens
    return total, sizes


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts; those are one between which there is no joint."""
    pending = ""
    for part in parts:
        if pending and part and is_joint(pending[-1], part[0]):
            yield pending
            pending = part
        else:
            pending += part
    if pending:
        yield pending
