"""pydantic-ai-harness' `SlidingWindowCompaction`, with tiktoken and a low mark of 65 %.

It is asked as its own hook asks it before a request: compact when the estimate is over
the limit, and go on with what is left. The system prompt goes along as instructions, as
an agent's do; they stay whatever is dropped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai_harness.compaction import (
    SlidingWindowCompaction,
    estimate_context_tokens,
)

from benchmarks.peers.session import REPLY_TOKENS, counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.tools import RunContext

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_LOOP = asyncio.new_event_loop()
_LOW_WATER = 0.65
_NO_CONTEXT = cast("RunContext[None]", None)
"""The window does not look at the run that it is part of."""


def _taken(message: Message, instructions: str | None) -> ModelMessage:
    match message["role"]:
        case "user":
            part: Any = UserPromptPart(message["content"])
            return ModelRequest([part], instructions=instructions)
        case "tool":
            part = ToolReturnPart("orders", message["content"], message["tool_call_id"])
            return ModelRequest([part], instructions=instructions)
    parts: list[Any] = [
        ToolCallPart(said["name"], said["arguments"], call["id"])
        for call in message.get("tool_calls") or ()
        if (said := call["function"])
    ]
    return ModelResponse(parts or [TextPart(message["content"])])


def _shown(part: Any) -> Message:
    match part:
        case UserPromptPart():
            return {"role": "user", "content": part.content}
        case ToolReturnPart():
            return {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": part.content,
            }
        case ToolCallPart():
            call = {
                "id": part.tool_call_id,
                "type": "function",
                "function": {"name": part.tool_name, "arguments": part.args},
            }
            return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": part.content}


class _Window:
    def __init__(self, budget_tokens: int) -> None:
        self._count = counter()
        self._max_tokens = budget_tokens - REPLY_TOKENS
        self._instructions: str | None = None
        self._messages: list[ModelMessage] = []
        self._window: SlidingWindowCompaction[None] = SlidingWindowCompaction(
            max_tokens=self._max_tokens,
            keep_tokens=int(budget_tokens * _LOW_WATER),
            tokenizer=self._count,
            preserve_first_user_message=False,
        )

    def extend(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message["role"] == "system":
                self._instructions = message["content"]
            else:
                self._messages.append(_taken(message, self._instructions))

    def build(self) -> list[ModelMessage]:
        tokens = estimate_context_tokens(self._messages, self._count)
        if tokens > self._max_tokens:
            self._messages = _LOOP.run_until_complete(
                self._window.compact(self._messages, _NO_CONTEXT)
            )
        return self._messages

    def shown(self, built: list[ModelMessage]) -> list[Message]:
        system: list[Message] = []
        if self._instructions is not None:
            system = [{"role": "system", "content": self._instructions}]
        return system + [_shown(part) for message in built for part in message.parts]


def open_session(variant: str, budget_tokens: int) -> _Window:  # noqa: ARG001 - one kind
    """Open a conversation that is compacted before each request."""
    return _Window(budget_tokens)
