"""The report of one decision. It holds sizes, names and reasons, never content."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from context_builder.items import Action
from context_builder.report.table import table
from context_builder.settings import ContextClass

__all__ = [
    "ClassUse",
    "Outcome",
    "Report",
    "RequestSize",
    "SummaryAction",
    "SummaryOutcome",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item."""

    item_id: str
    role: str
    source: str
    action: Action
    tokens_before: int
    """What the item would take whole, framing included."""
    tokens_after: int
    """What it takes in the request."""
    reason: str
    """Why it is not whole; empty for what was kept."""
    context_class: ContextClass
    """Which share of the budget it counts in."""
    priority: int
    """How important it is now, 0 to 100."""

    @property
    def is_whole(self) -> bool:
        """Whether the model sees all of it."""
        return self.action == "kept" or (
            self.action == "repaired" and self.tokens_after >= self.tokens_before > 0
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ClassUse:
    """How much of the budget one class takes, beside its share."""

    name: ContextClass
    tokens: int
    share_tokens: int
    """Its share of the budget. Soft: it may take what others leave."""


SummaryAction = Literal["shown", "replaced", "left_out", "dropped", "refused"]
"""What became of a wish for a summary.

`shown`: it is in the request. `replaced`: a later one tells of the same and more.
`left_out`: it counts, but is not in this request. `dropped`: what it tells of was
changed or taken out. `refused`: there is none; the digest stands in."""


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryOutcome:
    """What became of one wish for a summary."""

    summary_id: str | None
    """None: it was refused."""
    action: SummaryAction
    items: int
    """How many items it was about, beside those of the summary that it extends."""
    made_by: str
    """Who was asked."""
    reason: str
    """Why it is not shown; empty for the one that is."""


@dataclasses.dataclass(frozen=True, slots=True)
class RequestSize:
    """How large a request is: what a `Report` says of that, and no more."""

    tokens: int
    """Input tokens of the request: messages, tools and framing."""
    budget_tokens: int
    parts: Mapping[str, int]
    """`system`, `tools`, `overhead`, `notice` and `messages`, in tokens."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Why a request looks as it does."""

    target: str
    model: str | None
    budget_tokens: int
    context_window: int | None
    """None: the budget was given, and no model was named."""
    tokens: int
    """Input tokens of the request: messages, tools and framing."""
    is_exact: bool
    """Whether the tokens were counted; otherwise they are an estimate."""
    parts: Mapping[str, int]
    """`system`, `tools`, `overhead`, `notice` and `messages`, in tokens."""
    outcomes: tuple[Outcome, ...]
    """One for every item of the conversation, in order."""
    classes: tuple[ClassUse, ...]
    compactions: int
    """How often the session has been compacted for this target so far."""
    prefix_moves: tuple[str, ...]
    """Each time that the beginning of the request changed, and why. In between, each
    request begins with the one before."""
    pending_calls: int
    """Calls that still wait for their result; stand-ins hold their places, and the
    results will replace them."""
    revision: int
    """The revision of the session that this is about."""
    repairs: tuple[str, ...] = ()
    """What the vendor's rules made necessary: moved, merged, put in."""
    summaries: tuple[SummaryOutcome, ...] = ()
    """One for every summary that was asked for, oldest first."""
    embedding_failures: tuple[str, ...] = ()
    """Messages for which words alone recalled, as the embedder failed: the message, who
    was asked, and the kind of error."""
    guessed_from: str | None = None
    """The model whose window stands in, as that of the model itself is not known;
    None: it is known, or was given."""

    @property
    def removed(self) -> tuple[Outcome, ...]:
        """What the model does not see whole."""
        return tuple(outcome for outcome in self.outcomes if not outcome.is_whole)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, ready for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return table(self)
