from __future__ import annotations

import asyncio
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, SessionManager
from context_builder.agent import (
    Agent,
    OfflineModel,
    TextDelta,
    ToolFinished,
    ToolStarted,
    tool,
)
from context_builder.agent.offline import OfflineReply, Wanted
from context_builder.render import validate
from context_builder.testing import WordCounter
from tests.agent.vendors import MODELS, TARGETS, Says, ScriptedServer, aclient, aclose

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def hold() -> Iterator[threading.Event]:
    """Hold back what a test wants to break off; let it go in the end."""
    event = threading.Event()
    yield event
    event.set()


def session(target: str = "openai") -> ContextBuilder:
    """Return a session."""
    return ContextBuilder(model=MODELS[target], max_tokens=9_000)


def is_whole(ctx: ContextBuilder, target: str = "openai") -> bool:
    """Say whether a vendor takes what follows."""
    ctx.add_user_message("And now?")
    return validate(ctx.request(target), target) == []


TWO = OfflineReply(calls=[Wanted("quick", "{}"), Wanted("endless", "{}")])


@tool
def quick() -> str:
    """Be quick."""
    return "quick"


@tool
async def endless() -> str:
    """Never end."""
    await asyncio.sleep(60)
    return "never"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_what_was_said_is_kept_as_partial(
    target: str, how: str, server: ScriptedServer, hold: threading.Event
) -> None:
    """Text that had come when the iterator was closed, or its reader cancelled."""
    server.play(Says("One two three four", hold=hold))
    ctx = session(target)
    opened = aclient(target, server)
    agent = Agent(opened, target=target)
    before = asyncio.all_tasks()
    heard = asyncio.Event()

    async def read() -> None:
        events = agent.astream(ctx, "Count.")
        async for event in events:
            if isinstance(event, TextDelta) and "four" in event.text:
                heard.set()
                if how == "close":
                    break
        await events.aclose()

    reading = asyncio.create_task(read())
    await asyncio.wait_for(heard.wait(), 10)
    if how == "cancel":
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    else:
        await reading
    assert asyncio.all_tasks() == before
    said = ctx.items[-1]
    assert (said.text.strip(), said.partial) == ("One two three four", True)
    assert is_whole(ctx, target)
    hold.set()
    await aclose(opened)


async def test_results_that_are_there_are_kept_the_others_get_a_stand_in() -> None:
    """A turn that is cancelled among its tools leaves no task, and a whole session."""
    ctx = session()
    agent = Agent(OfflineModel([TWO]), tools=[quick, endless])
    before = asyncio.all_tasks()
    done = asyncio.Event()

    async def read() -> None:
        async for event in agent.astream(ctx, "Go."):
            if isinstance(event, ToolFinished):
                done.set()

    reading = asyncio.create_task(read())
    await asyncio.wait_for(done.wait(), 10)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert asyncio.all_tasks() == before
    assert [item.role for item in ctx.items] == ["user", "assistant", "tool"]
    assert ctx.items[-1].text == "quick"
    assert is_whole(ctx)
    assert (await agent.arun(ctx)).stop_reason == "answered"


async def test_arun_is_cancelled_by_a_timeout_as_any_task() -> None:
    """`asyncio.timeout` around a turn ends it."""
    ctx = session()
    agent = Agent(OfflineModel([TWO]), tools=[quick, endless])
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await agent.arun(ctx, "Go.")
    assert asyncio.all_tasks() == before
    assert is_whole(ctx)


async def test_a_result_that_waits_for_an_earlier_call_is_not_lost() -> None:
    """The second call ends first; the turn is cancelled while the first one runs."""
    ctx = session()
    two = OfflineReply(calls=[Wanted("endless", "{}"), Wanted("quick", "{}")])
    agent = Agent(OfflineModel([two]), tools=[quick, endless])
    events = agent.astream(ctx, "Go.")
    async for event in events:
        if isinstance(event, ToolFinished):
            break
    await events.aclose()
    assert [item.text for item in ctx.items if item.role == "tool"] == ["quick"]
    call = ctx.request()["messages"][-1]
    assert "quick" in call["content"]
    assert is_whole(ctx)


