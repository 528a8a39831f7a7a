"""The fold over the log: each change advances it; crossing the mark compacts.

The state is a function of the changes, the settings and the target's ruler, and of
nothing else: not of when or how often somebody asked for a build. That one choice makes
builds repeatable, requests append-stable, and a restored session equal to the live one.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, assert_never

from context_builder.decide.compactor import Compactor
from context_builder.decide.digest import Digest
from context_builder.decide.entry import cap_results
from context_builder.decide.horizon import (
    BEYOND,
    LEAST_UNITS,
    beyond_horizon,
    unit_id_of,
)
from context_builder.decide.recaller import ENOUGH_SHARE, FRAME_TOKENS, weight_of
from context_builder.decide.versions import (
    as_shown,
    is_double,
    marks_of_both,
    whole,
)
from context_builder.items import (
    Change,
    CompactionAsked,
    PassagesMatched,
    SummaryAdded,
    SummaryRefused,
    SystemSet,
    ToolsSet,
    Unit,
    UnitChanged,
    UnitDropped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Fold"]

_MOST_TRIES = 3
_FEWER_SHARE = 0.9
"""What passages take is estimated: those that do not fit as framed are made fewer."""
_MORE_SHARE = 0.75
"""Of what recall leaves free, what the digest may take: answers need room, too."""


class Fold(Compactor):
    """The decision so far: which unit is shown how, in one target's tokens."""

    def advance(self, changes: Sequence[Change]) -> None:
        """Take in what one log entry changes; compact where it crosses the mark."""
        newest: Unit | None = None
        turn, compactions = self.turn, self.compactions
        far = self._far(changes)
        for change in changes:
            if far and unit_id_of(change) in far:
                self._pass_by(change, far)
            else:
                self._take_in(change)
            newest = change if isinstance(change, Unit) else newest
        if self.turn > turn:
            self._count_turns()
        self._settle()
        for change in changes:
            if isinstance(change, SummaryAdded | SummaryRefused):
                self.summaries.note(change, self.leavings)
        if newest is not None and newest.starts_turn:
            self._recall(newest.id)
            if self.compactions > compactions and self.recaller.has_tools:
                self._tell_more()
        self.see_moves()

    def _far(self, changes: Sequence[Change]) -> Mapping[float, Unit]:
        """Return which of many units are too old to be looked at."""
        if len(changes) < LEAST_UNITS:
            return {}
        far = beyond_horizon(changes, self.shown.live, self.limit_tokens, self._rules)
        for unit in [unit for unit in self.shown.live if unit.id in far]:
            self.shown.put(self._gone(unit))
        return far

    def _pass_by(self, change: Change, far: Mapping[float, Unit]) -> None:
        """Take in a unit that leaves at once, without measuring it."""
        if isinstance(change, Unit):
            if change.starts_turn:
                self._users[change.id] = change.turn
            self.recaller.see(change)
            self.shown.append(self._gone(far[change.id]))

    def _gone(self, unit: Unit) -> Unit:
        self.telling.evicted_items += len(unit.originals)
        gone = unit.leave_out(BEYOND)
        self._passed.append(gone)
        return gone

    def _take_in(self, change: Change) -> None:
        match change:
            case Unit():
                self._add(change)
            case UnitChanged():
                self._replace(change)
            case UnitDropped():
                self._drop(change)
            case SystemSet() | ToolsSet():
                self._take_fixed(change)
            case CompactionAsked():
                self._asked = "compaction that was asked for"
            case SummaryAdded() | SummaryRefused():
                self._try_summary(change)
            case PassagesMatched():
                self._recall_anew(change)
            case _:
                assert_never(change)

    def _take_fixed(self, change: SystemSet | ToolsSet) -> None:
        if isinstance(change, SystemSet):
            self._set_fixed(change.item, self.tools, "a new system prompt")
        else:
            self._set_fixed(self.system, change.tools, "new tools")

    def _add(self, unit: Unit) -> None:
        if unit.starts_turn:
            self._users[unit.id] = unit.turn
        self._head.see(unit)
        unit = cap_results(
            self._measured(unit, {}),
            self._rules,
            known=(),
            others_tokens=self.tokens,
            limit_tokens=self.limit_tokens,
        )
        self.recaller.see(unit)
        self._keep_what_was_cut(unit)
        self.shown.append(self._doubles.enter(unit))

    def _keep_what_was_cut(self, unit: Unit) -> None:
        """Make findable what a result lost when it came in."""
        if unit.rendition == "shortened":
            self.recaller.keep((unit,))

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
            self.recaller.keep((out,))
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
        self._keep_what_was_cut(unit)
        self.shown.put(self._doubles.enter(unit, known=old.originals))
        if change.moves_prefix:
            self.prefix_moves.append(change.reason)

    def _drop(self, change: UnitDropped) -> None:
        was_inside = not self.shown.is_last(change.unit_id)
        if self.shown.rank(change.unit_id) < self.stable_units:
            self.stable_units -= 1
        unit = self.shown.pop(change.unit_id)
        if not unit.is_shown and unit.kind != "background" and not is_double(unit):
            left_items = self.telling.evicted_items - len(unit.originals)
            self.telling.evicted_items = max(0, left_items)
            if not self.telling.digest.tells(unit.id):
                self._retell()
        if unit.is_shown and was_inside:
            self.prefix_moves.append(change.reason)
        self._users.pop(change.unit_id, None)
        self._head.forget(change.unit_id)
        self._doubles.leave(unit.originals)
        self._forget(unit)
        self._show_latest_user()

    def _forget(self, unit: Unit) -> None:
        """Take out everything that repeats a unit's words: its owner took them back."""
        self.recaller.forget(unit.id)
        if not self.summaries.is_untouched:
            name = unit.originals[0].id
            self.summaries.spoil(unit, f"{name} was changed or taken out")
            self._renew_summary("a summary told of what was changed or taken out")
        if not self.shown.live and not self.shown.gone:
            self.telling.digest, self.telling.evicted_items = Digest(), 0
            self._retell()
        elif unit.id <= self._told_through and self.telling.digest.tells(unit.id):
            self.telling.digest = self.telling.digest.without(unit.id)
            self._retell()

    def _retell(self) -> None:
        """Word the notice anew, after something that had left was taken back."""
        if self.notice is not None:
            self._tell([], is_told=self.telling.evicted_items > 0)
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
            self._renew_summary("a summary told of what is shown again")

    def move_limit(self, limit_tokens: int) -> None:
        """Go on with another budget: compact if it is less than what is shown."""
        if limit_tokens != self.limit_tokens:
            self.limit_tokens = limit_tokens
            self._settle()
            self.see_moves()

    def settled(self) -> Fold:
        """Return the decision for a request that is wanted now.

        While the newest calls wait for their results, compacting waits as well:
        stand-ins
        say nothing of what is to come. A request wanted in between is decided on a
        copy.
        """
        if not self._is_waiting() or self._would_stay():
            return self
        now = copy.copy(self)
        now.shown = self.shown.copy()
        now.prefix_moves = list(self.prefix_moves)
        now.telling, now.summaries = self.telling.copy(), self.summaries.copy()
        now.is_provisional = True
        now.compact()
        now.see_moves()
        return now

    def _would_stay(self) -> bool:
        """Say whether a look at the budget now would find nothing to do."""
        return (
            self.excess is None
            and self.tokens <= self.limit_tokens
            and not self._rules.settings.has_standing_rules
        )

    def _try_summary(self, change: SummaryAdded | SummaryRefused) -> None:
        if isinstance(change, SummaryAdded):
            self.summaries.learn(change)
            self._renew_summary(f"summary {change.item.id} was taken in")

    def _recall(self, unit_id: float) -> None:
        """Bring back what a message asks for that has just come in, just before it."""
        newest = self.shown.live[-1] if self.shown.live else None
        share = self._rules.settings.recall_share
        if newest is None or newest.id != unit_id or not share:
            return
        if self.recaller.is_empty or self.excess is not None:
            return
        search = self.recaller.search(newest, self._users.keys())
        weight = weight_of(search.need)
        wanted_tokens = int(self.movable_tokens * share * weight)
        if wanted_tokens <= 0:
            return
        found = self.recaller.choose(search, wanted_tokens, self.telling.whole)
        if found.tokens > self.recaller.room(weight, self._free_tokens):
            if self._make_room(found.tokens, weight):
                search = self.recaller.search_on(search, newest, self._users.keys())
            room_tokens = self.recaller.room(weight, self._free_tokens)
            limit_tokens = min(wanted_tokens, room_tokens)
            found = self.recaller.choose(search, limit_tokens, self.telling.whole)
        for _ in range(_MOST_TRIES):
            if self.recaller.put(newest, found, self._free_tokens):
                break
            fewer_tokens = int(found.tokens * _FEWER_SHARE)
            found = self.recaller.choose(search, fewer_tokens, self.telling.whole)

    def _recall_anew(self, answer: PassagesMatched) -> None:
        """Choose again for the newest message, now that an embedder was asked."""
        self.recaller.asked.note(answer, self.turn)
        newest = self.shown.live[-1] if self.shown.live else None
        if newest is None or newest.originals[0].id != answer.item_id:
            return
        if answer.matches and newest.starts_turn:
            self.recaller.let_go_for(newest)
            self._recall(newest.id)

    def _tell_more(self) -> None:
        """Let the digest have what a compaction made free and recall left over."""
        more_tokens = int(self._free_tokens * _MORE_SHARE)
        if self.notice is not None and more_tokens > 0:
            self._tell([], is_told=True, low_tokens=self.tokens + more_tokens)

    def _make_room(self, wanted_tokens: int, weight: float) -> bool:
        """Make room for what is needed badly, where not nearly all of it has some.

        What was recalled for earlier messages goes first: it stands late, and little
        has to be sent anew. A compaction comes only once some of the room was used for
        what came in. It goes deeper than others where that is what the room takes.

        Returns:
            Whether something else can be found now.
        """
        enough_tokens = int(wanted_tokens * ENOUGH_SHARE)
        if weight < 1 or self.recaller.room(weight, self._free_tokens) >= enough_tokens:
            return False
        if self.recaller.let_go_of_older():
            self.prefix_moves.append("compaction of what was recalled earlier")
        if self.recaller.room(weight, self._free_tokens) >= enough_tokens:
            return False
        if not self.recaller.has_grown(self.tokens):
            return False
        room_tokens = self.recaller.free_for(wanted_tokens)
        low_tokens = min(self._low_mark(), self.limit_tokens - room_tokens)
        told_tokens = low_tokens - FRAME_TOKENS  # recall first, then the digest
        return self._take(self._lowered(low_tokens), "compaction", told_tokens)
