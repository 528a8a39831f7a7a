"""Tells where two requests stop being the same, which is where a prompt cache ends.

Vendors cache a prefix of what they read, each in an order of its own: tools and system
prompt mostly come before the messages. What comes behind the first difference is read,
and paid for, anew. Marks that only steer the cache are no difference.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from context_builder.render.registry import adapter_for

if TYPE_CHECKING:
    from context_builder.render.adapter import ProviderAdapter

__all__ = ["PrefixDiff", "compare_requests"]

Request = Mapping[str, Any]
Spans = Sequence[tuple[str, int]]
"""Which message holds which item, as `Rendering.spans` says."""

CACHED_PRICE_SHARE = 0.1
"""What a token from the cache costs, as a share of the price of input."""


@dataclass(frozen=True, slots=True)
class PrefixDiff:
    """How much of a request another one begins with. All figures are input tokens."""

    path: str | None
    """Where the two differ first, such as `messages[3].content[0]`, in the later
    request's words; None: the later one begins with the whole of the former."""
    item_ids: tuple[str, ...]
    """Items of the former request that are not there any more as they were, in the
    message where the two differ; where it holds the same items, all of them."""
    former_tokens: int
    latter_tokens: int
    kept_tokens: int
    """Of both: the beginning that they share."""
    cached_price_share: float

    @property
    def is_extension(self) -> bool:
        """Whether the later request only goes on from the former."""
        return self.path is None

    @property
    def lost_tokens(self) -> int:
        """Of the former: what stood behind the first difference."""
        return self.former_tokens - self.kept_tokens

    @property
    def resent_tokens(self) -> int:
        """Of the later one: what is read at the full price."""
        return self.latter_tokens - self.kept_tokens

    @property
    def cost_tokens(self) -> float:
        """What the difference costs, in tokens at the full price of input.

        Had the later request gone on from the former, so much of it would have come
        from the cache as the former had behind the difference, or as is sent there now.
        """
        if self.is_extension:
            return 0.0
        again = min(self.lost_tokens, self.resent_tokens)
        return again * (1 - self.cached_price_share)

    @property
    def billed_tokens(self) -> float:
        """What the later request costs, in tokens at the full price of input."""
        return self.kept_tokens * self.cached_price_share + self.resent_tokens

    def __str__(self) -> str:
        if self.path is None:
            return (
                f"extends: {self.kept_tokens:,} of {self.latter_tokens:,} tokens kept"
            )
        whose = f" ({', '.join(self.item_ids)})" if self.item_ids else ""
        return (
            f"differs at {self.path}{whose}: {self.kept_tokens:,} tokens kept, "
            f"{self.lost_tokens:,} lost, which costs {self.cost_tokens:,.0f}"
        )


def compare_requests(
    former: Request,
    latter: Request,
    *,
    target: str = "openai",
    former_spans: Spans = (),
    latter_spans: Spans = (),
    cached_price_share: float = CACHED_PRICE_SHARE,
) -> PrefixDiff:
    """Tell where two requests of one target stop being the same, and what it costs.

    Args:
        former: The request that was sent before.
        latter: The one that follows.
        target: Whose requests they are.
        former_spans: Where the items of the former stand, if the items are to be named.
        latter_spans: Where the items of the later one stand.
        cached_price_share: What a token from the cache costs, as a share of the price
            of input.

    Raises:
        AdapterError: If there is no adapter of that name.
    """
    adapter = adapter_for(target)
    order = _ORDERS.get(target, _CHAT)
    former, latter = _unmarked(former), _unmarked(latter)
    ours, theirs = list(_pieces(former, order)), list(_pieces(latter, order))
    same = _shared(ours, theirs)
    tokens = _Ruler(adapter, former.get("model") or former.get("modelId"))
    former_tokens = kept_tokens = tokens(former)
    place: Place | None = None
    if same < len(ours):
        kept_tokens = tokens(_rebuilt(ours[:same], order)) if same else 0
        place = (theirs[same:] or ours[same:])[0][0]
    return PrefixDiff(
        path=None if place is None else _path(place),
        item_ids=_items_at(ours[same][0], order, former_spans, latter_spans)
        if place is not None
        else (),
        former_tokens=former_tokens,
        latter_tokens=tokens(latter),
        kept_tokens=min(kept_tokens, former_tokens),
        cached_price_share=cached_price_share,
    )


