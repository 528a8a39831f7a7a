"""Works out from a session's log which requests were sent, and what each was like.

A decision is a function of the log, so the request that an answer belongs to is what
the log says just before that answer. Nothing has to be recorded while a chat goes on,
and a transcript that was never built by this library has a timeline as well.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder.builder import ContextBuilder
from context_builder.errors import ContextBuilderError
from context_builder.inspector.differences import Difference, difference
from context_builder.items import ContextItem, ItemsAdded, UsageRecorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from context_builder.items import LogEntry

__all__ = ["Replay", "SentRequest", "Timeline"]


@dataclasses.dataclass(frozen=True, slots=True)
class SentRequest:
    """One request, as the log tells it. All figures are input tokens."""

    number: int
    """From 0, within the session."""
    position: int
    """How many entries of the log it was made of."""
    answer_id: str
    """The item that answered it."""
    tokens: int
    """Cached ones included; 0 where nothing fitted, and `problem` says why."""
    budget_tokens: int
    kept_tokens: int
    """The beginning that it shares with the request before: what a cache can keep."""
    compactions: int
    """How many happened since the request before."""
    why: str
    """Why the beginning changed; empty where it did not."""
    problem: str = ""
    billed_tokens: int | None = None
    """What the vendor counted; None where nobody said."""


class Replay(ContextBuilder):
    """A session whose log came from elsewhere, to be looked at."""

    def until(self, position: int) -> ContextBuilder:
        """Return the session as it was after so many entries of its log."""
        earlier = Replay(
            model=self._model,
            max_tokens=self._max_tokens,
            context_window=self._context_window,
            settings=self._settings,
            options=self._options,
            counter=self._counter,
        )
        with self._lock:
            entries = self._log.since(0)[:position]
        for entry in entries:
            earlier._append(entry)
        return earlier


class Timeline(Replay):
    """Replays a log, and remembers each request on the way.

    Args:
        target: The vendor that the requests were for.
        keeps_differences: How many of the latest differences are kept, see
            `differences`.
        **settings: As for `ContextBuilder`: those of the session.
    """

    def __init__(
        self, *, target: str = "openai", keeps_differences: int = 0, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._asked_target = target
        self._most_differences = keeps_differences
        self._differences: dict[int, Difference] = {}
        self._requests: list[SentRequest] = []
        self._former: tuple[dict[str, Any], int] | None = None
        self._moves = 0
        self._compactions = 0

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        """All requests so far, in order."""
        return tuple(self._requests)

    def asking(self, session: ContextBuilder) -> ContextBuilder:
        """Return a session as it was when the model was asked last, or is asked now.

        Once the model has answered, many vendors would refuse the next request: it
        waits for the user. What can be looked at then is the request that was answered.
        """
        items = [item for item in session.items if session.log.holds(item.id)]
        is_answered = bool(items) and items[-1].role == "assistant"
        if not is_answered or not self._requests:
            return session
        return self.until(self._requests[-1].position)

    @property
    def differences(self) -> Mapping[int, Difference]:
        """How requests differ from the one before, by number: the latest ones."""
        return self._differences

    def follow(self, entries: Iterable[LogEntry]) -> None:
        """Take in what happened next in the session."""
        for entry in entries:
            with self._lock:  # somebody may be looking at it in another thread
                self._take(entry)

    def _take(self, entry: LogEntry) -> None:
        answer = _answer_in(entry)
        if answer is not None:
            self._note(answer)
        self._append(entry)
        if isinstance(entry, UsageRecorded) and self._requests:
            self._requests[-1] = dataclasses.replace(
                self._requests[-1], billed_tokens=entry.billed_tokens
            )

    def replay(self, session: ContextBuilder) -> None:
        """Take in what a session holds item by item, as if it had just been said.

        A history that was taken over at once has no requests of its own; this finds
        those that would have been sent.
        """
        for entry in session.log:
            if isinstance(entry, ItemsAdded):
                self.follow(entry.items)
            else:
                self.follow([entry])

    def _note(self, answer: ContextItem) -> None:
        number, position = len(self._requests), len(self._log)
        try:
            sent = self._sent(number, position, answer)
        except ContextBuilderError as error:
            sent = SentRequest(
                number, position, answer.id, 0, 0, 0, 0, "", type(error).__name__
            )
        self._requests.append(sent)

    def _sent(self, number: int, position: int, answer: ContextItem) -> SentRequest:
        """Describe the request that the log asks for now.

        Raises:
            ContextBuilderError: If there is none.
        """
        target = self._asked_target
        asked = self._target(target, None, None)
        request = self._rendering(target, None, None).request
        report = asked.report(self._log)
        moves = report.prefix_moves[self._moves :]
        sent = SentRequest(
            number,
            position,
            answer.id,
            tokens=report.tokens,
            budget_tokens=report.budget_tokens,
            kept_tokens=self._kept(number, request, report.tokens),
            compactions=report.compactions - self._compactions,
            why="; ".join(dict.fromkeys(moves)) if number else "",
        )
        self._moves += len(moves)
        self._compactions = report.compactions
        self._former = (request, report.tokens)
        return sent

    def _kept(self, number: int, request: dict[str, Any], tokens: int) -> int:
        """Return how much of the request before this one begins with."""
        if self._former is None:
            return 0
        former, former_tokens = self._former
        found = difference(
            former,
            request,
            target=self._asked_target,
            counted=(former_tokens, tokens),
        )
        if self._most_differences:
            self._differences[number] = found
            self._differences.pop(number - self._most_differences, None)
        return found.kept_tokens


def _answer_in(entry: LogEntry) -> ContextItem | None:
    """Return the model's answer in an entry, if it is one."""
    if isinstance(entry, ItemsAdded):
        entry = entry.items[0]
    if isinstance(entry, ContextItem) and entry.role == "assistant":
        return entry
    return None
