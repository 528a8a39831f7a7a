"""Ways to run a turn: every promise of the loop holds for all of them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.agent import Agent, AgentEvent, TurnFinished, TurnResult
from tests.agent.vendors import MODELS, ScriptedServer, aclient, aclose, client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from context_builder import ContextBuilder


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """How a turn is run: by which method, over which client."""

    name: str
    method: str
    is_async_client: bool

    def take(
        self,
        server: ScriptedServer,
        ctx: ContextBuilder,
        content: object,
        *,
        target: str = "openai",
        **settings: Any,
    ) -> TurnResult:
        """Run one turn over HTTP, and close what was opened."""
        if self.method == "run":
            with_client = client(target, server)
            try:
                agent = Agent(with_client, target=target, **settings)
                return agent.run(ctx, content)
            finally:
                with_client.close()
        return asyncio.run(self._take(server, ctx, content, target, settings))

    async def _take(
        self,
        server: ScriptedServer,
        ctx: ContextBuilder,
        content: object,
        target: str,
        settings: dict[str, Any],
    ) -> TurnResult:
        make: Callable[[str, ScriptedServer], Any] = (
            aclient if self.is_async_client else client
        )
        opened = make(target, server)
        try:
            agent = Agent(opened, target=target, **settings)
            if self.method == "arun":
                return await agent.arun(ctx, content)
            events = [event async for event in agent.astream(ctx, content)]
            return _result(events)
        finally:
            await aclose(opened)


def _result(events: list[AgentEvent]) -> TurnResult:
    last = events[-1]
    assert isinstance(last, TurnFinished)
    return last.result


WAYS = (
    Way("run", "run", is_async_client=False),
    Way("arun", "arun", is_async_client=True),
    Way("arun-sync-client", "arun", is_async_client=False),
    Way("astream", "astream", is_async_client=True),
    Way("astream-sync-client", "astream", is_async_client=False),
)


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    """One of the ways to run a turn."""
    assert isinstance(request.param, Way)
    return request.param


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Play the vendors; every request that comes in has to be valid."""
    with ScriptedServer() as made:
        yield made
    assert made.refused == []


@pytest.fixture(params=[*MODELS])
def target(request: pytest.FixtureRequest) -> str:
    """Name one of the vendors."""
    return str(request.param)
