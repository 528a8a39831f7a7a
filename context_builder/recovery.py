"""Calls a vendor, and builds again where the request is larger than the window.

One tighter build an overflow, each strictly smaller than the one before, a bounded
number of times; then a clear error. Every other error is the caller's, unchanged.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Protocol, TypeVar, cast

from context_builder.errors import BudgetExceededError, InvalidItemError
from context_builder.render.overflow import (
    Overflow,
    answer_overflow,
    overflow_of,
    was_cut_silently,
)
from context_builder.report import Report, RequestSize

__all__ = ["Recoverable", "acall_with_recovery", "call_with_recovery"]

Answer = TypeVar("Answer")

Flow = Generator[Any, Any, Answer]
"""Yields what is to be built, and requests; is sent what came of each, or has the error
thrown in."""

SAFETY_SHARE = 0.05
"""Of a stated limit: for what a vendor adds unsaid, and what an estimate misses."""
MOST_UNDERCOUNT = 2.0
"""No estimate is further off; an error that says so is about something else."""
MOST_OUTPUT_SHARE = 0.5
"""Most of a stated limit that is kept free for the output."""


class Recoverable(Protocol):
    """What a session has to offer: `ContextBuilder` does."""

    @property
    def model(self) -> str | None:
        """The model that requests are for, unless they name another."""

    def request(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the keyword arguments of the vendor's call."""

    def explain(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report:
        """Return what became of every item."""


def call_with_recovery(
    ctx: Recoverable,
    call: Callable[..., Answer],
    *,
    target: str = "openai",
    model: str | None = None,
    max_attempts: int = 3,
    min_shrink_share: float = 0.1,
) -> Answer:
    """Call a vendor with the session's request; on an overflow with a smaller one.

    Args:
        ctx: The session; nothing is added to its conversation.
        call: The vendor's call, such as `client.chat.completions.create`. A stream has
            to be read inside of it, or an overflow in mid-stream is not seen here.
        target: The vendor.
        model: For another model than the session's.
        max_attempts: How many calls there may be, the first included.
        min_shrink_share: How much smaller, as a share of the former, a request is at
            least.

    Returns:
        What `call` returned. An answer that was cut off at the window is asked for
        again while attempts are left, and returned as it is after that.

    Raises:
        BudgetExceededError: If no smaller request can be built, or the last attempt was
            still too large. `__cause__` is the vendor's last error.
        InvalidItemError: If `max_attempts` or `min_shrink_share` is out of range.
        AdapterError: As `ContextBuilder.request`.
        UnknownModelError: As `ContextBuilder.request`.
    """
    flow = _requests(ctx, _Ask(target, model, max_attempts, min_shrink_share))
    step = next(flow)
    while True:
        try:
            came = step.build(ctx) if isinstance(step, _Wish) else call(**step)
        except Exception as error:
            step = flow.throw(error)
            continue
        try:
            step = flow.send(came)
        except StopIteration as stop:
            return cast("Answer", stop.value)


async def acall_with_recovery(
    ctx: Recoverable,
    call: Callable[..., Awaitable[Answer]],
    *,
    target: str = "openai",
    model: str | None = None,
    max_attempts: int = 3,
    min_shrink_share: float = 0.1,
) -> Answer:
    """Await a vendor's call as `call_with_recovery` makes it.

    A summary that a request wants is awaited as well.

    Raises:
        BudgetExceededError: As `call_with_recovery`.
        InvalidItemError: As `call_with_recovery`.
        AdapterError: As `call_with_recovery`.
        UnknownModelError: As `call_with_recovery`.
    """
    flow = _requests(ctx, _Ask(target, model, max_attempts, min_shrink_share))
    step = next(flow)
    while True:
        try:
            is_wish = isinstance(step, _Wish)
            came = await (step.abuild(ctx) if is_wish else call(**step))
        except Exception as error:
            step = flow.throw(error)
            continue
        try:
            step = flow.send(came)
        except StopIteration as stop:
            return cast("Answer", stop.value)


@dataclasses.dataclass(frozen=True, slots=True)
class _Ask:
    """What is asked for, checked."""

    target: str
    model: str | None
    max_attempts: int
    min_shrink_share: float

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            message = f"max_attempts must be at least 1; it is {self.max_attempts}"
            raise InvalidItemError(
                message, field="max_attempts", value=self.max_attempts
            )
        if not 0 < self.min_shrink_share < 1:
            message = (
                "min_shrink_share must lie between 0 and 1; it is "
                f"{self.min_shrink_share}"
            )
            raise InvalidItemError(
                message, field="min_shrink_share", value=self.min_shrink_share
            )


@dataclasses.dataclass(frozen=True, slots=True)
class _Built:
    """A request, and how large it is."""

    request: dict[str, Any]
    size: RequestSize | Report

    @property
    def tokens(self) -> int:
        """Its input, by our count."""
        return self.size.tokens


@dataclasses.dataclass(frozen=True, slots=True)
class _Wish:
    """A request that is to be built."""

    target: str
    model: str | None
    max_tokens: int | None

    def build(self, ctx: Recoverable) -> _Built:
        """Build it, and wait for what that wants."""
        asked: dict[str, Any] = {"model": self.model, "max_tokens": self.max_tokens}
        request = ctx.request(self.target, **asked)
        return _Built(request, _size(ctx)(self.target, **asked))

    async def abuild(self, ctx: Recoverable) -> _Built:
        """Build it, and await what that wants, where the session can."""
        arequest = getattr(ctx, "arequest", None)
        if arequest is None:
            return self.build(ctx)
        asked: dict[str, Any] = {"model": self.model, "max_tokens": self.max_tokens}
        request = await arequest(self.target, **asked)
        return _Built(request, _size(ctx)(self.target, **asked))


def _size(ctx: Recoverable) -> Callable[..., RequestSize | Report]:
    """Return what says how large a request is: the cheapest that a session has."""
    size: Callable[..., RequestSize] | None = getattr(ctx, "request_size", None)
    return ctx.explain if size is None else size


def _requests(ctx: Recoverable, ask: _Ask) -> Flow[Any]:
    """Yield one request after the other, until one is answered.

    Raises:
        BudgetExceededError: If no request is small enough.
    """
    built: _Built = yield _Wish(ask.target, ask.model, None)
    for attempt in itertools.count(1):
        refused: Exception | None = None
        try:
            answer = yield built.request
        except Exception as error:
            overflow = overflow_of(error)
            if overflow is None:
                raise
            refused = error
        else:
            overflow = _told_by(answer, built)
            if overflow is None:
                return answer
        _learn(ctx, built, overflow)
        left = ask.max_attempts - attempt
        smaller = (yield from _smaller(ask, built, overflow)) if left else None
        if isinstance(smaller, _Built):
            built = smaller
        elif refused is None:
            return answer
        else:
            raise _given_up(built, overflow, attempt, smaller) from refused
    raise AssertionError  # the loop has no other end


def _told_by(answer: object, built: _Built) -> Overflow | None:
    """Return the overflow that an answer tells of, or hides as Ollama's does."""
    overflow = answer_overflow(answer)
    window = (built.request.get("options") or {}).get("num_ctx")
    if overflow is None and isinstance(window, int):
        is_cut = was_cut_silently(
            answer, window_tokens=window, estimated_tokens=built.tokens
        )
        return Overflow(limit_tokens=window) if is_cut else None
    return overflow


def _learn(ctx: Recoverable, built: _Built, overflow: Overflow) -> None:
    """Tell the session what its model can hold, where it wants to know."""
    learn = getattr(ctx, "learn_limit", None)
    if learn is not None and overflow.limit_tokens:
        learn(
            built.request.get("model") or built.request.get("modelId"),
            overflow.limit_tokens,
        )


# --- the next size --------------------------------------------------------------------


def _smaller(
    ask: _Ask, former: _Built, overflow: Overflow
) -> Flow[_Built | BudgetExceededError | None]:
    """Build a request that is strictly smaller; None, or an error: there is none."""
    aim_tokens = _aim(former, overflow, ask.min_shrink_share)
    try:
        built: _Built = yield _Wish(ask.target, ask.model, aim_tokens)
    except BudgetExceededError as error:
        return error
    return built if built.tokens < former.tokens else None


def _aim(former: _Built, overflow: Overflow, min_shrink_share: float) -> int:
    """Return the budget of the next request, in tokens of our own count."""
    aim = former.tokens * (1 - min_shrink_share)
    if overflow.limit_tokens:
        output = overflow.output_tokens or _asked_output(former.request)
        kept_free = min(output, overflow.limit_tokens * MOST_OUTPUT_SHARE)
        room = (overflow.limit_tokens - kept_free) * (1 - SAFETY_SHARE)
        aim = min(aim, room / _undercount(former, overflow))
    return max(1, int(aim))


def _undercount(former: _Built, overflow: Overflow) -> float:
    """Return how many of the vendor's tokens one of ours stands for, at least 1."""
    if not overflow.actual_tokens:
        return 1.0
    return min(MOST_UNDERCOUNT, max(1.0, overflow.actual_tokens / former.tokens))


_OUTPUTS = (
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "maxTokens",
    "num_predict",
)
"""Names of the output's limit, at the top of a request or one level down."""


def _asked_output(request: Mapping[str, Any]) -> int:
    """Return the output that a request asks for; 0: it names no limit."""
    places = [request, *(v for v in request.values() if isinstance(v, Mapping))]
    found = (place.get(name) for place in places for name in _OUTPUTS)
    return max((tokens for tokens in found if isinstance(tokens, int)), default=0)


def _given_up(
    built: _Built,
    overflow: Overflow,
    attempts: int,
    smallest: BudgetExceededError | None,
) -> BudgetExceededError:
    """Return the error that ends it: what was tried, and why nothing is left to try."""
    tried = f"{attempts} request{'s were' if attempts > 1 else ' was'} too large"
    size = f"the last had {built.tokens:,} tokens by our count"
    if overflow.limit_tokens:
        size += f"; the vendor's limit is {overflow.limit_tokens:,}"
    if smallest is not None:
        advice = f"Nothing smaller can be built. {smallest}"
    else:
        advice = "Allow more attempts, or build for fewer tokens with max_tokens."
    return BudgetExceededError(
        needed_tokens=smallest.needed_tokens if smallest else built.tokens,
        limit_tokens=overflow.limit_tokens or built.tokens - 1,
        parts=smallest.parts if smallest else built.size.parts,
        message=f"{tried} ({size}). {advice}",
    )
