"""Joins the tiers for one target: the log grouped, decided, and ready to be said.

Each target (vendor, model and budget) has its own fold, made on first use and brought
up to date when it is asked. The log is the only thing that targets share.
"""

from __future__ import annotations

import dataclasses
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from context_builder.collect import Grouper, SessionLog
from context_builder.decide import (
    Fold,
    Rules,
    class_uses,
    outcomes,
    pending_calls,
    summary_outcomes,
)
from context_builder.errors import BudgetExceededError
from context_builder.items import (
    LimitLearned,
    SummaryAdded,
    SystemSet,
    ToolsSet,
    UsageRecorded,
)
from context_builder.measuring import KnownSizes, SessionRuler
from context_builder.remembering import Remembered
from context_builder.render import KeptRendering, Prompt, ProviderAdapter
from context_builder.render.script import Script, ScriptWriter
from context_builder.report import Report, RequestSize
from context_builder.tokens.calibration import Calibration, calibrated
from context_builder.transforms import Said, TargetHooks, as_said, transformed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.decide.lowered import Lowered
    from context_builder.decide.rules import Memo
    from context_builder.items import ContextItem, LogEntry
    from context_builder.limits import Limits
    from context_builder.settings import RequestOptions, Settings

__all__ = ["Target", "TargetKey"]


@dataclasses.dataclass(frozen=True, slots=True)
class TargetKey:
    """What a request is for."""

    name: str
    model: str | None
    max_tokens: int | None


_NO_HOOKS = TargetHooks()
_MOST_LOWERED = 256


