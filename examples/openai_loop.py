"""A chat with two tools, over any OpenAI-compatible address.

    pip install context-builder
    OPENAI_API_KEY=... OPENAI_BASE_URL=... python examples/openai_loop.py MODEL

`OPENAI_BASE_URL` may be left out. An empty line ends the chat.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from context_builder import ContextBuilder, UnknownModelError
from context_builder.agent import Agent, tool

PROMPT = "You are a helpful assistant. Answer briefly."


@tool
def current_time() -> str:
    """Say what time it is, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@tool
def days_between(first: str, last: str) -> int:
    """Count the days from one date to another.

    Args:
        first: A date, such as 2026-01-31.
        last: A later date.
    """
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).days


def session(model: str) -> ContextBuilder:
    """Open a session; a model that is not known gets a budget of 8,000 tokens."""
    try:
        return ContextBuilder(model=model, system_prompt=PROMPT)
    except UnknownModelError:
        return ContextBuilder(model=model, max_tokens=8_000, system_prompt=PROMPT)


def main() -> None:
    """Chat until an empty line."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and the model
        sys.exit("usage: python examples/openai_loop.py MODEL")
    agent = Agent(tools=[current_time, days_between])
    ctx = session(sys.argv[1])
    while text := input("you> ").strip():
        result = agent.run(ctx, text)
        print(result.text or f"({result.stop_reason})")  # noqa: T201  it is a chat
    print(ctx.explain())  # noqa: T201  what became of every item


if __name__ == "__main__":
    main()
