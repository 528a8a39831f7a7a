"""One conversation and who answers it. Nothing is printed here.

A session is open for as long as something is done with it, not while the user thinks:
another terminal, or `context-builder sessions`, finds it free.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

from context_builder.agent import (
    Agent,
    AgentEvent,
    RequestSent,
    Tool,
    TurnFinished,
    TurnResult,
    UsageReported,
)
from context_builder.builder import ContextBuilder
from context_builder.cli.chat.vendors import Answerer, close_client, open_client
from context_builder.errors import AdapterError, ContextBuilderError
from context_builder.items import ContextItem
from context_builder.report import Report
from context_builder.report.item import ItemOutcome
from context_builder.sessions import Session, SessionInfo, SessionManager
from context_builder.summarizers import AnySummarizer

__all__ = [
    "NAMESPACE",
    "Bill",
    "Conversation",
    "Looked",
    "LookedAt",
    "NothingToDoError",
    "Options",
]

NAMESPACE = "chat"
"""Whose sessions these are: `context-builder sessions list --namespace chat`."""
_WAIT_SECONDS = 5.0
_OFFLINE_BUDGET = 8_000
"""Tokens of input: the local model has no window."""
_NEXT = "(your next message)"
"""Stands in where a vendor takes no conversation in which the model spoke last."""

Show = Callable[[AgentEvent], None]


class NothingToDoError(Exception):
    """Nothing was said yet that could be taken back, repeated or compacted."""

    def __init__(self) -> None:
        super().__init__("nothing was said yet")


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What holds for all sessions of this run."""

    system_prompt: str | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    """Of the model that the run began with."""
    tools: tuple[Tool, ...] = ()
    summarizer: AnySummarizer | None = None
    """Who writes summaries; None: a digest tells of what left."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bill:
    """What one or more requests were billed. All figures are tokens."""

    requests: int = 0
    input_tokens: int = 0
    """Cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            *(
                getattr(self, field.name) + getattr(other, field.name)
                for field in dataclasses.fields(self)
            )
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Looked:
    """What the model would see of a session now."""

    report: Report
    stand_in: str | None
    """The item that stands for the user's next message; None: it needs none."""


@dataclasses.dataclass(frozen=True, slots=True)
class LookedAt:
    """What the model would see of one item now."""

    outcome: ItemOutcome
    item: ContextItem
    message: Mapping[str, Any] | None
    """The message that shows it, in the vendor's form; None: none does."""


