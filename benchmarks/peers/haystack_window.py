"""Haystack's `CompactionHook` with `SlidingWindowCompactor`, at 100 % and down to 65 %.

The hook is run as an agent runs it before a model's answer. No generator reports usage
here, so it counts the conversation that is left with its own tiktoken counter.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from haystack.components.agents.state.state import State
from haystack.components.agents.state.state_utils import merge_lists, replace_values
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor
from haystack.token_counters import TiktokenCounter

from benchmarks.peers.session import REPLY_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_LOW_WATER = 0.65
_SCHEMA = {
    "messages": {"type": list[ChatMessage], "handler": merge_lists},
    "context_tokens": {"type": int, "handler": replace_values},
}


class _Compacted:
    def __init__(self, budget_tokens: int) -> None:
        self._hook = CompactionHook(
            SlidingWindowCompactor(),
            context_window=budget_tokens - REPLY_TOKENS,
            compact_at=1.0,
            compact_to=_LOW_WATER,
            token_counter=TiktokenCounter("o200k_base"),
        )
        self._state = State(_SCHEMA, {"messages": [], "context_tokens": 0})
        self._calls: dict[str, ToolCall] = {}

    def _taken(self, message: Message) -> ChatMessage:
        match message["role"]:
            case "system":
                return ChatMessage.from_system(message["content"])
            case "user":
                return ChatMessage.from_user(message["content"])
            case "tool":
                origin = self._calls[message["tool_call_id"]]
                return ChatMessage.from_tool(message["content"], origin=origin)
        calls = [
            ToolCall(
                tool_name=call["function"]["name"],
                arguments=json.loads(call["function"]["arguments"]),
                id=call["id"],
            )
            for call in message.get("tool_calls") or ()
        ]
        self._calls = {call.id or "": call for call in calls}
        return ChatMessage.from_assistant(message["content"], tool_calls=calls)

    def extend(self, messages: Iterable[Message]) -> None:
        self._state.set("messages", [self._taken(message) for message in messages])

    def build(self) -> list[ChatMessage]:
        self._state.set("context_tokens", 0)
        self._hook.run(self._state)
        found: list[ChatMessage] = self._state.data["messages"]
        return found

    def shown(self, built: list[ChatMessage]) -> list[Message]:
        made: list[dict[str, Any]] = []
        for message in built:
            one = message.to_openai_dict_format()
            for call in one.get("tool_calls") or ():
                call.setdefault("type", "function")
            made.append(one)
        return made


def open_session(variant: str, budget_tokens: int) -> _Compacted:  # noqa: ARG001 - one kind
    """Open a conversation that is compacted before each request."""
    return _Compacted(budget_tokens)
