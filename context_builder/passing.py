"""Tells what passes: values of one moment, and text that only repeats the session.

What a context provider said for one message is true for that message, and what the
recall tool answered stands in the session anyway. Both are the first to go, and neither
is found again.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from context_builder.items import ContextItem

__all__ = [
    "COMPACTED",
    "CONTEXT_PREFIX",
    "ECHOING_TOOLS",
    "RECALLED",
    "Excerpt",
    "excerpts_in",
    "is_echo",
    "is_momentary",
    "is_passing",
    "repeats",
]

CONTEXT_PREFIX: Final = "context:"
"""What the source of an item begins with that a context provider gave."""
RECALLED: Final = "recalled"
"""The frame of what the recall tool answers."""
COMPACTED: Final = "compacted"
"""The frame of what the compact tool answers."""

ECHOING_TOOLS: Final = frozenset({"recall", "compact"})
"""Tools that answer with what the session holds anyway."""
_ECHO = (f"<{RECALLED}", f"<{COMPACTED}")
_HEAD = re.compile(
    rf'^<{RECALLED} handle="(i\d{{1,18}})"[^>\n]* chars="(\d{{1,18}})-(\d{{1,18}})"',
    re.M,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of what an item says, as character positions."""

    handle: str
    start: int
    end: int

    def covers(self, other: Excerpt) -> bool:
        """Say whether another one is a part of this one."""
        return (
            self.handle == other.handle
            and self.start <= other.start
            and other.end <= self.end
        )


def is_echo(item: ContextItem) -> bool:
    """Say whether an item is what one of the library's own tools answered.

    A tool of the same name that somebody else wrote answers in another form. What no
    tool is named for is not ours: else a page that begins like our frames would pass
    for an answer of ours, and could not be found again.
    """
    return (
        item.role == "tool"
        and item.tool_name in ECHOING_TOOLS
        and item.text.startswith(_ECHO)
    )


def is_momentary(item: ContextItem) -> bool:
    """Say whether an item is what a provider said for one message."""
    return item.optional and item.source.startswith(CONTEXT_PREFIX)


def is_passing(item: ContextItem) -> bool:
    """Say whether an item is not worth finding again."""
    return is_momentary(item) or is_echo(item)


def excerpts_in(text: str) -> tuple[Excerpt, ...]:
    """Return what a text of the recall tool says, by its frames."""
    return tuple(
        Excerpt(handle, int(start), int(end))
        for handle, start, end in _HEAD.findall(text)
    )


def repeats(said: Mapping[str, Iterable[Excerpt]], piece: Excerpt) -> bool:
    """Say whether a piece of an item is said by excerpts that are shown."""
    return any(excerpt.covers(piece) for excerpt in said.get(piece.handle, ()))
