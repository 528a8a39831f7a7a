"""Splits the budget between the classes of context, softly.

Each class has a share. What a class does not need flows on to those that need more, in
proportion to their shares. Whoever is furthest over what it is then allowed yields
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.decide.rules import class_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from context_builder.items import Plan, Unit
    from context_builder.settings import ContextClass, Settings, Shares

__all__ = ["allowances", "demand", "low_mark", "parts_of"]


def low_mark(limit_tokens: int, untouchable_tokens: int, settings: Settings) -> int:
    """Return what a compaction goes down to.

    That is `low_water` of the budget. Where the part that no step may touch takes most
    of it, a compaction down to there would empty the context and come back with every
    message; then `room_share` of what can move at all stays.
    """
    movable = max(0, limit_tokens - untouchable_tokens)
    mark = max(
        int(limit_tokens * settings.low_water),
        untouchable_tokens + int(movable * settings.room_share),
    )
    return min(mark, limit_tokens)


def demand(plan: Plan) -> dict[ContextClass, int]:
    """Return the tokens that each class takes in a plan."""
    tokens: dict[ContextClass, int] = {
        "system": plan.fixed_tokens,
        "latest_turn": 0,
        "tool_results": 0,
        "history": plan.notice_tokens if plan.has_gap else 0,
        "background": 0,
    }
    for unit in plan.units:
        tokens[class_of(unit, plan.current_turn)] += unit.tokens
    return tokens


def allowances(
    tokens: Mapping[ContextClass, int], shares: Shares, limit_tokens: int
) -> dict[ContextClass, int]:
    """Return what each class may take, so that together they take the limit at most.

    The system class gets all it needs: nothing of it can yield.
    """
    granted: dict[ContextClass, int] = {"system": tokens["system"]}
    left = max(0, limit_tokens - tokens["system"])
    waiting = shares.by_class()
    del waiting["system"]
    while waiting:
        total_share = sum(waiting.values()) or 1.0
        content = [
            name
            for name, share in waiting.items()
            if tokens[name] <= left * share / total_share
        ]
        if not content:
            for name, share in waiting.items():
                granted[name] = int(left * share / total_share)
            break
        for name in content:
            granted[name] = tokens[name]
            del waiting[name]
        left -= sum(granted[name] for name in content)
    return granted


def parts_of(
    fixed: Mapping[str, int], units: Iterable[Unit], latest_user: float | None
) -> dict[str, int]:
    """Return the sizes of what is left when nothing more can yield, by name."""
    parts = dict(fixed)
    for unit in units:
        if unit.id == latest_user:
            name = "latest user message"
        else:
            name = "pinned" if unit.pinned else "current turn"
        parts[name] = parts.get(name, 0) + unit.tokens
    return {name: tokens for name, tokens in parts.items() if tokens}