class Conversation:
    """The session that is talked in, its manager, and the agent.

    Raises:
        ContextBuilderError: If a setting, or the store, cannot be used.
    """

    def __init__(
        self,
        store: str,
        who: Answerer,
        *,
        name: str,
        options: Options | None = None,
        client: Any = None,
    ) -> None:
        self.name = name
        self.who = who
        self.last = Bill()
        """Of the last answer, all its requests."""
        self.total = Bill()
        """Of this run."""
        self.sent: RequestSent | None = None
        """The request that went out last."""
        self.compacted: Report | None = None
        """The report behind a compaction in the last turn; None: there was none."""
        self._counted: dict[tuple[str, Answerer], int] = {}
        """Compactions of a session for somebody, as far as they were told."""
        self._options = options or Options()
        self._first_model = who.model
        self._owner = self._sessions = self._managed(store, who)
        self._client = client if client is not None else open_client(who)
        self._agent = self._made_agent(who)

    @property
    def tools(self) -> Sequence[Tool]:
        """What the model may call."""
        return self._options.tools

    async def close(self) -> None:
        """Let go of the client and of the store."""
        await close_client(self.who, self._client)
        await self._sessions.aclose()
        if self._owner is not self._sessions:
            await self._owner.aclose()

    async def switch(self, who: Answerer) -> None:
        """Have somebody else answer from here on.

        Raises:
            ContextBuilderError: If the model is not known; nothing has changed then.
            InputError: If the vendor's SDK is not installed.
        """
        sessions = self._managed(self._owner.store, who)
        client = open_client(who)
        await close_client(self.who, self._client)
        if self._sessions is not self._owner:
            await self._sessions.aclose()
        self.who, self._sessions, self._client = who, sessions, client
        self._agent = self._made_agent(who)
        self.sent, self.last = None, Bill()

    # --- turns ------------------------------------------------------------------------

    async def say(self, text: str, show: Show) -> TurnResult:
        """Say something, and have the answer shown as it comes.

        Raises:
            ContextBuilderError: If it cannot be sent, or kept.
            Exception: What the vendor's SDK raises. The session stays whole.
        """
        async with self._sessions.open(self.name) as session:
            return await self._turn(session, text, show)

    async def retry(self, show: Show) -> TurnResult:
        """Take the last answer back, and ask for another one.

        Raises:
            NothingToDoError: If nothing was said yet.
        """
        async with self._sessions.open(self.name) as session:
            session.rewind(_last_said(session).id)
            return await self._turn(session, None, show)

    async def undo(self) -> str:
        """Take the last message and its answer back; return the message.

        Raises:
            NothingToDoError: If nothing was said yet.
        """
        async with self._sessions.open(self.name) as session:
            said = _last_said(session)
            before = _before(session, said)
            if before is None:
                session.clear()
            else:
                session.rewind(before.id)
            return said.text

    async def _turn(self, session: Session, text: str | None, show: Show) -> TurnResult:
        if not self._options.tools:
            session.set_tools(())  # what an earlier run offered is not there any more
        self.last, self.compacted = Bill(), None
        known = self._compactions(session)
        result: TurnResult | None = None
        async with aclosing(self._agent.astream(session, text)) as events:
            async for event in events:
                self._note(event)
                if isinstance(event, RequestSent):
                    self._compare(session, known)
                if isinstance(event, TurnFinished):
                    result = event.result
                show(event)
        assert result is not None  # noqa: S101  else an error was raised
        return result

    def _compactions(self, session: Session) -> int | None:
        """Return how often it was compacted so far; None: that cannot be said now."""
        known = self._counted.get((self.name, self.who))
        if known is None and session.is_new:
            return 0
        if known is None:
            with suppress(ContextBuilderError):  # a vendor that waits for the user
                report = session.explain(self.who.target, model=self.who.model)
                return report.compactions
        return known

    def _compare(self, session: Session, known: int | None) -> None:
        """Take note of a compaction that a request has made necessary."""
        with suppress(ContextBuilderError):  # the answer may be in already
            report = session.explain(self.who.target, model=self.who.model)
            self._counted[self.name, self.who] = report.compactions
            if known is not None and report.compactions > known:
                self.compacted = report

    def _note(self, event: AgentEvent) -> None:
        match event:
            case RequestSent():
                self.sent = event
            case UsageReported():
                bill = Bill(
                    1, event.input_tokens, event.cached_tokens, event.output_tokens
                )
                self.last, self.total = self.last + bill, self.total + bill
            case _:
                pass

    # --- looking ----------------------------------------------------------------------

    async def look(self) -> Looked:
        """Return what the model would see now, and why.

        Raises:
            ContextBuilderError: If nothing can be sent.
        """
        async with self._sessions.open(self.name) as session:
            return self._looked(session)[0]

    async def look_at(self, item_id: str) -> LookedAt:
        """Return what the model would see of one item now, and why.

        Raises:
            ContextBuilderError: If there is no such item, or nothing can be sent.
        """
        target, model = self.who.target, self.who.model
        async with self._sessions.open(self.name) as session:
            ctx = self._looked(session)[1]
            outcome = ctx.explain(target, item_id=item_id, model=model)
            place = outcome.message_index
            messages = ctx.view(target, model=model)
            return LookedAt(
                outcome,
                ctx.log.find(item_id),
                None if place is None else messages[place],
            )

    async def compact(self) -> tuple[Report, Report]:
        """Compact now; return the reports before and after."""
        async with self._sessions.open(self.name) as session:
            if not _held(session):
                raise NothingToDoError
            before = self._looked(session)[0].report
            # It compacts in any case; its report alone may need the user's next word.
            with suppress(AdapterError):
                await session.acompact(self.who.target, model=self.who.model)
            return before, self._looked(session)[0].report

    async def said(self) -> tuple[ContextItem, ...]:
        """Return what is in the conversation, whether or not the model sees it."""
        async with self._sessions.open(self.name) as session:
            return tuple(_held(session))

    async def was_interrupted(self) -> bool:
        """Say whether the last turn ended before its time."""
        async with self._sessions.open(self.name) as session:
            return session.was_interrupted

    def _looked(self, session: Session) -> tuple[Looked, ContextBuilder]:
        """Return what would be seen, and what it was seen in: look, and add nothing."""
        target, model = self.who.target, self.who.model
        try:
            return Looked(session.explain(target, model=model), None), session
        except AdapterError:
            if not any(item.is_spoken for item in _held(session)):
                raise
        ctx = ContextBuilder.load(session.dump(), **self._settings(self.who))
        stand_in = ctx.add_user_message(_NEXT)
        assert stand_in is not None  # noqa: S101  it is not blank
        return Looked(ctx.explain(target, model=model), stand_in.id), ctx

    # --- sessions ---------------------------------------------------------------------

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """Return the stored sessions, the one used last first."""
        found = await self._sessions.alist()
        return tuple(sorted(found, key=lambda info: info.updated_at, reverse=True))

    async def export(self) -> str:
        """Return the session as JSONL, as `context-builder sessions import` reads it.

        Raises:
            StoreError: If nothing of it is stored.
        """
        return await self._sessions.aexport(self.name)

    # --- inside -----------------------------------------------------------------------

    def _settings(self, who: Answerer) -> dict[str, Any]:
        window = self._options.context_window
        max_tokens = self._options.max_tokens
        if who.is_offline and window is None:
            max_tokens = max_tokens or _OFFLINE_BUDGET
        return {
            "model": who.model,
            "max_tokens": max_tokens,
            "context_window": window if who.model == self._first_model else None,
            "summarizer": self._options.summarizer,
        }

    def _managed(self, store: Any, who: Answerer) -> SessionManager:
        return SessionManager(
            store=store,
            namespace=NAMESPACE,
            wait_seconds=_WAIT_SECONDS,
            system_prompt=self._options.system_prompt,
            **self._settings(who),
        )

    def _made_agent(self, who: Answerer) -> Agent:
        return Agent(
            self._client,
            target=who.target,
            model=who.model,
            tools=self._options.tools,
        )


def _held(session: Session) -> list[ContextItem]:
    """Return what is in the conversation now: neither removed nor taken back."""
    return [item for item in session.items if session.log.holds(item.id)]


def _last_said(session: Session) -> ContextItem:
    """Return what the user said last.

    Raises:
        NothingToDoError: If nothing was said yet.
    """
    said = [item for item in _held(session) if item.is_spoken]
    if not said:
        raise NothingToDoError
    return said[-1]


def _before(session: Session, said: ContextItem) -> ContextItem | None:
    """Return what stands before a message; None: it is the first."""
    held = [item for item in _held(session) if item.role != "system"]
    place = held.index(said)
    return held[place - 1] if place else None
