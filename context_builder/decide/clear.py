"""The rung that replaces results by references: what it was, how to get it back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.facts import facts
from context_builder.decide.rules import Rules, eviction_order
from context_builder.decide.shorten import gist, shorten_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem, Plan, Unit
    from context_builder.messages import ToolCall

__all__ = ["clear_old_results", "clear_units", "reference_text", "to_reference"]

_GIST_CHARS = 80
_FACTS_SHARE = 0.4
_LONG_ARGUMENTS_TOKENS = 96
"""Arguments longer than this are shortened when their results are cleared."""
_SHORT_ARGUMENTS_TOKENS = 48


def clear_old_results(plan: Plan, rules: Rules) -> Plan:
    """Turn results of earlier turns into references, the least important first."""
    old = [
        index
        for index, unit in enumerate(plan.units)
        if unit.kind == "tool" and unit.turn < plan.current_turn
    ]
    return clear_units(plan, rules, sorted(old, key=eviction_order(plan, rules)))


def clear_units(plan: Plan, rules: Rules, order: Iterable[int]) -> Plan:
    """Turn tool units into references, in this order, until the plan fits."""
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    for index in order:
        if excess_tokens <= 0:
            break
        unit = units[index]
        if unit.pinned or unit.rendition not in {"whole", "shortened"}:
            continue
        cleared = to_reference(unit, rules)
        excess_tokens -= unit.tokens - cleared.tokens
        units[index] = cleared
    return dataclasses.replace(plan, units=tuple(units))


def to_reference(unit: Unit, rules: Rules) -> Unit:
    """Return a tool unit with its results as references and long arguments shortened.

    An item stays as it is where the short form would not be smaller.
    """
    items = list(unit.items)
    sizes = list(unit.sizes)
    for index, item in enumerate(unit.items):
        short = _short_form(item, unit.whole_sizes[index], rules)
        if short is None:
            continue
        size = rules.ruler.item(short, calls=unit.calls)
        if size < sizes[index]:
            items[index], sizes[index] = short, size
    return unit.show(
        tuple(items),
        tuple(sizes),
        rendition="reference",
        reason="over budget: an older result, replaced by a reference",
    )


def _short_form(
    item: ContextItem, whole_tokens: int, rules: Rules
) -> ContextItem | None:
    if item.role == "tool":
        return item.with_content(reference_text(item, whole_tokens, rules))
    calls = tuple(_short_call(call, rules) for call in item.tool_calls)
    if all(new is old for new, old in zip(calls, item.tool_calls, strict=True)):
        return None
    return dataclasses.replace(item, tool_calls=calls)


def _short_call(call: ToolCall, rules: Rules) -> ToolCall:
    if (
        call.type == "custom"
        or rules.ruler.text(call.arguments) <= _LONG_ARGUMENTS_TOKENS
    ):
        return call
    short = shorten_arguments(call.arguments, _SHORT_ARGUMENTS_TOKENS, rules.ruler.text)
    return dataclasses.replace(call, arguments=short)


def reference_text(item: ContextItem, whole_tokens: int, rules: Rules) -> str:
    """Say what a cleared result was, how large, and by which handle it comes back."""
    kept = _kept(item.text, whole_tokens, rules) if item.text else ""
    return (
        f"[Result of {whole_tokens:,} tokens left out; it can be fetched again as "
        f"{item.id}.{kept}]"
    )


def _kept(text: str, whole_tokens: int, rules: Rules) -> str:
    """Return the facts in a text that are worth their tokens, or how it began."""
    room_tokens = min(
        rules.settings.reference_facts_tokens, int(whole_tokens * _FACTS_SHARE)
    )
    found = facts(text)
    kept: set[str] = set()
    for fact, _ in sorted(found, key=lambda pair: -pair[1]):
        tokens = rules.ruler.text(fact) + 1
        if tokens <= room_tokens:
            room_tokens -= tokens
            kept.add(fact)
    if kept:
        return f" In it: {', '.join(fact for fact, _ in found if fact in kept)}"
    return f" It began: {gist(text, _GIST_CHARS)}"
