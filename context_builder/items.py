"""The values that the tiers share: context items, log entries, units and the plan.

Everything here is immutable. An item is what came in; a unit is what stays or goes as
one; a plan is a decision about units. None of them knows a vendor, a tokenizer or a
clock.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Literal

from context_builder.context_item import (
    PRIORITY_BACKGROUND,
    PRIORITY_CURRENT_TOOL,
    PRIORITY_HISTORY,
    PRIORITY_LATEST_USER,
    PRIORITY_OTHER,
    PRIORITY_SYSTEM,
    SPOKEN_SOURCES,
    ContextItem,
    default_priority,
)
from context_builder.copies import changed
from context_builder.entries import (
    Cleared,
    CompactionAsked,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LimitLearned,
    PassageMatch,
    PassagesMatched,
    Rewound,
    SummaryAdded,
    SummaryRefused,
    SystemSet,
    ToolsSet,
    UsageRecorded,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "PRIORITY_BACKGROUND",
    "PRIORITY_CURRENT_TOOL",
    "PRIORITY_HISTORY",
    "PRIORITY_LATEST_USER",
    "PRIORITY_OTHER",
    "PRIORITY_SYSTEM",
    "SPOKEN_SOURCES",
    "Action",
    "Change",
    "Cleared",
    "CompactionAsked",
    "ContextItem",
    "ItemEdited",
    "ItemRemoved",
    "ItemsAdded",
    "LimitLearned",
    "LogEntry",
    "Mark",
    "PassageMatch",
    "PassagesMatched",
    "Plan",
    "Rendition",
    "Rewound",
    "SummaryAdded",
    "SummaryRefused",
    "SystemSet",
    "ToolsSet",
    "Unit",
    "UnitChanged",
    "UnitDropped",
    "UnitKind",
    "UsageRecorded",
    "default_priority",
]

# --- the log ------------------------------------------------------------------------

LogEntry = (
    ContextItem
    | ItemsAdded
    | SystemSet
    | ToolsSet
    | ItemEdited
    | ItemRemoved
    | Rewound
    | Cleared
    | UsageRecorded
    | LimitLearned
    | CompactionAsked
    | SummaryAdded
    | SummaryRefused
    | PassagesMatched
)
"""What can happen in a session. A single item is its own entry."""


# --- the decision -------------------------------------------------------------------

Rendition = Literal["whole", "shortened", "reference", "summary", "absent"]
"""How a unit is shown, from richest to poorest. A unit only ever moves down."""

LADDER_ORDER: Mapping[Rendition, int] = {
    "whole": 0,
    "shortened": 1,
    "reference": 2,
    "summary": 3,
    "absent": 4,
}

Action = Literal[
    "kept",
    "shortened",
    "referenced",
    "summarized",
    "evicted",
    "deduplicated",
    "repaired",
]
"""What became of an item."""

UnitKind = Literal["message", "tool", "note", "background", "summary"]
"""`tool`: calls with all their results. `note`: a system message in
mid-conversation."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to one item, apart from what happened to its unit."""

    item_id: str
    action: Action
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """What stays or goes as one: a message, or calls with all their results."""

    id: float
    """Its place: the number of its first item. Units are ordered by it. What is
    recalled for a message stands half a place before it."""
    items: tuple[ContextItem, ...]
    """What is shown now; empty when absent."""
    originals: tuple[ContextItem, ...]
    """The items whole, repaired where they came in broken."""
    kind: UnitKind
    turn: int
    """The turn it belongs to; turn 0 is what stands before the first user message."""
    round: int = 0
    """Tool units: which round of tool calls of its turn this is, from 1."""
    starts_turn: bool = False
    """Whether it is a message of the user's own."""
    sizes: tuple[int, ...] = ()
    """Tokens of each shown item, in the target's counting."""
    whole_sizes: tuple[int, ...] = ()
    """Tokens of each original item."""
    rendition: Rendition = "whole"
    reason: str = ""
    """Why it is not whole any more."""
    pinned: bool = False
    priority: int | None = None
    """The priority that somebody gave it; None: by kind and age."""
    refreshed_turn: int | None = None
    """The last turn in which equal content came in again; its age counts from there."""
    marks: tuple[Mark, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens that it takes now."""
        return sum(self.sizes)

    @property
    def calls(self) -> int:
        """How many calls were made at once; 1 for what is no round of calls."""
        return max(1, len(self.originals) - 1) if self.kind == "tool" else 1

    @property
    def is_shown(self) -> bool:
        """Whether anything of it is in the request."""
        return self.rendition != "absent"

    def leave_out(self, reason: str) -> Unit:
        """Return the unit as absent."""
        return changed(self, items=(), sizes=(), rendition="absent", reason=reason)

    def show(
        self,
        items: tuple[ContextItem, ...],
        sizes: tuple[int, ...],
        *,
        rendition: Rendition,
        reason: str,
    ) -> Unit:
        """Return the unit shown by `items`, one rung down or in place."""
        return changed(
            self, items=items, sizes=sizes, rendition=rendition, reason=reason
        )


@dataclasses.dataclass(frozen=True, slots=True)
class UnitChanged:
    """A unit became another version of itself: answered, edited, repaired."""

    unit: Unit
    """The new version, whole."""
    reason: str
    moves_prefix: bool
    """Whether something changed that stood before the end of the request."""


@dataclasses.dataclass(frozen=True, slots=True)
class UnitDropped:
    """A unit was taken out of the conversation by its owner."""

    unit_id: float
    reason: str


Change = (
    Unit
    | UnitChanged
    | UnitDropped
    | SystemSet
    | ToolsSet
    | CompactionAsked
    | SummaryAdded
    | SummaryRefused
    | PassagesMatched
)
"""What a log entry means for the units. A unit alone was added at the end."""


_SIZES = operator.attrgetter("sizes")


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """A decision in the making: which unit is shown how, and what that costs."""

    units: tuple[Unit, ...]
    fixed_tokens: int
    """System prompt, tools, vendor overhead: what no step can change."""
    target_tokens: int
    """What the steps shall come down to."""
    limit_tokens: int
    """What the request may not exceed."""
    current_turn: int
    notice_tokens: int = 0
    """What the one line about left-out messages costs, once there are any."""
    has_gap: bool = False
    """Whether anything has been evicted, now or earlier."""
    reserve_tokens: int = 0
    """Kept free under the target for the digest of what left. Only what is not
    important makes way for it."""
    head: frozenset[float] = frozenset()
    """The units that hold the first messages, where those are to stay longest."""
    _units_tokens: int = dataclasses.field(
        default=-1, init=False, compare=False, repr=False
    )
    """What all units take, once somebody has asked: a plan is asked again and again."""

    @property
    def tokens(self) -> int:
        """Input tokens of the whole request."""
        if self._units_tokens < 0:
            tokens = sum(map(sum, map(_SIZES, self.units)))
            object.__setattr__(self, "_units_tokens", tokens)
        gap = self.notice_tokens if self.has_gap else 0
        return self.fixed_tokens + gap + self._units_tokens

    @property
    def excess_tokens(self) -> int:
        """What is still to be freed; 0 or less when the steps may stop."""
        return self.tokens + self.reserve_tokens - self.target_tokens

    @property
    def fits(self) -> bool:
        """Whether the steps may stop: the low mark is reached."""
        return self.excess_tokens <= 0

    @property
    def fits_limit(self) -> bool:
        """Whether the request may be sent."""
        return self.tokens <= self.limit_tokens
