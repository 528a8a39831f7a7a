"""Sessions with a summariser that have been compacted, for several tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilder
from context_builder.testing import WordCounter, turns

if TYPE_CHECKING:
    from context_builder.summarizers import SummaryRequest

__all__ = ["SUMMARY", "AsyncOnly", "entries", "said", "session"]

SUMMARY = "Goal: find out why. Done: sixteen questions."


def session(
    summarizer: Any = None, *, count: int = 20, budget: int = 500, **settings: Any
) -> ContextBuilder:
    """Return a session that has been compacted, and not been built yet."""
    ctx = ContextBuilder(
        max_tokens=budget,
        counter=WordCounter(),
        summarizer=summarizer,
        **settings,
    )
    ctx.extend(turns(count))
    ctx.add_user_message("and now?")
    return ctx


def said(ctx: ContextBuilder) -> list[str]:
    """Return what the messages of a build say."""
    return [str(message["content"]) for message in ctx.build()]


def entries(ctx: ContextBuilder) -> list[str]:
    """Return the kinds of entries that speak of summaries and compactions."""
    kinds = {"summary", "summary_refused", "compact"}
    return [each["entry"] for each in ctx.dump()[1:] if each["entry"] in kinds]


class AsyncOnly:
    """Can only be awaited."""

    async def asummarize(self, request: SummaryRequest) -> str:
        """Return the summary."""
        assert request.items
        return SUMMARY
