"""A context item: anything that could be shown to a model.

A session has very many of them, and most differ in few fields. The others lie in one
object for all items that are alike in them, so that an item takes half the memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from context_builder.copies import changed, sharing
from context_builder.errors import InvalidItemError
from context_builder.messages import Content, ReasoningPart, Role, ToolCall
from context_builder.unicode import quoted

__all__ = ["ContextItem", "Traits", "default_priority"]

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


def _check(role: object, source: object, priority: object) -> None:
    """Refuse what is no item.

    Raises:
        InvalidItemError: If the role is unknown, or another one is of a wrong kind.
    """
    if not isinstance(role, str) or role not in _PRIORITY_BY_ROLE:
        message = f"role {quoted(role)} is none of system, user, assistant, tool"
        raise InvalidItemError(message, field="role", value=role)
    if not isinstance(source, str):
        message = f"source must be text, not {type(source).__name__}"
        raise InvalidItemError(message, field="source", value=source)
    if isinstance(priority, bool) or not isinstance(priority, int):
        message = f"priority {quoted(priority)} is no whole number"
        raise InvalidItemError(message, field="priority", value=priority)


_OWN = ("role", "content", "id", "timestamp", "tool_calls", "tool_call_id")
"""What each item has of its own."""
_NOTHING_RARE = (None, None, None)


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """What is the same in many items; see the fields of an item."""

    source: str
    priority: int
    has_own_priority: bool
    optional: bool
    pinned: bool
    is_error: bool
    partial: bool
    tool_name: str | None
    reasoning: tuple[ReasoningPart, ...] = ()
    cache_key: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] | None = None


def _traits(
    values: tuple[Any, ...], reasoning: tuple[ReasoningPart, ...], *rare: Any
) -> Traits:
    """Return what an item has in common with others, and with all that are alike."""
    if rare == _NOTHING_RARE and type(reasoning) is tuple and not reasoning:
        with contextlib.suppress(TypeError):  # a wrong value, which is refused later
            return _common(*values)
    return Traits(*(*values, reasoning, *rare))


@functools.lru_cache(maxsize=512, typed=True)
def _common(*values: Any) -> Traits:
    return Traits(*values)


@sharing("_traits", own=_OWN)
@dataclasses.dataclass(frozen=True, init=False)
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

    def __init__(  # noqa: PLR0917  as the fields are
        self,
        role: Role,
        content: Content = "",
        id: str = "",  # noqa: A002  the field's name
        priority: int = -1,
        source: str = "message",
        timestamp: float | None = None,
        optional: bool = False,
        cache_key: str | None = None,
        pinned: bool = False,
        tool_calls: tuple[ToolCall, ...] = (),
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        reasoning: tuple[ReasoningPart, ...] = (),
        name: str | None = None,
        is_error: bool = False,
        partial: bool = False,
        metadata: Mapping[str, Any] | None = None,
        has_own_priority: bool | None = None,
    ) -> None:
        _check(role, source, priority)
        if has_own_priority is None:
            has_own_priority = priority != -1
        if priority == -1:
            priority = default_priority(role, source, optional=optional)
        elif not 0 <= priority <= 100:  # noqa: PLR2004  the range of priorities
            message = f"priority {quoted(priority)} is not from 0 to 100"
            raise InvalidItemError(message, field="priority", value=priority)
        put = object.__setattr__
        put(self, "role", role)
        put(self, "content", content)
        put(self, "id", id)
        put(self, "timestamp", timestamp)
        put(self, "tool_calls", tool_calls)
        put(self, "tool_call_id", tool_call_id)
        own = (source, priority, has_own_priority)
        kept = (*own, optional, pinned, is_error, partial, tool_name)
        put(self, "_traits", _traits(kept, reasoning, cache_key, name, metadata))

    def __post_init__(self) -> None:
        """Check what was set field by field: by pydantic, or by a subclass."""
        fields = dataclasses.fields(ContextItem)
        given: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields}
        ContextItem.__init__(self, **given)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)
        return type(self), tuple(getattr(self, one.name) for one in fields)

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
        return changed(self, content=content)
