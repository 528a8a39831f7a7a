"""Where every unit is: shown, in order, or gone. Nothing is forgotten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import ChainMap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping, Sequence

    from context_builder.items import Unit

__all__ = ["Shown"]


class Shown:
    """The units of a fold: the live ones in order, the absent ones by id."""

    __slots__ = ("_ids", "_measure", "gone", "live", "tokens")

    def __init__(self, measure: Callable[[Sequence[Unit]], Iterable[Unit]]) -> None:
        self._measure = measure
        self._ids: list[float] = []
        self.live: list[Unit] = []
        """What is shown, in order."""
        self.gone: MutableMapping[float, Unit] = {}
        """What is absent, by id. What left unmeasured is measured by `get`."""
        self.tokens = 0
        """What the live units take."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, what is shown before what is absent."""
        return (*self.live, *self.gone.values())

    def copy(self) -> Shown:
        """Return another one that can change without this one."""
        other = Shown(self._measure)
        other._ids, other.live = list(self._ids), list(self.live)
        other.gone, other.tokens = ChainMap({}, self.gone), self.tokens
        return other

    def __contains__(self, unit_id: float) -> bool:
        return unit_id in self.gone or self._place(unit_id) is not None

    def _place(self, unit_id: float) -> int | None:
        index = bisect_left(self._ids, unit_id)
        is_there = index < len(self._ids) and self._ids[index] == unit_id
        return index if is_there else None

    def get(self, unit_id: float) -> Unit | None:
        """Return a unit, live or gone; None: there is none of this id."""
        index = self._place(unit_id)
        if index is not None:
            return self.live[index]
        unit = self.gone.get(unit_id)
        if unit is None or _is_measured(unit):
            return unit
        self._measure_gone([unit])
        return self.gone[unit_id]

    def all_units(self) -> tuple[Unit, ...]:
        """Return every unit, all of them measured: the live ones, then the others."""
        self._measure_gone([u for u in self.gone.values() if not _is_measured(u)])
        return (*self.live, *self.gone.values())

    def _measure_gone(self, units: Sequence[Unit]) -> None:
        for unit in self._measure(units):
            self.gone[unit.id] = unit

    def rank(self, unit_id: float) -> int:
        """Return how many live units stand before this one."""
        return bisect_left(self._ids, unit_id)

    def rank_behind(self, unit_id: float) -> int:
        """Return how many live units stand before this one or are it."""
        return bisect_right(self._ids, unit_id)

    def is_last(self, unit_id: float) -> bool:
        """Say whether nothing live comes after this unit."""
        return not self._ids or self._ids[-1] <= unit_id

    def append(self, unit: Unit) -> None:
        """Add the newest unit."""
        if not unit.is_shown:
            self.gone[unit.id] = unit
            return
        self.live.append(unit)
        self._ids.append(unit.id)
        self.tokens += unit.tokens

    def put(self, unit: Unit) -> None:
        """Put another version of a unit in its place; it may come back from absence."""
        index = self._place(unit.id)
        if index is not None:
            self.tokens -= self.live[index].tokens
        if not unit.is_shown:
            if index is not None:
                del self.live[index], self._ids[index]
            self.gone[unit.id] = unit
            return
        self.tokens += unit.tokens
        if index is not None:
            self.live[index] = unit
            return
        self.gone.pop(unit.id, None)
        index = bisect_left(self._ids, unit.id)
        self.live.insert(index, unit)
        self._ids.insert(index, unit.id)

    def pop(self, unit_id: float) -> Unit:
        """Forget a unit that its owner took out, and return it.

        Raises:
            KeyError: If there is none of this id.
        """
        index = self._place(unit_id)
        if index is None:
            return self.gone.pop(unit_id)
        del self._ids[index]
        unit = self.live.pop(index)
        self.tokens -= unit.tokens
        return unit

    def decide(self, units: Iterable[Unit]) -> None:
        """Take over a decision about all live units."""
        self.live = []
        for unit in units:
            if unit.is_shown:
                self.live.append(unit)
            else:
                self.gone[unit.id] = unit
        self._ids = [unit.id for unit in self.live]
        self.tokens = sum(unit.tokens for unit in self.live)


def _is_measured(unit: Unit) -> bool:
    return len(unit.whole_sizes) == len(unit.originals)
