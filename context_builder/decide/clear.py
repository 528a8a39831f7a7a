"""The rung that replaces results by references: what it was, how to get it back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.copies import changed
from context_builder.decide.passing import without_echo
from context_builder.decide.rules import Rules, eviction_order
from context_builder.decide.shorten import gist, shorten_arguments
from context_builder.decide.versions import with_references
from context_builder.passing import is_echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem, Plan, Unit
    from context_builder.messages import ToolCall

__all__ = [
    "clear_old_results",
    "clear_units",
    "facts_once",
    "keep_newest_results",
    "reference_text",
    "to_reference",
]

_OLDER = "older than the newest results that are kept"
_REFERRING = frozenset({"referenced", "deduplicated"})
_CLEARABLE = frozenset({"whole", "shortened"})
_GIST_CHARS = 80
_FACTS_SHARE = 0.4
_SMALLER_SHARE = 0.6
"""Of what a result takes now, what the facts in its reference may take."""
_LEAST_FACT_TOKENS = 2
_MOST_MISSES = 16
"""After so many facts that did not fit, there is hardly room for another one."""
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


def keep_newest_results(plan: Plan, rules: Rules) -> Plan:
    """Turn all results but the newest few into references, whatever the budget is.

    The same plan comes back where nothing did. Messages and ids stay, pinned results
    whole.
    """
    most = rules.settings.keep_tool_results
    if most is None:
        return plan
    units = list(plan.units)
    seen = 0
    for index in range(len(units) - 1, -1, -1):
        unit = units[index]
        if unit.kind != "tool" or not unit.is_shown:
            continue
        results = [
            number
            for number, item in enumerate(unit.originals)
            if item.role == "tool" and item.source != "repair"
        ]
        fresh = max(0, min(most - seen, len(results)))
        seen += len(results)
        if not unit.pinned:
            older = results[: len(results) - fresh]
            units[index] = _without_results(unit, older, rules)
    if all(new is old for new, old in zip(units, plan.units, strict=True)):
        return plan
    return dataclasses.replace(plan, units=tuple(units))


def _without_results(unit: Unit, numbers: list[int], rules: Rules) -> Unit:
    """Return a unit with these results as references, where that is smaller."""
    if unit.rendition == "reference":
        return unit
    done = {m.item_id for m in unit.marks if m.action in _REFERRING}
    shorts = (
        (n, item.with_content(reference_text(item, unit.whole_sizes[n], rules)))
        for n in numbers
        if (item := unit.originals[n]).id not in done
    )
    cleared = with_references(unit, shorts, rules, _OLDER)
    if cleared is unit:
        return unit
    reason = "older results became references"
    return changed(cleared, rendition="shortened", reason=reason)


def clear_units(plan: Plan, rules: Rules, order: Iterable[int]) -> Plan:
    """Turn tool units into references, in this order, until the plan fits."""
    units = list(plan.units)
    excess_tokens = plan.excess_tokens
    is_same = True
    for index in order:
        if excess_tokens <= 0:
            break
        unit = units[index]
        if unit.pinned or unit.rendition not in _CLEARABLE:
            continue
        cleared = to_reference(unit, rules)
        excess_tokens -= unit.tokens - cleared.tokens
        units[index], is_same = cleared, False
    return plan if is_same else dataclasses.replace(plan, units=tuple(units))


def to_reference(unit: Unit, rules: Rules) -> Unit:
    """Return a tool unit with its results as references and long arguments shortened.

    An item stays as it is where the short form would not be smaller.
    """
    return rules.once("reference", unit, lambda: _referenced(unit, rules), lasts=True)


def _referenced(unit: Unit, rules: Rules) -> Unit:
    items = list(unit.items)
    sizes = list(unit.sizes)
    doubles = {mark.item_id for mark in unit.marks if mark.action == "deduplicated"}
    cleared: set[str] = set()
    for index, item in enumerate(unit.items):
        if item.id in doubles:
            continue
        short = _short_form(unit, index, rules)
        if short is None:
            continue
        size = rules.ruler.item(short, calls=unit.calls)
        if size < sizes[index]:
            items[index], sizes[index] = short, size
            cleared.add(item.id)
    shown = unit.show(
        tuple(items),
        tuple(sizes),
        rendition="reference",
        reason="over budget: an older result, replaced by a reference",
    )
    # What was cut on entry is more than cut now: the heavier loss is told.
    marks = tuple(
        mark
        for mark in unit.marks
        if mark.action != "shortened" or mark.item_id not in cleared
    )
    return changed(shown, marks=marks)


def _short_form(unit: Unit, index: int, rules: Rules) -> ContextItem | None:
    item = unit.items[index]
    if is_echo(item):
        return without_echo(item)
    if item.role == "tool":
        text = reference_text(
            unit.originals[index],
            unit.whole_sizes[index],
            rules,
            most_tokens=int(unit.sizes[index] * _SMALLER_SHARE),
        )
        return item.with_content(text)
    calls = tuple(_short_call(call, rules) for call in item.tool_calls)
    if all(new is old for new, old in zip(calls, item.tool_calls, strict=True)):
        return None
    return changed(item, tool_calls=calls)


def _short_call(call: ToolCall, rules: Rules) -> ToolCall:
    if (
        call.type == "custom"
        or rules.ruler.text(call.arguments) <= _LONG_ARGUMENTS_TOKENS
    ):
        return call
    short = shorten_arguments(call.arguments, _SHORT_ARGUMENTS_TOKENS, rules.ruler.text)
    return changed(call, arguments=short)


def reference_text(
    item: ContextItem, whole_tokens: int, rules: Rules, most_tokens: int | None = None
) -> str:
    """Say what a cleared result was, how large, and by which handle it comes back.

    Args:
        item: The result, whole.
        whole_tokens: What it takes.
        rules: What to measure with.
        most_tokens: What its facts may take; None: as the settings say.
    """
    room_tokens = min(
        rules.settings.reference_facts_tokens,
        int(whole_tokens * _FACTS_SHARE),
        whole_tokens if most_tokens is None else most_tokens,
    )
    kept = _kept(item.text, room_tokens, rules) if item.text else ""
    return (
        f"[Result of {whole_tokens:,} tokens left out; it can be fetched again as "
        f"{item.id}.{kept}]"
    )


def facts_once(text: str, rules: Rules) -> list[tuple[str, float]]:
    """Return the facts in a text; it is looked at once a compaction."""
    return rules.once("facts in", text, lambda: rules.facts(text))


def _kept(text: str, room_tokens: int, rules: Rules) -> str:
    """Return the facts in a text that are worth their tokens, or how it began."""
    found = facts_once(text, rules)
    kept: set[str] = set()
    misses = 0
    for fact, _ in sorted(found, key=lambda pair: -pair[1]):
        if room_tokens < _LEAST_FACT_TOKENS or misses >= _MOST_MISSES:
            break
        tokens = rules.ruler.text(fact) + 1
        if tokens <= room_tokens:
            room_tokens -= tokens
            kept.add(fact)
        else:
            misses += 1
    if kept:
        return f" In it: {', '.join(fact for fact, _ in found if fact in kept)}"
    return f" It began: {gist(text, _GIST_CHARS)}"
