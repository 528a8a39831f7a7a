"""The fold over the log: each change advances it; crossing the mark compacts.

The state is a function of the changes, the settings and the target's ruler, and of
nothing else: not of when or how often somebody asked for a build. That one choice makes
builds repeatable, requests append-stable, and a restored session equal to the live one.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, assert_never

from context_builder.decide.budget import low_mark
from context_builder.decide.current import cut_content
from context_builder.decide.dedup import refer_to, supersede
from context_builder.decide.plan import descend
from context_builder.decide.rules import Rules
from context_builder.decide.shorten import truncate_chars
from context_builder.items import (
    Change,
    ContextItem,
    Mark,
    Plan,
    SystemSet,
    ToolsSet,
    Unit,
    UnitChanged,
    UnitDropped,
)

__all__ = ["FixedTokens", "Fold", "notice_item"]

Tools = tuple[Mapping[str, Any], ...]
FixedTokens = Callable[[ContextItem | None, Tools], Mapping[str, int]]
"""Measures what no step can change: `system`, `tools`, `overhead`."""

_MOST_LEFT_OUT = 999_999
_CAP_GRID_TOKENS = 64


def notice_item(left_out_items: int) -> ContextItem:
    """Return the one line that tells the model that something was left out."""
    were = "message was" if left_out_items == 1 else "messages were"
    text = f"{left_out_items:,} earlier {were} left out to stay within the token budget."
    return ContextItem(role="user", content=text, id="notice", source="notice")


@dataclasses.dataclass(frozen=True, slots=True)
class _Key:
    """Where the item that a cache key stands for is."""

    unit_id: int
    item: ContextItem


class Fold:
    """The decision so far: which unit is shown how, in one target's tokens."""

    __slots__ = (
        "_demoted",
        "_ids",
        "_keys",
        "_measure_fixed",
        "_rules",
        "_users",
        "compactions",
        "evicted_items",
        "excess",
        "fixed",
        "gone",
        "limit_tokens",
        "live",
        "notice",
        "notice_tokens",
        "prefix_moves",
        "stable_units",
        "system",
        "tokens",
        "tools",
    )

    def __init__(
        self, *, limit_tokens: int, rules: Rules, measure_fixed: FixedTokens
    ) -> None:
        self._rules = rules
        self._measure_fixed = measure_fixed
        self._ids: list[int] = []
        self._keys: dict[str, _Key] = {}
        self._demoted: dict[str, list[tuple[int, str]]] = {}
        self._users: list[tuple[int, int]] = []  # (unit id, turn) of the user's messages
        self.limit_tokens = limit_tokens
        self.live: list[Unit] = []
        """What is shown, in order."""
        self.gone: dict[int, Unit] = {}
        """What is absent, by id; nothing is forgotten."""
        self.system: ContextItem | None = None
        self.tools: Tools = ()
        self.fixed: Mapping[str, int] = measure_fixed(None, ())
        self.tokens = sum(self.fixed.values())
        """Input tokens of the whole request."""
        self.evicted_items = 0
        self.notice: ContextItem | None = None
        self.notice_tokens = 0
        self.compactions = 0
        self.stable_units = 0
        """How many of the live units came out of the last compaction."""
        self.prefix_moves: list[str] = []
        """Why the beginning of the request changed, each time that it did."""
        self.excess: Mapping[str, int] | None = None
        """The parts of what does not fit; None: it fits."""

    @property
    def turn(self) -> int:
        """The current turn."""
        return self._users[-1][1] if self._users else 0

    # --- advancing ----------------------------------------------------------------

    def advance(self, changes: Iterable[Change]) -> None:
        """Take in what one log entry changes; compact where it crosses the mark."""
        for change in changes:
            match change:
                case Unit():
                    self._add(change)
                case UnitChanged():
                    self._replace(change)
                case UnitDropped():
                    self._drop(change)
                case SystemSet():
                    self._set_fixed(change.item, self.tools, "a new system prompt")
                case ToolsSet():
                    self._set_fixed(self.system, change.tools, "new tools")
                case _:
                    assert_never(change)
        self._settle()

    def _add(self, unit: Unit) -> None:
        if unit.starts_turn:
            self._users.append((unit.id, unit.turn))
        unit = self._capped(self._measured(unit), known=())
        unit = self._without_doubles(unit)
        if unit.is_shown:
            self.live.append(unit)
            self._ids.append(unit.id)
        else:
            self.gone[unit.id] = unit
        self.tokens += unit.tokens

    def _measured(self, unit: Unit, known: Mapping[int, int] | None = None) -> Unit:
        """Return the unit whole, with its sizes; what is `known` (by object) is kept."""
        known = known or {}
        sizes = tuple(
            known[id(item)] if id(item) in known else self._rules.ruler.item(item)
            for item in unit.originals
        )
        return dataclasses.replace(unit, sizes=sizes, whole_sizes=sizes)

    def _replace(self, change: UnitChanged) -> None:
        unit_id = change.unit.id
        old = self._unit(unit_id)
        known = dict(zip(map(id, old.originals), old.whole_sizes, strict=True))
        unit = self._measured(change.unit, known)
        if unit_id in self.gone:
            self.gone[unit_id] = dataclasses.replace(
                unit, items=(), sizes=(), rendition="absent", reason=old.reason
            )
            return
        unit = self._capped(self._as_shown(unit, old), known=old.originals)
        unit = self._without_doubles(unit, known=old.originals)
        self._put(unit)
        if change.moves_prefix:
            self.prefix_moves.append(change.reason)

    def _as_shown(self, unit: Unit, old: Unit) -> Unit:
        """Return a new version of a unit; what did not change is shown as before."""
        if old.rendition == "whole" and not old.marks:
            return unit
        shown = {id(o): (i, s) for o, i, s in zip(old.originals, old.items, old.sizes, strict=True)}
        pairs = [
            shown.get(id(item), (item, size))
            for item, size in zip(unit.originals, unit.sizes, strict=True)
        ]
        own = {mark.item_id for mark in unit.marks}
        ids = {item.id for item in unit.originals}
        kept = tuple(m for m in old.marks if m.item_id in ids and m not in unit.marks)
        del own
        return dataclasses.replace(
            unit,
            items=tuple(item for item, _ in pairs),
            sizes=tuple(size for _, size in pairs),
            rendition=old.rendition,
            reason=old.reason,
            refreshed_turn=old.refreshed_turn,
            marks=(*kept, *unit.marks),
        )

    def _drop(self, change: UnitDropped) -> None:
        unit = self.gone.pop(change.unit_id, None)
        if unit is None:
            index = bisect_left(self._ids, change.unit_id)
            unit = self.live.pop(index)
            self._ids.pop(index)
            self.tokens -= unit.tokens
            if index < len(self.live):
                self.prefix_moves.append(change.reason)
        self._users = [user for user in self._users if user[0] != change.unit_id]
        for item in unit.originals:
            self._restore_demoted_by(item)

    def _set_fixed(self, system: ContextItem | None, tools: Tools, reason: str) -> None:
        if (self.live or self.system or self.tools) and (
            system != self.system or tools != self.tools
        ):
            self.prefix_moves.append(reason)
        self.tokens -= sum(self.fixed.values())
        self.system, self.tools = system, tools
        self.fixed = self._measure_fixed(system, tools)
        self.tokens += sum(self.fixed.values())

    # --- places -------------------------------------------------------------------

    def _index(self, unit_id: int) -> int:
        """Return the place of a live unit.

        Raises:
            KeyError: If it is not live.
        """
        index = bisect_left(self._ids, unit_id)
        if index == len(self._ids) or self._ids[index] != unit_id:
            raise KeyError(unit_id)
        return index

    def _unit(self, unit_id: int) -> Unit:
        gone = self.gone.get(unit_id)
        return self.live[self._index(unit_id)] if gone is None else gone

    def _put(self, unit: Unit) -> None:
        """Put another version of a live unit in its place."""
        index = self._index(unit.id)
        self.tokens += unit.tokens - self.live[index].tokens
        if unit.is_shown:
            self.live[index] = unit
            return
        del self.live[index], self._ids[index]
        self.gone[unit.id] = unit

    def _bring_back(self, unit: Unit) -> None:
        """Show an absent unit again, in its place."""
        del self.gone[unit.id]
        index = bisect_left(self._ids, unit.id)
        self.live.insert(index, unit)
        self._ids.insert(index, unit.id)
        self.tokens += unit.tokens

    # --- on entry -----------------------------------------------------------------

    def _capped(self, unit: Unit, known: Sequence[ContextItem]) -> Unit:
        """Cut results that are too large for what is left, when they come in."""
        if unit.kind != "tool" or unit.pinned:
            return unit
        seen = {id(item) for item in known}
        for index, item in enumerate(unit.items):
            if item.role == "tool" and id(unit.originals[index]) not in seen:
                unit = self._cap(unit, index, item)
        return unit

    def _cap(self, unit: Unit, index: int, item: ContextItem) -> Unit:
        short, reason = self._cut_chars(item), "longer than tool_result_max_chars"
        if short is None:
            short, reason = self._cut_tokens(unit, index, item), "too large for what is left"
        if short is None:
            return unit
        size = self._rules.ruler.item(short)
        if size >= unit.sizes[index]:
            return unit
        mark = Mark(item.id, "shortened", f"on entry: {reason}")
        return dataclasses.replace(
            unit,
            items=(*unit.items[:index], short, *unit.items[index + 1 :]),
            sizes=(*unit.sizes[:index], size, *unit.sizes[index + 1 :]),
            rendition="shortened" if unit.rendition == "whole" else unit.rendition,
            reason=unit.reason or reason,
            marks=(*unit.marks, mark),
        )

    def _cut_chars(self, item: ContextItem) -> ContextItem | None:
        limit_chars = self._rules.settings.tool_result_max_chars
        if limit_chars is None or not isinstance(item.content, str):
            return None
        if item.source == "repair" or len(item.content) <= limit_chars:
            return None
        return item.with_content(truncate_chars(item.content, limit_chars))

    def _cut_tokens(self, unit: Unit, index: int, item: ContextItem) -> ContextItem | None:
        """Cut a result that crosses the mark and takes more than the turn's share."""
        size = unit.sizes[index]
        others_tokens = self.tokens + unit.tokens - size - self._shown_tokens(unit.id)
        share_tokens = int(self.limit_tokens * self._rules.settings.shares.latest_turn)
        room_tokens = max(share_tokens, self.limit_tokens - others_tokens)
        if size <= room_tokens:
            return None
        room_tokens -= room_tokens % _CAP_GRID_TOKENS
        return cut_content(item, room_tokens, size, self._rules)

    def _shown_tokens(self, unit_id: int) -> int:
        """Return what a unit takes before it is put anew; 0 for one that just came."""
        try:
            return self.live[self._index(unit_id)].tokens
        except KeyError:
            return 0

    # --- equal and stale content ------------------------------------------------------

    def _without_doubles(self, unit: Unit, known: Sequence[ContextItem] = ()) -> Unit:
        seen = {id(item) for item in known}
        for item in unit.originals:
            if item.cache_key is None or id(item) in seen or item.source == "repair":
                continue
            unit = self._deduplicated(unit, item, item.cache_key)
        return unit

    def _deduplicated(self, unit: Unit, item: ContextItem, key: str) -> Unit:
        older = self._keys.get(key)
        if older is None or older.item.id == item.id or not self._has(older):
            self._keys[key] = _Key(unit.id, item)
            return unit
        if older.item.content == item.content and self._is_whole(older, unit):
            if not unit.starts_turn:
                return self._refer(unit, item, older)
        elif older.item.content == item.content:
            self._keys[key] = _Key(unit.id, item)
            return unit
        return self._supersede(unit, item, older, key)

    def _has(self, key: _Key) -> bool:
        try:
            unit = self._unit(key.unit_id)
        except KeyError:
            return False
        return any(item is key.item or item.id == key.item.id for item in unit.originals)

    def _is_whole(self, key: _Key, newer: Unit) -> bool:
        """Say whether an item is still shown whole in this context."""
        unit = newer if key.unit_id == newer.id else self._unit(key.unit_id)
        return any(
            shown is whole and whole.id == key.item.id and whole.source != "repair"
            for shown, whole in zip(unit.items, unit.originals, strict=False)
        )

    def _refer(self, unit: Unit, item: ContextItem, older: _Key) -> Unit:
        """Say equal content once: the newer points to the older, which stays longer."""
        if older.unit_id != unit.id:
            first = self._unit(older.unit_id)
            self._put(
                dataclasses.replace(
                    first,
                    refreshed_turn=unit.turn,
                    priority=_higher(first.priority, unit.priority),
                )
            )
        self._demoted.setdefault(older.item.id, []).append((unit.id, item.id))
        if unit.kind != "tool":
            mark = Mark(item.id, "deduplicated", f"the same content as {older.item.id}")
            out = unit.leave_out(mark.reason)
            return dataclasses.replace(out, marks=(*unit.marks, mark))
        return refer_to(unit, item.id, older.item.id, self._rules)

    def _supersede(self, unit: Unit, item: ContextItem, older: _Key, key: str) -> Unit:
        self._keys[key] = _Key(unit.id, item)
        self._demoted[item.id] = [(older.unit_id, older.item.id)]
        if older.unit_id == unit.id:
            return supersede(unit, older.item.id, item, self._rules)
        first = self._unit(older.unit_id)
        if first.is_shown:
            self._put(supersede(first, older.item.id, item, self._rules))
            self.prefix_moves.append(f"{older.item.id} was superseded by {item.id}")
        return dataclasses.replace(
            unit,
            priority=_higher(unit.priority, first.priority),
            pinned=unit.pinned or first.pinned,
        )

    def _restore_demoted_by(self, item: ContextItem) -> None:
        """Show again what had given way to an item that is gone now."""
        if item.cache_key is not None and self._keys.get(item.cache_key) is not None:
            if self._keys[item.cache_key].item.id == item.id:
                del self._keys[item.cache_key]
        for unit_id, item_id in reversed(self._demoted.pop(item.id, ())):
            try:
                unit = self._unit(unit_id)
            except KeyError:  # it is gone as well
                continue
            self._restore(unit, item_id)
            return

    def _restore(self, unit: Unit, item_id: str) -> None:
        marks = tuple(
            m for m in unit.marks if (m.item_id, m.action) != (item_id, "deduplicated")
        )
        if len(marks) == len(unit.marks):
            return
        index = next(
            n
            for n, item in enumerate(unit.originals)
            if item.id == item_id and item.source != "repair"
        )
        original = unit.originals[index]
        if original.cache_key is not None:
            self._keys[original.cache_key] = _Key(unit.id, original)
        if not unit.is_shown:
            if unit.kind != "tool":
                self._bring_back(
                    dataclasses.replace(
                        unit,
                        items=unit.originals,
                        sizes=unit.whole_sizes,
                        rendition="whole",
                        reason="",
                        pinned=any(i.pinned for i in unit.originals),
                        marks=marks,
                    )
                )
                self.prefix_moves.append(f"{item_id} is valid again")
            return
        if unit.rendition == "reference":
            return
        self._put(
            dataclasses.replace(
                unit,
                items=(*unit.items[:index], original, *unit.items[index + 1 :]),
                sizes=(
                    *unit.sizes[:index],
                    unit.whole_sizes[index],
                    *unit.sizes[index + 1 :],
                ),
                marks=marks,
            )
        )
        self.prefix_moves.append(f"{item_id} is valid again")

    # --- compaction ---------------------------------------------------------------

    def _settle(self) -> None:
        """Compact if the mark is crossed. What cannot fit changes nothing."""
        self.excess = None
        if self.tokens <= self.limit_tokens:
            return
        untouchable_tokens = self._untouchable_tokens()
        plan = Plan(
            units=tuple(self.live),
            fixed_tokens=sum(self.fixed.values()),
            target_tokens=low_mark(
                self.limit_tokens, untouchable_tokens, self._rules.settings
            ),
            limit_tokens=self.limit_tokens,
            current_turn=self.turn,
            notice_tokens=self._rules.ruler.item(notice_item(_MOST_LEFT_OUT)),
            has_gap=self.notice is not None,
        )
        lower = descend(plan, self._rules)
        if not lower.fits_limit:
            self.excess = self._parts(lower)
            return
        self._apply(lower)

    def _untouchable_tokens(self) -> int:
        latest = self._users[-1][0] if self._users else None
        return sum(self.fixed.values()) + sum(
            unit.tokens for unit in self.live if unit.pinned or unit.id == latest
        )

    def _apply(self, plan: Plan) -> None:
        was_shown = {unit.id: unit for unit in self.live}
        for unit in plan.units:
            if not unit.is_shown:
                self.gone[unit.id] = unit
                if unit.kind != "background":
                    self.evicted_items += len(was_shown[unit.id].items)
        self.live = [unit for unit in plan.units if unit.is_shown]
        self._ids = [unit.id for unit in self.live]
        if plan.has_gap:
            self.notice = notice_item(self.evicted_items)
            self.notice_tokens = self._rules.ruler.item(self.notice)
        self.tokens = (
            plan.fixed_tokens
            + self.notice_tokens
            + sum(unit.tokens for unit in self.live)
        )
        self.compactions += 1
        self.stable_units = len(self.live)
        self.prefix_moves.append("compaction")

    def _parts(self, plan: Plan) -> dict[str, int]:
        """Return the sizes of what is left when nothing more can yield."""
        parts = dict(self.fixed)
        latest = self._users[-1][0] if self._users else None
        for unit in plan.units:
            if not unit.is_shown:
                continue
            if unit.id == latest:
                name = "latest user message"
            elif unit.pinned:
                name = "pinned"
            else:
                name = "current turn"
            parts[name] = parts.get(name, 0) + unit.tokens
        if plan.has_gap:
            parts["notice"] = plan.notice_tokens
        return {name: tokens for name, tokens in parts.items() if tokens}


def _higher(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)
