"""agent-framework's `TruncationStrategy`, with tiktoken and a low mark of 65 %.

The history keeps its annotations from one request to the next, as the framework's own
history does, so each message is counted once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent_framework import Content, TruncationStrategy, apply_compaction
from agent_framework import Message as Kept

from benchmarks.peers.session import REPLY_TOKENS, counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_LOOP = asyncio.new_event_loop()
_LOW_WATER = 0.65


class _Tokenizer:
    def __init__(self) -> None:
        self.count_tokens = counter()


def _taken(message: Message) -> Kept:
    if message["role"] == "tool":
        result = Content.from_function_result(
            message["tool_call_id"], result=message["content"]
        )
        return Kept("tool", [result])
    contents = [Content.from_text(message["content"])] if message["content"] else []
    for call in message.get("tool_calls") or ():
        said = call["function"]
        contents.append(
            Content.from_function_call(
                call["id"], said["name"], arguments=said["arguments"]
            )
        )
    return Kept(message["role"], contents)


def _shown(message: Kept) -> Message:
    first = message.contents[0]
    if first.type == "function_result":
        return {
            "role": "tool",
            "tool_call_id": first.call_id,
            "content": str(first.result),
        }
    if first.type == "function_call":
        calls = [
            {
                "id": each.call_id,
                "type": "function",
                "function": {"name": each.name, "arguments": each.arguments},
            }
            for each in message.contents
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": str(message.role), "content": message.text}


class _Truncated:
    def __init__(self, budget_tokens: int) -> None:
        self._messages: list[Kept] = []
        self._tokenizer = _Tokenizer()
        self._strategy = TruncationStrategy(
            max_n=budget_tokens - REPLY_TOKENS,
            compact_to=int(budget_tokens * _LOW_WATER),
            tokenizer=self._tokenizer,
        )

    def extend(self, messages: Iterable[Message]) -> None:
        self._messages += [_taken(message) for message in messages]

    def build(self) -> list[Kept]:
        return _LOOP.run_until_complete(
            apply_compaction(
                self._messages, strategy=self._strategy, tokenizer=self._tokenizer
            )
        )

    def shown(self, built: list[Kept]) -> list[Message]:
        return [_shown(message) for message in built]


def open_session(variant: str, budget_tokens: int) -> _Truncated:  # noqa: ARG001 - one kind
    """Open a conversation that is compacted before each request."""
    return _Truncated(budget_tokens)
