"""Compacts when it is asked to, and gets the summaries that builds want.

A summary is a transaction: what left is looked at under the session's lock, the model
is asked outside of it, and the answer enters the log only if what it tells of is as it
was. One at a time; who comes in meanwhile goes on without.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from context_builder.engine import Engine
from context_builder.items import (
    CompactionAsked,
    ContextItem,
    SummaryAdded,
    SummaryRefused,
)

if TYPE_CHECKING:
    from context_builder.report import Report
    from context_builder.summarizers import Prepared, Snapshot
    from context_builder.summarizers.desk import SummaryDesk
    from context_builder.targets import Target, TargetKey

__all__ = ["Compacting"]


class Compacting(Engine):
    """Asks the session's summariser; without one it compacts all the same."""

    def compact(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report:
        """Compact now, as if what is shown were the whole budget; ask for a summary.

        It is an event of the session: every target goes down to its low mark there.
        While the newest calls wait for their results, it comes once these are in. The
        summary is wanted for the target that is named here.

        Returns:
            The report of the request after it.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
            AdapterError: If the vendor cannot express what is left.
            UnknownModelError: If the model's window would have to be guessed.
        """
        key = self._compacted(target, model, max_tokens)
        self._summarize(key, is_forced=True)
        return self._report_for(key)

    async def acompact(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report:
        """Compact now, as `compact`; the summary is awaited."""
        key = self._compacted(target, model, max_tokens)
        await self._asummarize(key, is_forced=True)
        return self._report_for(key)

    def prepare_summary(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> bool:
        """Have a summary made of what the next compaction would leave out.

        It is put in by the build that comes after that compaction, if it still holds.
        Nothing enters the log before. It is made once between two compactions, and only
        when the budget is nearly used up; call it between turns, from any thread.

        Returns:
            Whether a summary lies ready.
        """
        key = self._target_key(target, model, max_tokens)
        desk = self._desk
        if desk is None or desk.is_async_only:
            return False
        with desk.guard.flight() as is_ours:
            wish = self._wish_ahead(key) if is_ours else None
            if wish is not None:
                return desk.keep(key, desk.prepare(wish))
        return desk.has_ready(key)

    async def aprepare_summary(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> bool:
        """Have a summary made ahead, as `prepare_summary`; it is awaited."""
        key = self._target_key(target, model, max_tokens)
        desk = self._desk
        if desk is None:
            return False
        with desk.guard.flight() as is_ours:
            wish = self._wish_ahead(key) if is_ours else None
            if wish is not None:
                return desk.keep(key, await desk.aprepare(wish))
        return desk.has_ready(key)

    # --- for builds -----------------------------------------------------------------

    def _summarize(self, key: TargetKey, *, is_forced: bool = False) -> None:
        """Get the summary that is wanted now, if any; wait for it."""
        desk = self._desk
        if desk is None or self._wish(key, is_forced=is_forced) is None:
            return
        with desk.guard.flight() as is_ours:
            wish = self._wish(key, is_forced=is_forced) if is_ours else None
            if wish is None:
                return
            ready = desk.take_ready(key, wish)
            if ready is None and desk.is_async_only:
                self._record_async_only(key, wish)
            else:
                self._record(desk, key, ready or desk.prepare(wish))

    async def _asummarize(self, key: TargetKey, *, is_forced: bool = False) -> None:
        """Get the summary that is wanted now, as `_summarize`; await it."""
        desk = self._desk
        if desk is None or self._wish(key, is_forced=is_forced) is None:
            return
        with desk.guard.flight() as is_ours:
            wish = self._wish(key, is_forced=is_forced) if is_ours else None
            if wish is None:
                return
            ready = desk.take_ready(key, wish)
            self._record(desk, key, ready or await desk.aprepare(wish))

    # --- under the lock -------------------------------------------------------------

    def _compacted(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> TargetKey:
        """Log the wish for a compaction, where it changes anything."""
        with self._lock:
            key = self._target_key(target, model, max_tokens)
            asked = self._caught_up(key)
            if asked.fold.would_compact():
                self._append(CompactionAsked())
            return key

    def _caught_up(self, key: TargetKey) -> Target:
        asked = self._target(key.name, key.model, key.max_tokens)
        self._catch_up(asked)
        return asked

    def _wish(self, key: TargetKey, *, is_forced: bool) -> Snapshot | None:
        with self._lock:
            if self._desk is None or not self._is_writable:
                return None
            asked = self._caught_up(key)
            return self._desk.wish(
                asked.fold,
                asked.count,
                is_forced=is_forced,
                session_id=self._session_name,
            )

    def _wish_ahead(self, key: TargetKey) -> Snapshot | None:
        with self._lock:
            if self._desk is None or not self._is_writable:
                return None
            asked = self._caught_up(key)
            return self._desk.wish_ahead(
                key, asked.fold, asked.count, session_id=self._session_name
            )

    def _record(self, desk: SummaryDesk, key: TargetKey, prepared: Prepared) -> None:
        """Log what came of a wish, unless what it was about has changed meanwhile."""
        result = prepared.result
        with self._lock:
            if self._desk is not desk or not self._is_writable:
                return
            fold = self._caught_up(key).fold
            current = fold.summaries.current
            still_holds = prepared.still_holds(
                former_id=None if current is None else current.item.id,
                left_out=desk.items_of(fold.unsummarized()),
            )
            if not still_holds or result.reason == "nothing_new":
                self._event("summary_outdated", target=key.name, calls=result.calls)
                return
            entry: SummaryAdded | SummaryRefused = desk.refusal(prepared)
            if result.text is not None:
                item = ContextItem(role="user", content=result.text, source="summary")
                named = self._log.name_summary(self._stamped(item))
                entry = SummaryAdded(
                    named,
                    covers=result.covered_ids,
                    extends=prepared.snapshot.former_id,
                    made_by=desk.made_by,
                )
            self._append(entry)
            self._caught_up(key)

    def _record_async_only(self, key: TargetKey, wish: Snapshot) -> None:
        """Say once a compaction that a sync call cannot ask this summariser."""
        with self._lock:
            if self._desk is None:
                return
            fold = self._caught_up(key).fold
            last = fold.summaries.tries[-1:]
            entry = self._desk.async_only(wish)
            if [(one.reason, one.leavings) for one in last] != [
                (entry.reason, fold.leavings)
            ]:
                self._event("summary_refused", level=logging.WARNING, reason="async")
                self._append(entry)

    def _report_for(self, key: TargetKey) -> Report:
        with self._lock:
            asked = self._target(key.name, key.model, key.max_tokens)
            self._rendered(asked)
            report = asked.report(self._log)
        self._tell_compactions(asked)
        return report