async def test_an_iterator_that_is_dropped_leaves_nothing_behind() -> None:
    """Nobody closes it: the event loop does."""
    ctx = session()
    agent = Agent(OfflineModel([TWO]), tools=[quick, endless])
    before = asyncio.all_tasks()
    async for event in agent.astream(ctx, "Go."):
        if isinstance(event, ToolStarted):
            break
    for _ in range(100):
        if asyncio.all_tasks() == before:
            break
        await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before
    assert (await agent.arun(ctx, "Again.")).stop_reason == "answered"


def test_an_interrupt_of_the_keyboard_leaves_a_whole_session() -> None:
    """It comes while tools run: what they have done is kept."""
    over = threading.Event()

    @tool
    def interrupt() -> str:
        """Press Ctrl-C, and go on working."""
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        over.wait(5)
        return "late"

    ctx = session()
    two = OfflineReply(calls=[Wanted("quick", "{}"), Wanted("interrupt", "{}")])
    agent = Agent(OfflineModel([two]), tools=[quick, interrupt])
    # Whoever ran before in this process may have left a handler of its own.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            agent.run(ctx, "Go.")
    finally:
        signal.signal(signal.SIGINT, former)
    over.set()
    assert [item.role for item in ctx.items] == ["user", "assistant", "tool"]
    assert is_whole(ctx)
    assert agent.run(ctx).stop_reason == "answered"


async def test_a_cancelled_turn_leaves_its_thread_alone(
    server: ScriptedServer, hold: threading.Event
) -> None:
    """A client that blocks goes on in its thread; nothing of it comes in any more."""
    server.play(Says("One two three four", hold=hold))
    ctx = session()
    opened = OfflineModel(["a" * 400], delay_seconds=0.05)
    agent = Agent(_BlockingOnly(opened))
    events = agent.astream(ctx, "Count.")
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()
    kept = ctx.items[-1]
    assert kept.partial
    assert 0 < len(kept.text) < 400
    await asyncio.sleep(0.2)
    assert ctx.items[-1] == kept


class _BlockingOnly:
    """The offline model without its other face."""

    def __init__(self, model: OfflineModel) -> None:
        self.chat = model.chat

    def close(self) -> None:
        """Do nothing."""


@tool
async def awaited(text: str) -> str:
    """Say it again, later."""
    await asyncio.sleep(0)
    return text


@tool
def blocking(text: str) -> str:
    """Say it again, in a thread."""
    return text


async def test_a_turn_may_be_cancelled_wherever_it_waits() -> None:
    """At any step of the event loop: nothing is left running, the session is whole."""
    agent = Agent(OfflineModel(), tools=[awaited, blocking])
    asked = "use awaited for tea and use blocking for milk"

    async def turn(manager: SessionManager) -> None:
        async with manager.open("s") as ctx:
            async for _ in agent.astream(ctx, asked):
                pass

    kept = set()
    named: dict[str, Any] = {
        "model": OfflineModel.name,
        "counter": WordCounter(),
        "max_tokens": 999,
    }
    for steps in range(0, 1_000, 4):
        async with SessionManager(**named) as manager:
            running = asyncio.create_task(turn(manager))
            for _ in range(steps):
                await asyncio.sleep(0)
            is_over = running.done()
            running.cancel()
            await asyncio.wait([running])
            assert asyncio.all_tasks() == {asyncio.current_task()} or is_over
            async with manager.open("s") as ctx:
                kept.add(len(ctx.items))
                ctx.add_user_message("And now?")
                assert validate(ctx.request("openai"), "openai") == []
        if is_over:
            break
    assert kept >= {0, 1, 2, 5}  # from before the message to the whole turn
