"""A summary as a transaction: snapshot, ask outside any lock, compare, put in.

The same steps serve a build that needs a summary now and work done ahead, in a thread
or a task, for what will be left out next. A result speaks of its snapshot; whoever puts
it in first asks whether that still holds.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.summarizers.drive import adrive, drive
from context_builder.summarizers.flow import items_tokens, summary_flow
from context_builder.summarizers.protocol import (
    SummaryRequest,
    SummaryResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem
    from context_builder.summarizers.protocol import (
        AnySummarizer,
    )
    from context_builder.summarizers.settings import SummaryPolicy

__all__ = ["Prepared", "Snapshot", "aprepare", "prepare"]


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """What a summary is wanted of, as it was when that was noticed."""

    request: SummaryRequest
    former_id: str | None = None
    """The summary that it extends; None: it is the first."""

    def is_worth_asking(self, policy: SummaryPolicy) -> bool:
        """Say whether there is enough to summarise."""
        request = self.request
        return items_tokens(request.items, request.count) >= policy.min_tokens


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """What came of a snapshot."""

    snapshot: Snapshot
    result: SummaryResult

    def still_holds(
        self, *, former_id: str | None, left_out: Iterable[ContextItem]
    ) -> bool:
        """Say whether the result may be put in, or recorded, now.

        Args:
            former_id: The summary that counts now.
            left_out: The items that have left and that no summary covers, as they are
                now. One that was edited, removed, or is shown again spoils the result;
                what has left meanwhile does not.
        """
        if former_id != self.snapshot.former_id:
            return False
        now = {item.id: item for item in left_out}
        return all(now.get(item.id) == item for item in self.result.covered)


def prepare(
    snapshot: Snapshot, summarizer: AnySummarizer, policy: SummaryPolicy
) -> Prepared:
    """Ask for a summary and wait for it, in any thread; it never raises for a failure.

    Hold no lock that the summariser could need.
    """
    flow = summary_flow(snapshot.request, policy)
    return Prepared(snapshot, drive(flow, summarizer, policy.timeout_seconds))


async def aprepare(
    snapshot: Snapshot, summarizer: AnySummarizer, policy: SummaryPolicy
) -> Prepared:
    """Ask for a summary and await it, as `prepare`.

    Raises:
        asyncio.CancelledError: If the caller is cancelled.
    """
    flow = summary_flow(snapshot.request, policy)
    return Prepared(snapshot, await adrive(flow, summarizer, policy.timeout_seconds))
