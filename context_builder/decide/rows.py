"""What stands in a row with something that was asked for.

Who goes through a list asks for the next of it. A row is what came in one after another
and looks alike: ids of one make.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["beside"]

_DIGIT = re.compile(r"\d")


def beside(facts: Sequence[str], asked: AbstractSet[str]) -> set[str]:
    """Return what stands in a row with something of `asked`, but is none of it.

    Args:
        facts: In the order in which they came in.
        asked: Those that calls asked for.
    """
    makes = [_make(fact) for fact in facts]
    near: set[str] = set()
    start = 0
    for end in range(1, len(facts) + 1):
        if end < len(facts) and makes[end] == makes[start]:
            continue
        row = facts[start:end]
        if any(fact in asked for fact in row):
            near.update(fact for fact in row if fact not in asked)
        start = end
    return near


def _make(fact: str) -> tuple[object, ...]:
    """Return what the members of one list have in common."""
    if "_" in fact:
        return ("name", _DIGIT.sub("0", fact))
    return (len(fact), fact.isupper(), fact.isalnum(), fact.isdigit())
