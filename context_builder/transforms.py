"""Runs a caller's own transforms on what was decided, and holds them to the promises.

What comes back is checked as if it had come in, said by the adapter, checked by the
vendor's rules, and counted anew from the finished request. A transform that raises is
an error of the build: what it was to take out may not be sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from context_builder.collect.checks import check_item
from context_builder.collect.plain import need_list, wrong
from context_builder.decide.own_rungs import name_of
from context_builder.decide.rules import PriorityRule, Rung
from context_builder.errors import (
    BudgetExceededError,
    ContextBuilderError,
    InvalidItemError,
)
from context_builder.items import ContextItem, Mark
from context_builder.render import Rendering

if TYPE_CHECKING:
    from context_builder.render import Prompt, ProviderAdapter
    from context_builder.report import Outcome

__all__ = ["Said", "TargetHooks", "Transform", "as_said", "transformed"]

Transform = Callable[[tuple[ContextItem, ...]], Iterable[ContextItem]]
"""Takes the items that were decided on, oldest first, and returns those to be said.

It has to be deterministic. The system prompt is not among them."""

_FIELD = "before_build"
_CHANGED = "changed by a before_build hook"
_GONE = "left out by a before_build hook"
_ADDED = "put in by a before_build hook"


@dataclasses.dataclass(frozen=True, slots=True)
class TargetHooks:
    """The hooks that take part in a decision; only transforms may raise."""

    ladder: tuple[Rung, ...] | None = None
    priority_rule: PriorityRule | None = None
    transforms: tuple[Transform, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """A request as transforms made it."""

    rendering: Rendering
    tokens: int
    """A count of the finished request."""
    changed: Mapping[str, ContextItem | None]
    """Items that are not as decided, by id; None: it is not there any more."""


def transformed(
    prompt: Prompt,
    transforms: Sequence[Transform],
    *,
    adapter: ProviderAdapter,
    count: Callable[[str], int],
    limit_tokens: int,
) -> Said | None:
    """Return a prompt as the transforms want it said; None: they changed nothing.

    Raises:
        InvalidItemError: If a transform raises, or returns what cannot be said.
        BudgetExceededError: If the request is over the budget then.
        AdapterError: If the vendor cannot express it.
    """
    items = prompt.items
    for transform in transforms:
        items = _checked(_run(transform, items), name_of(transform))
    if items == prompt.items:
        return None
    changed = dataclasses.replace(
        prompt,
        items=items,
        stable_items=_stable(prompt, items),
        moved_items=len(items),  # reasoning that is bound to its prefix: it is another
    )
    rendering = adapter.render(changed)
    problems = [
        problem
        for problem in adapter.validate(rendering.request)
        if prompt.model is not None or not problem.where.startswith("model")
    ]
    if problems:
        message = f"before_build: the request is not valid any more: {problems[0]}"
        raise InvalidItemError(message, field=_FIELD)
    tokens = adapter.request_tokens(rendering.request, count)
    if tokens > limit_tokens:
        fixed = adapter.fixed_tokens(changed, count)
        rest = max(0, tokens - sum(fixed.values()))
        raise BudgetExceededError(
            needed_tokens=tokens,
            limit_tokens=limit_tokens,
            parts={**fixed, "messages after before_build": rest},
        )
    marks = tuple(_marks(prompt.items, items))
    rendering = dataclasses.replace(rendering, repairs=(*rendering.repairs, *marks))
    return Said(rendering, tokens, _differences(prompt.items, items))


def _run(transform: Transform, items: tuple[ContextItem, ...]) -> object:
    try:
        return transform(items)
    except ContextBuilderError:
        raise
    except Exception as error:
        message = (
            f"before_build: {name_of(transform)} raised {type(error).__name__}; "
            "nothing is sent that it did not see"
        )
        raise InvalidItemError(message, field=_FIELD) from error


def _checked(returned: object, name: str) -> tuple[ContextItem, ...]:
    """Return items that can be said: typed, and each call before its results.

    Raises:
        InvalidItemError: If they are something else.
    """
    items = tuple(need_list(returned, _FIELD))
    for item in items:
        if not isinstance(item, ContextItem):
            raise wrong(item, _FIELD, "ContextItems")
        if item.source not in _OWN:
            check_item(item)
    if _is_paired(items):
        return items
    message = (
        f"before_build: {name} parted a call from its result; both stay, or both go"
    )
    raise InvalidItemError(message, field=_FIELD)


_OWN = frozenset({"notice", "recall", "repair"})
"""Sources of the library's own items, which only pass through."""


def _is_paired(items: Iterable[ContextItem]) -> bool:
    """Say whether each call is followed by its results, in the order of the calls."""
    due: list[str] = []
    for item in items:
        if item.role == "tool":
            if not due or due.pop(0) != item.tool_call_id:
                return False
        elif due:
            return False
        else:
            due = [call.id for call in item.tool_calls]
    return not due


def _stable(prompt: Prompt, items: Sequence[ContextItem]) -> int:
    """Return how many items stay until the next compaction, as far as they match."""
    return min(prompt.stable_items, len(items))


def _differences(
    before: Iterable[ContextItem], after: Iterable[ContextItem]
) -> dict[str, ContextItem | None]:
    now = {item.id: item for item in after}
    return {item.id: now.get(item.id) for item in before if now.get(item.id) != item}


def _marks(
    before: Sequence[ContextItem], after: Sequence[ContextItem]
) -> Iterable[Mark]:
    for item_id, now in _differences(before, after).items():
        yield Mark(item_id, "repaired", _GONE if now is None else _CHANGED)
    known = {item.id for item in before}
    for item in after:
        if item.id not in known:
            yield Mark(item.id or item.role, "repaired", _ADDED)


def as_said(
    outcomes: Iterable[Outcome],
    changed: Mapping[str, ContextItem | None],
    measure: Callable[[ContextItem], int],
) -> tuple[Outcome, ...]:
    """Return outcomes as they are after the transforms.

    Args:
        outcomes: As they were decided.
        changed: The items that are not as decided.
        measure: Gives the tokens of an item.
    """
    return tuple(
        _outcome(outcome, changed[outcome.item_id], measure)
        if outcome.item_id in changed
        else outcome
        for outcome in outcomes
    )


def _outcome(
    outcome: Outcome, item: ContextItem | None, measure: Callable[[ContextItem], int]
) -> Outcome:
    if item is None:
        return dataclasses.replace(
            outcome, action="evicted", tokens_after=0, reason=_GONE
        )
    tokens = measure(item)
    is_less = tokens < outcome.tokens_after
    return dataclasses.replace(
        outcome,
        action="shortened" if is_less else "repaired",
        tokens_after=tokens,
        reason=_CHANGED,
    )
