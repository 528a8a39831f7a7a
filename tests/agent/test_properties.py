from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import ContextBuilder
from context_builder.agent import Agent, OfflineModel, TurnResult, tool
from context_builder.agent.offline import OfflineReply, Wanted
from context_builder.render import validate
from tests.agent.vendors import MODELS, TARGETS


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
async def fail(text: str = "") -> str:
    """Fail."""
    raise LookupError(text)


ARGUMENTS = st.one_of(
    st.sampled_from(["", "{}", '{"text": "a"}', '{"text": 1}', '{"text": "a']),
    st.text(max_size=20),
)
CALLS = st.builds(
    Wanted, name=st.sampled_from(["echo", "fail", "nothing"]), arguments=ARGUMENTS
)
REPLIES = st.builds(
    OfflineReply,
    text=st.sampled_from(["", "Well."]),
    calls=st.lists(CALLS, max_size=4),
    finish_reason=st.sampled_from([None, None, None, "length", "content_filter"]),
)


def turns(
    script: list[OfflineReply], max_rounds: int, *, is_async: bool
) -> tuple[ContextBuilder, list[TurnResult]]:
    """Run two turns by a script, and return what came of them."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=6_000, clock=lambda: 1.0)
    agent = Agent(
        OfflineModel(list(script)),
        tools=[echo, fail],
        max_rounds=max_rounds,
        prepare_summaries=False,
    )
    results = []
    for text in ("One.", "Two."):
        turn = asyncio.run(agent.arun(ctx, text)) if is_async else agent.run(ctx, text)
        results.append(turn)
    return ctx, results


@given(script=st.lists(REPLIES, max_size=6), max_rounds=st.integers(1, 3))
def test_whatever_a_model_does_the_session_is_whole(
    script: list[OfflineReply], max_rounds: int
) -> None:
    """Every vendor takes what follows, nothing was repaired, both ways agree."""
    ctx, results = turns(script, max_rounds, is_async=False)
    actx, aresults = turns(script, max_rounds, is_async=True)
    assert actx.dump() == ctx.dump()
    assert aresults == results
    assert all(result.rounds <= max_rounds for result in results)
    answered = sum(item.role == "tool" for item in ctx.items)
    assert answered == sum(len(item.tool_calls) for item in ctx.items)
    assert answered == sum(result.tool_calls for result in results)
    ctx.add_user_message("Three.")
    for target in TARGETS:
        asked = ctx.request(target, model=MODELS[target])
        assert validate(asked, target) == []
    assert ctx.explain("openai").repairs == ()


@pytest.mark.parametrize("number", [1, 5, 40])
def test_every_call_of_a_large_round_is_answered(number: int) -> None:
    """However many there are, in their order."""
    calls = [Wanted("echo", f'{{"text": "{n}"}}') for n in range(number)]
    ctx, _ = turns([OfflineReply(calls=calls)], 1, is_async=False)
    told = [item.text for item in ctx.items if item.role == "tool"]
    assert told == [str(n) for n in range(number)]
