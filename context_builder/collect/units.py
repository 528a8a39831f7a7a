"""Groups log entries into units, so that a tool call never leaves without its results.

What comes in broken is made whole here: results without calls, calls without results,
answers given twice or in the wrong order. Nothing is refused, everything is reported.
The grouping is a pure function of the log; it knows no budget and no vendor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from context_builder.collect.repairs import (
    is_stand_in,
    stand_in,
    tidy_item,
    tidy_result,
)
from context_builder.items import (
    Change,
    Cleared,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LogEntry,
    Mark,
    Rewound,
    SystemSet,
    ToolsSet,
    Unit,
    UnitChanged,
    UnitDropped,
    UnitKind,
)
from context_builder.messages import ToolCall

__all__ = ["Grouper"]

_Place = tuple[float, int]
"""A call: the id of its unit, and its number among the unit's calls."""


class Grouper:
    """Follows a log and says what each entry means for the units."""

    __slots__ = (
        "_answered",
        "_last",
        "_open",
        "_round",
        "_system_id",
        "_turn",
        "_unit_of",
        "_units",
        "_waiting",
        "left_out",
    )

    def __init__(self) -> None:
        self._units: dict[float, Unit] = {}
        self._unit_of: dict[str, float] = {}  # results only: others name their unit
        self._open: dict[str, list[_Place]] = {}
        self._answered: dict[str, _Place] = {}
        self._waiting: dict[str, ContextItem] = {}
        self._system_id: str | None = None
        self._turn = 0
        self._round = 0
        self._last: float = 0
        self.left_out: dict[str, Mark] = {}
        """Items that stand in no unit, and why."""

    def feed(self, entry: LogEntry) -> Sequence[Change]:
        """Take in the next entry, and return what changes by it, in order."""
        match entry:
            case ContextItem():
                return self._add(entry)
            case ItemsAdded():
                return [change for item in entry.items for change in self._add(item)]
            case SystemSet():
                return self._set_system(entry)
            case ToolsSet():
                return [entry]
            case ItemEdited():
                return self._edit(entry.item)
            case ItemRemoved():
                return self._remove(entry.item_id)
            case Rewound():
                return self._rewind(_number(entry.item_id))
            case Cleared():
                return self._clear()
            case _:
                assert_never(entry)

    # --- what comes in ------------------------------------------------------------

    def _add(self, item: ContextItem) -> Sequence[Change]:
        if item.role == "tool":
            return self._answer(item)
        tidy, marks = tidy_item(item)
        if tidy is None:
            self.left_out[item.id] = marks[0]
            return ()
        if tidy.tool_calls:
            return self._open_round(tidy, item, marks)
        return self._add_unit([tidy], marks, kind=_kind_of(tidy))

    def _add_unit(
        self, items: Sequence[ContextItem], marks: Iterable[Mark], *, kind: UnitKind
    ) -> Sequence[Change]:
        first = items[0]
        starts_turn = kind == "message" and first.is_spoken
        if starts_turn:
            self._turn += 1
            self._round = 0
        if kind == "tool":
            self._round += 1
        shown = tuple(items)
        unit = Unit(
            id=_number(first.id),
            items=shown,
            originals=shown,
            kind=kind,
            turn=self._turn,
            round=self._round if kind == "tool" else 0,
            starts_turn=starts_turn,
            pinned=_is_pinned(items),
            priority=_own_priority(items),
            marks=tuple(marks),
        )
        self._units[unit.id] = unit
        self._last = unit.id
        return [unit]

    def _set_system(self, entry: SystemSet) -> Sequence[Change]:
        if entry.item is None:
            self._system_id = None
            return [entry]
        self._system_id = entry.item.id
        tidy, _ = tidy_item(entry.item)
        return [SystemSet(tidy)]

    def _open_round(
        self, tidy: ContextItem, item: ContextItem, marks: list[Mark]
    ) -> Sequence[Change]:
        unit_id = _number(item.id)
        results = []
        for number, call in enumerate(tidy.tool_calls):
            early = self._waiting.pop(call.id, None)
            if early is None:
                self._open.setdefault(_asked_id(item, call), []).append((unit_id, number))
                results.append(stand_in(call, f"{item.id}.{number + 1}"))
                continue
            result, more = tidy_result(early, call)
            self.left_out.pop(early.id, None)
            self._unit_of[early.id] = unit_id
            self._answered[call.id] = (unit_id, number)
            marks += [*more, Mark(early.id, "repaired", "put behind its call")]
            results.append(result)
        return self._add_unit([tidy, *results], marks, kind="tool")

    def _answer(self, item: ContextItem) -> Sequence[Change]:
        if item.tool_call_id is None:
            return self._answer_by_name(item)
        places = self._open.get(item.tool_call_id)
        if places:
            return self._fill(item, self._take(item.tool_call_id, places))
        if item.tool_call_id in self._answered:
            return self._answer_again(item, self._answered[item.tool_call_id])
        self._waiting[item.tool_call_id] = item
        reason = "left out: there is no call that it answers"
        self.left_out[item.id] = Mark(item.id, "repaired", reason)
        return ()

    def _take(self, call_id: str, places: list[_Place]) -> _Place:
        """Take the first open call of the newest unit that has one of this id."""
        newest = places[-1][0]
        index = next(n for n, place in enumerate(places) if place[0] == newest)
        place = places.pop(index)
        if not places:
            del self._open[call_id]
        self._answered[call_id] = place
        return place

    def _answer_by_name(self, item: ContextItem) -> Sequence[Change]:
        """Join a result without an id to the newest open call of its tool."""
        best: tuple[_Place, str] | None = None
        for call_id, places in self._open.items():
            for unit_id, number in places:
                call = self._units[unit_id].originals[0].tool_calls[number]
                if item.tool_name not in (None, call.name):
                    continue
                if best is None or _is_sooner((unit_id, number), best[0]):
                    best = ((unit_id, number), call_id)
        if best is None:
            return self._answer_nobody(item)
        place, call_id = best
        self._open[call_id].remove(place)
        if not self._open[call_id]:
            del self._open[call_id]
        self._answered[call_id] = place
        return self._fill(item, place)

    def _answer_nobody(self, item: ContextItem) -> Sequence[Change]:
        """Give a result that nobody asked for the call that it needs to be shown."""
        call = ToolCall(id=f"call_{item.id}", name=item.tool_name or "tool")
        asking = ContextItem(
            role="assistant", id=item.id, source="repair", tool_calls=(call,)
        )
        result, marks = tidy_result(item, call)
        self._answered[call.id] = (_number(item.id), 0)
        mark = Mark(item.id, "repaired", "nobody asked for it: a call was put before it")
        return self._add_unit([asking, result], [*marks, mark], kind="tool")

    def _answer_again(self, item: ContextItem, place: _Place) -> Sequence[Change]:
        unit_id, number = place
        old = self._units[unit_id].originals[number + 1]
        call = self._units[unit_id].originals[0].tool_calls[number]
        new, _ = tidy_result(item, call)
        if new.content == old.content and new.is_error == old.is_error:
            reason = f"the same result as {old.id} for the same call"
            self.left_out[item.id] = Mark(item.id, "deduplicated", reason)
            return ()
        reason = f"the call was answered again by {item.id}"
        self.left_out[old.id] = Mark(old.id, "deduplicated", reason)
        self._unit_of.pop(old.id, None)
        return self._fill(item, place, reason=reason, moves_prefix=True)

    def _fill(
        self,
        item: ContextItem,
        place: _Place,
        *,
        reason: str = "its result came",
        moves_prefix: bool = False,
    ) -> Sequence[Change]:
        unit_id, number = place
        unit = self._units[unit_id]
        result, marks = tidy_result(item, unit.originals[0].tool_calls[number])
        self._unit_of[item.id] = unit_id
        late = unit_id != self._last
        if late:
            marks = [*marks, Mark(item.id, "repaired", "came late: put behind its call")]
        return self._change(
            unit,
            _with(unit.originals, number + 1, result),
            marks=marks,
            reason=reason,
            moves_prefix=moves_prefix or late,
        )

    def _change(
        self,
        unit: Unit,
        originals: tuple[ContextItem, ...],
        *,
        marks: Sequence[Mark] = (),
        reason: str,
        moves_prefix: bool,
    ) -> Sequence[Change]:
        gone = {old.id for old in unit.originals} - {new.id for new in originals}
        changed = dataclasses.replace(
            unit,
            items=originals,
            originals=originals,
            pinned=_is_pinned(originals),
            priority=_own_priority(originals),
            marks=(*(m for m in unit.marks if m.item_id not in gone), *marks),
        )
        self._units[unit.id] = changed
        return [UnitChanged(changed, reason, moves_prefix)]

    # --- what is taken back -----------------------------------------------------------

    def _edit(self, item: ContextItem) -> Sequence[Change]:
        if item.id == self._system_id:
            return self._set_system(SystemSet(item))
        unit = self._find(item.id)
        if unit is None:
            return ()
        index = next(n for n, old in enumerate(unit.originals) if old.id == item.id)
        call_index = index - 1
        tidy: ContextItem | None
        if item.role == "tool":
            index = next(n for n, old in enumerate(unit.originals) if n and old.id == item.id)
            call_index = index - 1
            tidy, marks = tidy_result(item, unit.originals[0].tool_calls[call_index])
        else:
            tidy, marks = tidy_item(item)
        if tidy is None:
            return self._remove(item.id)
        originals = _with(unit.originals, index, tidy)
        kept = dataclasses.replace(
            unit, marks=tuple(m for m in unit.marks if m.item_id != item.id)
        )
        return self._change(
            kept, originals, marks=marks, reason=f"{item.id} was edited", moves_prefix=True
        )

    def _find(self, item_id: str) -> Unit | None:
        unit_id = self._unit_of.get(item_id)
        return self._units.get(_number(item_id) if unit_id is None else unit_id)

    def _remove(self, item_id: str) -> Sequence[Change]:
        unit = self._find(item_id)
        self.left_out.pop(item_id, None)
        self._forget_waiting(lambda item: item.id == item_id)
        if unit is None:
            return ()
        reason = f"{item_id} was removed"
        if unit.originals[0].id == item_id:
            return self._drop(unit, reason)
        number = next(n for n, old in enumerate(unit.originals) if old.id == item_id)
        return self._reopen(unit, [number], reason)

    def _drop(self, unit: Unit, reason: str) -> Sequence[Change]:
        del self._units[unit.id]
        for item in unit.originals[1:]:
            if not is_stand_in(item) and self._unit_of.pop(item.id, None) is not None:
                mark = Mark(item.id, "repaired", f"left out: its call {reason}")
                self.left_out[item.id] = mark
        self._reindex()
        return [UnitDropped(unit.id, reason)]

    def _reopen(self, unit: Unit, numbers: Sequence[int], reason: str) -> Sequence[Change]:
        originals = unit.originals
        for number in numbers:
            call = originals[0].tool_calls[number - 1]
            self._unit_of.pop(originals[number].id, None)
            place_holder = stand_in(call, f"{originals[0].id}.{number}")
            originals = _with(originals, number, place_holder)
        changes = self._change(unit, originals, reason=reason, moves_prefix=True)
        self._reindex()
        return changes

    def _rewind(self, number: int) -> Sequence[Change]:
        reason = f"rewound to i{number}"
        self.left_out = {
            item_id: mark
            for item_id, mark in self.left_out.items()
            if _number(item_id) <= number
        }
        self._forget_waiting(lambda item: _number(item.id) > number)
        changes: list[Change] = []
        for unit in reversed(list(self._units.values())):
            if unit.id > number:
                del self._units[unit.id]
                for item in unit.originals[1:]:
                    self._unit_of.pop(item.id, None)
                changes.append(UnitDropped(unit.id, reason))
            elif later := _later_results(unit, number):
                changes += self._reopen(unit, later, reason)
        self._reindex()
        return changes

    def _clear(self) -> Sequence[Change]:
        changes = [UnitDropped(unit_id, "cleared") for unit_id in reversed(self._units)]
        self._units.clear()
        self._unit_of.clear()
        self._waiting.clear()
        self.left_out.clear()
        self._reindex()
        return changes

    def _forget_waiting(self, is_gone: Callable[[ContextItem], bool]) -> None:
        self._waiting = {
            call_id: item for call_id, item in self._waiting.items() if not is_gone(item)
        }

    def _reindex(self) -> None:
        """Work out anew which calls are open, after something was taken back."""
        self._open, self._answered = {}, {}
        self._turn = self._round = self._last = 0
        for unit in self._units.values():
            self._turn, self._last = unit.turn, unit.id
            self._round = unit.round or (0 if unit.starts_turn else self._round)
            for number, call in enumerate(unit.originals[0].tool_calls):
                place = (unit.id, number)
                if is_stand_in(unit.originals[number + 1]):
                    self._open.setdefault(call.id, []).append(place)
                else:
                    self._answered[call.id] = place


