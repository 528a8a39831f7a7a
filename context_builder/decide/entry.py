"""Cuts a tool's result when it comes in, where it is too large for what is left.

Without this, one huge result would push the whole conversation out of the request
before it was its own turn to be shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_builder.copies import changed
from context_builder.decide.current import cut_content
from context_builder.decide.shorten import cut_before, truncate_chars
from context_builder.items import ContextItem, Mark, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.decide.rules import Rules
    from context_builder.messages import Part

__all__ = ["cap_results"]

_GRID_TOKENS = 64
"""Results are cut to multiples of this, so that nearly equal rooms give one cut."""


def cap_results(
    unit: Unit,
    rules: Rules,
    *,
    known: Sequence[ContextItem],
    others_tokens: int,
    limit_tokens: int,
) -> Unit:
    """Return a tool unit with its new results cut to what is left, or to their share.

    Args:
        unit: The unit as it would be shown.
        rules: What to measure with.
        known: Results that were there before; they stay as they are.
        others_tokens: What the request takes without this unit.
        limit_tokens: The budget.
    """
    if unit.kind != "tool" or unit.pinned:
        return unit
    seen = {id(item) for item in known}
    for index, item in enumerate(unit.items):
        is_new = id(unit.originals[index]) not in seen
        if item.role == "tool" and item.source != "repair" and is_new:
            rest_tokens = others_tokens + unit.tokens - unit.sizes[index]
            unit = _cap(unit, index, rules, rest_tokens, limit_tokens)
    return _within_round(unit, rules)


def _within_round(unit: Unit, rules: Rules) -> Unit:
    """Return a round within its budget: the largest results become previews first.

    It is judged once all results are there. What was changed before is not changed
    again.
    """
    most_tokens = rules.settings.round_results_max_tokens
    if most_tokens is None:
        return unit
    results = [n for n, item in enumerate(unit.originals) if item.role == "tool"]
    if any(unit.originals[number].source == "repair" for number in results):
        return unit
    for number in sorted(results, key=lambda n: (-unit.sizes[n], n)):
        if sum(unit.sizes[n] for n in results) <= most_tokens:
            break
        item = unit.originals[number]
        short = item.with_content(_preview(item, unit.whole_sizes[number], rules))
        if rules.ruler.item(short, calls=unit.calls) < unit.sizes[number]:
            reason = "the results of its round were over round_results_max_tokens"
            unit = _with(unit, number, short, rules, reason)
    return unit


def _preview(item: ContextItem, whole_tokens: int, rules: Rules) -> str:
    head = item.text[: cut_before(item.text, rules.settings.preview_chars)]
    return (
        f"[Result of {whole_tokens:,} tokens put aside; it can be fetched again as "
        f"{item.id}. It begins:]\n{head}"
    )


def _cap(unit: Unit, index: int, rules: Rules, rest_tokens: int, limit: int) -> Unit:
    item, size = unit.items[index], unit.sizes[index]
    by_chars = _cut_chars(item, rules)
    if by_chars is not None:
        return _with(unit, index, by_chars, rules, "longer than tool_result_max_chars")
    share_tokens = int(limit * rules.settings.shares.latest_turn)
    room_tokens = max(share_tokens, limit - rest_tokens)
    if size <= room_tokens:
        return unit
    room_tokens -= room_tokens % _GRID_TOKENS
    short = cut_content(item, room_tokens, size, rules)
    if rules.ruler.item(short, calls=unit.calls) >= size:
        return unit
    return _with(unit, index, short, rules, "larger than what was left")


def _with(
    unit: Unit, index: int, short: ContextItem, rules: Rules, reason: str
) -> Unit:
    size = rules.ruler.item(short, calls=unit.calls)
    return changed(
        unit,
        items=(*unit.items[:index], short, *unit.items[index + 1 :]),
        sizes=(*unit.sizes[:index], size, *unit.sizes[index + 1 :]),
        rendition="shortened" if unit.rendition == "whole" else unit.rendition,
        reason=unit.reason or reason,
        marks=(*unit.marks, Mark(short.id, "shortened", f"on entry: {reason}")),
    )


def _cut_chars(item: ContextItem, rules: Rules) -> ContextItem | None:
    limit_chars = rules.settings.tool_result_max_chars
    if limit_chars is None:
        return None
    if isinstance(item.content, str):
        if len(item.content) <= limit_chars:
            return None
        return item.with_content(truncate_chars(item.content, limit_chars))
    return _cut_parts(item, item.content, limit_chars)


def _cut_parts(
    item: ContextItem, parts: Sequence[Part], limit_chars: int
) -> ContextItem | None:
    """Cut the texts among parts, the longest most, to so many characters together."""
    lengths = {n: len(text) for n, part in enumerate(parts) if (text := _text(part))}
    if sum(lengths.values()) <= limit_chars:
        return None
    cut = list(parts)
    left_chars, waiting = limit_chars, len(lengths)
    for number in sorted(lengths, key=lambda number: (lengths[number], number)):
        text = truncate_chars(_text(parts[number]), left_chars // waiting)
        cut[number] = parts[number].model_copy(update={"text": text})
        left_chars -= min(lengths[number], left_chars // waiting)
        waiting -= 1
    return item.with_content(tuple(cut))


def _text(part: Part) -> str:
    return part.text or "" if part.type in {"text", "file"} else ""
