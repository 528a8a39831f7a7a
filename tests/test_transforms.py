"""Transforms of a caller's own, run on what was decided: `before_build`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    ContextItem,
    InvalidItemError,
)
from context_builder.hooks import (
    Hooks,
)
from context_builder.testing import WordCounter, turns
from tests import strategies
from tests.checks import MODEL, check_valid
from tests.operations import Op, Session
from tests.recount import recount

if TYPE_CHECKING:
    from collections.abc import Iterable

Items = tuple[ContextItem, ...]


def builder(max_tokens: int = 1_500, **hooks: Any) -> ContextBuilder:
    """Return a builder that counts words, with hooks."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), hooks=Hooks(**hooks)
    )


def texts(ctx: ContextBuilder) -> list[str]:
    """Return what the messages say."""
    return [str(message["content"]) for message in ctx.build()]


def without_phone(items: Items) -> Iterable[ContextItem]:
    """Take numbers out."""
    return [
        item.with_content(item.text.replace("555-1234", "[number]"))
        if "555-1234" in item.text
        else item
        for item in items
    ]


def test_a_transform_changes_what_is_said_and_nothing_else() -> None:
    """Not the log; and the report tells of it."""
    ctx = builder(before_build=(without_phone,))
    ctx.add_user_message("Call 555-1234 please, and be quick about it")
    ctx.add_assistant_message("Calling.")
    ctx.add_user_message("Thanks.")
    assert texts(ctx)[0] == "Call [number] please, and be quick about it"
    assert "555-1234" in ctx.items[0].text
    outcome = ctx.explain(item_id="i1")
    assert (outcome.action, outcome.reason) == (
        "repaired",
        "changed by a before_build hook",
    )
    report = ctx.explain()
    assert sum(report.parts.values()) == report.tokens
    assert report.repairs == ("i1: changed by a before_build hook",)


def test_a_transform_may_leave_out_and_put_in() -> None:
    """In pairs; each is told."""

    def shorter(items: Items) -> Iterable[ContextItem]:
        kept = [item for item in items if "secret" not in item.text]
        return [
            *kept[:-1],
            ContextItem(role="user", content="note", source="x"),
            kept[-1],
        ]

    ctx = builder(before_build=(shorter,))
    ctx.add_user_message("a secret")
    ctx.add_user_message("hello")
    assert texts(ctx) == ['<background source="x">note</background>', "hello"]
    assert ctx.explain(item_id="i1").action == "evicted"
    assert ctx.explain(item_id="i1").tokens_after == 0


def _raises(items: Items) -> Items:
    raise KeyError(items)


def _parts(items: Items) -> Items:
    return tuple(item for item in items if item.role != "tool")


def _nothing(items: Items) -> Any:
    del items


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        (_raises, "_raises raised KeyError"),
        (_parts, "parted a call from its result"),
        (_nothing, "before_build"),
        (lambda items: [*items, "text"], "before_build"),
    ],
)
def test_a_transform_that_is_wrong_stops_the_build(transform: Any, said: str) -> None:
    """What it was to take out is not sent."""
    ctx = builder(before_build=(transform,))
    ctx.extend(list(turns(1, tools=True)))
    with pytest.raises(InvalidItemError, match=said):
        ctx.build()
    with pytest.raises(InvalidItemError):
        ctx.request(model=MODEL)


def test_a_transform_that_makes_too_much_is_an_error_with_parts() -> None:
    """Nothing over the budget is handed out."""
    ctx = builder(
        200, before_build=(lambda items: [i.with_content("w " * 300) for i in items],)
    )
    ctx.add_user_message("hello")
    with pytest.raises(BudgetExceededError) as error:
        ctx.build()
    assert error.value.needed_tokens > error.value.limit_tokens == 200
    assert error.value.parts["messages after before_build"] >= 300


@given(strategies.logs(), strategies.budgets(), st.integers(0, 3))
def test_with_any_transform_the_request_fits_and_is_valid(
    ops: list[Op], budget: int, kind: int
) -> None:
    """Or it is an error."""
    transforms: tuple[Any, ...] = (
        lambda items: items[1:],
        lambda items: [i.with_content("x") if i.text else i for i in items],
        reversed,
        lambda items: [i.with_content(i.text * 3) if i.text else i for i in items],
    )
    ctx = ContextBuilder(
        max_tokens=budget,
        counter=WordCounter(),
        hooks=Hooks(before_build=(transforms[kind],)),
    )
    Session(ctx).apply(ops)
    try:
        request = ctx.request(model=MODEL)
        report = ctx.explain(model=MODEL)
    except (BudgetExceededError, AdapterError, InvalidItemError):
        return
    check_valid(request)
    assert recount(request, WordCounter().count) <= report.tokens <= budget
    assert sum(report.parts.values()) == report.tokens
