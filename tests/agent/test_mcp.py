from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from context_builder import ContextBuilder, ImagePart, InvalidItemError
from context_builder.agent import Agent, OfflineModel, mcp_tools
from context_builder.agent.offline import OfflineReply, Scripted, Wanted
from tests.agent.mcp_server import make_server

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT: list[Scripted] = [
    OfflineReply(
        calls=[
            Wanted("people", '{"city": "Rome"}'),
            Wanted("city_map", '{"city": "Rome"}'),
            Wanted("people", '{"city": "Atlantis"}'),
            Wanted("people", '{"town": "Rome"}'),
        ]
    ),
    "Done.",
]


def check(ctx: ContextBuilder) -> None:
    """Check what the tools of the server returned."""
    people, city_map, unknown, wrong = (i for i in ctx.items if i.role == "tool")
    assert "2800000" in people.text
    assert isinstance(city_map.content[0], ImagePart)
    assert unknown.is_error
    assert "Atlantis" in unknown.text
    assert wrong.is_error
    assert "city" in wrong.text


async def test_a_server_s_tools_are_an_agent_s_tools() -> None:
    """Names, descriptions and schemas are taken over; results are text and parts."""
    async with Client(make_server()) as session:
        tools = await mcp_tools(session)
        assert [tool.name for tool in tools] == ["people", "city_map", "note"]
        assert tools[0].description == "Say how many people live in a city."
        assert tools[0].parameters["required"] == ["city"]
        ctx = ContextBuilder(model="gpt-4o")
        await Agent(OfflineModel(SCRIPT), tools=tools).arun(ctx, "Tell me of Rome.")
    check(ctx)


async def test_a_server_may_be_another_program() -> None:
    """Over stdin and stdout, with the plain session of the package."""
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.agent.mcp_server"]
    )
    async with (
        stdio_client(program) as (reading, writing),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        tools = await mcp_tools(session, prefix="cities/")
        assert [tool.name for tool in tools] == [
            "cities_people",
            "cities_city_map",
            "cities_note",
        ]
        ctx = ContextBuilder(model="gpt-4o")
        calls = [Wanted("cities_people", '{"city": "Bern"}')]
        model = OfflineModel([OfflineReply(calls=calls), "Done."])
        await Agent(model, tools=tools).arun(ctx, "Tell me of Bern.")
    assert "134000" in ctx.items[2].text


def test_a_blocking_turn_uses_a_session_of_another_thread() -> None:
    """The session's event loop runs elsewhere; calls go there and come back."""
    ready = threading.Event()
    over: list[Callable[[], object]] = []
    found: list[Any] = []

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        over.append(lambda: loop.call_soon_threadsafe(stop.set))
        async with Client(make_server()) as session:
            found.extend(await mcp_tools(session))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(20)
    ctx = ContextBuilder(model="gpt-4o")
    Agent(OfflineModel(SCRIPT), tools=found).run(ctx, "Tell me of Rome.")
    over[0]()
    thread.join()
    check(ctx)


async def test_names_stay_apart() -> None:
    """What vendors do not take becomes `_`, and no two tools have one name."""
    server = MCPServer("odd")
    for name in ("a.b", "a_b", "a-b", "x" * 80, "x" * 81):
        server.add_tool(lambda: name, name=name)  # noqa: B023  never called
    async with Client(server) as session:
        names = [tool.name for tool in await mcp_tools(session)]
    assert names == ["a_b", "a_b_2", "a-b", "x" * 64, "x" * 62 + "_2"]


async def test_what_is_no_session_is_refused() -> None:
    """By its type."""
    with pytest.raises(InvalidItemError, match="no client session"):
        await mcp_tools(object())
