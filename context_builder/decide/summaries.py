"""The summaries of a session as one target has them: which one counts, what was tried.

A summary counts where all that it covers has left. Of several, the one that covers most
is shown. One whose words were edited or taken back counts nowhere any more; the one
that it extended may count again. Nobody is asked for a summary here.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.items import ContextItem, SummaryAdded, SummaryRefused, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["SUMMARY_PLACE", "Summaries", "Summary", "SummaryTry", "summary_unit"]

SUMMARY_PLACE = 0.0
"""The summary stands before all units; the first of these is number 1."""


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """An accepted summary, and all that it stands for."""

    item: ContextItem
    covers: frozenset[str]
    """The ids of the items, those of the summaries that it extends included."""
    made_by: str


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryTry:
    """A wish for a summary, and what became of it."""

    covers: tuple[str, ...]
    """The ids of the items that it was about."""
    leavings: int
    """How often something had left the request by then."""
    made_by: str
    summary_id: str | None = None
    """None: it was refused."""
    reason: str = ""
    """Why it was refused."""


class Summaries:
    """What is known of summaries in one fold."""

    __slots__ = ("_known", "covered", "current", "is_shown", "spoiled", "tries")

    def __init__(self) -> None:
        self._known: dict[str, Summary] = {}
        self.current: Summary | None = None
        """The one that counts; where there was no room it is not shown."""
        self.covered: frozenset[float] = frozenset()
        """The units that it covers."""
        self.is_shown = False
        self.tries: list[SummaryTry] = []
        """All wishes, oldest first."""
        self.spoiled: dict[str, str] = {}
        """Why summaries count nowhere any more, by their id."""

    def copy(self) -> Summaries:
        """Return another one that can change without this one."""
        other = Summaries()
        other._known, other.tries = dict(self._known), list(self.tries)
        other.current, other.covered = self.current, self.covered
        other.spoiled, other.is_shown = dict(self.spoiled), self.is_shown
        return other

    @property
    def is_untouched(self) -> bool:
        """Whether no summary has ever come in."""
        return not self._known and not self.spoiled and self.current is None

    @property
    def told(self) -> frozenset[float]:
        """The units that the request tells of by a summary."""
        return self.covered if self.is_shown else frozenset()

    def learn(self, entry: SummaryAdded) -> None:
        """Take in a summary. One that extends a spoiled one stands for nothing."""
        covers = frozenset(entry.covers)
        if entry.extends is not None:
            former = self._known.get(entry.extends)
            if former is None:
                self.spoiled[entry.item.id] = f"it extends {entry.extends}"
                return
            covers |= former.covers
        self._known[entry.item.id] = Summary(entry.item, covers, entry.made_by)

    def note(self, entry: SummaryAdded | SummaryRefused, leavings: int) -> None:
        """Remember that there was a wish, once it has been taken in."""
        if isinstance(entry, SummaryAdded):
            made = SummaryTry(
                entry.covers, leavings, entry.made_by, summary_id=entry.item.id
            )
        else:
            reason = f"{entry.reason}: {entry.error}" if entry.error else entry.reason
            made = SummaryTry(entry.covers, leavings, entry.made_by, reason=reason)
        self.tries.append(made)

    def includes(self, summary_id: str) -> bool:
        """Say whether the one that counts tells of all that another one does."""
        other = self._known.get(summary_id)
        return (
            other is not None
            and self.current is not None
            and other.covers <= self.current.covers
        )

    def spoil(self, unit: Unit, reason: str) -> None:
        """Give up every summary that tells of a unit which was changed or taken out."""
        ids = {item.id for item in unit.originals}
        for name, summary in list(self._known.items()):
            if not ids.isdisjoint(summary.covers):
                del self._known[name]
                self.spoiled[name] = reason

    def renew(
        self, gone: Mapping[float, Unit], fits: Callable[[ContextItem], bool]
    ) -> bool:
        """Choose the summary that counts now; say whether it is another one.

        Args:
            gone: What has left.
            fits: Whether a summary is not too large for this target.
        """
        if not self._known and self.current is None:
            return False
        known = self.current
        left = {item.id: unit.id for unit in gone.values() for item in unit.originals}
        best = next(
            (
                summary
                for summary in self._largest_first()
                if summary.covers <= left.keys()
                and (summary is known or fits(summary.item))
            ),
            None,
        )
        self.current = best
        covers: Iterable[str] = () if best is None else best.covers
        self.covered = frozenset(left[item_id] for item_id in covers)
        return best is not known

    def _largest_first(self) -> list[Summary]:
        newest_first = list(reversed(self._known.values()))
        return sorted(newest_first, key=lambda summary: -len(summary.covers))


def summary_unit(item: ContextItem) -> Unit:
    """Return a summary as a unit, not measured yet. It belongs to no turn."""
    return Unit(
        id=SUMMARY_PLACE, items=(item,), originals=(item,), kind="summary", turn=0
    )
