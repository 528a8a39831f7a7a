"""OpenAI's client, Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.drivers.openai_chat import OpenAIChat
from context_builder.agent.events import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.agent.drivers.driver import Arguments

__all__ = ["OpenAIResponses"]

_KINDS: Mapping[str, type[TextDelta | ReasoningDelta]] = {
    "response.output_text.delta": TextDelta,
    "response.refusal.delta": TextDelta,
    "response.reasoning_text.delta": ReasoningDelta,
    "response.reasoning_summary_text.delta": ReasoningDelta,
}


class OpenAIResponses:
    """Speaks through `client.responses`."""

    always_streams = False

    def make_client(self, *, is_async: bool) -> Any:
        """Return a client with `OPENAI_API_KEY` and `OPENAI_BASE_URL`."""
        return OpenAIChat().make_client(is_async=is_async)

    def create(self, client: Any, request: Arguments, *, stream: bool) -> Any:
        """Make the call."""
        return client.responses.create(
            **request, **({"stream": True} if stream else {})
        )

    def deltas(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what an event adds."""
        kind = _KINDS.get(piece.get("type") or "")
        if kind is not None and piece.get("delta"):
            yield kind(piece["delta"])

    def without_tools(self, request: Arguments) -> Arguments:
        """Return the request with `tool_choice="none"`."""
        return {**request, "tool_choice": "none"} if request.get("tools") else request
