"""The rungs for the current turn: its older rounds, its large results, its question.

The newest round of tool calls and the latest user message stay to the last. They are
shortened, never left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from context_builder.copies import changed
from context_builder.decide.budget import allowances, demand
from context_builder.decide.clear import clear_units, to_reference
from context_builder.decide.evict import evict_units
from context_builder.decide.rules import Rules, eviction_order
from context_builder.decide.shorten import (
    MIN_TOKENS,
    shorten_arguments,
    shorten_middle,
    shorten_text,
)
from context_builder.decide.versions import whole
from context_builder.passing import is_echo

if TYPE_CHECKING:
    from context_builder.items import ContextItem, Plan, Unit
    from context_builder.messages import Content, Part

__all__ = [
    "clear_current_rounds",
    "drop_notice",
    "evict_current_rounds",
    "keep_only_the_question",
    "latest_user_index",
    "shorten_current_results",
    "shorten_latest_round",
    "shorten_latest_user",
    "shorten_results_over_share",
]

_Cutter = Callable[[str, int], str]
"""Cuts a text to a number of tokens."""

_LEAST_USER_TOKENS = 24
"""The latest user message is not cut below this: less would say nothing."""
_RECENT_SHARE = 0.5
"""Of what a compaction leaves the conversation, what the newest rounds may take."""
_HEAD_CHARS = 4
_GRID_TOKENS = 32
"""Results are cut to multiples of this, so that their lengths do not jitter."""


def latest_user_index(plan: Plan) -> int | None:
    """Return the place of the latest message of the user's own; None: there is none."""
    for index in range(len(plan.units) - 1, -1, -1):
        if plan.units[index].starts_turn and plan.units[index].is_shown:
            return index
    return None


def _rounds(plan: Plan) -> list[int]:
    """Return the places of the rounds of tool calls of the current turn, in order."""
    return [
        index
        for index, unit in enumerate(plan.units)
        if unit.kind == "tool" and unit.turn >= plan.current_turn
    ]


def _recent(plan: Plan, rules: Rules, rounds: Sequence[int]) -> list[int]:
    """Return the newest rounds, whose results stay longest, as far as they fit.

    Results of several rounds are compared with one another: they stay together where
    that leaves as much room for everything else. The newest round is always one.
    """
    room_tokens = int((plan.target_tokens - plan.fixed_tokens) * _RECENT_SHARE)
    recent: list[int] = []
    for index in reversed(rounds[-rules.settings.keep_recent_rounds :]):
        room_tokens -= plan.units[index].tokens
        if recent and room_tokens < 0:
            break
        recent.append(index)
    return recent[::-1]


def shorten_results_over_share(plan: Plan, rules: Rules) -> Plan:
    """Make the current turn's results smaller where the turn takes more than its share.

    What other classes leave over is the turn's to use. Rounds before the newest few
    become references; results of the newest few are cut to one length, large ones
    first.
    """
    tokens = demand(plan)
    allowed = allowances(tokens, rules.settings.shares, plan.target_tokens)
    over_tokens = tokens["latest_turn"] - allowed["latest_turn"]
    excess_tokens = min(over_tokens, plan.excess_tokens)
    if excess_tokens <= 0:
        return plan
    goal = dataclasses.replace(
        plan, target_tokens=plan.tokens - excess_tokens, reserve_tokens=0
    )
    rounds = _rounds(plan)
    recent = _recent(plan, rules, rounds)
    goal = clear_units(goal, rules, rounds[: len(rounds) - len(recent)])
    goal = _shorten_evenly(goal, rules, recent, rules.settings.min_shortened_tokens)
    return dataclasses.replace(
        goal, target_tokens=plan.target_tokens, reserve_tokens=plan.reserve_tokens
    )


def clear_current_rounds(plan: Plan, rules: Rules) -> Plan:
    """Turn the current turn's rounds but the newest into references, oldest first."""
    return clear_units(plan, rules, _rounds(plan)[:-1])