def _number(item_id: str) -> int:
    return int(item_id[1:].partition(".")[0])


def _kind_of(item: ContextItem) -> UnitKind:
    if item.is_background:
        return "background"
    if item.role == "system":
        return "note"
    return "summary" if item.source == "summary" else "message"


def _is_pinned(items: Sequence[ContextItem]) -> bool:
    """Say whether the unit must stay; a system note does unless it was rated lower."""
    first = items[0]
    is_note = first.role == "system" and not first.optional
    return any(item.pinned for item in items) or (is_note and not first.has_own_priority)


def _own_priority(items: Sequence[ContextItem]) -> int | None:
    """Return the highest priority that somebody gave to one of the items."""
    given = [item.priority for item in items if item.has_own_priority]
    return max(given) if given else None


def _asked_id(item: ContextItem, call: ToolCall) -> str:
    """Return the id under which the vendor asked, where a repair had to rename it."""
    if any(call.id == asked.id for asked in item.tool_calls):
        return call.id
    for asked in item.tool_calls:
        if asked.id and call.id.startswith(f"{asked.id}_"):
            return asked.id
    return call.id


def _is_sooner(place: _Place, other: _Place) -> bool:
    """Say whether a call is in a newer unit, or earlier within the same unit."""
    return (place[0], -place[1]) > (other[0], -other[1])


def _later_results(unit: Unit, number: int) -> list[int]:
    return [
        index
        for index, item in enumerate(unit.originals)
        if index and not is_stand_in(item) and _number(item.id) > number
    ]


def _with(
    items: tuple[ContextItem, ...], index: int, item: ContextItem
) -> tuple[ContextItem, ...]:
    return (*items[:index], item, *items[index + 1 :])
