"""What a fold keeps: the units, what is told of the rest, and what all of it takes.

It measures and shows. When something has to go, and what comes in, is decided on top of
it, in `compactor` and in `fold`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.copies import changed
from context_builder.decide.budget import low_mark
from context_builder.decide.dedup import Doubles
from context_builder.decide.digest import Still
from context_builder.decide.horizon import measured
from context_builder.decide.recaller import Recaller
from context_builder.decide.shown import Shown
from context_builder.decide.summaries import SUMMARY_PLACE, Summaries, summary_unit
from context_builder.decide.telling import Telling
from context_builder.decide.versions import is_double, is_history
from context_builder.decide.window import Head
from context_builder.items import ContextItem, Unit

if TYPE_CHECKING:
    from context_builder.decide.lowered import Lowered
    from context_builder.decide.rules import Rules

__all__ = ["Ledger", "Tools"]

Tools = tuple[Mapping[str, Any], ...]
FixedTokens = Callable[[ContextItem | None, Tools], Mapping[str, int]]
"""Measures what no step can change: `system`, `tools`, `overhead`."""

_DIGEST_FRAME_TOKENS = 12
"""About what the digest's own first line takes, behind the number of messages."""
_DIGEST_SHARE = 0.5
_DIGEST_SHARE_OF_CALLS = 0.75
"""What the digest takes of the free room; more while tools are called: calls need the
names and ids in it, and nothing is recalled between them."""
_MOST_SUMMARY_SHARE = 0.5
"""Of what the conversation may take. A larger summary was made for a larger budget."""


