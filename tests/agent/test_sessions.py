from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from context_builder import SessionManager, StoreError
from context_builder.agent import Agent, OfflineModel, Tool, tool
from context_builder.agent.offline import OfflineReply, Wanted

if TYPE_CHECKING:
    from pathlib import Path

LOOK = OfflineReply(calls=[Wanted("look", "{}")])


def witness(store: str, seen: list[str]) -> Tool:
    """Return a tool that looks at what another process would find in the store."""

    @tool
    def look() -> str:
        """Look."""
        with SessionManager(store=store, model="gpt-4o") as other:
            seen.append(other.export("s"))
        return f"result {len(seen)}"

    return look


@pytest.mark.parametrize("way", ["run", "arun", "astream"])
def test_what_came_in_is_kept_before_each_call_and_after_each_result(
    tmp_path: Path, way: str
) -> None:
    """A turn that dies keeps what it did: it is in the store while it goes on."""
    store = f"sqlite:///{tmp_path / 'chat.db'}"
    seen: list[str] = []
    agent = Agent(OfflineModel([LOOK, LOOK, "Done."]), tools=[witness(store, seen)])

    async def arun(manager: SessionManager) -> None:
        async with manager.open("s") as ctx:
            if way == "arun":
                await agent.arun(ctx, "Look twice.")
            else:
                async for event in agent.astream(ctx, "Look twice."):
                    del event

    manager = SessionManager(store=store, model="gpt-4o")
    if way == "run":
        with manager.open("s") as ctx:
            agent.run(ctx, "Look twice.")
        manager.close()
    else:

        async def whole() -> None:
            await arun(manager)
            await manager.aclose()

        asyncio.run(whole())
    assert len(seen) == 2
    assert "Look twice." in seen[0]
    assert '"look"' in seen[0]
    assert "result 1" not in seen[0]
    assert "result 1" in seen[1]
    with (
        SessionManager(store=store, model="gpt-4o") as again,
        again.open("s") as ctx,
    ):
        assert [item.text for item in ctx.items if item.text] == [
            "Look twice.",
            "result 1",
            "result 2",
            "Done.",
        ]


async def test_a_turn_that_is_cancelled_is_kept_and_said_to_be_interrupted(
    tmp_path: Path,
) -> None:
    """The next one opens a whole session, and goes on."""
    store = f"sqlite:///{tmp_path / 'chat.db'}"

    @tool
    async def look() -> str:
        """Never end."""
        await asyncio.sleep(60)
        return "never"

    agent = Agent(OfflineModel([LOOK]), tools=[look])

    async def turn(manager: SessionManager) -> None:
        async with manager.open("s") as ctx:
            await agent.arun(ctx, "Look.")

    async with SessionManager(store=store, model="gpt-4o") as manager:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turn(manager), 0.3)
        async with manager.open("s") as ctx:
            assert ctx.was_interrupted
            result = await agent.arun(ctx, "Are you there?")
            assert result.stop_reason == "answered"
            assert not [mark for mark in ctx.explain().repairs if "unknown" in mark]


async def test_many_sessions_run_at_the_same_time_and_never_mix() -> None:
    """One agent, one model, forty users: each finds its own words and no others."""
    agent = Agent(OfflineModel())
    async with SessionManager(model="gpt-4o") as manager:

        async def chat(user: int) -> str:
            for number in range(3):
                async with manager.open(f"user-{user}") as ctx:
                    await agent.arun(ctx, f"My secret number {number} is u{user}n.")
            async with manager.open(f"user-{user}") as ctx:
                result = await agent.arun(ctx, "What is my secret number?")
            return result.text

        texts = await asyncio.gather(*map(chat, range(40)))
    for user, text in enumerate(texts):
        assert f"u{user}n" in text
        assert not any(f"u{other}n" in text for other in range(40) if other != user)


def test_a_session_that_is_closed_takes_no_turn() -> None:
    """The block is over: nothing is asked, nothing is run."""
    manager = SessionManager(model="gpt-4o")
    with manager.open("s") as ctx:
        pass
    with pytest.raises(StoreError, match="not open any more"):
        Agent(OfflineModel()).run(ctx, "Hello.")
