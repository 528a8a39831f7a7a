"""LlamaIndex' `Memory` with its default store, an SQLite database in memory.

The whole limit is for the history: there are no memory blocks. The system prompt is
kept by the caller, as LlamaIndex' agents do, and its size is taken off the limit. What
SQLite itself allocates is not seen by the measure of memory.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import tiktoken
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

from benchmarks.peers.session import REPLY_TOKENS, counter, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_LOOP = asyncio.new_event_loop()
_ENCODE = tiktoken.get_encoding("o200k_base").encode_ordinary


def _memory(limit_tokens: int) -> Memory:
    return Memory.from_defaults(
        token_limit=limit_tokens,
        chat_history_token_ratio=1.0,
        tokenizer_fn=_ENCODE,
    )


def _taken(message: Message) -> ChatMessage:
    more: dict[str, Any] = {
        key: message[key] for key in ("tool_calls", "tool_call_id") if key in message
    }
    return ChatMessage(
        role=message["role"], content=message["content"], additional_kwargs=more
    )


def _shown(message: ChatMessage) -> Message:
    return {
        "role": message.role.value,
        "content": message.content,
        **message.additional_kwargs,
    }


class _Remembered:
    def __init__(self, budget_tokens: int) -> None:
        self._budget_tokens = budget_tokens - REPLY_TOKENS
        self._system: list[ChatMessage] = []
        self._memory = _memory(self._budget_tokens)

    def extend(self, messages: Iterable[Message]) -> None:
        taken = []
        for message in messages:
            if message["role"] == "system":
                self._system = [_taken(message)]
                left = self._budget_tokens - tokens(message, counter())
                self._memory = _memory(left)
            else:
                taken.append(_taken(message))
        _LOOP.run_until_complete(self._memory.aput_messages(taken))

    def build(self) -> list[ChatMessage]:
        found = _LOOP.run_until_complete(self._memory.aget())
        return [*self._system, *found]

    def shown(self, built: list[ChatMessage]) -> list[Message]:
        return [_shown(message) for message in built]


def open_session(variant: str, budget_tokens: int) -> _Remembered:  # noqa: ARG001 - one kind
    """Open a conversation that is kept by a memory."""
    return _Remembered(budget_tokens)
