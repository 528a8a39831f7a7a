"""Keeps what was recalled: in what room, for how long, and what it repeats.

What is recalled for a message stands just before it, behind the stable prefix. It stays
there until room is needed, and then goes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.decide.archive import Archive, Passage, Search
from context_builder.decide.meaning import AskedFor, by_words_and_meaning
from context_builder.decide.passing import shown_excerpts
from context_builder.decide.recall import Found, choose_passages, recall_unit
from context_builder.passing import Excerpt, repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from context_builder.decide.rules import Rules
    from context_builder.decide.shown import Shown
    from context_builder.items import PassageMatch, Unit

__all__ = ["ENOUGH_SHARE", "HALF", "Recaller", "is_recalled", "weight_of"]

HALF = 0.5
"""What is recalled for a unit stands half a place before it."""
_NO_NEED, _FULL_NEED = -0.2, 0.01
"""Between these needs (see `Search.need`) a message is taken to ask for what left, more
and more; wholly where the archive has more of it than the request. What is there
word for word can still ask for something else."""
ENOUGH_SHARE = 0.9
"""No room is made where so much of what is needed has some."""
FRAME_TOKENS = 24
"""About what the frame around recalled passages takes."""
_MOST_BEFORE = 64
"""A result whose call came in more items earlier is not found by its meaning."""
_MOST_LIVE = 65
"""So many of the newest texts in the request are compared with."""
_SHARE_OF_ROOM = 0.5
_SHARE_OF_FREE = 0.75
"""What is recalled leaves room for what answers it: calls and their results."""
_SHARE_WITHOUT_TOOLS = 0.97
"""Where nothing can be called, only the answer comes: the reply has its own room."""
_LEAST_GROWTH_SHARE = 0.05
"""A compaction that makes room to recall comes once so much of the room was used for
what came in. A larger share costs questions their answers: 0.12 keeps a tenth less."""


def weight_of(need: float) -> float:
    """Return how much of what may be recalled a need is worth, from 0 to 1."""
    return min(1.0, max(0.0, (need - _NO_NEED) / (_FULL_NEED - _NO_NEED)))


def is_recalled(unit: Unit) -> bool:
    """Say whether a unit holds recalled passages."""
    return unit.kind == "background" and unit.originals[0].source == "recall"


class Recaller:
    """The archive of a fold, and what of it is in the request."""

    def __init__(self, shown: Shown, rules: Rules, limit_tokens: int) -> None:
        self.archive = Archive()
        self.asked = AskedFor()
        self._shown = shown
        self._rules = rules
        self._places: dict[float, tuple[Passage, ...]] = {}
        self._spent_tokens = 0
        self._room_tokens = limit_tokens
        self._start_tokens = 0
        self.has_tools = False
        """Whether the session has tools, or has called one."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be found."""
        return self.archive.is_empty

    def see(self, unit: Unit) -> None:
        """Note the date that a unit begins with, and whether tools are called."""
        self.archive.see(unit)
        self.has_tools = self.has_tools or unit.kind == "tool"

    def keep(self, units: Iterable[Unit]) -> None:
        """Let units be found that left the request, or stand there in part only."""
        for unit in units:
            self.archive.add(unit)

    def start(self, tokens: int, limit_tokens: int) -> None:
        """Begin anew after a compaction that came down to so many tokens."""
        for place in [place for place in self._places if place in self._shown.gone]:
            del self._places[place], self._shown.gone[place]
        self._start_tokens = tokens
        self._room_tokens = max(0, limit_tokens - tokens)
        self._spent_tokens = 0

    def forget(self, unit_id: float) -> None:
        """Take out everything that repeats a unit's words."""
        self.archive.forget(unit_id)
        for place, passages in list(self._places.items()):
            if place == unit_id - HALF or any(p.unit_id == unit_id for p in passages):
                self._let_go(place)

    def _let_go(self, place: float) -> None:
        self._spent_tokens -= self._shown.pop(place).tokens
        del self._places[place]

    def let_go_for(self, newest: Unit) -> None:
        """Take out what was recalled for a message, to choose anew."""
        if newest.id - HALF in self._places:
            self._let_go(newest.id - HALF)

    def let_go_of_older(self) -> bool:
        """Take out what was recalled earlier; say whether there was any."""
        places = list(self._places)
        for place in places:
            self._let_go(place)
        return bool(places)

    def has_grown(self, tokens: int) -> bool:
        """Say whether enough has come in for another compaction to be worth it.

        Args:
            tokens: What the request takes.
        """
        grown_tokens = tokens - self._start_tokens - self._spent_tokens
        return grown_tokens >= self._room_tokens * _LEAST_GROWTH_SHARE

    def room(self, weight: float, free_tokens: int) -> int:
        """Return what may be recalled now.

        What is needed badly (weight 1) may take most of what is free. Otherwise all
        that is recalled between two compactions takes at most half of the room that the
        first one left, so that it does not make the next one come much sooner.
        """
        room = self.usable(free_tokens - FRAME_TOKENS)
        if weight < 1:
            room = int((free_tokens - FRAME_TOKENS) * _SHARE_OF_FREE)
            allowed = int(self._room_tokens * _SHARE_OF_ROOM)
            room = min(room, allowed - self._spent_tokens)
        return max(0, room)

    def usable(self, free_tokens: int) -> int:
        """Return what of the free room may be used before the message is answered."""
        return int(free_tokens * self._share_of_free)

    def free_for(self, wanted_tokens: int) -> int:
        """Return what has to be free so that so much can be recalled."""
        return int(wanted_tokens / self._share_of_free) + FRAME_TOKENS

    @property
    def _share_of_free(self) -> float:
        return _SHARE_OF_FREE if self.has_tools else _SHARE_WITHOUT_TOOLS

    def search(self, newest: Unit, users: AbstractSet[float]) -> Search:
        """Look for what a message asks for: by words, and by what an embedder found."""
        found = self.archive.search(
            newest.originals[0].text,
            users=users,
            live=[
                unit.items[0].text
                for unit in self._shown.live[-_MOST_LIVE:-1]
                if not is_recalled(unit)
            ],
        )
        return self._with_meaning(found, newest)

    def search_on(
        self, search: Search, newest: Unit, users: AbstractSet[float]
    ) -> Search:
        """Look for the same once more, now that more has left."""
        return self._with_meaning(self.archive.search_on(search, users), newest)

    def _with_meaning(self, found: Search, newest: Unit) -> Search:
        answer = self.asked.newest
        if answer is None or answer.item_id != newest.originals[0].id:
            return found
        numbers = ((one.score, self._number_of(one)) for one in answer.matches)
        meant = [(score, n) for score, n in numbers if n is not None]
        return by_words_and_meaning(found, meant, answer.shown_score)

    def _number_of(self, match: PassageMatch) -> int | None:
        """Return which passage of the archive a match names; None: it is not there.

        A result stands in the unit of its call, mostly close before it.
        """
        place = int(match.item_id[1:])
        for unit_id in range(place, max(0, place - _MOST_BEFORE), -1):
            unit = self._shown.get(unit_id)
            for index, item in enumerate(unit.originals if unit else ()):
                if item.id == match.item_id:
                    return self.archive.number_at(unit_id, index, match.start)
        return None

    def choose(
        self, search: Search, limit_tokens: int, told: AbstractSet[float]
    ) -> Found:
        """Return the passages that are worth bringing back, as far as the limit allows.

        Args:
            search: What was found.
            limit_tokens: What they may take.
            told: Units that the digest says whole.
        """
        there = {p for passages in self._places.values() for p in passages}
        said = shown_excerpts(self._shown.live)

        def is_said(passage: Passage) -> bool:
            return (
                passage in there
                or passage.unit_id in told
                or self._is_repeated(passage, said)
            )

        return choose_passages(
            search,
            self.archive,
            limit_tokens=limit_tokens,
            is_said=is_said,
            unit_of=self._shown.get,
            texts=min(len(self._shown.live), _MOST_LIVE) - 1,
        )

    def _is_repeated(
        self, passage: Passage, said: Mapping[str, tuple[Excerpt, ...]]
    ) -> bool:
        """Say whether an answer of the recall tool, which is shown, says a passage."""
        unit = self._shown.get(passage.unit_id) if said else None
        if unit is None:
            return False
        item = unit.originals[passage.index]
        return repeats(said, Excerpt(item.id, passage.start, passage.end))

    def put(self, newest: Unit, found: Found, free_tokens: int) -> bool:
        """Show passages just before a message, if they fit as they are framed.

        Returns:
            Whether they did, or there are none.
        """
        if not found.passages:
            return True
        unit = recall_unit(
            found.passages,
            unit_id=newest.id - HALF,
            turn=newest.turn,
            unit_of=self._shown.get,
            rules=self._rules,
            archive=self.archive,
        )
        fits = unit.tokens <= free_tokens
        if fits:
            self._shown.put(unit)
            self._places[unit.id] = found.passages
            self._spent_tokens += unit.tokens
        return fits
