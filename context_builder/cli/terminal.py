"""How texts that others wrote may be written to a terminal.

They are data: what would move the cursor, colour the terminal or turn the direction of
writing is shown as what it is.
"""

from __future__ import annotations

import unicodedata

__all__ = ["shown", "shown_in_line"]

_TURNS_WRITING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Change the direction of what follows: a text could look like another one."""
_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


def shown(text: str) -> str:
    """Return a text as it may be written to a terminal."""
    return "".join(map(_char, text))


def shown_in_line(text: str) -> str:
    """Return a text as it may stand in a line of its own, such as a name in a list."""
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")


def _char(char: str) -> str:
    if char in "\n\t" or char.isalnum():
        return char
    if char == "\r":
        return ""
    if char in _TURNS_WRITING or unicodedata.category(char) in _HIDDEN:
        return ascii(char)[1:-1]
    return char
