"""Google's client, `generate_content`: one object that blocks, and awaits by `aio`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.events import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.agent.drivers.driver import Arguments

__all__ = ["GeminiContent"]


class GeminiContent:
    """Speaks through `client.models`."""

    always_streams = False

    def make_client(self, *, is_async: bool) -> Any:  # noqa: ARG002  it is both
        """Return a client with `GEMINI_API_KEY` or `GOOGLE_API_KEY`."""
        from google import genai  # noqa: PLC0415  an extra: loaded when it is used

        return genai.Client()

    def create(self, client: Any, request: Arguments, *, stream: bool) -> Any:
        """Make the call."""
        models = client.models
        call = models.generate_content_stream if stream else models.generate_content
        return call(**request)

    def deltas(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what a piece adds to the first candidate."""
        for candidate in (piece.get("candidates") or ())[:1]:
            content = candidate.get("content") or {}
            for part in content.get("parts") or ():
                if part.get("text"):
                    kind = ReasoningDelta if part.get("thought") else TextDelta
                    yield kind(part["text"])

    def without_tools(self, request: Arguments) -> Arguments:
        """Return the request with a mode of NONE; the tools stay described."""
        config = request.get("config") or {}
        if not config.get("tools"):
            return request
        mode = {"function_calling_config": {"mode": "NONE"}}
        return {**request, "config": {**config, "tool_config": mode}}
