"""Text that may go out: well-formed in a request, and without content in an error.

Every vendor's JSON parser accepts text without unpaired surrogates and NULs. Text comes
in as it is and stays so in the log. What goes out is repaired here.
"""

from __future__ import annotations

import re

__all__ = ["is_well_formed", "quoted", "repair_text"]

_BROKEN = re.compile("[\ud800-\udfff\0]")
_WORD = re.compile(r"[\w.:/@+-]{0,40}", re.ASCII)


def is_well_formed(text: str) -> bool:
    """Say whether `text` encodes as strict UTF-8 and holds no NUL."""
    return (text.isascii() and "\0" not in text) or not _BROKEN.search(text)


def repair_text(text: str) -> str:
    """Return `text` well-formed; the same object where nothing is wrong with it.

    Two halves of a surrogate pair are joined, a half alone becomes U+FFFD, a NUL goes.
    """
    if is_well_formed(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "")


def quoted(value: object) -> str:
    """Return how a message may name a value: one short word, or only what it is.

    Arguments get swapped: where a name was expected, there may be what the user said.
    """
    if isinstance(value, str):
        is_word = _WORD.fullmatch(value) is not None
        return repr(value) if is_word else f"(a text of {len(value):,} characters)"
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and abs(value) < 10**9:
        return repr(value)
    return f"(of type {type(value).__name__})"
