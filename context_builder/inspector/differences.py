"""Puts two requests side by side, up to where they stop being the same and beyond."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

from context_builder.render.prefix import (
    CACHED_PRICE_SHARE,
    PrefixDiff,
    compare_requests,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Difference", "difference", "goes_on"]

_CONVERSATIONS = ("messages", "contents", "input")
"""Where vendors have the conversation in a request."""
_PLACE = re.compile(r"(?:messages|contents|input)\[(\d+)\]")
_SHOWN = 40
"""Messages that are shown of each side, behind the place where they differ."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """How one request differs from the one before."""

    path: str | None
    """Where they differ first; None: the later one goes on from the former."""
    item_ids: tuple[str, ...]
    former_tokens: int
    latter_tokens: int
    kept_tokens: int
    lost_tokens: int
    resent_tokens: int
    cost_tokens: int
    """What the difference costs, in tokens at the full price of input."""
    same_messages: int
    """So many messages at the beginning are the same."""
    former: tuple[str, ...]
    """The former's messages behind those, as JSON; the first of them."""
    latter: tuple[str, ...]
    """The later one's."""
    former_more: int
    """How many more the former has."""
    latter_more: int


def difference(
    former: Mapping[str, Any],
    latter: Mapping[str, Any],
    *,
    target: str,
    counted: tuple[int, int] | None = None,
) -> Difference:
    """Compare two requests of one vendor, the later one second.

    Args:
        former: The request that was sent before.
        latter: The one that followed.
        target: Whose requests they are.
        counted: The tokens of both, where they are known: one that goes on from the
            other then needs no counting.

    Raises:
        AdapterError: If there is no adapter of that name.
    """
    ours, theirs = _messages(former), _messages(latter)
    if counted is not None and goes_on(former, latter):
        found = PrefixDiff(None, (), *counted, counted[0], CACHED_PRICE_SHARE)
    else:
        found = compare_requests(former, latter, target=target)
    same = _same_messages(found, ours)
    return Difference(
        path=found.path,
        item_ids=found.item_ids,
        former_tokens=found.former_tokens,
        latter_tokens=found.latter_tokens,
        kept_tokens=found.kept_tokens,
        lost_tokens=found.lost_tokens,
        resent_tokens=found.resent_tokens,
        cost_tokens=round(found.cost_tokens),
        same_messages=same,
        former=_shown(ours[same:]),
        latter=_shown(theirs[same:]),
        former_more=max(0, len(ours) - same - _SHOWN),
        latter_more=max(0, len(theirs) - same - _SHOWN),
    )


def goes_on(former: Mapping[str, Any], latter: Mapping[str, Any]) -> bool:
    """Say whether a request begins with all of another, message by message."""
    ours, theirs = _messages(former), _messages(latter)
    heads = [
        {name: value for name, value in one.items() if name not in _CONVERSATIONS}
        for one in (former, latter)
    ]
    return heads[0] == heads[1] and list(theirs[: len(ours)]) == list(ours)


def _messages(request: Mapping[str, Any]) -> Sequence[Any]:
    for field in _CONVERSATIONS:
        if isinstance(request.get(field), list):
            messages: list[Any] = request[field]
            return messages
    return ()


def _same_messages(found: PrefixDiff, former: Sequence[Any]) -> int:
    if found.path is None:
        return len(former)
    place = _PLACE.match(found.path)
    return int(place[1]) if place else 0


def _shown(messages: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        json.dumps(message, ensure_ascii=False, indent=1)
        for message in messages[:_SHOWN]
    )
