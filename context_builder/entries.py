"""What can happen in a session: the entries of its log, apart from a single item.

They are values: what happened, and nothing of what it means for a request.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_builder.items import ContextItem  # noqa: TC004  it imports this

__all__ = [
    "Cleared",
    "CompactionAsked",
    "ItemEdited",
    "ItemRemoved",
    "ItemsAdded",
    "LimitLearned",
    "PassageMatch",
    "PassagesMatched",
    "Rewound",
    "SummaryAdded",
    "SummaryRefused",
    "SystemSet",
    "ToolsSet",
    "UsageRecorded",
    "maker_name",
]


@dataclasses.dataclass(frozen=True, slots=True)
class ItemsAdded:
    """Several items that came in as one: a whole turn, or an imported history."""

    items: tuple[ContextItem, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SystemSet:
    """The system prompt became this item; None: there is none any more."""

    item: ContextItem | None


@dataclasses.dataclass(frozen=True, slots=True)
class ToolsSet:
    """The tools became these, each an OpenAI function tool as JSON."""

    tools: tuple[Mapping[str, Any], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ItemEdited:
    """An item was replaced by another version of itself (same id)."""

    item: ContextItem


@dataclasses.dataclass(frozen=True, slots=True)
class ItemRemoved:
    """An item was taken out of the conversation."""

    item_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rewound:
    """Everything after this item was taken out of the conversation."""

    item_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class Cleared:
    """Everything but the system prompt and the tools was taken out."""


@dataclasses.dataclass(frozen=True, slots=True)
class UsageRecorded:
    """A vendor billed a request that had been counted here; it corrects estimates."""

    model: str
    billed_tokens: int
    """All input that the vendor counted, cached tokens included."""
    estimated_tokens: int
    """What was counted here of the same request."""


@dataclasses.dataclass(frozen=True, slots=True)
class LimitLearned:
    """An error said how much input or window a model really has."""

    model: str
    limit_tokens: int


@dataclasses.dataclass(frozen=True, slots=True)
class CompactionAsked:
    """Somebody asked for a compaction now, whatever the budget is."""


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryAdded:
    """A model-written summary was accepted. It counts wherever all it covers left."""

    item: ContextItem
    """The summary: source `summary`, with an id of its own such as `"s1"`."""
    covers: tuple[str, ...]
    """The ids of the items that it covers beside those of what it extends."""
    extends: str | None
    """The former summary, which it stands in for as well; None: it is the first."""
    made_by: str
    """Who wrote it."""


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryRefused:
    """A summary was wanted, and none was accepted: nothing leaves by it."""

    reason: str
    """A word such as `timeout` or `empty`, never the text of an answer or an error."""
    covers: tuple[str, ...]
    """The ids of the items that it was to cover."""
    made_by: str
    error: str | None = None
    """The name of the kind of error, where one was raised."""


@dataclasses.dataclass(frozen=True, slots=True)
class PassageMatch:
    """A piece of an item that means what a message says, more or less."""

    item_id: str
    start: int
    """Where the piece begins in the item's text, in characters."""
    score: float
    """The cosine of the two vectors."""


@dataclasses.dataclass(frozen=True, slots=True)
class PassagesMatched:
    """An embedder was asked which passages that left mean what a message says."""

    item_id: str
    """The message."""
    matches: tuple[PassageMatch, ...]
    """Of what had left, best first; empty where the embedder failed."""
    shown_score: float
    """The best score of anything that was shown whole; 0 where nothing was."""
    made_by: str
    """Who was asked."""
    error: str | None = None
    """The name of the kind of error, where there is no answer."""


def maker_name(maker: object) -> str:
    """Return how an entry names who made it: its class, and the model that it asks."""
    name = type(maker).__name__
    model = getattr(maker, "model", None)
    return f"{name} ({model})" if isinstance(model, str) and model else name
