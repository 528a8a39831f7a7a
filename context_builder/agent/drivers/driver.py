"""What the loop needs of a vendor's SDK, and a client's two faces.

A driver knows one SDK's calls and keeps nothing. It never imports the SDK for a client
that it was given; only to make one of its own.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Protocol

from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.agent.events import ReasoningDelta, TextDelta

__all__ = ["Arguments", "Driver", "Line"]

Arguments = dict[str, Any]
"""The keyword arguments of a vendor's call, as `ContextBuilder.request` made them."""


class Driver(Protocol):
    """One SDK."""

    @property
    def always_streams(self) -> bool:
        """Whether an answer is asked for in pieces even if nobody watches."""

    def make_client(self, *, is_async: bool) -> Any:
        """Return a client with what the environment says."""

    def create(self, client: Any, request: Arguments, *, stream: bool) -> Any:
        """Make the call: the answer, or its pieces. An async client's is awaited."""

    def deltas(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what a piece of a stream adds, for those who watch."""

    def without_tools(self, request: Arguments) -> Arguments:
        """Return the request with tools that may be read and not be called."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A driver with a client: how one vendor is reached."""

    driver: Driver
    blocking: Any
    """The client that blocks; None: there is only the other."""
    awaiting: Any
    """The client that is awaited; None: there is only the other."""
    is_own: bool = False
    """Whether the client was made here, and is closed here."""

    @classmethod
    def of(cls, driver: Driver, client: Any, *, is_own: bool = False) -> Line:
        """Return the line that a client gives.

        Raises:
            InvalidItemError: If it has the methods of neither kind.
        """
        if hasattr(client, "__aenter__"):
            return cls(driver, None, client, is_own)
        if not (hasattr(client, "__enter__") or hasattr(client, "close")):
            message = f"client of type {type(client).__name__} is no vendor's client"
            raise InvalidItemError(message, field="client", value=client)
        return cls(driver, client, getattr(client, "aio", None), is_own)

    def need_blocking(self) -> Any:
        """Return the client that blocks.

        Raises:
            InvalidItemError: If there is only one that is awaited.
        """
        if self.blocking is None:
            message = "the client is asynchronous: use arun() or astream()"
            raise InvalidItemError(message, field="client")
        return self.blocking

    def close(self) -> None:
        """Close a client that was made here."""
        if self.is_own and self.blocking is not None:
            self.blocking.close()

    async def aclose(self) -> None:
        """Close a client that was made here."""
        if not self.is_own:
            return
        if self.awaiting is not None:
            close = getattr(self.awaiting, "aclose", None) or self.awaiting.close
            await close()
        self.close()
