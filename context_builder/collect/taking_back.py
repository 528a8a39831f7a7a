"""Takes back what came in: edits, removals, rewinds. The log keeps everything.

What is left is as if the rest had not been there: a call is open again, the former
answer is valid again, a result that came before its call waits for it again.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.collect.calls import number_of
from context_builder.collect.gather import (
    Gatherer,
    says_the_same,
    with_item,
    with_items,
)
from context_builder.collect.repairs import stand_in, tidy_item, tidy_result
from context_builder.items import (
    Change,
    ContextItem,
    Mark,
    SystemSet,
    Unit,
    UnitChanged,
    UnitDropped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["TakingBack"]


class TakingBack(Gatherer):
    """Follows what is taken back from a log as well."""

    __slots__ = ()

    # --- edits ----------------------------------------------------------------------

    def _edit(self, item: ContextItem) -> Sequence[Change]:
        if item.id == self._system_id:
            return self._set_system(SystemSet(item))
        if item.role == "tool":
            return self._edit_result(item)
        unit = self._units.get(number_of(item.id))
        if unit is None:
            return self._mend(item)
        reason = f"{item.id} was edited"
        tidy, marks = tidy_item(item)
        if tidy is None:
            changes = self._drop(unit, reason)
            self.left_out[item.id] = marks[0]
            return changes
        originals = with_item(unit.originals, 0, tidy)
        changed = with_items(_without_marks(unit, [item.id]), originals, marks)
        return self._change(changed, reason=reason, moves_prefix=True)

    def _edit_result(self, item: ContextItem) -> Sequence[Change]:
        place = self._calls.place_of(item.id)
        if place is None:
            self._replace_early(item)
            return ()
        self._calls.put(place, item)
        unit, index = self._units[place[0]], place[1] + 1
        shown = unit.originals[index]
        result, marks = tidy_result(item, unit.originals[0].tool_calls[place[1]])
        if shown.id != item.id:
            is_newer = number_of(item.id) > number_of(shown.id)
            if not is_newer or says_the_same(result, shown):
                return ()
            self._mark_former(place, item.id)
        bare = _without_marks(unit, [item.id])
        changed = with_items(bare, with_item(unit.originals, index, result), marks)
        return self._change(changed, reason=f"{item.id} was edited", moves_prefix=True)

    def _replace_early(self, item: ContextItem) -> None:
        waiting = self._early.get(str(item.tool_call_id), [])
        for index, early in enumerate(waiting):
            if early.id == item.id:
                waiting[index] = item

    def _mend(self, item: ContextItem) -> Sequence[Change]:
        """Add an item at its place that was left out as broken, and is whole now.

        Units are added at the end only, so those behind it come in again after it.
        """
        if item.id not in self.left_out or tidy_item(item)[0] is None:
            return ()
        del self.left_out[item.id]
        later = [unit for unit in self._units.values() if unit.id > number_of(item.id)]
        reason = f"{item.id} was edited"
        changes: list[Change] = []
        for unit in reversed(later):
            del self._units[unit.id]
            changes.append(UnitDropped(unit.id, reason))
        self._look_back()
        turn = self._turn
        changes += self._add(item)
        mended = self._units[self._last]
        for unit in later:
            moved = dataclasses.replace(unit, turn=unit.turn + self._turn - turn)
            self._units[unit.id] = moved
            changes.append(moved)
        if later:
            changes.append(UnitChanged(mended, reason, moves_prefix=True))
        self._look_back()
        return changes

    # --- removals -------------------------------------------------------------------

    def _remove(self, item_id: str) -> Sequence[Change]:
        self.left_out.pop(item_id, None)
        reason = f"{item_id} was removed"
        unit = self._units.get(number_of(item_id))
        if unit is not None:
            return self._drop(unit, reason)
        place = self._calls.place_of(item_id)
        if place is None:
            self._forget_early([item_id])
            return ()
        return self._take_results(place[0], {place[1]: [item_id]}, reason)

    def _forget_early(self, item_ids: Iterable[str]) -> None:
        gone = frozenset(item_ids)
        for call_id, waiting in list(self._early.items()):
            kept = [item for item in waiting if item.id not in gone]
            if kept:
                self._early[call_id] = kept
            else:
                del self._early[call_id]

    def _drop(self, unit: Unit, reason: str) -> Sequence[Change]:
        """Take a unit out; results do not outlive their call."""
        for item in self._forget_unit(unit):
            if item.id != unit.originals[0].id:
                mark = Mark(item.id, "repaired", f"left out: its call {reason}")
                self.left_out[item.id] = mark
        self._look_back()
        return [UnitDropped(unit.id, reason)]

    def _forget_unit(self, unit: Unit) -> list[ContextItem]:
        """Take a unit out, and return the results that came in for it."""
        del self._units[unit.id]
        self._rounds.pop(unit.id, None)
        places = [(unit.id, n) for n in range(len(unit.originals[0].tool_calls))]
        return [item for place in places for item in self._calls.forget(place)]

    def _take_results(
        self, unit_id: float, gone: Mapping[int, Sequence[str]], reason: str
    ) -> Sequence[Change]:
        """Take results of a unit back; the newest that is left of each call counts.

        Args:
            unit_id: The unit.
            gone: Which results, by the number of their call.
            reason: What happened.
        """
        unit = self._units[unit_id]
        originals, marks = unit.originals, list[Mark]()
        for number, item_ids in gone.items():
            self._calls.take((unit_id, number), item_ids)
            for item_id in item_ids:
                self.left_out.pop(item_id, None)
            if originals[number + 1].id in item_ids:
                result, more = self._newest_result(unit, number)
                originals = with_item(originals, number + 1, result)
                marks += more
        if originals is unit.originals:
            return ()
        changed = with_items(unit, originals, marks)
        return self._change(changed, reason=reason, moves_prefix=True)

    def _newest_result(
        self, unit: Unit, number: int
    ) -> tuple[ContextItem, Sequence[Mark]]:
        call = unit.originals[0].tool_calls[number]
        answers = self._calls.results((unit.id, number))
        if not answers:
            return stand_in(call, f"{unit.originals[0].id}.{number + 1}"), ()
        self._mark_former((unit.id, number), answers[-1].id)
        return tidy_result(answers[-1], call)

    def _rewind(self, number: int) -> Sequence[Change]:
        reason = f"rewound to i{number}"
        self.left_out = {
            item_id: mark
            for item_id, mark in self.left_out.items()
            if number_of(item_id) <= number
        }
        self._forget_early(
            item.id
            for waiting in self._early.values()
            for item in waiting
            if number_of(item.id) > number
        )
        changes: list[Change] = []
        for unit in reversed(
            [unit for unit in self._units.values() if unit.id > number]
        ):
            for item in self._forget_unit(unit):
                if number_of(item.id) <= number:
                    self._wait(item)
            changes.append(UnitDropped(unit.id, reason))
        later: dict[float, dict[int, list[str]]] = {}
        for (unit_id, call), item_ids in self._calls.later_results(number).items():
            later.setdefault(unit_id, {})[call] = item_ids
        for unit_id in sorted(later, reverse=True):
            changes += self._take_results(unit_id, later[unit_id], reason)
        self._look_back()
        return changes

    def _clear(self) -> Sequence[Change]:
        changes = [UnitDropped(unit_id, "cleared") for unit_id in reversed(self._units)]
        self._units.clear()
        self._calls.clear()
        self._early.clear()
        self._rounds.clear()
        self.left_out.clear()
        self._look_back()
        return changes

    def _look_back(self) -> None:
        """Take turn and round from the unit that is the last one now."""
        last = next(reversed(self._units.values()), None)
        if last is None:
            self._turn = self._round = self._last = 0
            return
        self._last, self._turn = last.id, last.turn
        self._round = last.round or self._rounds.get(last.id, 0)


def _without_marks(unit: Unit, item_ids: Iterable[str]) -> Unit:
    gone = frozenset(item_ids)
    marks = tuple(mark for mark in unit.marks if mark.item_id not in gone)
    return dataclasses.replace(unit, marks=marks)
