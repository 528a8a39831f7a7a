"""autogen's `TokenLimitedChatCompletionContext`, counting with its own OpenAI client.

The system prompt is kept by the caller, as autogen's agents do, and its size is taken
off the limit. No request is made: the client only counts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from autogen_core import FunctionCall
from autogen_core.model_context import TokenLimitedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from autogen_ext.models.openai import OpenAIChatCompletionClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_LOOP = asyncio.new_event_loop()
_CLIENT = OpenAIChatCompletionClient(model="gpt-4o", api_key="none")


def _taken(message: Message) -> Any:
    match message["role"]:
        case "user":
            return UserMessage(content=message["content"], source="user")
        case "tool":
            result = FunctionExecutionResult(
                content=message["content"],
                call_id=message["tool_call_id"],
                name="orders",
                is_error=False,
            )
            return FunctionExecutionResultMessage(content=[result])
    calls = [
        FunctionCall(call["id"], **call["function"])
        for call in message.get("tool_calls") or ()
    ]
    return AssistantMessage(content=calls or message["content"], source="assistant")


def _shown(message: Any) -> list[Message]:
    match message:
        case SystemMessage():
            return [{"role": "system", "content": message.content}]
        case UserMessage():
            return [{"role": "user", "content": message.content}]
        case FunctionExecutionResultMessage():
            return [
                {
                    "role": "tool",
                    "tool_call_id": each.call_id,
                    "content": each.content,
                }
                for each in message.content
            ]
    if isinstance(message.content, str):
        return [{"role": "assistant", "content": message.content}]
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in message.content
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}]


class _Context:
    def __init__(self, budget_tokens: int) -> None:
        self._budget_tokens = budget_tokens
        self._system: list[SystemMessage] = []
        self._context = TokenLimitedChatCompletionContext(
            _CLIENT, token_limit=budget_tokens
        )

    def _take_system(self, message: Message) -> None:
        self._system = [SystemMessage(content=message["content"])]
        self._context = TokenLimitedChatCompletionContext(
            _CLIENT,
            token_limit=self._budget_tokens - _CLIENT.count_tokens(self._system),
        )

    def extend(self, messages: Iterable[Message]) -> None:
        async def add() -> None:
            for message in messages:
                if message["role"] == "system":
                    self._take_system(message)
                else:
                    await self._context.add_message(_taken(message))

        _LOOP.run_until_complete(add())

    def build(self) -> list[Any]:
        found = _LOOP.run_until_complete(self._context.get_messages())
        return [*self._system, *found]

    def shown(self, built: list[Any]) -> list[Message]:
        return [each for message in built for each in _shown(message)]


def open_session(variant: str, budget_tokens: int) -> _Context:  # noqa: ARG001 - one kind
    """Open a conversation whose context is limited."""
    return _Context(budget_tokens)
