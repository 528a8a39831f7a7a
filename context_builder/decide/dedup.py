"""Equal or stale content: what a newer item with the same key does to an older.

Other content supersedes: the older is given up at once, since stale facts mislead.
Equal content is not said twice: the newer becomes a reference to the older while that
is still whole, so that the prompt-cache prefix stays. A compaction moves the prefix
anyway, and then it is the newest that shows the content. When an item is taken out of
the conversation, what had given way to it comes back.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.items import ContextItem, Mark, Plan, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from context_builder.decide.rules import Rules
    from context_builder.decide.shown import Shown

__all__ = ["Doubles", "drop_superseded"]

_STALE = "superseded by a newer item with the same key"


@dataclasses.dataclass(frozen=True, slots=True)
class _Holder:
    """The item that a key stands for now."""

    unit_id: float
    item: ContextItem


class Doubles:
    """Which item each key stands for, and who gave way to whom."""

    __slots__ = ("_gave_way", "_holders", "_moves", "_rules", "_shown")

    def __init__(self, shown: Shown, rules: Rules, moves: list[str]) -> None:
        self._shown = shown
        self._rules = rules
        self._moves = moves
        self._holders: dict[str, _Holder] = {}
        self._gave_way: dict[str, list[tuple[float, str]]] = {}

    def enter(self, unit: Unit, known: Sequence[ContextItem] = ()) -> Unit:
        """Return a unit that comes in, without what is said elsewhere already."""
        seen = {id(item) for item in known}
        for item in unit.originals:
            if item.cache_key is None or id(item) in seen or item.source == "repair":
                continue
            unit = self._enter_item(unit, item, item.cache_key)
        return unit

    def _enter_item(self, unit: Unit, item: ContextItem, key: str) -> Unit:
        older = self._holders.get(key)
        if older is None or not self._is_there(older, unit) or older.item.id == item.id:
            self._holders[key] = _Holder(unit.id, item)
            return unit
        if older.unit_id > unit.id:  # an older version was touched: the newer holds
            return self._give_way(unit, item, older.item)
        first = self._shown.get(older.unit_id)
        if first is not None and first.starts_turn and not unit.starts_turn:
            return unit  # what the user asked is not replaced by what nobody said
        is_equal = _is_equal(older.item, item)
        if is_equal and not unit.starts_turn and self._is_whole(older, unit):
            return self._refer(unit, item, older.item, older.unit_id)
        self._holders[key] = _Holder(unit.id, item)
        if is_equal and not unit.starts_turn:
            return unit
        return self._supersede(unit, item, older)

    def _is_there(self, holder: _Holder, newer: Unit) -> bool:
        unit = newer if holder.unit_id == newer.id else self._shown.get(holder.unit_id)
        return unit is not None and _index(unit, holder.item.id) is not None

    def _is_whole(self, holder: _Holder, newer: Unit) -> bool:
        """Say whether an item is still shown whole in this context."""
        unit = newer if holder.unit_id == newer.id else self._shown.get(holder.unit_id)
        if unit is None or not unit.is_shown:
            return False
        index = _index(unit, holder.item.id)
        return index is not None and unit.items[index] is unit.originals[index]

    def _refer(
        self, unit: Unit, item: ContextItem, older: ContextItem, at: float
    ) -> Unit:
        """Say equal content once; the older stays as long as the newer would have."""
        first = self._shown.get(at)
        if first is not None and at != unit.id:
            self._shown.put(
                dataclasses.replace(
                    first,
                    refreshed_turn=unit.turn,
                    priority=_higher(first.priority, unit.priority),
                )
            )
        self._gave_way.setdefault(older.id, []).append((unit.id, item.id))
        mark = Mark(item.id, "deduplicated", f"the same content as {older.id}")
        if unit.kind != "tool":
            out = unit.leave_out(mark.reason)
            return dataclasses.replace(out, marks=(*unit.marks, mark))
        text = f"[Unchanged: the same content as the earlier result {older.id}.]"
        return _with_text(unit, item.id, text, mark, self._rules)

    def _give_way(self, unit: Unit, item: ContextItem, newer: ContextItem) -> Unit:
        """Give up an item of an older unit for the newer one that holds its key."""
        self._gave_way.setdefault(newer.id, []).append((unit.id, item.id))
        return _superseded(unit, item.id, newer, self._rules)

    def _supersede(self, unit: Unit, item: ContextItem, older: _Holder) -> Unit:
        unit = self._give_up_equals(unit, item, older)
        if older.unit_id == unit.id:
            return _superseded(unit, older.item.id, item, self._rules)
        first = self._shown.get(older.unit_id)
        if first is None or not first.is_shown:
            return unit
        self._shown.put(_superseded(first, older.item.id, item, self._rules))
        self._moves.append(f"{older.item.id} was superseded by {item.id}")
        return dataclasses.replace(
            unit,
            priority=_higher(unit.priority, first.priority),
            pinned=unit.pinned or first.pinned,
        )

    def _give_up_equals(self, unit: Unit, item: ContextItem, older: _Holder) -> Unit:
        """Let what says the same as a stale item give way as well: it is as stale."""
        given = self._gave_way.pop(older.item.id, [])
        equal = [one for one in given if self._says(one, older.item, unit)]
        if len(equal) < len(given):
            self._gave_way[older.item.id] = [one for one in given if one not in equal]
        places = _in_order([*equal, (older.unit_id, older.item.id)])
        self._gave_way.setdefault(item.id, []).extend(places)
        for unit_id, item_id in equal:
            if unit_id == unit.id:
                unit = _superseded(unit, item_id, item, self._rules)
            elif (other := self._shown.get(unit_id)) is not None:
                self._shown.put(_superseded(other, item_id, item, self._rules))
        return unit

    def _says(self, place: tuple[float, str], item: ContextItem, newest: Unit) -> bool:
        """Say whether the item at a place has the content of another one."""
        unit = newest if place[0] == newest.id else self._shown.get(place[0])
        index = None if unit is None else _index(unit, place[1])
        if unit is None or index is None:
            return False
        is_referring = len(_without_mark(unit, place[1]).marks) < len(unit.marks)
        is_told = unit.kind != "tool" or unit.is_shown
        return is_referring and is_told and _is_equal(unit.originals[index], item)

    def handed_on(self, units: Sequence[Unit]) -> tuple[Unit, ...]:
        """Show equal content where it came in last: there it is needed longest.

        For a compaction, which might let go of the older and leave what refers to it.
        In between the older shows it, so that the prefix stays.
        """
        changed: dict[float, Unit] = {}
        for older, referring in self._references():
            for unit_id, item_id in [(older.unit_id, older.item.id), *referring[:-1]]:
                unit = changed.get(unit_id) or self._shown.get(unit_id)
                if unit is not None:
                    newest = referring[-1][1]
                    changed[unit_id] = _same_as(unit, item_id, newest, self._rules)
            unit_id, item_id = referring[-1]
            unit = changed.get(unit_id) or self._shown.get(unit_id)
            if unit is not None:
                changed[unit_id] = _said_again(unit, item_id)
        return tuple(changed.get(unit.id, unit) for unit in units)

    def hand_on(self) -> None:
        """Remember that `handed_on` was decided: the newest holds the key now."""
        for older, referring in list(self._references()):
            unit_id, item_id = referring[-1]
            unit = self._shown.get(unit_id)
            index = None if unit is None else _index(unit, item_id)
            if unit is None or index is None or older.item.cache_key is None:
                continue
            given = self._gave_way.pop(older.item.id)
            stale = [one for one in given if one not in referring]
            was_held = (older.unit_id, older.item.id)
            self._gave_way.setdefault(item_id, [])[:0] = [
                *stale,
                was_held,
                *referring[:-1],
            ]
            newest = unit.originals[index]
            self._holders[older.item.cache_key] = _Holder(unit_id, newest)

    def _references(self) -> Iterator[tuple[_Holder, list[tuple[float, str]]]]:
        """Yield what is referred to, and the shown items that refer to it, in order."""
        for holder in self._holders.values():
            given = self._gave_way.get(holder.item.id)
            unit = self._shown.get(holder.unit_id) if given else None
            if not given or unit is None or unit.pinned:
                continue
            if unit.kind in {"tool", "background"} and self._is_whole(holder, unit):
                later = [one for one in given if self._refers(one, holder)]
                if later:
                    yield holder, later

    def _refers(self, place: tuple[float, str], holder: _Holder) -> bool:
        unit = self._shown.get(place[0])
        index = None if unit is None else _index(unit, place[1])
        if unit is None or index is None or not unit.is_shown:
            return False
        item = unit.originals[index]
        is_later = unit.id > holder.unit_id or (
            unit.id == holder.unit_id and index > (_index(unit, holder.item.id) or 0)
        )
        is_given_up = item is not unit.items[index]
        return is_later and is_given_up and _is_equal(item, holder.item)

    def leave(self, items: Sequence[ContextItem]) -> None:
        """Bring back what had given way to items that were taken out.

        An item that had given way itself hands on what had given way to it.
        """
        for item in items:
            given = _in_order(self._gave_way.pop(item.id, []))
            holder = self._holders.get(item.cache_key) if item.cache_key else None
            if holder is not None and holder.item.id != item.id:
                self._gave_way.setdefault(holder.item.id, [])[:0] = given
                self._refer_anew(given, holder.unit_id, holder.item.id)
                continue
            if item.cache_key is not None:
                self._holders.pop(item.cache_key, None)
            while given:
                unit_id, item_id = given.pop()
                unit = self._shown.get(unit_id)
                if unit is not None and self._restore(unit, item_id):
                    self._gave_way.setdefault(item_id, [])[:0] = given
                    self._refer_anew(given, unit_id, item_id)
                    break

    def _refer_anew(
        self, places: Sequence[tuple[float, str]], unit_id: float, item_id: str
    ) -> None:
        """Let what had given way to an item that left name the one that is back."""
        back = self._shown.get(unit_id)
        index = None if back is None else _index(back, item_id)
        if back is None or index is None:
            return
        for other_id, other_item_id in places:
            other = self._shown.get(other_id)
            place = None if other is None else _index(other, other_item_id)
            if other is None or place is None or not other.is_shown:
                continue
            if _is_equal(other.originals[place], back.originals[index]):
                other = _same_as(other, other_item_id, item_id, self._rules)
            else:
                newer = back.originals[index]
                other = _superseded(other, other_item_id, newer, self._rules)
            self._shown.put(other)

    def _restore(self, unit: Unit, item_id: str) -> bool:
        """Show an item again that is deduplicated for no reason any more."""
        index = _index(unit, item_id)
        bare = _without_mark(unit, item_id)
        if index is None or len(bare.marks) == len(unit.marks):
            return False
        original = unit.originals[index]
        if original.cache_key is not None:
            self._holders[original.cache_key] = _Holder(unit.id, original)
        unit = bare
        if unit.is_shown:
            unit = _said_again(unit, item_id)
        elif unit.kind != "tool":
            unit = dataclasses.replace(
                unit,
                items=unit.originals,
                sizes=unit.whole_sizes,
                rendition="whole",
                reason="",
                pinned=any(item.pinned for item in unit.originals),
            )
        self._shown.put(unit)
        self._moves.append(f"{item_id} is valid again")
        return True


def _is_equal(one: ContextItem, other: ContextItem) -> bool:
    return one.content == other.content and one.tool_calls == other.tool_calls


def _in_order(places: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return places oldest first, each once: what is edited gives way once more."""
    return sorted({*places}, key=lambda place: (place[0], int(place[1][1:])))


