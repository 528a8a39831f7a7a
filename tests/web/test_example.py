"""`examples/fastapi_chatbot.py`, against a server that speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.agent.vendors import KEY, Says, ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def vendor() -> Iterator[ScriptedServer]:
    """Return a server that plays OpenAI, and checks what it is sent."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def example(
    vendor: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """Return the example, set up as its text says."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{vendor.url('openai')}/v1")
    monkeypatch.setenv("MODEL", "gpt-4o")
    monkeypatch.setenv("STORE", f"sqlite:///{tmp_path}/chat.db")
    sys.modules.pop("examples.fastapi_chatbot", None)
    yield importlib.import_module("examples.fastapi_chatbot")
    sys.modules.pop("examples.fastapi_chatbot", None)


async def test_the_example_serves_several_users(
    example: ModuleType, vendor: ScriptedServer
) -> None:
    """Answers are streamed, tools are run, and users stay apart."""
    transport = httpx.ASGITransport(app=example.app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://test") as http,
        example.sessions,
    ):
        vendor.play(
            Says(calls=(("order_status", {"number": 7}),)),
            Says("It left this morning."),
        )
        answer = await http.post("/chat/ada", json="Where is order 7?")
        assert answer.text == "It left this morning."
        result = vendor.sent[-1][1]["messages"][-1]
        assert result["content"] == "Order 7 left the warehouse this morning."
        users = [f"user-{number}" for number in range(5)]
        vendor.play()
        answers = await asyncio.gather(
            *(http.post(f"/chat/{user}", json=f"I am {user}.") for user in users)
        )
        assert {answer.text for answer in answers} == {"Done."}
        for user in users:
            with example.sessions.open(user) as ctx:
                said = [item.text for item in ctx.items if item.is_spoken]
            assert said == [f"I am {user}."]
