"""Says what a session holds and what its next request shows of it.

The items stand apart from their fates: a plan at another budget has other fates for the
same items, so only the fates have to be sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.inspector.plans import Plans
from context_builder.unicode import repair_text

if TYPE_CHECKING:
    from context_builder.builder import ContextBuilder
    from context_builder.items import ContextItem
    from context_builder.report import Report

__all__ = ["item_text", "items_of", "window_of"]

TEXT_CHARS = 240
"""Of an item's text, in a list of all of them."""


def window_of(
    ctx: ContextBuilder,
    *,
    target: str = "openai",
    model: str | None = None,
    max_tokens: int | None = None,
    text_chars: int = TEXT_CHARS,
) -> dict[str, Any]:
    """Return all items of a session, and what the next request shows of each.

    Args:
        ctx: The session.
        target: The vendor that the request is for.
        model: For another model than the session's.
        max_tokens: For another input budget than the session's.
        text_chars: So much of each item's text is told.

    Raises:
        BudgetExceededError: If what may not be left out is larger than the budget.
        AdapterError: If the vendor cannot express it.
        UnknownModelError: If the model's window would have to be guessed.
    """
    report = ctx.explain(target, model=model, max_tokens=max_tokens)
    plans = Plans()
    plan = plans.add(report)
    return {
        "target": report.target,
        "model": report.model,
        "context_window": report.context_window,
        "is_exact": report.is_exact,
        "pending_calls": report.pending_calls,
        "revision": report.revision,
        "parts": dict(report.parts),
        "repairs": list(report.repairs),
        "prefix_moves": list(report.prefix_moves),
        "items": items_of(ctx, report, text_chars=text_chars),
        "plan": plan,
        **plans.words(),
    }


def items_of(
    ctx: ContextBuilder, report: Report, *, text_chars: int = TEXT_CHARS
) -> list[dict[str, Any]]:
    """Return what each item is, in the order of the report's outcomes."""
    known = {item.id: item for item in ctx.items}
    return [
        {
            "id": outcome.item_id,
            "role": outcome.role,
            "source": outcome.source,
            "tokens": outcome.tokens_before,
            "priority": outcome.priority,
            "class": outcome.context_class,
            **_said(known.get(outcome.item_id), text_chars),
        }
        for outcome in report.outcomes
    ]


def _said(item: ContextItem | None, text_chars: int) -> dict[str, Any]:
    if item is None:  # the report speaks of what the library put in
        return {"text": "", "tool": None, "is_error": False}
    text = item_text(item)
    return {
        "text": text if len(text) <= text_chars else f"{text[:text_chars]}…",
        "tool": item.tool_name,
        "is_error": item.is_error,
    }


def item_text(item: ContextItem) -> str:
    """Return what an item says, calls included, as text that can be encoded."""
    calls = [f"{call.name}({call.arguments})" for call in item.tool_calls]
    return repair_text("\n".join(part for part in (item.text, *calls) if part))
