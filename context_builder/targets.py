"""Joins the tiers for one target: the log grouped, decided, and ready to be said.

Each target (vendor, model and budget) has its own fold, made on first use and brought
up to date when it is asked. The log is the only thing that targets share.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder.collect import Grouper, SessionLog
from context_builder.decide import Fold, Rules, class_uses, outcomes, pending_calls
from context_builder.errors import BudgetExceededError
from context_builder.items import LimitLearned, UsageRecorded
from context_builder.render import Prompt, ProviderAdapter, Rendering
from context_builder.report import Report
from context_builder.tokens.calibration import Calibration, calibrated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.items import ContextItem, LogEntry
    from context_builder.limits import Limits
    from context_builder.settings import RequestOptions, Settings

__all__ = ["SessionRuler", "Target", "TargetKey"]


@dataclasses.dataclass(frozen=True, slots=True)
class TargetKey:
    """What a request is for."""

    name: str
    model: str | None
    max_tokens: int | None


_MOST_TRIED = 1_024


class SessionRuler:
    """Measures in one target's tokens, and each text once.

    What items say is remembered for the session, so that another target with the same
    tokenizer need not count it again. Texts that were only tried, while something was
    shortened, are remembered for a while.
    """

    __slots__ = ("_adapter", "_count", "_counts", "_model", "_tried")

    def __init__(
        self,
        adapter: ProviderAdapter,
        model: str | None,
        count: Callable[[str], int],
        counts: dict[int, int],
    ) -> None:
        self._adapter = adapter
        self._model = model
        self._count = count
        self._counts = counts
        self._tried: dict[int, int] = {}

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hash(text)  # not the text: what was only tried would be held for ever
        tokens = self._counts.get(key)
        if tokens is None:
            tokens = self._tried.get(key)
        if tokens is None:
            tokens = self._tried[key] = self._count(text)
        return tokens

    def said(self, text: str) -> int:
        """Return the tokens of a text that stays: remembered for the session."""
        key = hash(text)
        if key not in self._counts:
            self._counts[key] = self.text(text)
        return self._counts[key]

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs in a request."""
        return self._adapter.item_tokens(
            item, self.text, model=self._model, calls=calls
        )

    def whole(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs as it came in."""
        return self._adapter.item_tokens(
            item, self.said, model=self._model, calls=calls
        )

    def forget_tried(self) -> None:
        """Let go of the sizes of texts that were only tried, once they are many."""
        if len(self._tried) > _MOST_TRIED:
            self._tried.clear()


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
    ) -> None:
        self.key = key
        self.limits = limits
        self._adapter = adapter
        self._options = options
        self._ruler = ruler
        self._rules = Rules(ruler, settings)
        self._is_exact = is_exact
        self._grouper = Grouper()
        self._fold = Fold(
            limit_tokens=limits.budget_tokens,
            rules=self._rules,
            measure_fixed=self._fixed_tokens,
        )
        self._calibration = Calibration()
        self._learned_tokens: int | None = None
        self._position = 0
        self._settled: tuple[int, Fold] | None = None
        self._rendered: tuple[int, Rendering] | None = None
        self._reported: tuple[int, Report] | None = None

    @property
    def tokens(self) -> int:
        """Input tokens of the request as decided."""
        return (self._settled[1] if self._settled else self._fold).tokens

    @property
    def compactions(self) -> int:
        """How often the session has been compacted for this target."""
        return self._fold.compactions

    def is_current(self, log: SessionLog) -> bool:
        """Say whether the request that was rendered last is still the right one."""
        return self._rendered is not None and self._rendered[0] == log.revision

    def catch_up(self, log: SessionLog) -> None:
        """Take in what was logged since the last time."""
        if self._position == len(log):
            return
        for entry in log.since(self._position):
            self._position += 1  # first: what fails is not taken in again
            self._learn(entry)
            self._fold.advance(self._grouper.feed(entry))
        self._ruler.forget_tried()

    def _learn(self, entry: LogEntry) -> None:
        """Take in what a vendor said of this model; it moves the limit."""
        match entry:
            case UsageRecorded() if entry.model == self.key.model:
                if self._is_exact:
                    return
                self._calibration = calibrated(
                    self._calibration,
                    billed_tokens=entry.billed_tokens,
                    estimated_tokens=entry.estimated_tokens,
                )
            case LimitLearned() if entry.model == self.key.model:
                known = self._learned_tokens or entry.limit_tokens
                self._learned_tokens = min(known, entry.limit_tokens)
            case _:
                return
        # The limit is scaled, not the sizes: nothing is measured anew, and what is
        # shown stays as it is.
        budget_tokens = self.limits.within(self._learned_tokens)
        self._fold.move_limit(self._calibration.counted(budget_tokens))

    @property
    def rendered_tokens(self) -> int | None:
        """What the request that was rendered last was counted as, if there is one."""
        if self._rendered is None:
            return None
        request = self._rendered[1].request
        return self._adapter.request_tokens(request, self._ruler.text)

    def rendering(self, log: SessionLog) -> Rendering:
        """Return the request, made once a revision; it is shared: copy it.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
            AdapterError: If the vendor cannot express it.
        """
        if self._rendered is not None and self._rendered[0] == log.revision:
            return self._rendered[1]
        fold = self._decided(log)
        rendering = self._adapter.render(self._prompt(fold))
        self._rendered = (log.revision, rendering)
        return rendering

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
        items = [item for unit in fold.shown.live for item in unit.items]
        stable = sum(len(unit.items) for unit in fold.shown.live[: fold.stable_units])
        if fold.notice is not None:
            items.insert(0, fold.notice)
            stable += 1
        return Prompt(
            items=tuple(items),
            system=fold.system,
            tools=fold.tools,
            model=self.key.model,
            options=self._options,
            stable_items=stable,
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

    def report(self, log: SessionLog) -> Report:
        """Return what became of every item, made once a revision.

        Raises:
            BudgetExceededError: As `rendering`.
            AdapterError: As `rendering`.
        """
        if self._reported is not None and self._reported[0] == log.revision:
            return self._reported[1]
        rendering = self.rendering(log)
        fold = self._decided(log)
        report = Report(
            target=self.key.name,
            model=self.key.model,
            budget_tokens=fold.limit_tokens,
            context_window=self.limits.context_window,
            tokens=fold.tokens,
            is_exact=self._is_exact,
            parts={
                **fold.fixed,
                "notice": fold.notice_tokens,
                "messages": fold.tokens - fold.notice_tokens - sum(fold.fixed.values()),
            },
            outcomes=outcomes(
                fold,
                self._rules,
                self._grouper.left_out,
                {item_id: log.find(item_id) for item_id in self._grouper.left_out},
            ),
            classes=class_uses(fold, self._rules),
            compactions=fold.compactions,
            prefix_moves=tuple(fold.prefix_moves),
            pending_calls=pending_calls(self._fold),
            revision=log.revision,
            repairs=tuple(
                f"{mark.item_id}: {mark.reason}" for mark in rendering.repairs
            ),
        )
        self._reported = (log.revision, report)
        return report