def _index(unit: Unit, item_id: str) -> int | None:
    """Return the place of an item in its unit, calls put in by a repair apart."""
    for index, item in enumerate(unit.originals):
        if item.id == item_id and item.source != "repair":
            return index
    return None


def _superseded(unit: Unit, item_id: str, newer: ContextItem, rules: Rules) -> Unit:
    """Return the older unit with one item given up for a newer one of the same key."""
    unit = _without_mark(unit, item_id)
    mark = Mark(item_id, "deduplicated", f"superseded by {newer.id}, same key")
    if unit.kind == "tool":
        text = f"[Out of date: superseded by a newer result ({newer.id}).]"
        return _with_text(unit, item_id, text, mark, rules)
    out = unit.leave_out(_STALE)
    return dataclasses.replace(out, marks=(*unit.marks, mark), pinned=False)


def _same_as(unit: Unit, item_id: str, newest: str, rules: Rules) -> Unit:
    """Return a unit with one item given up for an equal one that came in later."""
    unit = _without_mark(unit, item_id)
    mark = Mark(item_id, "deduplicated", f"the same content as {newest}")
    if unit.kind == "tool":
        text = f"[The same content as the newer result {newest}.]"
        return _with_text(unit, item_id, text, mark, rules)
    out = unit.leave_out(mark.reason)
    return dataclasses.replace(out, marks=(*unit.marks, mark))


