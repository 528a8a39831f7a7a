"""A history processor for Pydantic AI: each request is what fits of the history.

    pip install context-builder "pydantic-ai-slim[openai]"
    OPENAI_API_KEY=... OPENAI_BASE_URL=... python examples/pydantic_ai_history.py MODEL

`OPENAI_BASE_URL` may be left out. An empty line ends the chat.
"""

from __future__ import annotations

import sys
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from context_builder import ContextBuilder, ToolCall

BUDGET_TOKENS = 4_000


class FittedHistory:
    """Keeps one conversation in a session, and hands out what fits.

    What it returned last is what it is given next, with what came in since behind it:
    only that is new.
    """

    def __init__(self, ctx: ContextBuilder) -> None:
        self.ctx = ctx
        self._returned = 0

    def __call__(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Take in what is new, and return what the model shall see."""
        for message in messages[self._returned :]:
            if isinstance(message, ModelResponse):
                self._take_answer(message)
            else:
                self._take_request(message)
        fitted = _said(self.ctx.build("openai"))
        self._returned = len(fitted)
        return fitted

    def _take_answer(self, message: ModelResponse) -> None:
        texts = [part.content for part in message.parts if isinstance(part, TextPart)]
        calls = [
            ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        self.ctx.add_assistant_message("".join(texts), tool_calls=calls)

    def _take_request(self, message: ModelRequest) -> None:
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    self.ctx.add_system_prompt(part.content)
                case UserPromptPart():
                    self.ctx.add_user_message(part.content)
                case ToolReturnPart():
                    self.ctx.add_tool_result(
                        part.tool_name,
                        part.model_response_str(),
                        tool_call_id=part.tool_call_id,
                    )
                case RetryPromptPart() if part.tool_name:
                    self.ctx.add_tool_result(
                        part.tool_name,
                        part.model_response(),
                        tool_call_id=part.tool_call_id,
                        is_error=True,
                    )
                case RetryPromptPart():
                    self.ctx.add_user_message(part.model_response())
                case _:
                    pass


def _said(messages: list[dict[str, Any]]) -> list[ModelMessage]:
    """Return messages in Pydantic AI's form; neighbours of one side are one."""
    said: list[ModelMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            said.append(_answer(message, names))
        elif said and isinstance(said[-1], ModelRequest):
            parts = [*said[-1].parts, _asked(message, names)]
            said[-1] = ModelRequest(parts=parts)
        else:
            said.append(ModelRequest(parts=[_asked(message, names)]))
    return said


def _answer(message: dict[str, Any], names: dict[str, str]) -> ModelResponse:
    calls = []
    for call in message.get("tool_calls") or ():
        name = names[call["id"]] = call["function"]["name"]
        calls.append(ToolCallPart(name, call["function"]["arguments"], call["id"]))
    text = message.get("content")
    return ModelResponse(parts=[*([TextPart(text)] if text else []), *calls])


def _asked(message: dict[str, Any], names: dict[str, str]) -> ModelRequestPart:
    text = message["content"]
    match message["role"]:
        case "system":
            return SystemPromptPart(text)
        case "tool":
            call_id = message["tool_call_id"]
            return ToolReturnPart(names[call_id], text, call_id)
        case _:
            return UserPromptPart(text)


def people_in(city: str) -> int:
    """Say how many people live in a city."""
    return {"Bern": 134_000, "Rome": 2_800_000}.get(city, 0)


def make_agent(model: str, ctx: ContextBuilder) -> Agent:
    """Return an agent that sends what fits."""
    history = ProcessHistory(FittedHistory(ctx))
    return Agent(
        f"openai-chat:{model}",
        system_prompt="You compare cities.",
        tools=[people_in],
        capabilities=[history],
    )


def main() -> None:
    """Chat until an empty line."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and the model
        sys.exit("usage: python examples/pydantic_ai_history.py MODEL")
    ctx = ContextBuilder(max_tokens=BUDGET_TOKENS)
    agent = make_agent(sys.argv[1], ctx)
    messages: list[ModelMessage] = []
    while text := input("you> ").strip():
        result = agent.run_sync(text, message_history=messages)
        messages = result.all_messages()
        print(result.output)  # noqa: T201  it is a chat
    print(ctx.explain())  # noqa: T201  what became of every item


if __name__ == "__main__":
    main()
