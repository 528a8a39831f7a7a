from __future__ import annotations

import asyncio

import pytest

from context_builder import ContextBuilder, InvalidItemError
from context_builder.agent import Agent, OfflineModel, tool
from context_builder.agent.offline import OfflineReply, Wanted
from context_builder.testing import FakeSummarizer


def long_session() -> ContextBuilder:
    """Return a session whose beginning has left its context."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=3_000)
    ctx.add_user_message("The launch code of the lighthouse is PELICAN-77.")
    ctx.add_assistant_message("Noted.")
    for number in range(40):
        ctx.add_user_message(f"letter {number} " + "dear all " * 30)
        ctx.add_assistant_message("noted " * 30)
    return ctx


@pytest.mark.parametrize("is_async", [False, True])
def test_the_model_brings_back_what_left(*, is_async: bool) -> None:
    """By the recall tool, which looks at this session and no other."""
    ctx = long_session()
    words = Wanted("recall", '{"query": "launch code lighthouse"}')
    model = OfflineModel([OfflineReply(calls=[words])])
    agent = Agent(model, recall_tool=True)
    if is_async:
        asyncio.run(agent.arun(ctx, "Go on."))
    else:
        agent.run(ctx, "Go on.")
    (found,) = (item.text for item in ctx.items if item.role == "tool")
    assert "PELICAN-77" in found


@pytest.mark.parametrize("is_async", [False, True])
def test_the_model_makes_room_itself(*, is_async: bool) -> None:
    """By the compact tool; the next request is smaller."""
    ctx = long_session()
    agent = Agent(
        OfflineModel([OfflineReply(calls=[Wanted("compact", "{}")])]),
        compact_tool=True,
    )
    before = ctx.explain().compactions
    if is_async:
        asyncio.run(agent.arun(ctx, "Make room."))
    else:
        agent.run(ctx, "Make room.")
    (said,) = (item.text for item in ctx.items if item.role == "tool")
    assert "compact" in said.lower() or "room" in said
    assert ctx.explain().compactions > before


def test_names_of_the_two_are_taken() -> None:
    """A tool of one's own with such a name is refused, and the session unchanged."""

    @tool
    def recall(query: str) -> str:
        """Recall."""
        return query

    ctx = ContextBuilder(model="gpt-4o")
    with pytest.raises(InvalidItemError, match="two tools are called 'recall'"):
        Agent(OfflineModel(), tools=[recall], recall_tool=True).run(ctx, "Hello.")
    assert ctx.items == ()
    Agent(OfflineModel(), tools=[recall]).run(ctx, "Hello.")


def near_the_end(summarizer: FakeSummarizer) -> ContextBuilder:
    """Return a session whose budget is nearly used up, and that was never compacted."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=3_000, summarizer=summarizer)
    while ctx.add_user_message("dear all " * 30) and ctx.explain().tokens < 2_600:
        ctx.add_assistant_message("noted " * 30)
    assert ctx.explain().compactions == 0
    return ctx


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_next_summary_is_made_between_turns(*, is_async: bool) -> None:
    """The turn does not wait for it, and nothing enters the session by it."""
    summarizer = FakeSummarizer()
    ctx = near_the_end(summarizer)
    agent = Agent(OfflineModel(["Yes."]))
    if is_async:
        await agent.arun(ctx)
    else:
        await asyncio.to_thread(agent.run, ctx)
    revision = ctx.revision
    for _ in range(200):
        if summarizer.calls:
            break
        await asyncio.sleep(0.01)
    assert summarizer.calls == 1
    assert ctx.revision == revision


def test_without_it_no_summary_is_made_ahead() -> None:
    """It is asked for when a build wants it."""
    summarizer = FakeSummarizer()
    ctx = near_the_end(summarizer)
    Agent(OfflineModel(["Yes."]), prepare_summaries=False).run(ctx)
    assert summarizer.calls == 0


async def test_a_summary_that_a_turn_wants_is_awaited() -> None:
    """The event loop goes on while a summariser, that blocks, is asked."""
    summarizer = FakeSummarizer("hang", seconds=0.3)
    ctx = near_the_end(summarizer)
    agent = Agent(OfflineModel(["Yes."]), prepare_summaries=False)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await agent.arun(ctx, "and all the others " * 120)
    ticking.cancel()
    assert summarizer.calls >= 1
    assert ticks >= 10
