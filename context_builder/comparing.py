"""Where a request parts from an earlier one: whose place, why, and what it costs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_builder.collect.plain import need_list, wrong
from context_builder.render.prefix import PrefixDiff

if TYPE_CHECKING:
    from context_builder.render import KeptRendering

__all__ = ["RequestDiff", "messages_field", "messages_of", "side_by_side"]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestDiff:
    """Where the present request stops going on from an earlier one."""

    target: str
    prefix: PrefixDiff
    """Where the two differ first, and the tokens; see there."""
    reasons: tuple[str, ...]
    """The moves of the prefix that were reported between the two, in order; empty as
    well where the earlier request is not known to this session."""
    items: Mapping[str, str]
    """What became of the items that stood where the two differ, by id."""
    former_revision: int | None
    """The session's revision that the earlier request is of; None: it is not known to
    this session."""
    revision: int

    @property
    def is_extension(self) -> bool:
        """Whether the present request only goes on from the earlier one."""
        return self.prefix.is_extension

    @property
    def path(self) -> str | None:
        """Where the two differ first, such as `messages[3]`; None: nowhere."""
        return self.prefix.path

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The items that stood there, and do not stand there any more as they did."""
        return self.prefix.item_ids

    @property
    def cost_tokens(self) -> float:
        """What the difference costs, in tokens at the full price of input."""
        return self.prefix.cost_tokens

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        prefix = self.prefix
        return {
            "target": self.target,
            "is_extension": self.is_extension,
            "path": self.path,
            "item_ids": list(self.item_ids),
            "items": dict(self.items),
            "reasons": list(self.reasons),
            "former_revision": self.former_revision,
            "revision": self.revision,
            "former_tokens": prefix.former_tokens,
            "latter_tokens": prefix.latter_tokens,
            "kept_tokens": prefix.kept_tokens,
            "lost_tokens": prefix.lost_tokens,
            "resent_tokens": prefix.resent_tokens,
            "cost_tokens": prefix.cost_tokens,
        }

    def __str__(self) -> str:
        lines = [str(self.prefix)]
        if not self.is_extension:
            lines += [
                f"why: {reason}" if times == 1 else f"why: {reason} ({times} times)"
                for reason, times in Counter(self.reasons).items()
            ]
            lines += [
                f"{item_id}: {fate}"
                for item_id, fate in self.items.items()
                if fate != "kept"
            ]
        return "\n".join(lines)


def messages_of(previous: object) -> list[Any] | None:
    """Return the messages of an earlier request; None: it is a whole request.

    Raises:
        InvalidItemError: If it is neither messages nor a request.
    """
    if isinstance(previous, Mapping):
        return None
    if isinstance(previous, str | bytes):
        raise wrong(previous, "previous", "a request, its messages, or a report")
    return need_list(previous, "previous")


def side_by_side(
    previous: Mapping[str, Any] | list[Any], present: KeptRendering
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return two requests that can be compared: both whole, or both of messages."""
    messages = messages_of(previous)
    if messages is None:
        assert isinstance(previous, Mapping)  # noqa: S101  else it has messages
        return previous, present.request
    field = messages_field(present)
    return {field: messages}, {field: present.messages}


def messages_field(rendering: KeptRendering) -> str:
    """Return the name under which a vendor's request has its messages."""
    request = rendering.request
    names = (name for name, value in request.items() if value == rendering.messages)
    return next(names, "messages")
