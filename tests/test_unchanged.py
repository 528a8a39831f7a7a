"""The same request asked for again: handed out at once, and never a stale one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from context_builder import (
    BudgetExceededError,
    ContextBuilder,
    InvalidItemError,
    Settings,
)
from context_builder.hooks import ContextProvider, Hooks
from context_builder.testing import FakeSummarizer, WordCounter, turns
from tests.test_complexity import calls_of

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "gpt-4o"


def session(**settings: Any) -> ContextBuilder:
    """Return a session that was built and viewed."""
    ctx = ContextBuilder(max_tokens=600, counter=WordCounter(), **settings)
    ctx.add_system_prompt("be terse")
    ctx.extend(turns(30))
    ctx.add_user_message("why")
    ctx.build()
    ctx.view()
    return ctx


def test_an_unchanged_request_is_handed_out_at_once() -> None:
    """A comparison with what was asked for last: nothing is looked up or locked."""
    ctx = session()
    assert calls_of(ctx.view) < 8
    messages = len(ctx.view())
    assert calls_of(ctx.build) < 16 + 4 * messages


CHANGES: dict[str, Callable[[ContextBuilder], object]] = {
    "append": lambda ctx: ctx.add_user_message("because"),
    "edit": lambda ctx: ctx.edit(ctx.items[-1].id, content="for what reason"),
    "remove": lambda ctx: ctx.remove(ctx.items[-1].id),
    "rewind": lambda ctx: ctx.rewind(ctx.items[-3].id),
    "clear": lambda ctx: ctx.clear(),
    "prompt": lambda ctx: ctx.add_system_prompt("be wordy"),
    "compact": lambda ctx: ctx.compact(),
    "settings": lambda ctx: ctx.configure(settings=Settings(keep_last_turns=2)),
    "budget": lambda ctx: ctx.configure(max_tokens=200),
    "counter's model": lambda ctx: ctx.configure(model=MODEL),
}


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_stale_is_shown_after_a_change(name: str) -> None:
    """What is viewed and built is what a session says that was never asked before."""
    ctx = session()
    CHANGES[name](ctx)
    fresh = ContextBuilder.load(
        ctx.dump(),
        max_tokens=ctx.budget_tokens,
        settings=ctx.settings,
        model=ctx.model,
        counter=WordCounter(),
    )
    assert list(ctx.view()) == fresh.build() == ctx.build()


def test_each_target_and_budget_has_its_own() -> None:
    """Whatever was asked for in between, in whatever way."""
    ctx = session()
    ours, theirs = ctx.build(), ctx.build("anthropic", model="claude-sonnet-4-5")
    small = ctx.build(max_tokens=150)
    assert len({len(ours), len(small)}) == 2
    for _ in range(2):
        assert list(ctx.view()) == ours
        assert list(ctx.view(max_tokens=150)) == small == ctx.build(max_tokens=150)
        assert list(ctx.view("anthropic", model="claude-sonnet-4-5")) == theirs
        assert ctx.build() == ours


def test_what_is_built_again_belongs_to_the_caller() -> None:
    """Changing it changes neither the next build nor the view."""
    ctx = session()
    before = ctx.build()
    taken = ctx.build()
    taken[-1]["content"] = "changed"
    del taken[0]
    assert ctx.build() == before == list(ctx.view())


def test_what_is_no_budget_is_refused_however_often_it_was_asked_for() -> None:
    """`True` and `1.0` are equal to a number, and are none."""
    ctx = ContextBuilder(max_tokens=600, counter=WordCounter())
    ctx.add_user_message("hi")
    ctx.view(max_tokens=100)
    for wrong in (100.0, True):
        with pytest.raises(InvalidItemError):
            ctx.view(max_tokens=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidItemError):
            ctx.build(max_tokens=wrong)  # type: ignore[arg-type]


def test_an_answer_is_one_to_the_request_that_was_viewed_again() -> None:
    """Its bill counts for the request, though that was handed out unchanged."""
    ctx = ContextBuilder(model=MODEL, max_tokens=600)
    ctx.add_user_message("hi")
    answer = {
        "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        "model": MODEL,
    }
    ctx.build()
    ctx.view()
    ctx.add_response(answer)
    bills = [entry for entry in ctx.dump() if "billed_tokens" in str(entry)]
    assert len(bills) == 1


def test_a_summariser_is_asked_again_however_often_nothing_changed() -> None:
    """It may have something to say: the short way is not taken where there is one."""
    ctx = session(summarizer=FakeSummarizer())
    assert calls_of(ctx.view) > 8


def test_providers_are_asked_at_each_message_and_builds_are_told_of() -> None:
    """The short way does not pass by a context provider or another model's build."""
    said = iter(range(100))
    switches: list[str | None] = []
    hooks = Hooks(
        context_providers=(ContextProvider("now", lambda: f"it is {next(said)}"),),
        on_model_switch=(lambda switch: switches.append(switch.model),),
    )
    ctx = session(model=MODEL, hooks=hooks)
    for name in (MODEL, "gpt-4o-mini", "gpt-4o-mini", MODEL):
        ctx.view(model=name)
    assert switches == ["gpt-4o-mini", MODEL]
    ctx.add_user_message("and now")
    assert any("it is" in str(message) for message in ctx.view())
    assert any("it is" in str(message) for message in ctx.build())


def test_a_build_is_clean_after_another_one_that_failed() -> None:
    """What was asked for in vain is not what was built last."""
    ctx = session()
    before = ctx.build()
    with pytest.raises(BudgetExceededError):
        ctx.build(max_tokens=1)
    assert ctx.build() == before == list(ctx.view())
    assert not ctx.is_dirty


def test_a_build_is_clean_after_many_others_were_explained() -> None:
    """Of the targets that were asked for, only the last few are remembered."""
    ctx = session()
    before = ctx.build()
    for budget in range(200, 220):
        ctx.explain(max_tokens=budget)
    assert ctx.build() == before
    assert not ctx.is_dirty
