"""A chat with one tool, over any OpenAI-compatible address.

    pip install context-builder openai
    OPENAI_API_KEY=... OPENAI_BASE_URL=... python examples/openai_loop.py MODEL

`OPENAI_BASE_URL` may be left out. An empty line ends the chat.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from openai import OpenAI

from context_builder import ContextBuilder, UnknownModelError

MOST_ROUNDS = 5
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "current_time",
            "description": "The time now, in UTC.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]


def run_tool(name: str, arguments: str) -> object:
    """Run a tool that the model asked for; what goes wrong is told to the model."""
    try:
        json.loads(arguments or "{}")
    except ValueError as error:
        return {"error": f"the arguments are not JSON: {error}"}
    if name != "current_time":
        return {"error": f"there is no tool {name!r}"}
    return {"utc": datetime.now(UTC).isoformat(timespec="seconds")}


def answer(client: OpenAI, ctx: ContextBuilder) -> str:
    """Ask the model until it has no more calls to make."""
    for _ in range(MOST_ROUNDS):
        reply = client.chat.completions.create(**ctx.request("openai"))
        ctx.add_response(reply)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type == "function":
                result = run_tool(call.function.name, call.function.arguments)
                ctx.add_tool_result(call.function.name, result, tool_call_id=call.id)
    return f"(no answer after {MOST_ROUNDS} rounds of tools)"


def session(model: str) -> ContextBuilder:
    """Open a session; a model that is not known gets a budget of 8,000 tokens."""
    prompt = "You are a helpful assistant. Answer briefly."
    try:
        return ContextBuilder(model=model, system_prompt=prompt, tools=TOOLS)
    except UnknownModelError:
        return ContextBuilder(
            model=model, max_tokens=8_000, system_prompt=prompt, tools=TOOLS
        )


def main() -> None:
    """Chat until an empty line."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and the model
        sys.exit("usage: python examples/openai_loop.py MODEL")
    client, ctx = OpenAI(), session(sys.argv[1])
    while text := input("you> ").strip():
        ctx.add_user_message(text)
        print(answer(client, ctx))  # noqa: T201  it is a chat
    print(ctx.explain())  # noqa: T201  what became of every item


if __name__ == "__main__":
    main()
