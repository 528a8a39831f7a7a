"""Equal or stale content: what a newer item with the same key does to an older.

Other content supersedes: the older becomes a reference at once, since stale facts
mislead. Equal content is not said twice: the newer becomes a reference to the older
while that is still whole, so that the prompt-cache prefix stays.
"""

from __future__ import annotations

import dataclasses

from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Mark, Plan, Unit

__all__ = ["drop_superseded", "refer_to", "replace_item", "supersede"]

_STALE = "superseded by a newer item with the same key"


def supersede(unit: Unit, item_id: str, newer: ContextItem, rules: Rules) -> Unit:
    """Return the older unit with one item given up for a newer one of the same key."""
    mark = Mark(item_id, "deduplicated", f"superseded by {newer.id}, same key")
    if unit.kind != "tool":
        return dataclasses.replace(
            unit.leave_out(_STALE), marks=(*unit.marks, mark), pinned=False
        )
    text = f"[Out of date: superseded by a newer result ({newer.id}).]"
    return replace_item(unit, item_id, text, mark, rules)


def refer_to(unit: Unit, item_id: str, older_id: str, rules: Rules) -> Unit:
    """Return the newer unit with one item given as the same as an older one."""
    mark = Mark(item_id, "deduplicated", f"the same content as {older_id}")
    text = f"[Unchanged: the same content as the earlier result {older_id}.]"
    return replace_item(unit, item_id, text, mark, rules)


def replace_item(unit: Unit, item_id: str, text: str, mark: Mark, rules: Rules) -> Unit:
    """Return the unit with one item's content replaced, if that makes it smaller."""
    index = next(n for n, item in enumerate(unit.items) if item.id == item_id)
    if unit.items[index].role == "assistant":  # the call put before an unasked result
        index += 1
    short = unit.items[index].with_content(text)
    size = rules.ruler.item(short)
    return dataclasses.replace(
        unit,
        items=(*unit.items[:index], short, *unit.items[index + 1 :]),
        sizes=(*unit.sizes[:index], size, *unit.sizes[index + 1 :]),
        marks=(*unit.marks, mark),
    )


def drop_superseded(plan: Plan, rules: Rules) -> Plan:
    """Leave out old rounds of which every result was superseded or said elsewhere."""
    del rules
    units = list(plan.units)
    excess_tokens = plan.tokens - plan.target_tokens
    for index, unit in enumerate(units):
        if excess_tokens <= 0:
            break
        if unit.turn < plan.current_turn and not unit.pinned and _is_all_stale(unit):
            excess_tokens -= unit.tokens
            units[index] = unit.leave_out(_STALE)
    return dataclasses.replace(plan, units=tuple(units))


def _is_all_stale(unit: Unit) -> bool:
    if unit.kind != "tool":
        return False
    stale = {mark.item_id for mark in unit.marks if mark.action == "deduplicated"}
    return all(item.id in stale for item in unit.originals if item.role == "tool")
