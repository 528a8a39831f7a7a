"""When something has to go: a compaction, and what it goes down to.

A compaction comes when the budget is crossed, or when it was asked for: by a caller,
after a number of turns, by a bill above the mark. Then what is shown now is taken for
the budget.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.budget import parts_of
from context_builder.decide.digest import Still
from context_builder.decide.ledger import Ledger
from context_builder.decide.lowered import Lowered, changed_units
from context_builder.decide.plan import STANDING, descend
from context_builder.decide.recaller import is_recalled
from context_builder.decide.summaries import SUMMARY_PLACE
from context_builder.decide.versions import is_history
from context_builder.items import Plan

if TYPE_CHECKING:
    from context_builder.items import Unit

__all__ = ["Compactor"]

_MOST_INDEXED = 512
"""Of what leaves at once, the newest units are indexed for recall."""


class Compactor(Ledger):
    """Compacts where the mark is crossed, or where somebody asked for it."""

    def ask(self, reason: str) -> None:
        """Compact, whatever the budget is: now, or once the newest results are in."""
        self._asked = reason
        self._settle()
        self.see_moves()

    def _settle(self) -> None:
        """Compact if the mark is crossed, and no result is about to come."""
        if not self._is_waiting():
            self.compact()
            self._compact_as_asked()

    def compact(self) -> None:
        """Compact if the mark is crossed. What cannot fit changes nothing."""
        self.excess = None
        if self._rules.settings.has_standing_rules:
            self._take_standing_steps()
        if self.tokens <= self.limit_tokens:
            return
        if self._least_tokens() > self.limit_tokens:
            self.excess = parts_of(self.fixed, self.shown.live, self._latest_user)
            return
        lower = self._lowered(self._low_mark())
        if not self._take(lower, "compaction"):
            self.excess = parts_of(self.fixed, lower.units, self._latest_user)

    def _take_standing_steps(self) -> None:
        for step, reason in STANDING:
            plan = self._plan(self._low_mark())
            lower = step(plan, self._rules)
            if lower is not plan:
                self._apply(lower, reason)

    def _take(self, lower: Plan, reason: str, low_tokens: int | None = None) -> bool:
        """Go on with what a compaction came to; say whether it fits."""
        if lower.fits_limit:
            self._asked = None
            self.compactions += 1
            self._compacted_turn = self.turn
            tokens, changed = self.tokens, changed_units(self.shown.live, lower.units)
            self._apply(lower, reason, low_tokens)
            if not self.is_provisional:
                self.lowered.append(
                    Lowered(reason, tokens, self.tokens, self.limit_tokens, changed)
                )
        return lower.fits_limit

    def _count_turns(self) -> None:
        most = self._rules.settings.compact_after_turns
        if most is not None and self.turn - self._compacted_turn >= most:
            self._asked = f"compaction after {most} turns"

    def _compact_as_asked(self) -> None:
        """Go down to the low mark of what is shown now, as if that were the budget."""
        reason, self._asked = self._asked, None
        if reason is None or self.excess is not None:
            return
        self._compacted_turn = self.turn
        low_tokens = self._low_mark(min(self.tokens, self.limit_tokens))
        lower = self._lowered(low_tokens)
        if lower.tokens < self.tokens:
            self._take(lower, reason, low_tokens)

    def would_compact(self) -> bool:
        """Say whether to ask for a compaction now would change anything."""
        if self._is_waiting():
            return self._asked is None
        low_tokens = self._low_mark(min(self.tokens, self.limit_tokens))
        return self.excess is None and self._lowered(low_tokens).tokens < self.tokens

    def compact_over_low_mark(self, reason: str) -> None:
        """Go down to the low mark, where that frees enough to be worth it."""
        least_tokens = int(self.limit_tokens * self._rules.settings.min_gain_share)
        if self.tokens >= self._low_mark() + max(1, least_tokens):
            self.ask(reason)

    def next_out(self) -> list[Unit]:
        """Return the units that the next compaction would leave out, oldest first."""
        if self.excess is not None or self._is_waiting():
            return []
        free_tokens = max(0, self._free_tokens)
        lower = self._lowered(max(1, self._low_mark() - free_tokens))
        return [u for u in lower.units if not u.is_shown and is_history(u)]

    def _lowered(self, low_tokens: int) -> Plan:
        """Return the plan of a compaction, with room for a digest of what leaves."""
        self._rules.memo.clear()
        plan = self._plan(low_tokens)
        told = self.notice_tokens - plan.notice_tokens if self.notice else 0
        lower = descend(
            dataclasses.replace(plan, reserve_tokens=max(0, told)), self._rules
        )
        left = [u for u in lower.units if not u.is_shown and is_history(u)]
        left = [*self._passed, *left]
        if not left or not self._digest_tokens:
            return lower
        most_tokens = self._most_reserved_tokens()
        still = Still.after(plan.units, lower.units)
        reserve = self.telling.wanted_tokens(left, most_tokens, self.summaries, still)
        fuller = descend(dataclasses.replace(plan, reserve_tokens=reserve), self._rules)
        return fuller if fuller.fits_limit else lower

    def _most_reserved_tokens(self) -> int:
        """Return what may be kept free for a digest.

        Where a summary is shown, another one will tell of what leaves now.
        """
        summary = self.shown.get(SUMMARY_PLACE)
        if summary is None:
            return self._digest_tokens
        return min(self._digest_tokens, summary.tokens)

    def _plan(self, low_tokens: int) -> Plan:
        return Plan(
            units=self._doubles.handed_on(self.shown.live),
            fixed_tokens=self.fixed_tokens,
            target_tokens=low_tokens,
            limit_tokens=self.limit_tokens,
            current_turn=self.turn,
            notice_tokens=self.telling.bare_tokens,
            has_gap=self.telling.evicted_items > 0,
            head=self._head.ids,
        )

    def _apply(self, plan: Plan, reason: str, low_tokens: int | None = None) -> None:
        left = list(self._passed)
        lowered = list(self._passed)
        for unit in (*self._passed[-1:], *self.shown.live[-1:]):
            self._told_through = max(self._told_through, unit.id)
        self._passed = []
        for before, after in zip(self.shown.live, plan.units, strict=True):
            if after.rendition != "whole" and not is_recalled(after):
                lowered.append(after)
            if not after.is_shown and is_history(after):
                self.telling.evicted_items += len(before.items)
                left.append(after)
                self._first_left = min(self._first_left, after.id)
        still = Still.after(self.shown.live, plan.units)
        if not self.is_provisional:
            self._doubles.hand_on()
        self.shown.decide(plan.units)
        self.leavings += bool(left)
        is_told = plan.has_gap and plan.notice_tokens > 0
        kept_tokens = max(0, plan.notice_tokens - self.notice_tokens) if is_told else 0
        self._place_summary(self._free_tokens - kept_tokens)
        self._tell(left, is_told=is_told, low_tokens=low_tokens, still=still)
        if not self.is_provisional:
            self.recaller.keep(lowered[-_MOST_INDEXED:])
            self.recaller.start(self.tokens, self.limit_tokens)
        self._rules.memo.clear()
        self.stable_units = len(self.shown.live)
        self.prefix_moves.append(reason)
