"""What a session keeps of its summariser: whom to ask, how, and what lies ready.

It holds no log and no lock of a session. Whether a summary may be asked for follows
from what was tried before, and that stands in the log.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from context_builder.entries import maker_name
from context_builder.errors import InvalidItemError
from context_builder.items import SummaryRefused
from context_builder.summarizers.breaker import Attempt, may_ask
from context_builder.summarizers.flow import request_for
from context_builder.summarizers.guard import SummaryGuard
from context_builder.summarizers.prepare import (
    Prepared,
    Snapshot,
    aprepare,
    prepare,
)
from context_builder.summarizers.protocol import AsyncSummarizer, Summarizer
from context_builder.summarizers.rendering import shown_items
from context_builder.summarizers.settings import SummaryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from context_builder.decide.fold import Fold
    from context_builder.items import ContextItem, Unit
    from context_builder.summarizers.protocol import AnySummarizer

__all__ = ["ASYNC_ONLY", "SummaryDesk", "checked_policy"]

ASYNC_ONLY = "async only: use abuild(), arequest() or acompact()"
"""Why a sync call did not ask. It is no attempt: nobody was asked."""

_MOST_SPOKEN = 8
"""So many of the user's newest messages tell the language."""


class SummaryDesk:
    """One session's summariser. Safe to use from several threads.

    Args:
        summarizer: An object with `summarize`, `asummarize`, or both.
        policy: How summaries are made; None: the defaults.

    Raises:
        InvalidItemError: If one of them is something else.
    """

    def __init__(self, summarizer: object, policy: object = None) -> None:
        if isinstance(summarizer, type) or not isinstance(
            summarizer, Summarizer | AsyncSummarizer
        ):
            message = "summarizer must be an object with summarize() or asummarize()"
            raise InvalidItemError(message, field="summarizer", value=summarizer)
        self.summarizer: AnySummarizer = summarizer
        self.policy = checked_policy(policy)
        self.guard = SummaryGuard()
        self._ready: dict[Hashable, Prepared] = {}
        self._prepared_at: dict[Hashable, tuple[str | None, int]] = {}

    @property
    def is_async_only(self) -> bool:
        """Whether it cannot be asked by a caller that waits."""
        return not isinstance(self.summarizer, Summarizer)

    @property
    def made_by(self) -> str:
        """The summariser's name, as entries of the log say it."""
        return maker_name(self.summarizer)

    def forget(self) -> None:
        """Let go of what lies ready: it was made for other settings."""
        self._ready.clear()
        self._prepared_at.clear()

    # --- what to ask for ------------------------------------------------------------

    def wish(
        self,
        fold: Fold,
        count: Callable[[str], int],
        *,
        is_forced: bool = False,
        session_id: str | None = None,
    ) -> Snapshot | None:
        """Return what to ask for now; None: nothing.

        Args:
            fold: The decision.
            count: Counts tokens, as its budget does.
            is_forced: Somebody asked for it: a small summary is made as well, and
                neither former attempts nor the breaker matter.
            session_id: Handed on to the summariser.
        """
        if fold.excess is not None or not fold.leavings:
            return None
        tries = [one for one in fold.summaries.tries if one.reason != ASYNC_ONLY]
        tries = tries[-self.policy.max_refusals :]
        if not is_forced and tries and tries[-1].leavings >= fold.leavings:
            return None
        units = fold.unsummarized()
        snapshot = self._snapshot(fold, count, units, session_id)
        if is_forced:
            return snapshot if shown_items(snapshot.request.items) else None
        attempts = [
            Attempt(one.summary_id is not None, one.covers, one.leavings)
            for one in tries
        ]
        wanted = [item.id for item in snapshot.request.items]
        if not may_ask(attempts, wanted, compactions=fold.leavings, policy=self.policy):
            return None
        return snapshot if snapshot.is_worth_asking(self.policy) else None

    def wish_ahead(
        self,
        key: Hashable,
        fold: Fold,
        count: Callable[[str], int],
        *,
        session_id: str | None = None,
    ) -> Snapshot | None:
        """Return what to ask for ahead of the next compaction; None: nothing.

        It is asked once between two compactions, and only near the budget.
        """
        wish = self.wish(fold, count, session_id=session_id)
        place = (_former_id(fold), fold.leavings)
        if self._prepared_at.get(key) == place:
            return None
        if wish is None:
            if fold.tokens < fold.limit_tokens * self.policy.prepare_share:
                return None
            units = [*fold.unsummarized(), *fold.next_out()]
            units.sort(key=lambda unit: unit.id)
            wish = self._snapshot(fold, count, units, session_id)
            if not wish.is_worth_asking(self.policy):
                return None
        self._prepared_at[key] = place
        return wish

    def _snapshot(
        self,
        fold: Fold,
        count: Callable[[str], int],
        units: Sequence[Unit],
        session_id: str | None,
    ) -> Snapshot:
        former = fold.summaries.current
        latest = fold.latest_user_id
        users = [unit.originals[0].text for unit in units if unit.starts_turn]
        users += [
            unit.originals[0].text for unit in fold.shown.live if unit.starts_turn
        ]
        return Snapshot(
            request_for(
                self.items_of(units),
                former=None if former is None else former.item.text,
                budget_tokens=fold.movable_tokens,
                count=count,
                policy=self.policy,
                spoken=users[-_MOST_SPOKEN:],
                latest_user_id=latest,
                session_id=session_id,
            ),
            former_id=_former_id(fold),
        )

    @staticmethod
    def items_of(units: Sequence[Unit]) -> list[ContextItem]:
        """Return what units hold of the log: no stand-ins, oldest first."""
        items = itertools.chain.from_iterable(unit.originals for unit in units)
        return [item for item in items if item.source != "repair"]

    # --- what lies ready ------------------------------------------------------------

    def keep(self, key: Hashable, prepared: Prepared) -> bool:
        """Keep what was made ahead; say whether it is a summary."""
        if prepared.result.is_accepted:
            self._ready[key] = prepared
        return prepared.result.is_accepted

    def has_ready(self, key: Hashable) -> bool:
        """Say whether something was made ahead."""
        return key in self._ready

    def take_ready(self, key: Hashable, wish: Snapshot) -> Prepared | None:
        """Return what was made ahead, if it is what is wished for now; once."""
        ready = self._ready.pop(key, None)
        if ready is None or not ready.still_holds(
            former_id=wish.former_id, left_out=wish.request.items
        ):
            return None
        return ready

    def prepare(self, wish: Snapshot) -> Prepared:
        """Ask, and wait for the answer; it never raises for a failure."""
        return prepare(wish, self.summarizer, self.policy)

    async def aprepare(self, wish: Snapshot) -> Prepared:
        """Ask, as `prepare`, and await the answer."""
        return await aprepare(wish, self.summarizer, self.policy)

    def async_only(self, wish: Snapshot) -> SummaryRefused:
        """Return the entry that says that a sync call cannot ask this summariser."""
        covers = tuple(item.id for item in wish.request.items)
        return SummaryRefused(ASYNC_ONLY, covers, self.made_by)

    def refusal(self, prepared: Prepared) -> SummaryRefused:
        """Return the entry that says that there is no summary, and why."""
        result = prepared.result
        error = None if result.error is None else result.error.__cause__ or result.error
        return SummaryRefused(
            reason=result.reason or "failed",
            covers=result.covered_ids,
            made_by=self.made_by,
            error=None if error is None else type(error).__name__,
        )


def checked_policy(policy: object) -> SummaryPolicy:
    """Return how summaries are made; None: the defaults.

    Raises:
        InvalidItemError: If it is something else.
    """
    if policy is None:
        return SummaryPolicy()
    if not isinstance(policy, SummaryPolicy):
        message = "summary_policy must be a SummaryPolicy"
        raise InvalidItemError(message, field="summary_policy", value=policy)
    return policy


def _former_id(fold: Fold) -> str | None:
    current = fold.summaries.current
    return None if current is None else current.item.id
