"""Says what a conversation lost on its way into a vendor's format.

It compares what went in with what can be read back, kind by kind. It does not say why:
the report of the build does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from context_builder.items import ContextItem

__all__ = ["losses"]


def losses(
    before: Iterable[ContextItem], after: Iterable[ContextItem]
) -> tuple[str, ...]:
    """Name what is not there any more, with its number."""
    missing = _kinds(before) - _kinds(after)
    return tuple(
        f"{kind}: {number} of {total}"
        for kind, total in sorted(_kinds(before).items())
        if (number := missing[kind])
    )


def _kinds(items: Iterable[ContextItem]) -> Counter[str]:
    """Count what vendors do not all carry."""
    found: Counter[str] = Counter()
    for item in items:
        found["reasoning"] += len(item.reasoning)
        found["calls"] += len(item.tool_calls)
        found["names of participants"] += item.name is not None
        found["error flags"] += item.is_error
        if not isinstance(item.content, str):
            found.update(f"{p.type} parts" for p in item.content if p.type != "text")
    return found
