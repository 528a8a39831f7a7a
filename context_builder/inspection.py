"""Looks into a session without changing it: why, what if, what moved, what was said.

Nothing here enters the log, and no request comes out otherwise for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from context_builder.collect import SessionLog
from context_builder.collect.plain import need_list, need_tokens, wrong
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
from context_builder.passing import RECALLED, Excerpt, excerpts_in, is_echo, is_passing
from context_builder.recalling import (
    ALL_SHOWN,
    LEAST_TOKENS,
    SessionIndex,
    found_text,
    item_text,
    lines_text,
)
from context_builder.render import Rendering
from context_builder.render.frames import frame
from context_builder.render.prefix import compare_requests
from context_builder.report import Report
from context_builder.report.item import ItemOutcome

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.report import Outcome
    from context_builder.targets import Target, TargetKey

__all__ = ["Inspecting"]

RECALL_TOKENS = 1_000
"""What is recalled at a time, if nobody says otherwise."""
_LINES = 2
_MOST_TRIED = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Former:
    """A request as it was, and what was told of it."""

    rendering: Rendering
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
        with self._lock:
            if item_id is not None:
                self._log.find(item_id)
            asked = self._target(target, model, max_tokens)
            self._rendered(asked)
            report = asked.report(self._log)
            told = report if item_id is None else self._told_of(item_id, report, asked)
        self._tell_compactions(asked)
        return told

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
        self, previous: Mapping[str, Any] | list[Any], present: Rendering, target: str
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

    # --- what the session holds -----------------------------------------------------

    def recall(
        self,
        query: str | None = None,
        *,
        handle: str | None = None,
        lines: tuple[int, int] | None = None,
        max_tokens: int = RECALL_TOKENS,
        skip_shown: bool = False,
        target: str = "openai",
        model: str | None = None,
    ) -> str:
        """Return what the session holds, in frames that name their handles.

        The whole session is searched, what is still in the request as well. What was
        taken out, replaced, or only passed is not. Nothing enters the log.

        Args:
            query: Words to look for; with a handle, in that item only.
            handle: The id of an item, such as `"i7"`.
            lines: The first and the last line of it, counted from 1.
            max_tokens: What all that comes back may take; at least 64.
            skip_shown: Whether what an answer of the recall tool says, that is still in
                the request of the target, is left out.
            target: The vendor whose tokens are counted.
            model: For another model than the session's.

        Raises:
            InvalidItemError: If there is no such item or line, or nothing is asked for.
        """
        if need_tokens(max_tokens, "max_tokens") < LEAST_TOKENS:
            message = f"max_tokens must be at least {LEAST_TOKENS}"
            raise InvalidItemError(message, field="max_tokens", value=max_tokens)
        with self._lock:
            count = self._target(target, model, None).count_text
            shown = self._shown_excerpts(target, model) if skip_shown else ()
            if query is not None and lines is None:
                if handle is not None:
                    self._item_of(handle)
                if not isinstance(query, str):
                    raise wrong(query, "query", "text")
                hits = self._index().search(self._log, query, handle=handle)
                return found_text(hits, max_tokens, count, shown=shown)
            item = self._item_of(handle)
        _check_lines(lines, item)
        text = lines_text(item, lines, max_tokens, count)
        said = excerpts_in(text)
        if said and all(any(s.covers(one) for s in shown) for one in said):
            return frame(RECALLED, ALL_SHOWN)
        return text

    def _index(self) -> SessionIndex:
        if self._hook_state.index is None:
            self._hook_state.index = SessionIndex()
        return self._hook_state.index

    def _item_of(self, handle: str | None) -> ContextItem:
        """Return an item that may be recalled.

        Raises:
            InvalidItemError: If there is none of that name, with a text that helps.
        """
        if handle is None:
            message = "say what to recall: words to look for, or a handle such as i7"
            raise InvalidItemError(message, field="query")
        try:
            item = self._log.find(handle)
        except InvalidItemError as error:
            message = f"{error}; a handle is the id of an item, such as i7"
            raise InvalidItemError(message, field="handle", value=handle) from None
        if not self._log.holds(item.id):
            message = f"item {item.id} was taken out of the conversation"
            raise InvalidItemError(message, field="handle", value=handle)
        if is_passing(item):
            message = f"item {item.id} only passed: recall what it was about instead"
            raise InvalidItemError(message, field="handle", value=handle)
        return item

    def _shown_excerpts(self, target: str, model: str | None) -> tuple[Excerpt, ...]:
        """Return what answers of the recall tool say that the request shows whole."""
        try:
            report = self.explain(target, model=model)
        except (AdapterError, BudgetExceededError):
            return ()
        return tuple(
            excerpt
            for outcome in report.outcomes
            if outcome.is_whole and outcome.role == "tool"
            for item in (self._log.find(outcome.item_id),)
            if is_echo(item)
            for excerpt in excerpts_in(item.text)
        )


def _check_lines(lines: object, item: ContextItem) -> None:
    """Refuse what are no lines of an item.

    Raises:
        InvalidItemError: If they are none.
    """
    if lines is None:
        return
    pair = tuple(need_list(lines, "lines"))
    if len(pair) != _LINES or not all(type(n) is int and n > 0 for n in pair):
        raise wrong(lines, "lines", "the first and the last line, counted from 1")
    total = item_text(item).count("\n") + 1
    if pair[0] > total or pair[1] < pair[0]:
        message = f"lines {pair[0]}-{pair[1]}: {item.id} has lines 1-{total}"
        raise InvalidItemError(message, field="lines", value=lines)


def _messages(previous: Mapping[str, Any] | list[Any], present: Rendering) -> list[Any]:
    """Return the messages of an earlier request of the same vendor."""
    messages = messages_of(previous)
    if messages is None and isinstance(previous, Mapping):
        messages = previous.get(messages_field(present))
    return messages or []


def _difference(
    previous: Mapping[str, Any] | list[Any] | Report,
    former: Former | None,
    present: Rendering,
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
