"""How a summary comes about: ask, check, ask once more, accept or refuse. Pure.

The flow is a generator: it yields what it wants to be asked, and is sent the answer or
what was raised instead. It does no I/O and knows no clock; `drive` and `adrive` carry
it out. It never raises for what a summariser does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from context_builder.errors import SummarizerError
from context_builder.render.described import described
from context_builder.summarizers.acceptance import (
    answer_problem,
    size_problem,
    tidy_text,
)
from context_builder.summarizers.language import language_hint
from context_builder.summarizers.protocol import (
    RefusalReason,
    SummaryRequest,
    SummaryResult,
    SummaryText,
)
from context_builder.summarizers.rendering import (
    block_of,
    conversation_tokens,
    grouped,
    shown_items,
)

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.summarizers.settings import SummaryPolicy

__all__ = ["SummaryFlow", "items_tokens", "request_for", "summary_flow"]

SummaryFlow = Generator[SummaryRequest, "str | Exception", SummaryResult]
"""Yields what to ask the summariser; is sent its answer, or what it raised."""

_WORTH_ASKING_AGAIN: Final[frozenset[RefusalReason]] = frozenset(
    {"empty", "not_text", "cut_off", "too_long", "not_smaller"}
)
"""An answer that another wording may mend. Who failed or declined is left in peace."""


def request_for(
    items: Iterable[ContextItem],
    *,
    former: str | None,
    budget_tokens: int,
    count: Callable[[str], int],
    policy: SummaryPolicy,
    spoken: Iterable[str] | None = None,
    latest_user_id: str | None = None,
    session_id: str | None = None,
) -> SummaryRequest:
    """Return what to ask for, given what was newly left out.

    Args:
        items: The items that left and that no summary covers, whole, oldest first.
        former: The text of the summary so far.
        budget_tokens: The input budget of the request that the summary is for.
        count: Counts tokens, as the budget does.
        policy: How summaries are made.
        spoken: What the user said lately, for the language; None: as in `items`.
        latest_user_id: The newest user message, which is never summarised away.
        session_id: Handed on to the summariser.
    """
    asked = tuple(
        item
        for item in items
        if item.source != "system_prompt"
        and (latest_user_id is None or item.id != latest_user_id)
    )
    if spoken is None:
        spoken = [item.text for item in asked if item.is_spoken]
    return SummaryRequest(
        former=former,
        items=asked,
        max_tokens=policy.max_tokens(budget_tokens),
        language_hint=language_hint(spoken),
        count=count,
        session_id=session_id,
        window_tokens=policy.summarizer_window_tokens,
        result_tokens=policy.result_tokens,
    )


def items_tokens(items: Iterable[ContextItem], count: Callable[[str], int]) -> int:
    """Return what the texts and calls of items take, whole."""
    tokens = 0
    for item in items:
        tokens += count(described(item))
        for call in item.tool_calls:
            tokens += count(call.name) + count(call.arguments)
    return tokens


def summary_flow(request: SummaryRequest, policy: SummaryPolicy) -> SummaryFlow:
    """Ask for a summary, chunk by chunk, and return what came of it.

    Input that the summariser's window does not hold is worked off in chunks, each of
    which extends the summary of the last. Where a chunk fails, what the chunks before
    it gave still counts, for what it covers. At most one answer is asked for again.
    """
    run = _Run(request)
    if not shown_items(request.items):
        return run.refused("nothing_new")
    again = 1
    for chunk in _chunks(request)[: policy.max_chunks]:
        asked = dataclasses.replace(request, former=run.former, items=chunk)
        problem = run.take(asked, (yield asked))
        if problem in _WORTH_ASKING_AGAIN and again:
            again -= 1
            asked = dataclasses.replace(asked, problem=problem)
            problem = run.take(asked, (yield asked))
        if problem is not None:
            return run.refused(problem)
    return run.accepted(None)


class _Run:
    """What one flow has come to so far."""

    def __init__(self, request: SummaryRequest) -> None:
        self._request = request
        self._text: str | None = None
        self._covered: tuple[ContextItem, ...] = ()
        self._replaced_tokens = request.count(request.former) if request.former else 0
        self._calls = 0
        self._billed: list[SummaryText] = []
        self._error: SummarizerError | None = None

    @property
    def former(self) -> str | None:
        """The summary that the next chunk extends."""
        return self._request.former if self._text is None else self._text

    def take(
        self, asked: SummaryRequest, answer: str | Exception
    ) -> RefusalReason | None:
        """Take an answer in, or say why not."""
        self._calls += 1
        if isinstance(answer, Exception):
            self._error = _as_summarizer_error(answer)
            return "timeout" if isinstance(answer, TimeoutError) else "failed"
        if isinstance(answer, SummaryText):
            self._billed.append(answer)
        problem = answer_problem(answer)
        if problem is not None:
            return problem
        text = tidy_text(answer)
        replaced = self._replaced_tokens + items_tokens(asked.items, asked.count)
        problem = size_problem(
            text,
            max_tokens=asked.max_tokens,
            replaced_tokens=replaced,
            count=asked.count,
        )
        if problem is None:
            self._text, self._replaced_tokens = text, replaced
            self._covered = (*self._covered, *asked.items)
        return problem

    def refused(self, reason: RefusalReason) -> SummaryResult:
        """Return the end that a failure is; what was accepted before it stands."""
        if self._text is not None:
            return self.accepted(reason)
        return dataclasses.replace(
            self._result(), reason=reason, covered=self._request.items
        )

    def accepted(self, rest_reason: RefusalReason | None) -> SummaryResult:
        """Return the accepted text and what it covers."""
        text = self._text or ""
        return dataclasses.replace(
            self._result(),
            text=text,
            covered=self._covered,
            rest_reason=rest_reason,
            tokens=self._request.count(text),
            replaced_tokens=self._replaced_tokens,
        )

    def _result(self) -> SummaryResult:
        return SummaryResult(
            calls=self._calls,
            input_tokens=_sum(billed.input_tokens for billed in self._billed),
            output_tokens=_sum(billed.output_tokens for billed in self._billed),
            error=self._error,
        )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [tokens for tokens in counts if tokens is not None]
    return sum(known) if known else None


def _as_summarizer_error(error: Exception) -> SummarizerError:
    """Return the error under its own name, without its text: that may hold content."""
    if isinstance(error, SummarizerError):
        return error
    made = SummarizerError(
        f"the summariser raised {type(error).__name__}; the history is kept as it is"
    )
    made.__cause__ = error
    return made


def _chunks(request: SummaryRequest) -> list[tuple[ContextItem, ...]]:
    """Split the items into what the summariser's window holds, in order.

    Room is left for the largest summary that a chunk may have to extend.
    """
    first = conversation_tokens(request)
    later = conversation_tokens(dataclasses.replace(request, former=None))
    room = min(first, later - request.max_tokens)
    chunks: list[list[ContextItem]] = [[]]
    taken = 0
    for group in grouped(request.items):
        tokens = _group_tokens(group, request, room)
        if taken and taken + tokens > room:
            chunks.append([])
            taken = 0
        chunks[-1].extend(group)
        taken += tokens
    return [tuple(chunk) for chunk in chunks]


def _group_tokens(
    group: Sequence[ContextItem], request: SummaryRequest, room_tokens: int
) -> int:
    """Return what a group takes as it is shown; no group takes more than the room."""
    tokens = sum(
        request.count(
            block_of(item, request.count, request.result_tokens, room_tokens // 2)
        )
        + 1
        for item in shown_items(group)
    )
    return min(tokens, room_tokens)
