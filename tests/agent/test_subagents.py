from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, InvalidItemError, UnknownModelError
from context_builder.agent import Agent, OfflineModel, tool
from context_builder.agent.offline import OfflineReply, Scripted, Wanted

if TYPE_CHECKING:
    from context_builder.agent import TurnResult


def delegates(task: str, name: str = "helper") -> OfflineReply:
    """Return a call that leaves a task to a sub-agent."""
    return OfflineReply(calls=[Wanted(name, f'{{"task": "{task}"}}')])


def take(agent: Agent, ctx: ContextBuilder, text: str, *, is_async: bool) -> TurnResult:
    """Run one turn."""
    return asyncio.run(agent.arun(ctx, text)) if is_async else agent.run(ctx, text)


@pytest.fixture(params=[False, True], ids=["run", "arun"])
def is_async(request: pytest.FixtureRequest) -> bool:
    """Run it blocking, or awaited."""
    return bool(request.param)


def test_only_the_result_returns(*, is_async: bool) -> None:
    """It has a session of its own: neither sees anything of the other's."""
    contexts: list[ContextBuilder] = []

    def new_context() -> ContextBuilder:
        contexts.append(ContextBuilder(model="gpt-4o", system_prompt="You help."))
        return contexts[-1]

    @tool
    def dig() -> str:
        """Dig."""
        return "a long trace of the work " * 50

    script: list[Scripted] = [OfflineReply(calls=[Wanted("dig", "{}")]), "It is 42."]
    helper = Agent(OfflineModel(script), tools=[dig])
    made = helper.as_tool("helper", "Leave work to it.", new_context=new_context)
    agent = Agent(OfflineModel([delegates("Find it."), "42, then."]), tools=[made])
    ctx = ContextBuilder(model="gpt-4o", system_prompt="SECRET")
    ctx.add_user_message("An older word.")
    result = take(agent, ctx, "What is it?", is_async=is_async)
    assert result.text == "42, then."
    assert [i.text for i in ctx.items if i.role == "tool"] == ["It is 42."]
    (own,) = contexts
    assert [item.role for item in own.items] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "SECRET" not in str(own.dump())
    assert "trace" not in str(ctx.dump())


def test_its_rounds_are_its_own(*, is_async: bool) -> None:
    """Its limit counts its rounds, the other's the other's; what it says is marked."""

    @tool
    def more() -> str:
        """Say that there is more."""
        return "more"

    endless = [OfflineReply(calls=[Wanted("more", "{}")])] * 3
    helper = Agent(
        OfflineModel([*endless, "As far as I came."]),
        model="gpt-4o",
        tools=[more],
        max_rounds=3,
    )
    agent = Agent(
        OfflineModel([delegates("Go."), "Well."]),
        tools=[helper.as_tool("helper", "It helps.")],
        max_rounds=1,
    )
    ctx = ContextBuilder(model="gpt-4o")
    result = take(agent, ctx, "Go.", is_async=is_async)
    assert result.rounds == 1
    (told,) = (i.text for i in ctx.items if i.role == "tool")
    assert told == ("As far as I came.\n[it ended with max_rounds, not with an answer]")


def nested(depth: int, **settings: Any) -> tuple[Agent, list[ContextBuilder]]:
    """Return an agent with agents below it, each the tool of the one above."""
    contexts: list[ContextBuilder] = []

    def new_context() -> ContextBuilder:
        contexts.append(ContextBuilder(model="gpt-4o"))
        return contexts[-1]

    agent = Agent(OfflineModel(["the bottom"]))
    for level in range(depth):
        below = agent.as_tool("helper", "Below.", new_context=new_context, **settings)
        model = OfflineModel([delegates(f"level {level}")])
        agent = Agent(model, tools=[below])
    return agent, contexts


def test_nesting_has_a_limit(*, is_async: bool) -> None:
    """A call beyond it is an error that the model is told; nothing is run."""
    agent, contexts = nested(3, max_depth=3)
    result = take(agent, ContextBuilder(model="gpt-4o"), "Go.", is_async=is_async)
    assert "the bottom" in result.text
    assert len(contexts) == 3
    agent, contexts = nested(4, max_depth=3)
    result = take(agent, ContextBuilder(model="gpt-4o"), "Go.", is_async=is_async)
    assert len(contexts) == 3
    assert "nested 3 deep" in result.text


def test_an_agent_that_gives_work_to_itself_comes_to_an_end() -> None:
    """A loop that nobody meant is stopped by the depth."""
    runs: list[str] = []

    class Always(OfflineModel):
        def answer(self, request: Any) -> Any:
            runs.append(request["messages"][-1]["role"])
            if request["messages"][-1]["role"] == "user":
                self._script = [delegates("again", "me")]
            return super().answer(request)

    made: list[Any] = []

    @tool
    def me(task: str) -> Any:
        """Give it to myself."""
        return made[0].function(task)

    agent = Agent(Always(), model="gpt-4o", tools=[me])
    made.append(agent.as_tool("me", "Myself.", max_depth=2))
    result = agent.run(ContextBuilder(model="gpt-4o"), "Go.")
    assert result.stop_reason == "answered"
    assert runs.count("user") == 3


def test_several_work_at_the_same_time() -> None:
    """Two tasks in one round: two sessions, and each answer at its place."""
    helper = Agent(OfflineModel(delay_seconds=0.01), model="gpt-4o")
    calls = [*delegates("Say apples.").calls, *delegates("Say pears.").calls]
    agent = Agent(
        OfflineModel([OfflineReply(calls=calls)]),
        tools=[helper.as_tool("helper", "It helps.")],
    )
    ctx = ContextBuilder(model="gpt-4o")
    asyncio.run(agent.arun(ctx, "Go."))
    told = [item.text for item in ctx.items if item.role == "tool"]
    assert ["apples" in told[0], "pears" in told[1]] == [True, True]


def test_what_cannot_work_is_refused_when_it_is_made() -> None:
    """Not in the middle of another agent's turn."""
    helper = Agent(OfflineModel())
    with pytest.raises(InvalidItemError):
        helper.as_tool("helper", "No budget.")
    with pytest.raises(InvalidItemError, match="max_depth"):
        helper.as_tool("helper", "Too flat.", max_tokens=900, max_depth=0)
    with pytest.raises(UnknownModelError):
        Agent(OfflineModel(), model="no-such-model").as_tool("helper", "Unknown.")


def test_an_end_without_an_answer_is_an_error() -> None:
    """The one above is told why."""
    empty = OfflineReply("")
    helper = Agent(OfflineModel([empty]), model="gpt-4o")
    agent = Agent(
        OfflineModel([delegates("Go.")]), tools=[helper.as_tool("helper", "Helps.")]
    )
    ctx = ContextBuilder(model="gpt-4o")
    agent.run(ctx, "Go.")
    (item,) = (item for item in ctx.items if item.role == "tool")
    assert item.is_error
    assert "no_answer" in item.text
