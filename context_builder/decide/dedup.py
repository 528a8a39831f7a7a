"""Equal or stale content: what a newer item with the same key does to an older.

Other content supersedes: the older is given up at once, since stale facts mislead.
Equal content is not said twice: the newer becomes a reference to the older while that
is still whole, so that the prompt-cache prefix stays. When an item is taken out of the
conversation, what had given way to it comes back.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.items import ContextItem, Mark, Plan, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        self._gave_way.setdefault(item.id, []).append((older.unit_id, older.item.id))
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

    def leave(self, items: Sequence[ContextItem]) -> None:
        """Bring back what had given way to items that were taken out.

        An item that had given way itself hands on what had given way to it.
        """
        for item in items:
            given = self._gave_way.pop(item.id, [])
            holder = self._holders.get(item.cache_key) if item.cache_key else None
            if holder is not None and holder.item.id != item.id:
                self._gave_way.setdefault(holder.item.id, [])[:0] = given
                continue
            if item.cache_key is not None:
                self._holders.pop(item.cache_key, None)
            while given:
                unit_id, item_id = given.pop()
                unit = self._shown.get(unit_id)
                if unit is not None and self._restore(unit, item_id):
                    self._gave_way.setdefault(item_id, [])[:0] = given
                    break

    def _restore(self, unit: Unit, item_id: str) -> bool:
        """Show an item again that is deduplicated for no reason any more."""
        index = _index(unit, item_id)
        stays = tuple(
            m for m in unit.marks if (m.item_id, m.action) != (item_id, "deduplicated")
        )
        if index is None or len(stays) == len(unit.marks):
            return False
        original = unit.originals[index]
        if original.cache_key is not None:
            self._holders[original.cache_key] = _Holder(unit.id, original)
        if unit.is_shown:
            whole = unit.whole_sizes[index]
            items = (*unit.items[:index], original, *unit.items[index + 1 :])
            sizes = (*unit.sizes[:index], whole, *unit.sizes[index + 1 :])
            unit = dataclasses.replace(unit, items=items, sizes=sizes)
        elif unit.kind != "tool":
            unit = dataclasses.replace(
                unit,
                items=unit.originals,
                sizes=unit.whole_sizes,
                rendition="whole",
                reason="",
                pinned=any(item.pinned for item in unit.originals),
            )
        self._shown.put(dataclasses.replace(unit, marks=stays))
        self._moves.append(f"{item_id} is valid again")
        return True


def _is_equal(one: ContextItem, other: ContextItem) -> bool:
    return one.content == other.content and one.tool_calls == other.tool_calls


def _index(unit: Unit, item_id: str) -> int | None:
    """Return the place of an item in its unit, calls put in by a repair apart."""
    for index, item in enumerate(unit.originals):
        if item.id == item_id and item.source != "repair":
            return index
    return None


def _superseded(unit: Unit, item_id: str, newer: ContextItem, rules: Rules) -> Unit:
    """Return the older unit with one item given up for a newer one of the same key."""
    mark = Mark(item_id, "deduplicated", f"superseded by {newer.id}, same key")
    if unit.kind == "tool":
        text = f"[Out of date: superseded by a newer result ({newer.id}).]"
        return _with_text(unit, item_id, text, mark, rules)
    out = unit.leave_out(_STALE)
    return dataclasses.replace(out, marks=(*unit.marks, mark), pinned=False)


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
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index, unit in enumerate(units):
        if excess_tokens <= 0:
            break
        if unit.turn < plan.current_turn and not unit.pinned and _is_all_stale(unit):
            excess_tokens -= unit.tokens
            units[index] = unit.leave_out(_STALE)
    return dataclasses.replace(plan, units=tuple(units))


def _is_all_stale(unit: Unit) -> bool:
    if unit.kind != "tool":
        return False
    stale = {mark.item_id for mark in unit.marks if mark.action == "deduplicated"}
    return all(item.id in stale for item in unit.originals if item.role == "tool")
