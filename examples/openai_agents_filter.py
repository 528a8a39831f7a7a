"""An input filter for OpenAI's Agents SDK: each request is what fits of the run.

    pip install context-builder openai-agents
    OPENAI_API_KEY=... OPENAI_BASE_URL=... python examples/openai_agents_filter.py MODEL

`OPENAI_BASE_URL` may be left out. An empty line ends the chat.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.run import CallModelData, ModelInputData

from context_builder import ContextBuilder

if TYPE_CHECKING:
    from agents import FunctionTool

BUDGET_TOKENS = 4_000


class FittedInput:
    """Keeps one run of turns in a session, and hands out what fits.

    The SDK gives the whole input before each call, and keeps it whole: only what came
    in since the last call is new.
    """

    def __init__(self, ctx: ContextBuilder) -> None:
        self.ctx = ctx
        self._seen = 0

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Take in what is new, and return what the model shall see."""
        given = data.model_data
        if given.instructions:
            self.ctx.add_system_prompt(given.instructions)
        self.ctx.extend(given.input[self._seen :], format="openai-responses")
        self._seen = len(given.input)
        request = self.ctx.request("openai-responses")
        return ModelInputData(request["input"], request.get("instructions"))


@function_tool
def people_in(city: str) -> int:
    """Say how many people live in a city."""
    return {"Bern": 134_000, "Rome": 2_800_000}.get(city, 0)


def definition(tool: FunctionTool) -> dict[str, Any]:
    """Return a tool in OpenAI's chat format, so that it counts in the budget."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.params_json_schema,
    }
    return {"type": "function", "function": function}


def main() -> None:
    """Chat until an empty line."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and the model
        sys.exit("usage: python examples/openai_agents_filter.py MODEL")
    model = sys.argv[1]
    agent = Agent("cities", model=model, tools=[people_in])
    agent.instructions = "You compare cities."
    ctx = ContextBuilder(
        model=model, max_tokens=BUDGET_TOKENS, tools=[definition(people_in)]
    )
    settings = RunConfig(call_model_input_filter=FittedInput(ctx))
    items: list[Any] = []
    with asyncio.Runner() as loop:
        while text := input("you> ").strip():
            items.append({"role": "user", "content": text})
            result = loop.run(Runner.run(agent, items, run_config=settings))
            items = result.to_input_list()
            print(result.final_output)  # noqa: T201  it is a chat
    print(ctx.explain("openai-responses"))  # noqa: T201  what became of every item


if __name__ == "__main__":
    main()
