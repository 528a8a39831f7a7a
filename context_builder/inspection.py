"""Looks into a session without changing it: why, what if, what moved, what was said.

Nothing here enters the log, and no request comes out otherwise for it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from context_builder.collect import SessionLog
from context_builder.collect.plain import need_tokens
from context_builder.comparing import (
    RequestDiff,
    messages_field,
    messages_of,
    side_by_side,
)
from context_builder.errors import (
    AdapterError,
    BudgetExceededError,
    InvalidItemError,
)
from context_builder.hooked import Hooked
from context_builder.render import KeptRendering
from context_builder.render.prefix import compare_requests
from context_builder.report import Report, RequestSize
from context_builder.report.item import ItemOutcome

if TYPE_CHECKING:
    from context_builder.report import Outcome
    from context_builder.targets import Target, TargetKey

__all__ = ["Inspecting"]

_MOST_TRIED = 3
_ITEM = re.compile(r"[is][1-9][0-9]{0,17}")
"""The id of an item or of a summary."""


@dataclasses.dataclass(frozen=True, slots=True)
class Former:
    """A request as it was, and what was told of it."""

    rendering: KeptRendering
    report: Report


class Inspecting(Hooked):
    """Tells what was decided, what would be, and what the session holds."""

    @overload
    def explain(
        self,
        target: str = "openai",
        *,
        item_id: None = None,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report: ...

    @overload
    def explain(
        self,
        target: str = "openai",
        *,
        item_id: str,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> ItemOutcome: ...

    def explain(
        self,
        target: str = "openai",
        *,
        item_id: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report | ItemOutcome:
        """Return what became of every item in the request, and why; or of one item.

        `explain("i7")` is `explain(item_id="i7")`: no vendor has such a name. For who
        checks types, it is the latter that returns an `ItemOutcome`.

        Args:
            target: The vendor, such as `"openai"`.
            item_id: Only this item, with the place where it stands now.
            model: For another model than the session's.
            max_tokens: For another input budget than the session's.

        Raises:
            InvalidItemError: If there is no such item in the conversation.
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        if item_id is None and _ITEM.fullmatch(str(target)):
            target, item_id = "openai", target
        with self._lock:
            if item_id is not None:
                self._log.find(item_id)
            asked = self._target(target, model, max_tokens)
            self._rendered(asked)
            report = asked.report(self._log)
            told = report if item_id is None else self._told_of(item_id, report, asked)
        self._tell_compactions(asked)
        return told

    def request_size(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> RequestSize:
        """Return how large the request is: without a look at every item, as `explain`.

        Args:
            target: The vendor, such as `"openai"`.
            model: For another model than the session's.
            max_tokens: For another input budget than the session's.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        with self._lock:
            asked = self._target(target, model, max_tokens)
            self._rendered(asked)
            size = asked.size(self._log)
        self._tell_compactions(asked)
        return size

    def _told_of(self, item_id: str, report: Report, asked: Target) -> ItemOutcome:
        """Return what became of one item.

        Raises:
            InvalidItemError: If it is not in the conversation any more.
        """
        outcome = next((o for o in report.outcomes if o.item_id == item_id), None)
        if outcome is None:
            message = f"item {item_id} is not in the conversation any more"
            raise InvalidItemError(message, field="item_id", value=item_id)
        facts = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
        return ItemOutcome(
            **facts,
            message_index=asked.place_of(item_id, self._log),
            target=report.target,
            model=report.model,
            revision=report.revision,
        )

    def plan(
        self,
        target: str = "openai",
        *,
        what_if_max_tokens: int,
        model: str | None = None,
    ) -> Report:
        """Return what would be decided at another budget, without changing anything.

        It is the decision of a session with that budget that takes the conversation
        over as it is now, at once: no earlier compaction is played again, which makes
        it fast enough for a slider. `explain(max_tokens=...)` plays the whole session
        at that budget, entry by entry, and costs as much as it is long.

        Args:
            target: The vendor, such as `"openai"`.
            what_if_max_tokens: The other input budget.
            model: For another model than the session's.

        Raises:
            InvalidItemError: If it is no number of tokens.
            BudgetExceededError: If what may not be left out is larger than that.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        need_tokens(what_if_max_tokens, "what_if_max_tokens")
        with self._lock:
            known = self._target(target, model, None)
            key = self._target_key(target, model, what_if_max_tokens)
            other = self._made_target(key)
            other.take_over(known, self._log)
            return other.report(self._log)

    def diff(
        self,
        previous: Mapping[str, Any] | list[dict[str, Any]] | Report,
        target: str | None = None,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> RequestDiff:
        """Return where the present request parts from an earlier one, and why.

        Args:
            previous: What `request()`, `build()` or `explain()` returned earlier. A
                report stands for the request that it told of.
            target: The vendor; None: that of the report, else `"openai"`.
            model: For another model than the session's.
            max_tokens: For another input budget than the session's.

        Raises:
            InvalidItemError: If it is none of these, or a report of a later revision.
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        report = previous if isinstance(previous, Report) else None
        name = target or (report.target if report else "openai")
        with self._lock:
            asked = self._target(name, model or self._model_of(previous), max_tokens)
            present = self._rendered(asked)
            now = asked.report(self._log)
            former = (
                self._as_of(previous)
                if isinstance(previous, Report)
                else self._found_again(previous, present, name)
            )
        return _difference(previous, former, present, now)

    def _model_of(self, previous: Mapping[str, Any] | list[Any] | Report) -> str | None:
        """Return the model to compare for where the session names none."""
        if isinstance(previous, Report):
            return previous.model
        if self._model is None and isinstance(previous, Mapping):
            return previous.get("model") or previous.get("modelId")
        return None

    def _as_of(self, report: Report) -> Former:
        """Return the request that a report told of: the log up to there gives it.

        Raises:
            InvalidItemError: If the report is not of this session as it is set now.
        """
        for max_tokens in (None, report.budget_tokens):
            key = self._target_key(report.target, report.model, max_tokens)
            former = self._request_as_of(key, report.revision)
            if former is not None and former.report == report:
                return former
        message = (
            "this report is not of this session, or the session's settings have "
            "changed since"
        )
        raise InvalidItemError(message, field="previous")

    def _found_again(
        self,
        previous: Mapping[str, Any] | list[Any],
        present: KeptRendering,
        target: str,
    ) -> Former | None:
        """Return an earlier request with all that is known of it; None: not found.

        What was built lately is remembered by its number of messages, and said anew.
        """
        messages = _messages(previous, present)
        likely = [
            (key, revision)
            for key, revision, count in reversed(self._hook_state.built)
            if key.name == target and count == len(messages)
        ]
        for key, revision in likely[:_MOST_TRIED]:
            former = self._request_as_of(key, revision)
            if former is not None and former.rendering.messages == messages:
                return former
        return None

    def _request_as_of(self, key: TargetKey, revision: int) -> Former | None:
        """Return a request as it was; None: it could not be built."""
        past = SessionLog()
        for entry in self._log.since(0)[:revision]:
            past.append(entry)
        made = self._made_target(key)
        try:
            return Former(made.rendering(past), made.report(past))
        except (AdapterError, BudgetExceededError, InvalidItemError):
            return None

    def _built_for(self, asked: Target) -> None:
        super()._built_for(asked)
        built = asked.built
        if built is not None:
            self._hook_state.built.append((asked.key, *built))


def _messages(
    previous: Mapping[str, Any] | list[Any], present: KeptRendering
) -> list[Any]:
    """Return the messages of an earlier request of the same vendor."""
    messages = messages_of(previous)
    if messages is None and isinstance(previous, Mapping):
        messages = previous.get(messages_field(present))
    return messages or []


def _difference(
    previous: Mapping[str, Any] | list[Any] | Report,
    former: Former | None,
    present: KeptRendering,
    now: Report,
) -> RequestDiff:
    if isinstance(previous, Report):
        assert former is not None  # noqa: S101  else it was refused
        previous = former.rendering.request
    ours, theirs = side_by_side(previous, present)
    prefix = compare_requests(
        ours,
        theirs,
        target=now.target,
        former_spans=former.rendering.spans if former else (),
        latter_spans=present.spans,
    )
    known = len(former.report.prefix_moves) if former else len(now.prefix_moves)
    fates = {o.item_id: o for o in now.outcomes}
    return RequestDiff(
        target=now.target,
        prefix=prefix,
        reasons=now.prefix_moves[known:],
        items={name: _fate(name, fates.get(name)) for name in prefix.item_ids},
        former_revision=former.report.revision if former else None,
        revision=now.revision,
    )


def _fate(item_id: str, outcome: Outcome | None) -> str:
    if item_id == "notice":
        return "what is told of left-out messages was worded anew"
    if outcome is None:
        return "not in the conversation any more"
    return f"{outcome.action}; {outcome.reason}" if outcome.reason else outcome.action
