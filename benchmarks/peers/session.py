"""What every peer is asked to do, and how its caller counts where the peer cannot.

Nothing here needs more than the standard library and tiktoken: it runs in each peer's
own environment, where the library itself is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FRAMING_TOKENS", "REPLY_TOKENS", "Message", "Session", "counter", "tokens"]

Message = dict[str, Any]
"""A message of Chat Completions."""

FRAMING_TOKENS = 4
"""What a message takes beside its texts: its role, its beginning and its end."""
CALL_TOKENS = 3
"""What a tool call takes beside its name and its arguments."""
REPLY_TOKENS = 3
"""What begins the answer; it counts in every request."""


class Session(Protocol):
    """One conversation, kept by one peer in its own types."""

    def extend(self, messages: Iterable[Message]) -> None:
        """Take in messages. Timed."""
        ...

    def build(self) -> Any:
        """Return what shall be sent, in the peer's own types. Timed."""
        ...

    def shown(self, built: Any) -> list[Message]:
        """Return what was built as Chat Completions messages. Not timed."""
        ...


def counter() -> Callable[[str], int]:
    """Return a counter of the vocabulary that all peers share, o200k_base."""
    import tiktoken  # noqa: PLC0415 - not every environment has it

    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    return lambda text: len(encode(text))


def tokens(message: Message, count: Callable[[str], int]) -> int:
    """Count a message as a careful caller does: texts, calls and framing."""
    total = FRAMING_TOKENS + count(message.get("content") or "")
    for call in message.get("tool_calls") or ():
        said = call["function"]
        total += CALL_TOKENS + count(said["name"]) + count(said["arguments"])
    return total
