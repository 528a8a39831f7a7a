"""What was found out for those who take a session over again and again.

A slider asks what another budget would do, and asks the same of the same units each
time that it moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.decide.facts import facts

if TYPE_CHECKING:
    from context_builder.decide.rules import Memo

__all__ = ["Remembered"]

_MOST_REMEMBERED = 4_096


class Remembered:
    """The facts of texts, and what became of units at the last revision asked about."""

    __slots__ = ("_facts", "_memo", "_revision")

    def __init__(self) -> None:
        self._facts: dict[str, list[tuple[str, float]]] = {}
        self._memo: Memo = {}
        self._revision = -1

    def facts(self, text: str) -> list[tuple[str, float]]:
        """Return the facts of a text."""
        found = self._facts.get(text)
        if found is None:
            found = self._facts[text] = facts(text)
        return found

    def is_old(self, revision: int) -> bool:
        """Say whether the session has gone on since somebody asked."""
        return revision != self._revision

    def memo(self, revision: int) -> Memo:
        """Return what was worked out at a revision; that of another one is let go."""
        if self.is_old(revision) or len(self._memo) > _MOST_REMEMBERED:
            self._memo, self._revision = {}, revision
        return self._memo