def shorten_current_results(plan: Plan, rules: Rules) -> Plan:
    """Cut the results of the newest rounds to one length, large ones first."""
    recent = _recent(plan, rules, _rounds(plan))
    return _shorten_evenly(plan, rules, recent, rules.settings.min_shortened_tokens)


def evict_current_rounds(plan: Plan, rules: Rules) -> Plan:
    """Leave out what stands between the latest user message and the newest round."""
    keep = {latest_user_index(plan), *_rounds(plan)[-1:]}
    order = [
        index
        for index, unit in enumerate(plan.units)
        if index not in keep and unit.turn >= plan.current_turn
    ]
    order.sort(key=eviction_order(plan, rules))
    return evict_units(plan, order, "over budget: an older part of the current turn")


def shorten_latest_round(plan: Plan, rules: Rules) -> Plan:
    """Cut the newest round as far as need be; at last to references."""
    newest = _rounds(plan)[-1:]
    plan = _shorten_evenly(plan, rules, newest, MIN_TOKENS)
    if plan.fits:
        return plan
    units = list(plan.units)
    for index in newest:
        if not units[index].pinned:
            units[index] = _smaller(units[index], to_reference(units[index], rules))
    return dataclasses.replace(plan, units=tuple(units))


def _smaller(unit: Unit, other: Unit) -> Unit:
    return other if other.tokens < unit.tokens else unit


def _shorten_evenly(
    plan: Plan, rules: Rules, places: Sequence[int], floor_tokens: int
) -> Plan:
    """Cut results and arguments that are longer than one level down to it."""
    excess_tokens = plan.excess_tokens
    if excess_tokens <= 0:
        return plan
    sizes = [
        size
        for index in places
        if not plan.units[index].pinned
        for size in plan.units[index].sizes
    ]
    level_tokens = max(_level(sizes, excess_tokens), floor_tokens)
    units = list(plan.units)
    for index in places:
        if not units[index].pinned:
            units[index] = _cut_to(units[index], level_tokens, rules)
    return dataclasses.replace(plan, units=tuple(units))


def _level(sizes: Sequence[int], excess_tokens: int) -> int:
    """Return the length to which the longer ones must be cut to free the excess."""
    descending = sorted(sizes, reverse=True)
    total = 0
    for number, size in enumerate(descending, start=1):
        total += size
        follower = descending[number] if number < len(descending) else 0
        level = (total - excess_tokens) // number
        if level >= follower:
            return level - level % _GRID_TOKENS
    return 0


def _cut_to(unit: Unit, level_tokens: int, rules: Rules) -> Unit:
    items = list(unit.items)
    sizes = list(unit.sizes)
    for index in range(len(items)):
        if sizes[index] <= level_tokens:
            continue
        whole, whole_tokens = _uncut(unit, index)
        short = _cut_item(whole, level_tokens, whole_tokens, rules)
        size = rules.ruler.item(short, calls=unit.calls)
        if size < sizes[index]:
            items[index], sizes[index] = short, size
    if tuple(items) == unit.items:
        return unit
    return unit.show(
        tuple(items),
        tuple(sizes),
        rendition="shortened" if unit.rendition == "whole" else unit.rendition,
        reason="over budget: the longest results were cut to one length",
    )


def _uncut(unit: Unit, index: int) -> tuple[ContextItem, int]:
    """Return what to cut an item from, and its size: the whole, where it was cut.

    Data that is cut twice says less than data cut once to the same length, and counts
    wrongly what was left out. What stands for an item, such as a reference, stays that.
    """
    item, original = unit.items[index], unit.originals[index]
    cut = {mark.item_id for mark in unit.marks if mark.action == "shortened"}
    others = {mark.item_id for mark in unit.marks if mark.action != "shortened"}
    is_cut = unit.rendition == "shortened" or item.id in cut
    is_data = item.role == "tool" and original.text[:1] in {"[", "{"}
    if is_data and is_cut and item.id not in others and not is_echo(item):
        return original, unit.whole_sizes[index]
    return item, unit.sizes[index]


