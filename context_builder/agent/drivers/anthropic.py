"""Anthropic's client, Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.events import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.agent.drivers.driver import Arguments

__all__ = ["AnthropicMessages"]


class AnthropicMessages:
    """Speaks through `client.messages`."""

    always_streams = True
    """The SDK refuses to wait for an answer that may be long, unless it streams."""

    def make_client(self, *, is_async: bool) -> Any:
        """Return a client with `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`."""
        from anthropic import (  # noqa: PLC0415  an extra: loaded when it is used
            Anthropic,
            AsyncAnthropic,
        )

        return AsyncAnthropic() if is_async else Anthropic()

    def create(self, client: Any, request: Arguments, *, stream: bool) -> Any:
        """Make the call."""
        return client.messages.create(**request, stream=stream)

    def deltas(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what an event adds."""
        if piece.get("type") != "content_block_delta":
            return
        delta = piece.get("delta") or {}
        if delta.get("type") == "text_delta" and delta.get("text"):
            yield TextDelta(delta["text"])
        elif delta.get("type") == "thinking_delta" and delta.get("thinking"):
            yield ReasoningDelta(delta["thinking"])

    def without_tools(self, request: Arguments) -> Arguments:
        """Return the request with a tool choice of none; the tools stay described."""
        if not request.get("tools"):
            return request
        return {**request, "tool_choice": {"type": "none"}}