def _said_again(unit: Unit, item_id: str) -> Unit:
    """Return a shown unit with one item whole again."""
    index = _index(unit, item_id)
    if index is None:
        return unit
    original, whole = unit.originals[index], unit.whole_sizes[index]
    return dataclasses.replace(
        _without_mark(unit, item_id),
        items=(*unit.items[:index], original, *unit.items[index + 1 :]),
        sizes=(*unit.sizes[:index], whole, *unit.sizes[index + 1 :]),
    )


def _without_mark(unit: Unit, item_id: str) -> Unit:
    """Return a unit that does not say any more that an item gave way."""
    stays = tuple(
        m for m in unit.marks if (m.item_id, m.action) != (item_id, "deduplicated")
    )
    return dataclasses.replace(unit, marks=stays)


def _with_text(unit: Unit, item_id: str, text: str, mark: Mark, rules: Rules) -> Unit:
    """Return the unit with the content of one item replaced."""
    index = _index(unit, item_id)
    if index is None:
        return unit
    short = unit.items[index].with_content(text)
    return dataclasses.replace(
        unit,
        items=(*unit.items[:index], short, *unit.items[index + 1 :]),
        sizes=(
            *unit.sizes[:index],
            rules.ruler.item(short, calls=unit.calls),
            *unit.sizes[index + 1 :],
        ),
        marks=(*unit.marks, mark),
    )


def _higher(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)


def drop_superseded(plan: Plan, rules: Rules) -> Plan:
    """Leave out old rounds of which every result is stale or said elsewhere."""
    del rules
    stale = [
        index
        for index, unit in enumerate(plan.units)
        if unit.marks and unit.kind == "tool" and _may_be_dropped(unit, plan)
    ]
    if not stale:
        return plan
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index in stale:
        if excess_tokens <= 0:
            break
        excess_tokens -= units[index].tokens
        units[index] = units[index].leave_out(_STALE)
    return dataclasses.replace(plan, units=tuple(units))


def _may_be_dropped(unit: Unit, plan: Plan) -> bool:
    return unit.turn < plan.current_turn and not unit.pinned and _is_all_stale(unit)


def _is_all_stale(unit: Unit) -> bool:
    stale = {mark.item_id for mark in unit.marks if mark.action == "deduplicated"}
    return all(item.id in stale for item in unit.originals if item.role == "tool")