class _Ruler:
    """Counts requests of one adapter, each text once."""

    def __init__(self, adapter: ProviderAdapter, model: str | None) -> None:
        self._adapter = adapter
        self._count = functools.cache(adapter.counter(model).count)

    def __call__(self, request: Request) -> int:
        """Return the tokens of a request."""
        return self._adapter.request_tokens(request, self._count)


# --- what is read, in which order -----------------------------------------------------

Place = tuple[str | int, ...]
"""A path into a request."""
Piece = tuple[Place, Any]

_CHAT = ("model", "tools", "response_format", "messages")
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("model", "tools", "system", "tool_choice", "thinking", "messages"),
    "bedrock": (
        "modelId",
        "toolConfig.tools",
        "system",
        "toolConfig.toolChoice",
        "additionalModelRequestFields",
        "messages",
    ),
    "gemini": ("model", "config.system_instruction", "config.tools", "contents"),
    "openai-responses": ("model", "tools", "text", "instructions", "input"),
}
"""What goes into a vendor's prefix, by target; the conversation comes last."""
_BODIES = ("content", "parts")
"""Where a message has its parts."""


def _unmarked(value: Any) -> Any:
    """Return a copy without the marks that steer a cache."""
    if isinstance(value, Mapping):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list | tuple):
        return [
            _unmarked(member)
            for member in value
            if not (isinstance(member, Mapping) and set(member) == {"cachePoint"})
        ]
    return value


def _pieces(request: Request, order: Sequence[str]) -> Iterator[Piece]:
    """Yield what a request says, piece by piece, as the vendor reads it."""
    for section in order:
        value = _at(request, section)
        if isinstance(value, list):
            for number, member in enumerate(value):
                yield from _pieces_of(member, (section, number))
        elif value is not None:
            yield (section,), value


def _pieces_of(member: Any, place: Place) -> Iterator[Piece]:
    """Yield a message's head, then its parts; anything else is one piece."""
    body = next((b for b in _BODIES if isinstance(_get(member, b), list)), None)
    if body is None:
        yield place, member
        return
    yield place, {**member, body: []}
    for number, part in enumerate(member[body]):
        yield (*place, body, number), part


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _at(request: Request, section: str) -> Any:
    return functools.reduce(_get, section.split("."), request)


def _shared(ours: Sequence[Piece], theirs: Sequence[Piece]) -> int:
    """Return how many pieces two requests begin with alike."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    shortest = min(len(ours), len(theirs))
    return next((n for n, (one, other) in pairs if one != other), shortest)


def _rebuilt(pieces: Sequence[Piece], order: Sequence[str]) -> Request:
    """Make a request of some of its pieces, to have it counted."""
    request: dict[str, Any] = {order[-1]: []}
    for place, value in pieces:
        section, *rest = place
        *outer, last = str(section).split(".")
        holder = request
        for name in outer:
            holder = holder.setdefault(name, {})
        if not rest:
            holder[last] = value
        elif len(rest) == 1:
            holder.setdefault(last, []).append(value)
        else:
            message, body = holder[last][-1], rest[1]
            holder[last][-1] = {**message, body: [*message[body], value]}
    return request


def _path(place: Place) -> str:
    first, *rest = place
    return str(first) + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest
    )


def _items_at(
    place: Place, order: Sequence[str], former: Spans, latter: Spans
) -> tuple[str, ...]:
    """Name the items of a message that are not there any more; else all of them."""
    if place[0] != order[-1] or len(place) == 1:
        return ()
    were = [item_id for item_id, number in former if number == place[1]]
    are = {item_id for item_id, number in latter if number == place[1]}
    return tuple([item_id for item_id in were if item_id not in are] or were)