class Ledger:
    """What is decided so far in one target's tokens, and what that takes."""

    def __init__(
        self, *, limit_tokens: int, rules: Rules, measure_fixed: FixedTokens
    ) -> None:
        self._rules = rules
        self._measure_fixed = measure_fixed
        self._users: dict[float, int] = {}  # the user's messages: unit id -> turn
        self.limit_tokens = limit_tokens
        self.shown = Shown(functools.partial(measured, rules=rules))
        self._passed: list[Unit] = []  # left unmeasured since the last compaction
        self._head = Head(rules.settings.keep_first_messages)
        self._first_left = math.inf
        self._told_through = -math.inf
        """The newest unit that was there at a compaction: the digest tells of none that
        came in later."""
        self.system: ContextItem | None = None
        self.tools: Tools = ()
        self.fixed: Mapping[str, int] = measure_fixed(None, ())
        self.fixed_tokens = sum(self.fixed.values())
        """What system prompt, tools and framing take together."""
        self.telling = Telling(rules)
        self.summaries = Summaries()
        self._asked: str | None = None  # why a compaction is due, whatever the budget
        self._compacted_turn = 0
        self.recaller = Recaller(self.shown, rules, limit_tokens)
        self.is_provisional = False
        """Whether this is a copy for one request: it leaves no trace in the archive."""
        self.compactions = 0
        self.leavings = 0
        """How often something has left the request."""
        self.stable_units = 0
        """How many of the live units came out of the last compaction."""
        self.prefix_moves: list[str] = []
        """Why the beginning of the request changed, each time that it did."""
        self._seen_moves = 0
        self.moved_through = -math.inf
        """The last unit that was there when the beginning changed: what it and those
        before it were thought behind is not what stands before them now."""
        self.lowered: list[Lowered] = []
        """The compactions that nobody has asked for yet."""
        self.excess: Mapping[str, int] | None = None
        """The parts of what does not fit; None: it fits."""
        self._doubles = Doubles(self.shown, rules, self.prefix_moves)

    @property
    def turn(self) -> int:
        """The current turn."""
        return next(reversed(self._users.values()), 0)

    @property
    def latest_user_id(self) -> str | None:
        """The id of the latest message of the user's own."""
        unit = None if self._latest_user is None else self.shown.get(self._latest_user)
        return None if unit is None else unit.originals[0].id

    @property
    def _latest_user(self) -> float | None:
        """The unit of the latest message of the user's own."""
        return next(reversed(self._users), None)

    @property
    def tokens(self) -> int:
        """Input tokens of the whole request."""
        return self.fixed_tokens + self.telling.tokens + self.shown.tokens

    @property
    def notice(self) -> ContextItem | None:
        """What tells of what left; None: nothing does."""
        return self.telling.notice

    @property
    def notice_tokens(self) -> int:
        """What the notice takes."""
        return self.telling.tokens

    @property
    def notice_rank(self) -> int:
        """How many live units stand before the notice: summary and first messages."""
        if not self._rules.settings.keep_first_messages:
            return self.shown.rank_behind(SUMMARY_PLACE)
        return self.shown.rank(self._first_left)

    def _set_fixed(self, system: ContextItem | None, tools: Tools, reason: str) -> None:
        is_shown = bool(self.shown.live) or self.notice is not None
        is_begun = bool(is_shown or self.system or self.tools)
        if is_begun and (system != self.system or tools != self.tools):
            self.prefix_moves.append(reason)
        self.system, self.tools = system, tools
        self.recaller.has_tools = self.recaller.has_tools or bool(tools)
        self.fixed = self._measure_fixed(system, tools)
        self.fixed_tokens = sum(self.fixed.values())

    def see_moves(self) -> None:
        """Remember up to where the conversation went when its beginning changed."""
        if len(self.prefix_moves) > self._seen_moves:
            self._seen_moves = len(self.prefix_moves)
            if self.shown.live:
                self.moved_through = self.shown.live[-1].id

    def _measured(self, unit: Unit, known: Mapping[int, int]) -> Unit:
        """Return the unit whole and measured; sizes `known` (by object) are kept."""
        whole, calls = self._rules.ruler.whole, unit.calls
        sizes = tuple(
            [
                known[id(item)] if id(item) in known else whole(item, calls=calls)
                for item in unit.originals
            ]
        )
        if unit.sizes == sizes == unit.whole_sizes:
            return unit  # another fold measured it
        return changed(unit, sizes=sizes, whole_sizes=sizes)

    def _is_waiting(self) -> bool:
        newest = self.shown.live[-1] if self.shown.live else None
        return newest is not None and any(
            item.role == "tool" and item.source == "repair" for item in newest.originals
        )

    @property
    def _free_tokens(self) -> int:
        return self.limit_tokens - self.tokens

    @property
    def movable_tokens(self) -> int:
        """What the conversation may take: all but system prompt and tools."""
        return max(0, self.limit_tokens - self.fixed_tokens)

    @property
    def recalls(self) -> bool:
        """Whether there is something to recall, and it may be."""
        return self._rules.settings.recall_share > 0 and not self.recaller.is_empty

    @property
    def _digest_tokens(self) -> int:
        return int(self.movable_tokens * self._rules.settings.digest_share)

    def _low_mark(self, limit_tokens: int | None = None) -> int:
        return low_mark(
            self.limit_tokens if limit_tokens is None else limit_tokens,
            self._untouchable_tokens(),
            self._rules.settings,
        )

    def _untouchable_tokens(self) -> int:
        """Return what must stay, as far as a compaction has to plan around it.

        A huge latest message counts as half the budget: it will be cut, and what
        answers it needs room as well.
        """
        tokens = self.fixed_tokens
        tokens += sum(unit.tokens for unit in self.shown.live if unit.pinned)
        latest = self._latest_user
        unit = None if latest is None else self.shown.get(latest)
        if unit is not None and not unit.pinned:
            tokens += min(unit.tokens, self.limit_tokens // 2)
        return tokens

    def _least_tokens(self) -> int:
        """Return what no compaction can go below: system prompt, tools and pins."""
        pinned = sum(unit.tokens for unit in self.shown.live if unit.pinned)
        return self.fixed_tokens + pinned

    def _tell(
        self,
        left: Sequence[Unit],
        *,
        is_told: bool,
        low_tokens: int | None = None,
        still: Still | None = None,
    ) -> None:
        """Say how much left, and in a digest what it held.

        The digest takes what is free under the low mark; above it, most of what is
        free. Where a compaction was asked for, it takes what that has freed.
        """
        self.telling.clear()
        if not is_told:
            return
        self.telling.count()
        free = (self._low_mark() if low_tokens is None else low_tokens) - self.tokens
        if low_tokens is None:
            recalls = bool(self.shown.live) and self.shown.live[-1].starts_turn
            is_half = recalls or not self.recaller.has_tools
            share = _DIGEST_SHARE if is_half else _DIGEST_SHARE_OF_CALLS
            free = max(free, int(self._free_tokens * share))
        room_tokens = max(0, min(free - _DIGEST_FRAME_TOKENS, self._digest_tokens))
        still = still or Still(self.shown.live)
        self.telling.tell(left, room_tokens, self.summaries, still)
        over_tokens = self.tokens - self.limit_tokens
        if over_tokens > 0:  # lines are counted one by one: together they take more
            room_tokens = max(0, room_tokens - 2 * over_tokens)
            self.telling.tell([], room_tokens, self.summaries, still)
        if self.tokens > self.limit_tokens:
            self.telling.count()

    def _renew_summary(self, reason: str) -> None:
        """Show another summary than before, where another one counts now."""
        if self._place_summary():
            self._tell([], is_told=self.telling.evicted_items > 0)
            self.prefix_moves.append(reason)

    def _place_summary(self, room_tokens: int | None = None) -> bool:
        """Put the summary that counts at the front; say whether it is another one.

        Args:
            room_tokens: What it may take more than the former one; None: what else is
                there makes room for it.
        """
        self.shown.gone.pop(SUMMARY_PLACE, None)  # one that yielded; it stays known
        former = self.shown.get(SUMMARY_PLACE)
        self.summaries.is_shown = former is not None
        most_tokens = int(self.movable_tokens * _MOST_SUMMARY_SHARE)
        if room_tokens is not None:
            held_tokens = former.tokens if former is not None else 0
            most_tokens = min(most_tokens, room_tokens + held_tokens)
        if not self.summaries.renew(
            self.shown.gone, lambda item: self._rules.ruler.whole(item) <= most_tokens
        ):
            return False
        if former is not None:
            self.stable_units -= 1
            self.shown.pop(SUMMARY_PLACE)
        current = self.summaries.current
        self.summaries.is_shown = current is not None
        if current is not None:
            self.shown.put(self._measured(summary_unit(current.item), {}))
            self.stable_units += 1
        return True

    def unsummarized(self) -> list[Unit]:
        """Return the units that left and that no summary stands for, oldest first."""
        covered = self.summaries.covered
        left = [
            unit
            for unit in self.shown.gone.values()
            if is_history(unit) and unit.id not in covered and not is_double(unit)
        ]
        for unit in left:
            if not unit.whole_sizes:  # it left unmeasured; whoever asks will measure it
                self._measured(unit, {})
        return sorted(left, key=lambda unit: unit.id)
