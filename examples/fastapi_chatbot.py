"""A chatbot for many users as a small FastAPI application, answers streamed.

    pip install 'context-builder[web]' openai
    OPENAI_API_KEY=... MODEL=gpt-4o uvicorn examples.fastapi_chatbot:app

Who the user is has to come from your own login; `context-builder serve` has one.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse

from context_builder import SessionManager
from context_builder.agent import Agent, TextDelta, tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@tool
def order_status(number: int) -> str:
    """Say where the order with this number is."""
    return f"Order {number} left the warehouse this morning."


sessions = SessionManager(
    model=os.environ.get("MODEL", "gpt-4o"),
    store=os.environ.get("STORE", "sqlite:///chat.db"),
    system_prompt="You help the customers of a tea shop.",
)
agent = Agent(tools=[order_status])


@asynccontextmanager
async def life(_: FastAPI) -> AsyncIterator[None]:
    """Let go of the store at the end."""
    async with sessions:
        yield


app = FastAPI(lifespan=life)


@app.post("/chat/{user}")
async def chat(user: str, text: Annotated[str, Body()]) -> StreamingResponse:
    """Answer a message; a user who leaves stops the answer, and nothing is lost."""

    async def answer() -> AsyncIterator[str]:
        async with sessions.open(user) as ctx:
            async for event in agent.astream(ctx, text):
                if isinstance(event, TextDelta):
                    yield event.text

    return StreamingResponse(answer(), media_type="text/plain; charset=utf-8")