def _cut_item(
    item: ContextItem, level_tokens: int, size: int, rules: Rules
) -> ContextItem:
    if item.role == "tool":
        return cut_content(item, level_tokens, size, rules)
    count = rules.ruler.text
    over_tokens = size - level_tokens
    calls = list(item.tool_calls)
    for number in sorted(range(len(calls)), key=lambda n: -count(calls[n].arguments)):
        tokens = count(calls[number].arguments)
        if over_tokens <= 0 or calls[number].type == "custom":
            continue
        short = shorten_arguments(
            calls[number].arguments, max(MIN_TOKENS, tokens - over_tokens), count
        )
        over_tokens -= tokens - count(short)
        calls[number] = changed(calls[number], arguments=short)
    return changed(item, tool_calls=tuple(calls))


def cut_content(item: ContextItem, limit: int, size: int, rules: Rules) -> ContextItem:
    """Return an item of `size` tokens, its text cut so that `limit` are left."""

    def cut(text: str, limit_tokens: int) -> str:
        return shorten_text(text, limit_tokens, rules.ruler.text)

    return item.with_content(_cut_longest(item.content, size - limit, rules, cut))


def _cut_longest(
    content: Content,
    over_tokens: int,
    rules: Rules,
    cut: _Cutter,
    floor_tokens: int = MIN_TOKENS,
) -> Content:
    """Cut text, or the longest text among parts, by so many tokens."""
    count = rules.ruler.text
    if isinstance(content, str):
        return cut(content, max(floor_tokens, count(content) - over_tokens))
    texts = [n for n, part in enumerate(content) if part.type == "text"]
    if not texts:
        return content
    longest = max(texts, key=lambda n: count(_text_of(content[n])))
    text = _text_of(content[longest])
    short = cut(text, max(floor_tokens, count(text) - over_tokens))
    part = content[longest].model_copy(update={"text": short})
    return (*content[:longest], part, *content[longest + 1 :])


def _text_of(part: Part) -> str:
    return part.text if part.type == "text" else ""


def drop_notice(plan: Plan, rules: Rules) -> Plan:
    """Give up the line about left-out messages: the user's own words come first."""
    del rules
    return dataclasses.replace(plan, notice_tokens=0)


def shorten_latest_user(plan: Plan, rules: Rules) -> Plan:
    """Cut the latest user message in the middle: the last thing to be touched."""
    index = latest_user_index(plan)
    if index is None or plan.units[index].pinned:
        return plan
    unit = plan.units[index]
    item = unit.items[0]
    over_tokens = plan.excess_tokens

    def cut(text: str, limit_tokens: int) -> str:
        return shorten_middle(text, limit_tokens, rules.ruler.text)

    short = item.with_content(
        _cut_longest(item.content, over_tokens, rules, cut, _LEAST_USER_TOKENS)
    )
    size = rules.ruler.item(short)
    if size >= unit.tokens or short.text[:_HEAD_CHARS] != item.text[:_HEAD_CHARS]:
        return plan  # a marker alone is not what the user said: better an error
    units = list(plan.units)
    units[index] = unit.show(
        (short,),
        (size,),
        rendition="shortened",
        reason="over budget: the user's own words were cut in the middle",
    )
    return dataclasses.replace(plan, units=tuple(units))


def keep_only_the_question(plan: Plan, rules: Rules) -> Plan:
    """Leave out even the newest round, where it and the question cannot both stay.

    The question is then shown as whole as it can be.
    """
    index = latest_user_index(plan)
    rounds = [n for n in _rounds(plan) if not plan.units[n].pinned]
    if index is None or not rounds:
        return plan
    units = list(plan.units)
    reason = "over budget: there is room for the user's question only"
    for place in rounds:
        if units[place].is_shown:
            units[place] = units[place].leave_out(reason)
    user = units[index]
    units[index] = whole(user)
    alone = dataclasses.replace(plan, units=tuple(units), has_gap=True)
    return alone if alone.fits_limit else shorten_latest_user(alone, rules)
