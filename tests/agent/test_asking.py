from __future__ import annotations

import asyncio
from typing import Any

from context_builder import ContextBuilder
from context_builder.agent import Agent, OfflineModel


class _Counted(ContextBuilder):
    """Counts the copies of requests that were asked for."""

    copies = 0

    def request(self, *args: Any, **asked: Any) -> dict[str, Any]:
        self.copies += 1
        return super().request(*args, **asked)

    async def arequest(self, *args: Any, **asked: Any) -> dict[str, Any]:
        self.copies += 1
        return await super().arequest(*args, **asked)


async def test_an_awaited_request_is_copied_once() -> None:
    """Awaiting the summary that it may want costs no second copy."""
    ctx = _Counted(model="gpt-4o")
    result = await Agent(OfflineModel(["One."])).arun(ctx, "Go.")
    assert (result.text, ctx.copies) == ("One.", 1)


async def test_a_request_that_blocks_is_copied_once() -> None:
    """The other face of the same turn."""
    ctx = _Counted(model="gpt-4o")
    agent = Agent(OfflineModel(["One."]))
    result = await asyncio.to_thread(agent.run, ctx, "Go.")
    assert (result.text, ctx.copies) == ("One.", 1)
