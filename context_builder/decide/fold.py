"""The fold over the log: each change advances it; crossing the mark compacts.

The state is a function of the changes, the settings and the target's ruler, and of
nothing else: not of when or how often somebody asked for a build. That one choice makes
builds repeatable, requests append-stable, and a restored session equal to the live one.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from context_builder.decide.budget import low_mark, parts_of
from context_builder.decide.dedup import Doubles
from context_builder.decide.digest import Digest, digest_of, notice_item
from context_builder.decide.entry import cap_results
from context_builder.decide.plan import descend
from context_builder.decide.recaller import (
    FRAME_TOKENS,
    FULL_NEED,
    Recaller,
    is_recalled,
)
from context_builder.decide.shown import Shown
from context_builder.decide.versions import (
    as_shown,
    is_double,
    marks_of_both,
    whole,
)
from context_builder.decide.window import slide_window
from context_builder.items import (
    Change,
    ContextItem,
    Plan,
    SystemSet,
    ToolsSet,
    Unit,
    UnitChanged,
    UnitDropped,
)

if TYPE_CHECKING:
    from context_builder.decide.rules import Rules

__all__ = ["Fold"]

Tools = tuple[Mapping[str, Any], ...]
FixedTokens = Callable[[ContextItem | None, Tools], Mapping[str, int]]
"""Measures what no step can change: `system`, `tools`, `overhead`."""

_MOST_LEFT_OUT = 999_999
_MOST_INDEXED = 512
"""Of what leaves at once, the newest units are indexed for recall."""
_DIGEST_GROWTH = 1.4
"""What makes room for a digest has to be told of as well."""


class Fold:
    """The decision so far: which unit is shown how, in one target's tokens."""

    def __init__(
        self, *, limit_tokens: int, rules: Rules, measure_fixed: FixedTokens
    ) -> None:
        self._rules = rules
        self._measure_fixed = measure_fixed
        self._users: dict[float, int] = {}  # the user's messages: unit id -> turn
        self.limit_tokens = limit_tokens
        self.shown = Shown()
        self.system: ContextItem | None = None
        self.tools: Tools = ()
        self.fixed: Mapping[str, int] = measure_fixed(None, ())
        self.evicted_items = 0
        self.recaller = Recaller(self.shown, rules, limit_tokens)
        self.is_provisional = False
        """Whether this is a copy for one request: it leaves no trace in the archive."""
        self.digest = Digest()
        self.notice: ContextItem | None = None
        self.notice_tokens = 0
        self.compactions = 0
        self.stable_units = 0
        """How many of the live units came out of the last compaction."""
        self.prefix_moves: list[str] = []
        """Why the beginning of the request changed, each time that it did."""
        self.excess: Mapping[str, int] | None = None
        """The parts of what does not fit; None: it fits."""
        self._doubles = Doubles(self.shown, rules, self.prefix_moves)

    @property
    def turn(self) -> int:
        """The current turn."""
        return next(reversed(self._users.values()), 0)

    @property
    def _latest_user(self) -> float | None:
        """The unit of the latest message of the user's own."""
        return next(reversed(self._users), None)

    @property
    def tokens(self) -> int:
        """Input tokens of the whole request."""
        return sum(self.fixed.values()) + self.notice_tokens + self.shown.tokens

    def advance(self, changes: Iterable[Change]) -> None:
        """Take in what one log entry changes; compact where it crosses the mark."""
        asked: Unit | None = None
        for change in changes:
            match change:
                case Unit():
                    self._add(change)
                    asked = change if change.starts_turn else None
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
        if asked is not None:
            self._recall(asked.id)

    def _add(self, unit: Unit) -> None:
        if unit.starts_turn:
            self._users[unit.id] = unit.turn
        unit = cap_results(
            self._measured(unit, {}),
            self._rules,
            known=(),
            others_tokens=self.tokens,
            limit_tokens=self.limit_tokens,
        )
        self.recaller.archive.see(unit)
        self.shown.append(self._doubles.enter(unit))

    def _measured(self, unit: Unit, known: Mapping[int, int]) -> Unit:
        """Return the unit whole and measured; sizes `known` (by object) are kept."""
        sizes = tuple(
            known[id(item)]
            if id(item) in known
            else self._rules.ruler.whole(item, calls=unit.calls)
            for item in unit.originals
        )
        return dataclasses.replace(unit, sizes=sizes, whole_sizes=sizes)

    def _replace(self, change: UnitChanged) -> None:
        old = self.shown.get(change.unit.id)
        if old is None:
            return
        known = dict(zip(map(id, old.originals), old.whole_sizes, strict=True))
        unit = self._measured(change.unit, known)
        kept = {id(item) for item in unit.originals}
        self._doubles.leave([item for item in old.originals if id(item) not in kept])
        old = self.shown.get(change.unit.id) or old
        self._forget(old)
        was_double = is_double(old)
        if was_double and not old.is_shown:
            old = whole(dataclasses.replace(old, marks=()))
        if not old.is_shown and not unit.pinned:
            out = unit.leave_out(old.reason)
            out = dataclasses.replace(out, marks=marks_of_both(old, unit))
            self.shown.put(out)
            self.recaller.archive.add(out)
            return
        if not old.is_shown:
            old = whole(old)
        unit = cap_results(
            as_shown(unit, old),
            self._rules,
            known=old.originals,
            others_tokens=self.tokens - old.tokens,
            limit_tokens=self.limit_tokens,
        )
        self.shown.put(self._doubles.enter(unit, known=old.originals))
        if change.moves_prefix:
            self.prefix_moves.append(change.reason)

    def _drop(self, change: UnitDropped) -> None:
        was_inside = not self.shown.is_last(change.unit_id)
        if self.shown.rank(change.unit_id) < self.stable_units:
            self.stable_units -= 1
        unit = self.shown.pop(change.unit_id)
        if not unit.is_shown and unit.kind != "background" and not is_double(unit):
            self.evicted_items = max(0, self.evicted_items - len(unit.originals))
            if not self.digest.tells(unit.id):
                self._retell()
        if unit.is_shown and was_inside:
            self.prefix_moves.append(change.reason)
        self._users.pop(change.unit_id, None)
        self._doubles.leave(unit.originals)
        self._forget(unit)
        self._show_latest_user()

    def _forget(self, unit: Unit) -> None:
        """Take out everything that repeats a unit's words: its owner took them back."""
        self.recaller.forget(unit.id)
        if not self.shown.live and not self.shown.gone:
            self.digest, self.evicted_items = Digest(), 0
            self._retell()
        elif self.digest.tells(unit.id):
            self.digest = self.digest.without(unit.id)
            self._retell()

    def _retell(self) -> None:
        """Word the notice anew, after something that had left was taken back."""
        if self.notice is not None:
            self._tell([], is_told=self.evicted_items > 0)
            self.prefix_moves.append("what was left out was taken back")

    def _show_latest_user(self) -> None:
        """Show the message whole that is the latest again, now that others are gone."""
        latest = self._latest_user
        unit = None if latest is None else self.shown.get(latest)
        if unit is not None and unit.rendition == "absent" and not is_double(unit):
            self.shown.put(whole(unit))
            self.prefix_moves.append(
                f"{unit.originals[0].id} is the latest message again"
            )

    def move_limit(self, limit_tokens: int) -> None:
        """Go on with another budget: compact if it is less than what is shown."""
        if limit_tokens != self.limit_tokens:
            self.limit_tokens = limit_tokens
            self._settle()

    def _set_fixed(self, system: ContextItem | None, tools: Tools, reason: str) -> None:
        is_begun = bool(self.shown.live or self.system or self.tools)
        if is_begun and (system != self.system or tools != self.tools):
            self.prefix_moves.append(reason)
        self.system, self.tools = system, tools
        self.fixed = self._measure_fixed(system, tools)

    # --- compaction ---------------------------------------------------------------

    def settled(self) -> Fold:
        """Return the decision for a request that is wanted now.

        While the newest calls wait for their results, compacting waits as well:
        stand-ins
        say nothing of what is to come. A request wanted in between is decided on a
        copy.
        """
        if not self._is_waiting():
            return self
        now = copy.copy(self)
        now.shown = self.shown.copy()
        now.prefix_moves = list(self.prefix_moves)
        now.is_provisional = True
        now.compact()
        return now

    def _is_waiting(self) -> bool:
        newest = self.shown.live[-1] if self.shown.live else None
        return newest is not None and any(
            item.role == "tool" and item.source == "repair" for item in newest.originals
        )

    def _settle(self) -> None:
        """Compact if the mark is crossed, and no result is about to come."""
        if not self._is_waiting():
            self.compact()

    def compact(self) -> None:
        """Compact if the mark is crossed. What cannot fit changes nothing."""
        self.excess = None
        if self._rules.settings.has_window:
            plan = self._plan()
            inside = slide_window(plan, self._rules)
            if inside is not plan:
                self._apply(inside, "the sliding window moved")
        if self.tokens <= self.limit_tokens:
            return
        if self._least_tokens() > self.limit_tokens:
            self.excess = parts_of(self.fixed, self.shown.live, self._latest_user)
            return
        lower = self._lowered()
        if lower.fits_limit:
            self.compactions += 1
            self._apply(lower, "compaction")
        else:
            self.excess = parts_of(self.fixed, lower.units, self._latest_user)

    def _lowered(self) -> Plan:
        """Return the plan of a compaction, with room for a digest of what leaves."""
        plan = self._plan()
        told = self.notice_tokens - plan.notice_tokens if self.notice else 0
        lower = descend(
            dataclasses.replace(plan, reserve_tokens=max(0, told)), self._rules
        )
        left = [u for u in lower.units if not u.is_shown and u.kind != "background"]
        if not left or not self._digest_tokens:
            return lower
        draft = digest_of(self.digest, left, self._rules, self._digest_tokens)
        wanted = self._rules.ruler.text("\n".join(draft.lines))
        reserve = min(self._digest_tokens, int(wanted * _DIGEST_GROWTH))
        fuller = descend(dataclasses.replace(plan, reserve_tokens=reserve), self._rules)
        return fuller if fuller.fits_limit else lower

    def _plan(self) -> Plan:
        return Plan(
            units=tuple(self.shown.live),
            fixed_tokens=sum(self.fixed.values()),
            target_tokens=self._low_mark(),
            limit_tokens=self.limit_tokens,
            current_turn=self.turn,
            notice_tokens=self._rules.ruler.item(notice_item(_MOST_LEFT_OUT)),
            has_gap=self.evicted_items > 0,
        )

    def _low_mark(self) -> int:
        return low_mark(
            self.limit_tokens, self._untouchable_tokens(), self._rules.settings
        )

    def _untouchable_tokens(self) -> int:
        """Return what must stay, as far as a compaction has to plan around it.

        A huge latest message counts as half the budget: it will be cut, and what
        answers it needs room as well.
        """
        tokens = sum(self.fixed.values())
        tokens += sum(unit.tokens for unit in self.shown.live if unit.pinned)
        latest = self._latest_user
        unit = None if latest is None else self.shown.get(latest)
        if unit is not None and not unit.pinned:
            tokens += min(unit.tokens, self.limit_tokens // 2)
        return tokens

    def _apply(self, plan: Plan, reason: str) -> None:
        left: list[Unit] = []
        lowered: list[Unit] = []
        for before, after in zip(self.shown.live, plan.units, strict=True):
            if after.rendition != "whole" and not is_recalled(after):
                lowered.append(after)
            if not after.is_shown and after.kind != "background":
                self.evicted_items += len(before.items)
                left.append(after)
        self.shown.decide(plan.units)
        self._tell(left, is_told=plan.has_gap and plan.notice_tokens > 0)
        if not self.is_provisional:
            for unit in lowered[-_MOST_INDEXED:]:
                self.recaller.archive.add(unit)
            self.recaller.start(self.tokens, self.limit_tokens)
        self.stable_units = len(self.shown.live)
        self.prefix_moves.append(reason)

    def _tell(self, left: Sequence[Unit], *, is_told: bool) -> None:
        """Say how much left, and in a digest what it held.

        The digest takes what is free under the low mark; above it, half of what is
        free.
        """
        self.notice, self.notice_tokens = None, 0
        if not is_told:
            return
        self.notice = notice_item(self.evicted_items)
        self.notice_tokens = self._rules.ruler.item(self.notice)
        low = self._low_mark()
        free = low - self.tokens if self.tokens < low else 0
        free = max(free, (self.limit_tokens - self.tokens) // 2) - FRAME_TOKENS
        room_tokens = max(0, min(free, self._digest_tokens))
        self.digest = digest_of(self.digest, left, self._rules, room_tokens)
        self.notice = notice_item(self.evicted_items, self.digest)
        self.notice_tokens = self._rules.ruler.item(self.notice)

    @property
    def _digest_tokens(self) -> int:
        return int(self._movable_tokens * self._rules.settings.digest_share)

    @property
    def _movable_tokens(self) -> int:
        """What the conversation may take: all but system prompt and tools."""
        return max(0, self.limit_tokens - sum(self.fixed.values()))

    # --- recall -------------------------------------------------------------------

    def _recall(self, unit_id: float) -> None:
        """Bring back what a message asks for that has just come in, just before it."""
        newest = self.shown.live[-1] if self.shown.live else None
        share = self._rules.settings.recall_share
        if newest is None or newest.id != unit_id or not share:
            return
        if not self.recaller.archive.passages or self.excess is not None:
            return
        search = self.recaller.search(newest, self._users.keys())
        weight = min(1.0, search.need / FULL_NEED)
        wanted_tokens = int(self._movable_tokens * share * weight)
        if wanted_tokens <= 0:
            return
        found = self.recaller.choose(search, wanted_tokens, self._told)
        if found.tokens > self.recaller.room(weight, self._free_tokens):
            self._make_room(found.tokens, weight)
            search = self.recaller.search(newest, self._users.keys())
            room_tokens = self.recaller.room(weight, self._free_tokens)
            limit_tokens = min(wanted_tokens, room_tokens)
            found = self.recaller.choose(search, limit_tokens, self._told)
        if found.passages:
            self.recaller.put(newest, found, self._free_tokens)

    @property
    def _free_tokens(self) -> int:
        return self.limit_tokens - self.tokens

    @property
    def _told(self) -> frozenset[float]:
        return self.digest.whole if self.notice is not None else frozenset()

    def _make_room(self, wanted_tokens: int, weight: float) -> None:
        """Make room for what is needed badly, where less than half of it has some.

        What was recalled for earlier messages goes first: it stands late, and little
        has
        to be sent anew. A compaction comes only once some room was used for what came
        in.
        """
        enough_tokens = wanted_tokens // 2
        if weight < 1 or self.recaller.room(weight, self._free_tokens) >= enough_tokens:
            return
        if self.recaller.let_go_of_older():
            self.prefix_moves.append("compaction of what was recalled earlier")
        if self.recaller.room(weight, self._free_tokens) >= enough_tokens:
            return
        if not self.recaller.has_grown(self.tokens):
            return
        lower = self._lowered()
        if lower.fits_limit:
            self.compactions += 1
            self._apply(lower, "compaction")

    def _least_tokens(self) -> int:
        """Return what no compaction can go below: system prompt, tools and pins."""
        pinned = sum(unit.tokens for unit in self.shown.live if unit.pinned)
        return sum(self.fixed.values()) + pinned
