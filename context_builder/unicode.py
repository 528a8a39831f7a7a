"""Text that every vendor's JSON parser accepts: no unpaired surrogates, no NUL.

Text comes in as it is and stays so in the log. What goes out is repaired here.
"""

from __future__ import annotations

import re

__all__ = ["is_well_formed", "repair_text"]

_BROKEN = re.compile("[\ud800-\udfff\0]")


def is_well_formed(text: str) -> bool:
    """Say whether `text` encodes as strict UTF-8 and holds no NUL."""
    return text.isascii() and "\0" not in text or not _BROKEN.search(text)


def repair_text(text: str) -> str:
    """Return `text` well-formed; the same object where nothing is wrong with it.

    Two halves of a surrogate pair are joined, a half alone becomes U+FFFD, a NUL goes.
    """
    if is_well_formed(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "")