class Target:
    """One target's decision, kept up to date with the log."""

    def __init__(
        self,
        key: TargetKey,
        *,
        adapter: ProviderAdapter,
        ruler: SessionRuler,
        limits: Limits,
        settings: Settings,
        options: RequestOptions,
        is_exact: bool,
        hooks: TargetHooks = _NO_HOOKS,
    ) -> None:
        self.key = key
        self.limits = limits
        self._adapter = adapter
        self._writer = adapter if isinstance(adapter, ScriptWriter) else None
        self._options = options
        self._ruler = ruler
        self._rules = Rules(ruler, settings, hooks.ladder, hooks.priority_rule)
        self._transforms = hooks.transforms
        self._is_exact = is_exact
        self._grouper = Grouper()
        self._fold = self._new_fold()
        self._remembered = Remembered()
        self._calibration = Calibration()
        self._learned_tokens: int | None = None
        self._position = 0
        self._settled: tuple[int, Fold] | None = None
        self._lowered: list[tuple[int, Lowered]] = []
        self._rendered: tuple[int, KeptRendering] | None = None
        self._said: Said | None = None
        self.told_compactions = 0
        """Of how many compactions somebody was told who asked for a build."""
        self._reported: tuple[int, Report] | None = None

    def _new_fold(self) -> Fold:
        return Fold(
            limit_tokens=self.limits.budget_tokens,
            rules=self._rules,
            measure_fixed=self._fixed_tokens,
        )

    @property
    def tokens(self) -> int:
        """Input tokens of the request as decided."""
        return (self._settled[1] if self._settled else self._fold).tokens

    @property
    def fold(self) -> Fold:
        """The decision on what was taken in, as it is kept: read it, change nothing."""
        return self._fold

    def count(self, text: str) -> int:
        """Return the tokens of a text, as the budget counts them; remembered."""
        return self._ruler.said(text)

    @property
    def compactions(self) -> int:
        """How often the session has been compacted for this target."""
        return self._fold.compactions

    def is_current(self, log: SessionLog) -> bool:
        """Say whether the request that was rendered last is still the right one."""
        return self._rendered is not None and self._rendered[0] == log.revision

    def catch_up(self, log: SessionLog, *, until: int | None = None) -> None:
        """Take in what was logged since the last time, all or up to a revision."""
        end = len(log) if until is None else until
        if self._position >= end:
            return
        come = 0
        for entry in log.since(self._position)[: end - self._position]:
            self._position += 1  # first: what fails is not taken in again
            self._learn(entry)
            changes = self._grouper.feed(entry)
            come += len(changes)
            self._fold.advance(changes)
            if self._fold.lowered:
                self._keep_lowered()
        self._grouper.share(self._fold.shown.live[-come - 1 :])
        self._ruler.settle()

    def _keep_lowered(self) -> None:
        self._lowered.extend((self._position, one) for one in self._fold.lowered)
        self._fold.lowered.clear()
        del self._lowered[:-_MOST_LOWERED]

    def take_lowered(self) -> list[tuple[int, Lowered]]:
        """Return the compactions nobody was told of, each with its revision; once."""
        taken, self._lowered = self._lowered, []
        return taken

    @property
    def count_text(self) -> Callable[[str], int]:
        """Counts the tokens of a text; what is counted is not remembered for long."""
        return self._ruler.text

    @property
    def built(self) -> tuple[int, int] | None:
        """The revision that was rendered last, and its number of messages."""
        if self._rendered is None:
            return None
        revision, rendering = self._rendered
        return revision, rendering.count

    def place_of(self, item_id: str, log: SessionLog) -> int | None:
        """Return which message shows an item; None: none does."""
        spans = self.rendering(log).spans
        return next((number for name, number in spans if name == item_id), None)

    def take_over(self, known: Target, log: SessionLog) -> None:
        """Take in at once what another target of the same session has taken in.

        It is decided as one entry. Only a target that has taken in nothing may do so.
        """
        known.catch_up(log)
        self._grouper, self._position = known._grouper, known._position
        self._ruler = known._ruler
        self._rules = dataclasses.replace(
            known._rules,
            ruler=KnownSizes(known._ruler, known._fold.shown.units),
            facts=known._remembered.facts,
            lasting=known._remembered_memo(),
        )
        self._fold = self._new_fold()
        self._calibration = known._calibration
        self._learned_tokens = known._learned_tokens
        self._move_limit()
        self._fold.advance(
            [
                SystemSet(known._fold.system),
                ToolsSet(known._fold.tools),
                *self._grouper.units,
                *(entry for entry in log if isinstance(entry, SummaryAdded)),
            ]
        )

    def _remembered_memo(self) -> Memo:
        """Return what those found who took the session over since its last entry."""
        if self._remembered.is_old(self._position):
            self._grouper.know_sizes(self._fold.shown.units)
        return self._remembered.memo(self._position)

    @property
    def position(self) -> int:
        """How many entries of the log were taken in: the revision of the decision."""
        return self._position

    def _learn(self, entry: LogEntry) -> None:
        """Take in what a vendor said of this model; it moves the limit."""
        match entry:
            case UsageRecorded() if entry.model == self.key.model:
                self._take_bill(entry)
            case LimitLearned() if entry.model == self.key.model:
                known = self._learned_tokens or entry.limit_tokens
                self._learned_tokens = min(known, entry.limit_tokens)
                self._move_limit()
            case _:
                pass

    def _take_bill(self, entry: UsageRecorded) -> None:
        """Correct the estimate; compact where more was billed than the budget allows.

        A bill of a request that was larger by our own count is another target's.
        """
        was_within = entry.estimated_tokens <= self._fold.limit_tokens
        compactions = self.compactions
        if not self._is_exact:
            self._calibration = calibrated(
                self._calibration,
                billed_tokens=entry.billed_tokens,
                estimated_tokens=entry.estimated_tokens,
            )
            self._move_limit()
        is_over = entry.billed_tokens > self.limits.within(self._learned_tokens)
        if was_within and is_over and compactions == self.compactions:
            self._fold.compact_over_low_mark("compaction: the bill was over the budget")

    def _move_limit(self) -> None:
        # The limit is scaled, not the sizes: nothing is measured anew, and what is
        # shown stays as it is.
        budget_tokens = self.limits.within(self._learned_tokens)
        self._fold.move_limit(self._calibration.counted(budget_tokens))

    @property
    def rendered_revision(self) -> int | None:
        """At which revision the request was rendered that was rendered last."""
        return None if self._rendered is None else self._rendered[0]

    @property
    def rendered_tokens(self) -> int | None:
        """What the request that was rendered last was counted as, if there is one."""
        if self._rendered is None:
            return None
        rendering = self._rendered[1]
        if self._writer is not None and isinstance(rendering, Script):
            return self._writer.script_tokens(rendering, self._ruler.shown)
        return self._adapter.request_tokens(rendering.request, self._ruler.shown)

    def rendering(self, log: SessionLog) -> KeptRendering:
        """Return the request, made once a revision.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
            AdapterError: If the vendor cannot express it.
        """
        if self._rendered is not None and self.is_current(log):
            return self._rendered[1]
        rendering = self._say(self._decided(log))
        self._rendered = (log.revision, rendering)
        return rendering

    def _say(self, fold: Fold) -> KeptRendering:
        """Say the decision, as the caller's own transforms want it said."""
        prompt = self._prompt(fold)
        self._said = None
        if self._transforms and prompt.items:
            self._said = transformed(
                prompt,
                self._transforms,
                adapter=self._adapter,
                count=self._ruler.text,
                limit_tokens=fold.limit_tokens,
            )
        if self._said:
            return KeptRendering.of(self._said.rendering)
        if self._writer is None:
            return KeptRendering.of(self._adapter.render(prompt))
        former = None if self._rendered is None else self._rendered[1]
        return self._writer.script(
            prompt, former if isinstance(former, Script) else None
        )

    def _decided(self, log: SessionLog) -> Fold:
        """Return the decision about all that was logged.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
        """
        if self._settled is None or self._settled[0] != log.revision:
            self.catch_up(log)
            self._settled = (log.revision, self._fold.settled())
        fold = self._settled[1]
        if fold.excess is not None:
            raise BudgetExceededError(
                needed_tokens=sum(fold.excess.values()),
                limit_tokens=fold.limit_tokens,
                parts=fold.excess,
            )
        return fold

    def _prompt(self, fold: Fold) -> Prompt:
        live = fold.shown.live
        shown = [unit.items for unit in live]
        items = [*chain.from_iterable(shown)]
        # How many items stand before each unit, and behind the last.
        before = [0, *accumulate(map(len, shown))]
        stable = before[min(fold.stable_units, len(live))]
        moved = before[fold.shown.rank_behind(fold.moved_through)]
        if fold.notice is not None:
            items.insert(before[fold.notice_rank], fold.notice)
            stable += 1
            moved += 1
        return Prompt(
            items=tuple(items),
            system=fold.system,
            tools=fold.tools,
            model=self.key.model,
            options=self._options,
            stable_items=stable,
            moved_items=moved,
        )

    def _fixed_tokens(
        self, system: ContextItem | None, tools: tuple[Mapping[str, Any], ...]
    ) -> Mapping[str, int]:
        prompt = Prompt(
            items=(),
            system=system,
            tools=tools,
            model=self.key.model,
            options=self._options,
        )
        return self._adapter.fixed_tokens(prompt, self._ruler.said)

    def size(self, log: SessionLog) -> RequestSize:
        """Return how large the request is.

        Raises:
            BudgetExceededError: As `rendering`.
            AdapterError: As `rendering`.
        """
        self.rendering(log)
        fold = self._decided(log)
        tokens = self._said.tokens if self._said else fold.tokens
        parts = {**fold.fixed, "notice": fold.notice_tokens}
        parts["messages"] = tokens - sum(parts.values())
        return RequestSize(tokens, fold.limit_tokens, parts)

    def report(self, log: SessionLog) -> Report:
        """Return what became of every item, made once a revision.

        Raises:
            BudgetExceededError: As `rendering`.
            AdapterError: As `rendering`.
        """
        if self._reported is not None and self._reported[0] == log.revision:
            return self._reported[1]
        rendering = self.rendering(log)
        fold, said, size = self._decided(log), self._said, self.size(log)
        told = outcomes(
            fold,
            self._rules,
            self._grouper.left_out,
            {item_id: log.find(item_id) for item_id in self._grouper.left_out},
        )
        report = Report(
            target=self.key.name,
            model=self.key.model,
            budget_tokens=size.budget_tokens,
            context_window=self.limits.context_window,
            guessed_from=self.limits.guessed_from,
            tokens=size.tokens,
            is_exact=self._is_exact,
            parts=size.parts,
            outcomes=as_said(told, said.changed, self._ruler.item) if said else told,
            classes=class_uses(fold, self._rules),
            compactions=fold.compactions,
            prefix_moves=tuple(fold.prefix_moves),
            pending_calls=pending_calls(self._fold),
            revision=log.revision,
            summaries=summary_outcomes(self._fold),
            embedding_failures=tuple(self._fold.recaller.asked.told),
            repairs=tuple(
                f"{mark.item_id}: {mark.reason}" for mark in rendering.repairs
            ),
        )
        self._reported = (log.revision, report)
        return report
