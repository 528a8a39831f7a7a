"""OpenAI's client, Chat Completions: also for every endpoint of the same shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.events import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.agent.drivers.driver import Arguments

__all__ = ["OpenAIChat"]

_REASONING = ("reasoning_content", "reasoning")
"""Where vendors put it; OpenAI itself has none."""


class OpenAIChat:
    """Speaks through `client.chat.completions`."""

    always_streams = False

    def make_client(self, *, is_async: bool) -> Any:
        """Return a client with `OPENAI_API_KEY` and `OPENAI_BASE_URL`."""
        from openai import AsyncOpenAI, OpenAI  # noqa: PLC0415  loaded when it is used

        return AsyncOpenAI() if is_async else OpenAI()

    def create(self, client: Any, request: Arguments, *, stream: bool) -> Any:
        """Make the call; a stream ends with the bill."""
        if not stream:
            return client.chat.completions.create(**request)
        options = {"include_usage": True, **(request.get("stream_options") or {})}
        streamed = {**request, "stream": True, "stream_options": options}
        return client.chat.completions.create(**streamed)

    def deltas(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what a chunk adds to the first choice."""
        for choice in piece.get("choices") or ():
            delta = choice.get("delta") or {}
            if choice.get("index", 0) != 0:
                continue
            thought = next((delta[key] for key in _REASONING if delta.get(key)), None)
            if isinstance(thought, str):
                yield ReasoningDelta(thought)
            said = delta.get("content") or delta.get("refusal")
            if said:
                yield TextDelta(said)

    def without_tools(self, request: Arguments) -> Arguments:
        """Return the request with `tool_choice="none"`."""
        return {**request, "tool_choice": "none"} if request.get("tools") else request
