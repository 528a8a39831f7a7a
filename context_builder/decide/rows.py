"""What stands in a row with something that was asked for.

Who goes through a list asks for the next of it. A row is what came in one after another
and looks alike: ids of one make.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Make", "beside", "make_of"]

Make = tuple[object, ...]
"""What the members of one list have in common."""

_DIGIT = re.compile(r"\d")


def make_of(fact: str) -> Make:
    """Return what a fact has in common with the others of its list."""
    if "_" in fact:
        return ("name", _DIGIT.sub("0", fact))
    return (len(fact), fact.isupper(), fact.isalnum(), fact.isdigit())


def beside(makes: Sequence[Make], asked: Iterable[int]) -> list[int]:
    """Return the places of what stands in a row with what was asked for, but was not.

    Args:
        makes: What each fact looks like, in the order in which they came in.
        asked: The places of those that calls asked for, ascending.
    """
    known = list(asked)
    is_asked = set(known)
    near: list[int] = []
    end = 0
    for place in known:
        if place < end:
            continue  # the row was seen
        make = makes[place]
        start = place
        while start > 0 and makes[start - 1] == make:
            start -= 1
        end = place + 1
        while end < len(makes) and makes[end] == make:
            end += 1
        near += [n for n in range(start, end) if n not in is_asked]
    return near
