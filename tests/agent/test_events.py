"""Events as they happen, without a queue between: for who passes them on."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.agent import (
    Agent,
    AgentEvent,
    OfflineModel,
    RequestSent,
    TextDelta,
    ToolFinished,
    TurnFinished,
    awaiting,
    tool,
)
from context_builder.sessions import SessionManager
from context_builder.threads import begin
from tests.agent.vendors import Says, ScriptedServer, aclose, client

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.report import Report

ASKED = "Use echo for rivers"


@tool
def echo(text: str) -> str:
    """Say it again.

    Args:
        text: What to say.
    """
    return f"{text}, and {text}"


def agent() -> Agent:
    """Return an agent that asks the model of this machine."""
    return Agent(OfflineModel(), tools=[echo], prepare_summaries=False)


def told(events: list[AgentEvent]) -> list[tuple[type, object]]:
    """Return events without what differs from run to run: how long things took."""
    return [(type(one), getattr(one, "text", None)) for one in events]


async def test_on_event_is_told_what_a_stream_yields() -> None:
    """The same events, but for the last: the result is returned."""
    heard: list[AgentEvent] = []
    result = await agent().arun(
        ContextBuilder(max_tokens=2_000, model="offline"), ASKED, on_event=heard.append
    )
    streamed = [
        one
        async for one in agent().astream(
            ContextBuilder(max_tokens=2_000, model="offline"), ASKED
        )
    ]
    assert told(heard) == told(streamed[:-1])
    assert isinstance(streamed[-1], TurnFinished)
    assert streamed[-1].result.text == result.text
    assert {RequestSent, TextDelta, ToolFinished} <= {type(one) for one in heard}


def test_a_blocking_turn_tells_the_same() -> None:
    """Both ways to wait tell of the same things, in the same order."""
    heard: list[AgentEvent] = []
    agent().run(
        ContextBuilder(max_tokens=2_000, model="offline"), ASKED, on_event=heard.append
    )
    kinds = [type(one) for one in heard if not isinstance(one, TextDelta)]
    names = [kind.__name__ for kind in kinds]
    assert names[:3] == ["RequestSent", "UsageReported", "ToolStarted"]
    assert names[3:] == ["ToolFinished", "RequestSent", "UsageReported"]


async def test_what_a_listener_raises_ends_the_turn() -> None:
    """The session is as valid as after any other error."""
    ctx = ContextBuilder(max_tokens=2_000, model="offline")

    def refuse(_: AgentEvent) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await agent().arun(ctx, ASKED, on_event=refuse)
    assert (await agent().arun(ctx, "And now?")).stop_reason == "answered"


async def test_nobody_makes_a_report_that_nobody_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How large a request is is known without a look at every item."""

    def explain(*_: object, **__: object) -> Report:
        raise AssertionError

    monkeypatch.setattr(ContextBuilder, "explain", explain)
    heard: list[AgentEvent] = []
    ctx = ContextBuilder(max_tokens=2_000, model="offline")
    await agent().arun(ctx, "What is a river?", on_event=heard.append)
    (sent,) = [one for one in heard if isinstance(one, RequestSent)]
    assert sent.tokens > 0
    assert sent.budget_tokens == 2_000


async def commits(sessions: SessionManager, **asked: Any) -> list[str]:
    """Return what happened in a turn, commits that stored something among it."""
    happened: list[str] = []
    async with sessions.open("s") as ctx:
        session: Any = ctx
        acommit = session.acommit

        async def committed() -> None:
            before = session.journal.version
            await acommit()
            if session.journal.version > before:
                happened.append("commit")

        session.acommit = committed
        await agent().arun(
            session,
            ASKED,
            on_event=lambda event: happened.append(type(event).__name__),
            **asked,
        )
    return [one for one in happened if one != "TextDelta"]


async def test_a_tools_end_is_told_once_it_is_kept() -> None:
    """Who hears of it and has the process die on them finds it again."""
    async with SessionManager(
        store="memory:", max_tokens=2_000, model="offline"
    ) as sessions:
        happened = await commits(sessions)
    assert happened[0] == "commit"
    place = happened.index("ToolFinished")
    assert happened[place - 2 : place] == ["ToolStarted", "commit"]
    assert happened[-1] == "commit"


async def test_the_block_keeps_the_answer_where_the_turn_need_not() -> None:
    """One commit less, and nothing less in the store."""
    async with SessionManager(
        store="memory:", max_tokens=2_000, model="offline"
    ) as sessions:
        happened = await commits(sessions, keeps_answer=False)
        assert happened[-1] != "commit"
        async with sessions.open("s") as ctx:
            roles = [item.role for item in ctx.items]
            assert not ctx.was_interrupted
    assert roles == ["user", "assistant", "tool", "assistant"]


def _done_at_once(call: Callable[[], object], **_: object) -> Future[object]:
    """Start a call as a busy machine would: it is over before anybody waits for it."""
    future = begin(call)
    wait([future])
    return future


async def _known_at_once(future: Future[object]) -> object:
    """Wait as Python 3.14 does for what is over already: not at all."""
    return future.result()


async def test_no_piece_is_lost_of_a_stream_that_was_over_before_it_was_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that blocks is read in a thread, which may be faster than the loop."""
    monkeypatch.setattr(awaiting, "begin", _done_at_once)
    monkeypatch.setattr(asyncio, "wrap_future", _known_at_once)
    with ScriptedServer() as server:
        server.play(Says("All of it, to the last word."))
        opened = client("openai", server)
        ctx = ContextBuilder(max_tokens=2_000, model="gpt-4o")
        kinds = [event async for event in Agent(opened).astream(ctx, "Say it.")]
        await aclose(opened)
    last = kinds[-1]
    assert isinstance(last, TurnFinished)
    assert last.result.text == "All of it, to the last word."
