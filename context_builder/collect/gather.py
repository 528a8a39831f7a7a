"""Gathers what comes in into units, and joins results to the calls that they answer.

What comes in broken is made whole here: results without calls, calls without results,
answers given twice or in the wrong order. Nothing is refused, everything is reported.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.collect.calls import CallBook, Place, number_of
from context_builder.collect.repairs import (
    asked_ids,
    is_stand_in,
    stand_in,
    tidy_item,
    tidy_result,
)
from context_builder.copies import changed
from context_builder.items import (
    Change,
    ContextItem,
    Mark,
    SystemSet,
    Unit,
    UnitChanged,
    UnitKind,
)
from context_builder.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Gatherer", "says_the_same", "with_item", "with_items"]

_UNASKED = "left out: there is no call that it answers"


class Gatherer:
    """Follows what is added to a log, and says what it means for the units."""

    __slots__ = (
        "_calls",
        "_early",
        "_last",
        "_round",
        "_rounds",
        "_system_id",
        "_turn",
        "_units",
        "left_out",
    )

    def __init__(self) -> None:
        self._units: dict[float, Unit] = {}
        self._calls = CallBook()
        self._early: dict[str, list[ContextItem]] = {}  # by the call that they wait for
        self._rounds: dict[float, int] = {}
        """The round that a turn was in after a unit, where no unit says so itself."""
        self._system_id: str | None = None
        self._turn = 0
        self._round = 0
        self._last: float = 0
        self.left_out: dict[str, Mark] = {}
        """Items that stand in no unit, and why."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units of the conversation as they came in, in order."""
        return tuple(self._units[place] for place in sorted(self._units))

    def share(self, units: Iterable[Unit]) -> None:
        """Keep these in the place of units that are the same but for their sizes.

        Whoever decides about a unit keeps it measured. Where it is shown whole, there
        need not be two of it.
        """
        for unit in units:
            known = self._units.get(unit.id)
            if known is not None and _is_measured(unit, known):
                self._units[unit.id] = unit

    def know_sizes(self, units: Iterable[Unit]) -> None:
        """Keep what these units take whole: whoever takes it all over is told it."""
        for unit in units:
            known = self._units.get(unit.id)
            if known is None or known.sizes or unit.originals is not known.originals:
                continue
            sizes = unit.whole_sizes
            self._units[unit.id] = changed(known, sizes=sizes, whole_sizes=sizes)

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
        starts_turn = _starts_turn(first, kind)
        if starts_turn:
            self._turn += 1
            self._round = 0
        if kind == "tool":
            self._round += 1
        shown = tuple(items)
        unit = Unit(
            id=number_of(first.id),
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
        if self._round and kind != "tool":
            self._rounds[unit.id] = self._round
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
        unit_id = number_of(item.id)
        asked = asked_ids(item, tidy)
        results = []
        for number, call in enumerate(tidy.tool_calls):
            place = (unit_id, number)
            self._calls.ask(place, asked[number], call.name)
            early = self._take_early(asked[number], asked[number + 1 :])
            if early:
                result, more = self._join_early(place, early, call)
                marks += more
            else:
                result = stand_in(call, f"{item.id}.{number + 1}")
            results.append(result)
        return self._add_unit([tidy, *results], marks, kind="tool")

    def _take_early(self, call_id: str, later: Sequence[str]) -> list[ContextItem]:
        """Take the results that wait for a call: one, if more calls have its id."""
        waiting = self._early.pop(call_id, [])
        if len(waiting) > 1 and call_id in later:
            self._early[call_id] = waiting[1:]
            return waiting[:1]
        return waiting

    def _join_early(
        self, place: Place, early: Sequence[ContextItem], call: ToolCall
    ) -> tuple[ContextItem, list[Mark]]:
        for item in early:
            self._calls.answer(place, item)
        newest = early[-1]
        self._mark_former(place, newest.id)
        result, marks = tidy_result(newest, call)
        return result, [*marks, Mark(newest.id, "repaired", "put behind its call")]

    def _mark_former(self, place: Place, newest_id: str) -> None:
        """Say of the results that were replaced by which."""
        for item in self._calls.results(place):
            reason = f"the call was answered again by {newest_id}"
            self.left_out[item.id] = Mark(item.id, "deduplicated", reason)
        self.left_out.pop(newest_id, None)

    # --- results --------------------------------------------------------------------

    def _answer(self, item: ContextItem) -> Sequence[Change]:
        if item.tool_call_id is None:
            place = self._calls.open_call_of(item.tool_name)
            return self._fill(item, place) if place else self._answer_nobody(item)
        if place := self._calls.open_call(item.tool_call_id):
            return self._fill(item, place)
        if place := self._calls.answered_call(item.tool_call_id):
            return self._answer_again(item, place)
        self._wait(item)
        return ()

    def _wait(self, item: ContextItem) -> None:
        """Keep a result until its call comes in."""
        self._early.setdefault(str(item.tool_call_id), []).append(item)
        self.left_out[item.id] = Mark(item.id, "repaired", _UNASKED)

    def _answer_nobody(self, item: ContextItem) -> Sequence[Change]:
        """Give a result that nobody asked for the call that it needs to be shown."""
        call = ToolCall(id=f"call_{item.id}", name=item.tool_name or "tool")
        asking = ContextItem(
            role="assistant", id=item.id, source="repair", tool_calls=(call,)
        )
        asking = tidy_item(asking)[0] or asking
        place = (number_of(item.id), 0)
        self._calls.ask(place, call.id, call.name)
        self._calls.answer(place, item)
        result, marks = tidy_result(item, asking.tool_calls[0])
        mark = Mark(
            item.id, "repaired", "nobody asked for it: a call was put before it"
        )
        return self._add_unit([asking, result], [*marks, mark], kind="tool")

    def _answer_again(self, item: ContextItem, place: Place) -> Sequence[Change]:
        unit_id, number = place
        old = self._units[unit_id].originals[number + 1]
        call = self._units[unit_id].originals[0].tool_calls[number]
        if says_the_same(tidy_result(item, call)[0], old):
            self._calls.answer(place, item)
            reason = f"the same result as {old.id} for the same call"
            self.left_out[item.id] = Mark(item.id, "deduplicated", reason)
            return ()
        reason = f"the call was answered again by {item.id}"
        self.left_out[old.id] = Mark(old.id, "deduplicated", reason)
        return self._fill(item, place, reason=reason, moves_prefix=True)

    def _fill(
        self,
        item: ContextItem,
        place: Place,
        *,
        reason: str = "its result came",
        moves_prefix: bool = False,
    ) -> Sequence[Change]:
        unit_id, number = place
        unit = self._units[unit_id]
        result, marks = tidy_result(item, unit.originals[0].tool_calls[number])
        self._calls.answer(place, item)
        late = unit_id != self._last
        if late:
            marks = [
                *marks,
                Mark(item.id, "repaired", "came late: put behind its call"),
            ]
        index = number + 1
        if is_stand_in(unit.originals[index]):
            unit = _answered(unit, index, result, marks)
        else:
            unit = with_items(unit, with_item(unit.originals, index, result), marks)
        return self._change(unit, reason=reason, moves_prefix=moves_prefix or late)

    def _change(
        self, unit: Unit, *, reason: str, moves_prefix: bool
    ) -> Sequence[Change]:
        """Put a unit's new version in the place of the former."""
        self._units[unit.id] = unit
        return [UnitChanged(unit, reason, moves_prefix)]


def with_items(
    unit: Unit, originals: tuple[ContextItem, ...], marks: Iterable[Mark] = ()
) -> Unit:
    """Return a unit of other items; what was said of those that are gone goes too."""
    gone = {old.id for old in unit.originals} - {new.id for new in originals}
    first = originals[0]
    kind = unit.kind if unit.kind == "tool" else _kind_of(first)
    return dataclasses.replace(
        unit,
        items=originals,
        originals=originals,
        sizes=(),
        whole_sizes=(),
        kind=kind,
        starts_turn=_starts_turn(first, kind),
        pinned=_is_pinned(originals),
        priority=_own_priority(originals),
        marks=(*(m for m in unit.marks if m.item_id not in gone), *marks),
    )


def _answered(
    unit: Unit, index: int, result: ContextItem, marks: Iterable[Mark]
) -> Unit:
    """Return a unit with a result in the place of its stand-in.

    A stand-in has no pin, no priority and no marks: the others need no second look, so
    that many calls of one message cost what they are, and not their square.
    """
    originals = with_item(unit.originals, index, result)
    given = result.priority if result.has_own_priority else None
    known = [one for one in (unit.priority, given) if one is not None]
    return changed(
        unit,
        items=originals,
        originals=originals,
        sizes=(),
        whole_sizes=(),
        pinned=unit.pinned or result.pinned,
        priority=max(known, default=None),
        marks=(*unit.marks, *marks),
    )


def _is_measured(unit: Unit, known: Unit) -> bool:
    """Say whether one unit is another one with its sizes, and nothing else."""
    return (
        unit is not known
        and unit.items is known.originals
        and unit.rendition == "whole"
        and unit.refreshed_turn is None
        and (unit.marks, unit.pinned, unit.priority, unit.reason)
        == (known.marks, known.pinned, known.priority, known.reason)
    )


def with_item(
    items: tuple[ContextItem, ...], index: int, item: ContextItem
) -> tuple[ContextItem, ...]:
    """Return the items with another one in the place of one of them."""
    return (*items[:index], item, *items[index + 1 :])


def says_the_same(one: ContextItem, other: ContextItem) -> bool:
    """Say whether two results are the same answer."""
    return one.content == other.content and one.is_error == other.is_error


def _kind_of(item: ContextItem) -> UnitKind:
    if item.is_background:
        return "background"
    if item.role == "system":
        return "note"
    return "summary" if item.source == "summary" else "message"


def _starts_turn(item: ContextItem, kind: UnitKind) -> bool:
    return kind == "message" and item.is_spoken


def _is_pinned(items: Sequence[ContextItem]) -> bool:
    """Say whether the unit must stay; a system note does unless it was rated lower."""
    first = items[0]
    is_note = first.role == "system" and not first.optional
    return any(item.pinned for item in items) or (
        is_note and not first.has_own_priority
    )


def _own_priority(items: Sequence[ContextItem]) -> int | None:
    """Return the highest priority that somebody gave to one of the items."""
    given = [item.priority for item in items if item.has_own_priority]
    return max(given) if given else None
