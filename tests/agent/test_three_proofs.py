from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from context_builder import ContextBuilder, SessionManager
from context_builder.agent import Agent, OfflineModel, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WISHES: Mapping[str, Callable[[str], bool]] = {
    'Always end every answer with "Ahoy!"': lambda text: text.endswith("Ahoy!"),
    "From now on call me Ishmael.": lambda text: "Ishmael, " in text,
    "\u4ee5\u540e\u53eb\u6211\u5c0f\u660e": lambda text: "\u5c0f\u660e, " in text,
}
"""What the user wants of every answer, and how one sees that it was obeyed."""


def topic(number: int) -> str:
    """Return what the user says at a turn: something else each time, and long."""
    return (
        f"Chapter {number} is about harbour {number}: its cranes, its tides and its "
        f"{number * 7} keepers. " + f"Ships of line {number} call there. " * 12
    )


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("max_tokens", [1_200, 3_000])
def test_a_wish_from_turn_1_is_obeyed_at_turn_7_and_at_turn_40(
    wish: str, max_tokens: int
) -> None:
    """Under a budget that holds a few turns only. The model has no other memory.

    It never repeats the wish, so that only the user's own words can tell it.
    """
    ctx = ContextBuilder(model="gpt-4o", max_tokens=max_tokens)
    agent = Agent(OfflineModel(tells_wishes=False))
    agent.run(ctx, wish)
    obeyed = WISHES[wish]
    for turn in range(2, 41):
        answer = agent.run(ctx, topic(turn)).text
        if turn in {7, 40}:
            assert obeyed(answer), f"turn {turn}: {answer}"
    report = ctx.explain()
    assert report.tokens <= max_tokens
    assert report.compactions > 2
    assert sum(len(item.text) for item in ctx.items) > 8 * max_tokens


@tool
def price(item: str) -> str:
    """Say what something costs."""
    costs = {"tea": 4, "coffee": 9}[item]
    return f"{costs} francs a cup. " + f"A long story about {item}. " * 300


def test_two_results_are_compared_in_one_turn() -> None:
    """Both are before the model when it answers, though each fills the budget."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=1_500)
    agent = Agent(OfflineModel(), tools=[price])
    result = agent.run(
        ctx, "Use price with item=tea, use price with item=coffee: which is dearer?"
    )
    assert (result.rounds, result.tool_calls) == (1, 2)
    assert "9 against 4" in result.text
    assert "4 francs a cup" in result.text
    assert "9 francs a cup" in result.text
    assert ctx.explain().tokens <= 1_500


FACTS = {"ann": "amber", "bob": "basalt", "cid": "cedar"}


def check(texts: dict[str, str]) -> None:
    """Check that each user's answer holds that user's word, and no other."""
    for user, text in texts.items():
        for other, word in FACTS.items():
            assert (word in text) == (user == other), (user, text)


def test_three_sessions_in_threads_never_mix() -> None:
    """One agent and one manager serve them at the same time."""
    agent = Agent(OfflineModel())
    manager = SessionManager(model="gpt-4o")

    def chat(user: str) -> str:
        for number in range(5):
            with manager.open(user) as ctx:
                agent.run(ctx, f"Password number {number} is {FACTS[user]}.")
        with manager.open(user) as ctx:
            return agent.run(ctx, "What is password number 3?").text

    with ThreadPoolExecutor(3) as pool:
        check(dict(zip(FACTS, pool.map(chat, FACTS), strict=True)))
    manager.close()


async def test_three_sessions_in_one_event_loop_never_mix() -> None:
    """Their turns are interleaved piece by piece."""
    agent = Agent(OfflineModel(delay_seconds=0.001))
    async with SessionManager(model="gpt-4o") as manager:

        async def chat(user: str) -> str:
            for number in range(5):
                async with manager.open(user) as ctx:
                    text = f"Password number {number} is {FACTS[user]}."
                    async for event in agent.astream(ctx, text):
                        del event
            async with manager.open(user) as ctx:
                return (await agent.arun(ctx, "What is password number 3?")).text

        answers = await asyncio.gather(*map(chat, FACTS))
    check(dict(zip(FACTS, answers, strict=True)))
