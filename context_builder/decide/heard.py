"""Remembers which facts a request says anyway.

Each fact is looked for in each text once, not at every compaction: what stays in the
request was looked at before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from context_builder.decide.known import Fact

__all__ = ["Heard"]


class Heard:
    """The texts of a request by number, the newest with the highest.

    A fact remembers (`Fact.heard`) how many of the texts it was looked for in without
    being found, or, below zero, the text that says it. No fact holds a line break.
    """

    __slots__ = ("_is_copy", "_live", "_next", "_numbers", "_unheard")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._live: frozenset[int] = frozenset()
        self._next = 1
        self._unheard: dict[int, str] = {}
        self._is_copy = False

    def copy(self) -> Heard:
        """Return another one that goes on for itself: facts remember nothing of it."""
        other = Heard()
        other._numbers, other._next = self._numbers, self._next
        other._is_copy = True
        return other

    def listen(self, texts: Iterable[str]) -> None:
        """Go by these texts from now on: they are what the request says."""
        known = self._numbers
        numbers: dict[str, int] = {}
        for text in texts:
            number = known.get(text) or numbers.get(text)
            if number is None:
                number, self._next = self._next, self._next + 1
            numbers[text] = number
        self._numbers = numbers
        self._live = frozenset(numbers.values())
        self._unheard = {}

    def unsaid(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Yield the facts that none of the texts says, in order."""
        following, live = self._next, self._live
        for fact in facts:
            heard = fact.heard
            if heard == following or (-heard not in live and not self._is_found(fact)):
                yield fact

    def says(self, fact: Fact) -> bool:
        """Say whether one of the texts says a fact."""
        if fact.heard == self._next:
            return False  # it was looked for in all of them
        return -fact.heard in self._live or self._is_found(fact)

    def _is_found(self, fact: Fact) -> bool:
        """Look for a fact where nobody has looked yet."""
        is_said = fact.text in self.unheard(fact)
        if not self._is_copy:
            fact.heard = -self._number_of(fact.text) if is_said else self._next
        return is_said

    def unheard(self, fact: Fact) -> str:
        """Return the texts that a fact was not looked for in yet."""
        heard = max(0, fact.heard)
        unheard = self._unheard.get(heard)
        if unheard is None:
            unheard = self._unheard[heard] = "\n".join(
                text for text, number in self._numbers.items() if number >= heard
            )
        return unheard

    def _number_of(self, fact: str) -> int:
        """Return the newest text that says a fact; it is likely to stay longest."""
        return max(n for text, n in self._numbers.items() if fact in text)
