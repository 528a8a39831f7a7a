"""One question to a model: the request, the call, and what comes back, as plain data.

The same in both worlds: what blocks and what awaits differ in who waits for the pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.collect.content import as_mapping
from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.agent.drivers import Arguments, Driver
    from context_builder.agent.turn import Ask, Turn
    from context_builder.builder import ContextBuilder
    from context_builder.report import Report, RequestSize

__all__ = ["Question", "Watched", "close_pieces", "plain"]


class Watched:
    """A session for `call_with_recovery` that remembers what it built last."""

    def __init__(self, ctx: ContextBuilder) -> None:
        self._ctx = ctx
        self.size: RequestSize | None = None

    @property
    def model(self) -> str | None:
        """The model that requests are for."""
        return self._ctx.model

    def request(self, target: str = "openai", **asked: Any) -> dict[str, Any]:
        """Return the keyword arguments of the vendor's call."""
        return self._ctx.request(target, **asked)

    async def arequest(self, target: str = "openai", **asked: Any) -> dict[str, Any]:
        """Return the arguments of the call; a summary that they want is awaited."""
        return await self._ctx.arequest(target, **asked)

    def explain(self, target: str = "openai", **asked: Any) -> Report:
        """Return what became of every item."""
        report: Report = self._ctx.explain(target, **asked)
        return report

    def request_size(self, target: str = "openai", **asked: Any) -> RequestSize:
        """Return how large the request is."""
        self.size = self._ctx.request_size(target, **asked)
        return self.size

    def learn_limit(self, model: str, limit_tokens: int) -> None:
        """Remember how much a model really takes."""
        self._ctx.learn_limit(model, limit_tokens)


class Question:
    """What both drivers do around a call."""

    def __init__(self, turn: Turn, step: Ask, driver: Driver) -> None:
        self.watched = Watched(turn.ctx)
        self.streams = turn.streams or driver.always_streams
        self._turn = turn
        self._step = step
        self._driver = driver

    def sent(self, request: Arguments) -> Arguments:
        """Take note that a request goes out, and return it as it goes."""
        if self.watched.size is not None:
            self._turn.sent(self.watched.size, self._step.round)
        return request if self._step.may_call else self._driver.without_tools(request)

    def take(self, piece: object) -> None:
        """Take in a piece of a stream, and show what it adds."""
        read = plain(piece)
        self._turn.pieces.append(read)
        for delta in self._driver.deltas(read):
            self._turn.emit(delta)

    def pieces(self) -> list[Mapping[str, Any]]:
        """Return all that came."""
        return list(self._turn.pieces)


def plain(answer: object) -> Mapping[str, Any]:
    """Return an SDK's object as plain data.

    Raises:
        InvalidItemError: If it is none, as what a proxy says in a vendor's place.
    """
    read = as_mapping(answer)
    if read is None:
        message = f"the endpoint answered with {type(answer).__name__}, not an answer"
        raise InvalidItemError(message, field="response", value=answer)
    return read


def close_pieces(pieces: Any) -> Callable[[], Any] | None:
    """Return what closes a stream, where it can be closed."""
    close = getattr(pieces, "aclose", None) or getattr(pieces, "close", None)
    return close if callable(close) else None
