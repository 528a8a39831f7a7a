"""The values that the tiers share: context items, log entries, units and the plan.

Everything here is immutable. An item is what came in; a unit is what stays or goes as
one; a plan is a decision about units. None of them knows a vendor, a tokenizer or a
clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

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
from context_builder.errors import InvalidItemError
from context_builder.messages import Content, ReasoningPart, Role, ToolCall
from context_builder.unicode import quoted

__all__ = [
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

PRIORITY_SYSTEM = 100
PRIORITY_LATEST_USER = 90
PRIORITY_CURRENT_TOOL = 80
PRIORITY_HISTORY = 70
PRIORITY_OTHER = 50
PRIORITY_BACKGROUND = 20

_PRIORITY_BY_ROLE: Mapping[str, int] = {
    "system": PRIORITY_SYSTEM,
    "user": PRIORITY_LATEST_USER,
    "assistant": PRIORITY_HISTORY,
    "tool": PRIORITY_CURRENT_TOOL,
}
_PRIORITY_BY_SOURCE: Mapping[str, int] = {
    "memory": PRIORITY_BACKGROUND,
    "summary": PRIORITY_HISTORY,
    "event": PRIORITY_OTHER,
}

SPOKEN_SOURCES = frozenset({"user", "message"})
"""Sources of user text that a user really said. Other user-role text is framed data."""


def default_priority(role: str, source: str, *, optional: bool) -> int:
    """Say how important an item is when nobody said so (0 to 100)."""
    if optional:
        return PRIORITY_BACKGROUND
    return _PRIORITY_BY_SOURCE.get(source) or _PRIORITY_BY_ROLE.get(
        role, PRIORITY_OTHER
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ContextItem:
    """Anything that could be shown to a model: a message, a memory, a tool's result.

    Raises:
        InvalidItemError: If the role is unknown, or the priority is not from 0 to 100.
    """

    role: Role
    content: Content = dataclasses.field(default="", repr=False)
    """Text, or parts. Empty for a message that only calls tools. Not in the `repr`:
    that ends up in logs and in reports of errors."""
    id: str = ""
    """The session's name for the item, such as `"i7"`; given when it enters the log."""
    priority: int = -1
    """0 to 100, higher stays longer; left out: by kind. It never decides the order."""
    source: str = "message"
    """Where it comes from: message, user, assistant, system_prompt, tool_result,
    memory, summary, event, or a name of your own."""
    timestamp: float | None = None
    """Seconds since the epoch. Data only: the order of the log is the order."""
    optional: bool = False
    """Background that is the first to go."""
    cache_key: str | None = None
    """Within a session, a newer item with this key stands in for the older."""
    pinned: bool = False
    """Never shortened, never evicted."""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """The call that this result answers."""
    tool_name: str | None = None
    reasoning: tuple[ReasoningPart, ...] = ()
    name: str | None = None
    """A participant's name, for vendors that take one."""
    is_error: bool = False
    """The tool failed."""
    partial: bool = False
    """Only a part was received: the stream was cut."""
    metadata: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """Yours; kept with the item, never sent. `metadata["extra"]` holds vendor marks."""
    has_own_priority: bool | None = None
    """Whether the priority was given, not taken by kind. A given one never decays."""

    def __post_init__(self) -> None:
        given: tuple[object, object, object] = (self.role, self.source, self.priority)
        role, source, priority = given  # as they came: nobody checked them yet
        if not isinstance(role, str) or role not in _PRIORITY_BY_ROLE:
            message = f"role {quoted(role)} is none of system, user, assistant, tool"
            raise InvalidItemError(message, field="role", value=role)
        if not isinstance(source, str):
            message = f"source must be text, not {type(source).__name__}"
            raise InvalidItemError(message, field="source", value=source)
        if isinstance(priority, bool) or not isinstance(priority, int):
            message = f"priority {quoted(priority)} is no whole number"
            raise InvalidItemError(message, field="priority", value=priority)
        self._set_priority()

    def _set_priority(self) -> None:
        if self.has_own_priority is None:
            object.__setattr__(self, "has_own_priority", self.priority != -1)
        if self.priority == -1:
            priority = default_priority(self.role, self.source, optional=self.optional)
            object.__setattr__(self, "priority", priority)
        elif not 0 <= self.priority <= 100:  # noqa: PLR2004  the range of priorities
            message = f"priority {quoted(self.priority)} is not from 0 to 100"
            raise InvalidItemError(message, field="priority", value=self.priority)

    @property
    def is_spoken(self) -> bool:
        """Whether it is the user's own word, as opposed to data in a user message."""
        return (
            self.role == "user" and self.source in SPOKEN_SOURCES and not self.optional
        )

    @property
    def is_background(self) -> bool:
        """Whether it is background or recalled text, counted in that share.

        A memory that was rated is not: its priority decides how long it stays.
        """
        return self.optional or (self.source == "memory" and not self.has_own_priority)

    @property
    def text(self) -> str:
        """The text of the content, its text parts joined by line breaks."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")

    def with_content(self, content: Content) -> ContextItem:
        """Return a copy that says `content`; everything else stays."""
        return dataclasses.replace(self, content=content)


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

    @property
    def tokens(self) -> int:
        """Input tokens of the whole request."""
        gap = self.notice_tokens if self.has_gap else 0
        return self.fixed_tokens + gap + sum(unit.tokens for unit in self.units)

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
