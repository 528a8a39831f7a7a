"""Tells what a fold decided about every item, for the report."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.rules import Rules, class_of, rating
from context_builder.report import ClassUse, Outcome, SummaryAction, SummaryOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.decide.fold import Fold
    from context_builder.decide.summaries import Summaries, SummaryTry
    from context_builder.items import Action, ContextItem, Mark, Unit
    from context_builder.settings import ContextClass

__all__ = ["class_uses", "outcomes", "pending_calls", "summary_outcomes"]

_MADE_HERE = frozenset({"repair", "recall"})
_BY_RENDITION: Mapping[str, Action] = {
    "whole": "kept",
    "shortened": "shortened",
    "reference": "referenced",
    "summary": "summarized",
    "absent": "evicted",
}


def outcomes(
    fold: Fold,
    rules: Rules,
    left_out: Mapping[str, Mark],
    items: Mapping[str, ContextItem],
) -> tuple[Outcome, ...]:
    """Return what became of every item of the conversation, in order.

    Args:
        fold: The decision.
        rules: What to measure with.
        left_out: Items that stand in no unit, and why.
        items: Those items, by id.
    """
    told: list[tuple[int, Outcome]] = []
    if fold.system is not None:
        told.append((-1, _system(fold)))
    turn = fold.turn
    for unit in fold.shown.all_units():
        told += [
            (_number(one.item_id), _covered(one, unit, fold))
            for one in _of_unit(unit, turn, rules)
        ]
    for item_id, mark in left_out.items():
        told.append((_number(item_id), _left_out(items[item_id], mark, rules)))
    told.sort(key=lambda pair: pair[0])
    return tuple(outcome for _, outcome in told)


def _number(item_id: str) -> int:
    if item_id.startswith("s"):
        return 0  # summaries stand before all items
    return int(item_id[1:].partition(".")[0])


def _system(fold: Fold) -> Outcome:
    assert fold.system is not None  # noqa: S101  the caller asked
    tokens = fold.fixed["system"]
    return Outcome(
        item_id=fold.system.id,
        role="system",
        source=fold.system.source,
        action="kept",
        tokens_before=tokens,
        tokens_after=tokens,
        reason="",
        context_class="system",
        priority=fold.system.priority,
    )


def _left_out(item: ContextItem, mark: Mark, rules: Rules) -> Outcome:
    return Outcome(
        item_id=item.id,
        role=item.role,
        source=item.source,
        action=mark.action,
        tokens_before=rules.ruler.whole(item),
        tokens_after=0,
        reason=mark.reason,
        context_class="history",
        priority=item.priority,
    )


def _of_unit(unit: Unit, turn: int, rules: Rules) -> list[Outcome]:
    rated, name = rating(unit, turn, rules), class_of(unit, turn)
    told = []
    for index, item in enumerate(unit.originals):
        if item.source in _MADE_HERE:
            continue
        action, reason = _fate(unit, index)
        told.append(
            Outcome(
                item_id=item.id,
                role=item.role,
                source=item.source,
                action=action,
                tokens_before=unit.whole_sizes[index],
                tokens_after=unit.sizes[index] if unit.is_shown else 0,
                reason=reason,
                context_class=name,
                priority=rated,
            )
        )
    return told


def _covered(outcome: Outcome, unit: Unit, fold: Fold) -> Outcome:
    """Say of what left that a summary tells of it."""
    summary = fold.summaries.current
    if summary is None or unit.is_shown or unit.id not in fold.summaries.told:
        return outcome
    if outcome.action != "evicted":
        return outcome
    reason = f"summary {summary.item.id} tells of it"
    return dataclasses.replace(outcome, action="summarized", reason=reason)


def summary_outcomes(fold: Fold) -> tuple[SummaryOutcome, ...]:
    """Return what became of every wish for a summary, oldest first."""
    return tuple(
        SummaryOutcome(
            summary_id=tried.summary_id,
            action=action,
            items=len(tried.covers),
            made_by=tried.made_by,
            reason=reason,
        )
        for tried in fold.summaries.tries
        for action, reason in [_summary_fate(tried, fold.summaries)]
    )


def _summary_fate(tried: SummaryTry, summaries: Summaries) -> tuple[SummaryAction, str]:
    if tried.summary_id is None:
        return "refused", tried.reason
    if tried.summary_id in summaries.spoiled:
        return "dropped", summaries.spoiled[tried.summary_id]
    current = summaries.current
    if current is not None and current.item.id == tried.summary_id:
        if summaries.is_shown:
            return "shown", ""
        return "left_out", "over budget: the current turn comes first"
    if current is not None and summaries.includes(tried.summary_id):
        return "replaced", f"summary {current.item.id} tells of it as well"
    return "left_out", "not all that it covers has left here, or it is too large here"


def _fate(unit: Unit, index: int) -> tuple[Action, str]:
    """Return what happened to an item; of several things the heaviest loss is told."""
    item = unit.originals[index]
    if not unit.marks:
        is_whole = unit.is_shown and unit.items[index] is item
        return _pending(unit, item) if is_whole else _loss(unit, None)
    marks = [mark for mark in unit.marks if mark.item_id == item.id]
    repairs = [mark.reason for mark in marks if mark.action == "repaired"]
    others = [mark for mark in marks if mark.action != "repaired"]
    if unit.is_shown and unit.items[index] is item:
        return ("repaired", "; ".join(repairs)) if repairs else _pending(unit, item)
    action, reason = _loss(unit, others[-1] if others else None)
    return action, "; ".join([reason, *repairs])


def _loss(unit: Unit, last: Mark | None) -> tuple[Action, str]:
    if last is not None and (unit.is_shown or last.action == "deduplicated"):
        return last.action, last.reason
    return _BY_RENDITION[unit.rendition], unit.reason


def _pending(unit: Unit, item: ContextItem) -> tuple[Action, str]:
    if item.role != "assistant" or unit.kind != "tool":
        return "kept", ""
    waiting = sum(
        1 for one in unit.originals if one.role == "tool" and one.source == "repair"
    )
    if not waiting:
        return "kept", ""
    calls = "a call" if waiting == 1 else f"{waiting} calls"
    return "repaired", f"{calls} without a result: a stand-in holds the place"


def class_uses(fold: Fold, rules: Rules) -> tuple[ClassUse, ...]:
    """Return what each class takes of the budget."""
    tokens: dict[ContextClass, int] = {}
    turn = fold.turn
    for unit in fold.shown.live:
        name = class_of(unit, turn)
        tokens[name] = tokens.get(name, 0) + unit.tokens
    tokens["system"] = tokens.get("system", 0) + fold.fixed_tokens
    tokens["history"] = tokens.get("history", 0) + fold.notice_tokens
    return tuple(
        ClassUse(name, tokens.get(name, 0), int(fold.limit_tokens * share))
        for name, share in rules.settings.shares.by_class().items()
    )


def pending_calls(fold: Fold) -> int:
    """Return how many calls in the request still wait for their result."""
    return sum(
        1
        for unit in fold.shown.live
        for item in unit.originals
        if item.role == "tool" and item.source == "repair"
    )
