"""What a summariser is, what it is asked, and what became of its answer.

These are values and protocols only. Whoever implements a summariser needs nothing but
this module: a method that takes a `SummaryRequest` and returns text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

from context_builder.errors import SummarizerError
from context_builder.items import ContextItem

__all__ = [
    "AnySummarizer",
    "AsyncSummarizer",
    "RefusalReason",
    "Summarizer",
    "SummaryRequest",
    "SummaryResult",
    "SummaryText",
]

RefusalReason = Literal[
    "nothing_new",
    "failed",
    "timeout",
    "empty",
    "not_text",
    "cut_off",
    "too_long",
    "not_smaller",
    "error_text",
    "refusal",
]
"""Why there is no summary.

`nothing_new`: there was nothing to ask for. `failed`, `timeout`: it raised, or did not
answer in time. The others speak of the answer: blank; no text; broken off; larger than
it may be; not smaller than what it replaces; an error's text; a model's refusal.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summariser is asked: to extend a former summary by messages that left."""

    former: str | None = dataclasses.field(repr=False)
    """The former summary, which the new one replaces; None: there is none yet."""
    items: tuple[ContextItem, ...] = dataclasses.field(repr=False)
    """What the former one does not cover: whole, oldest first."""
    max_tokens: int
    """What the summary may take, in the counting of `count`."""
    language_hint: str = dataclasses.field(repr=False)
    """An instruction that says in which language to write."""
    count: Callable[[str], int] = dataclasses.field(repr=False, compare=False)
    """Counts the tokens of a text; the ruler that the summary is accepted by."""
    session_id: str | None = None
    window_tokens: int = 32_000
    """The summariser's own context window, input and output together."""
    result_tokens: int = 400
    """Longer tool results and arguments are shown shortened, down to this."""
    problem: RefusalReason | None = None
    """Why the former answer to this same request was refused; None: it is the first."""


class SummaryText(str):
    """A summary, with what its maker says of it: what an endpoint told beside the text.

    Attributes:
        is_cut_off: The text broke off before its end.
        is_refusal: The model declined to summarise.
        input_tokens: What the endpoint counted for the input, cached tokens included.
        output_tokens: What it counted for the answer.
    """

    is_cut_off: bool
    is_refusal: bool
    input_tokens: int | None
    output_tokens: int | None

    def __new__(
        cls,
        text: str,
        *,
        is_cut_off: bool = False,
        is_refusal: bool = False,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> SummaryText:
        """Return the text with these remarks."""
        made = super().__new__(cls, text)
        made.is_cut_off = is_cut_off
        made.is_refusal = is_refusal
        made.input_tokens = input_tokens
        made.output_tokens = output_tokens
        return made


@runtime_checkable
class Summarizer(Protocol):
    """Writes summaries, while its caller waits."""

    def summarize(self, request: SummaryRequest) -> str:
        """Return the summary, or raise: whatever happens, no history is lost.

        Return a `SummaryText` to say that the text is cut off or a refusal, or what it
        cost.
        """


@runtime_checkable
class AsyncSummarizer(Protocol):
    """Writes summaries without holding up the event loop."""

    async def asummarize(self, request: SummaryRequest) -> str:
        """Return the summary, as `Summarizer.summarize`."""


AnySummarizer = Summarizer | AsyncSummarizer
"""One of the two, or an object that is both."""


@dataclasses.dataclass(frozen=True, slots=True)
class SummaryResult:
    """What became of a wish for a summary: an accepted text, or the reason for none."""

    text: str | None = dataclasses.field(default=None, repr=False)
    """The accepted summary, which stands in for the former one too; None: refused."""
    reason: RefusalReason | None = None
    """Why it was refused; None: it was accepted."""
    covered: tuple[ContextItem, ...] = dataclasses.field(default=(), repr=False)
    """The items that the text covers beside the former summary: the oldest of those
    asked for, mostly all of them. Of a refusal: those that were asked for."""
    rest_reason: RefusalReason | None = None
    """Why an accepted text does not cover all that was asked for."""
    tokens: int = 0
    """What the text takes."""
    replaced_tokens: int = 0
    """What it replaces: the former summary and the covered items, whole."""
    calls: int = 0
    """How often the summariser was asked."""
    input_tokens: int | None = None
    """What the summariser was billed for input, cached tokens included, if it said."""
    output_tokens: int | None = None
    """What it was billed for output, if it said."""
    error: SummarizerError | None = dataclasses.field(default=None, compare=False)
    """What went wrong, where something was raised; `__cause__` is the error itself."""

    @property
    def is_accepted(self) -> bool:
        """Whether there is a summary to put in."""
        return self.text is not None

    @property
    def covered_ids(self) -> tuple[str, ...]:
        """The ids of the covered items, in order, each once."""
        return tuple(dict.fromkeys(item.id for item in self.covered if item.id))
