"""One file an SDK: how it is called, and what its streams look like to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.agent.drivers.anthropic import AnthropicMessages
from context_builder.agent.drivers.driver import Arguments, Driver, Line
from context_builder.agent.drivers.gemini import GeminiContent
from context_builder.agent.drivers.openai_chat import OpenAIChat
from context_builder.agent.drivers.openai_responses import OpenAIResponses
from context_builder.errors import AdapterError
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Arguments", "Driver", "Line", "driver_for", "open_line"]

_CHAT = OpenAIChat()
_DRIVERS: Mapping[str, Driver] = {
    "anthropic": AnthropicMessages(),
    "gemini": GeminiContent(),
    "openai-responses": OpenAIResponses(),
    "openai": _CHAT,
    "openai-compatible": _CHAT,
    "deepseek": _CHAT,
    "glm": _CHAT,
    "groq": _CHAT,
    "kimi": _CHAT,
    "qwen": _CHAT,
    "strict": _CHAT,
    "xai": _CHAT,
}


def driver_for(target: str) -> Driver:
    """Return the driver for a target.

    Raises:
        AdapterError: If the loop speaks no SDK that takes this target's requests.
    """
    driver = _DRIVERS.get(target)
    if driver is None:
        message = (
            f"the agent has no driver for the target {quoted(target)}; it has them for "
            f"{', '.join(sorted(_DRIVERS))}"
        )
        raise AdapterError(message, adapter=target)
    return driver


def open_line(driver: Driver, client: Any, *, is_async: bool) -> Line:
    """Return how a vendor is reached; None as a client: one is made for the turn."""
    if client is not None:
        return Line.of(driver, client)
    return Line.of(driver, driver.make_client(is_async=is_async), is_own=True)
