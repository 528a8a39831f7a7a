"""Groups log entries into units, so that a tool call never leaves without its results.

The grouping is a pure function of the log; it knows no budget and no vendor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from context_builder.collect.calls import number_of
from context_builder.collect.taking_back import TakingBack
from context_builder.items import (
    Change,
    Cleared,
    CompactionAsked,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LimitLearned,
    LogEntry,
    PassagesMatched,
    Rewound,
    SummaryAdded,
    SummaryRefused,
    SystemSet,
    ToolsSet,
    UsageRecorded,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Grouper"]


class Grouper(TakingBack):
    """Follows a log and says what each entry means for the units."""

    __slots__ = ()

    def feed(self, entry: LogEntry) -> Sequence[Change]:
        """Take in the next entry, and return what changes by it, in order."""
        match entry:
            case ContextItem():
                return self._add(entry)
            case ItemsAdded():
                return [change for item in entry.items for change in self._add(item)]
            case SystemSet():
                return self._set_system(entry)
            case (
                ToolsSet()
                | CompactionAsked()
                | SummaryAdded()
                | SummaryRefused()
                | PassagesMatched()
            ):
                return [entry]
            case UsageRecorded() | LimitLearned():
                return ()
            case ItemEdited() | ItemRemoved() | Rewound() | Cleared():
                return self._take_back(entry)
            case _:
                assert_never(entry)

    def _take_back(
        self, entry: ItemEdited | ItemRemoved | Rewound | Cleared
    ) -> Sequence[Change]:
        match entry:
            case ItemEdited():
                return self._edit(entry.item)
            case ItemRemoved():
                return self._remove(entry.item_id)
            case Rewound():
                return self._rewind(number_of(entry.item_id))
            case Cleared():
                return self._clear()
            case _:
                assert_never(entry)
