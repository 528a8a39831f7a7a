"""A caller's own code in a session: when it runs, what it may do, what it may not."""

from __future__ import annotations

import itertools
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    InvalidItemError,
    SessionManager,
)
from context_builder.hooks import (
    Compaction,
    ContextProvider,
    Hooks,
    ModelSwitch,
)
from context_builder.testing import WordCounter, tool_call, turns
from tests import strategies
from tests.checks import MODEL, check_valid
from tests.operations import Op, Session
from tests.recount import recount
from tests.trials import outcome_of, reloaded

if TYPE_CHECKING:
    from collections.abc import Callable


def builder(max_tokens: int = 1_500, **hooks: Any) -> ContextBuilder:
    """Return a builder that counts words, with hooks."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), hooks=Hooks(**hooks)
    )


def ticking() -> Callable[[], str]:
    """Return a clock that says another time whenever it is asked."""
    ticks = itertools.count(1)
    return lambda: f"It is {next(ticks)} o'clock."


def talk(ctx: ContextBuilder, count: int, words: int = 40) -> None:
    """Have so many turns, each built."""
    for message in turns(count, words=words, tools=True):
        ctx.extend([message])
        ctx.build()


def texts(ctx: ContextBuilder) -> list[str]:
    """Return what the messages say."""
    return [str(message["content"]) for message in ctx.build()]


# --- context providers ----------------------------------------------------------------


def test_a_value_stands_just_before_its_message_and_stays_there() -> None:
    """Volatile text is late, and the next request still begins with this one."""
    ctx = builder()
    ctx.add_context_provider("time", ticking())
    ctx.add_user_message("one")
    first = ctx.build()
    assert [message["content"] for message in first] == [
        '<background source="time">It is 1 o\'clock.</background>',
        "one",
    ]
    ctx.add_assistant_message("1")
    ctx.add_user_message("two")
    second = ctx.build()
    assert second[:2] == first
    assert "It is 2 o'clock." in second[3]["content"]
    assert not ctx.explain().prefix_moves


def test_a_provider_is_asked_once_for_each_user_message() -> None:
    """Not by builds, answers, tool results or a replay; an import is one message."""
    asked: list[int] = []

    def count() -> str:
        asked.append(1)
        return "asked"

    ctx = builder(context_providers=(ContextProvider("count", count),))
    ctx.add_user_message("one")
    ctx.build()
    ctx.add_assistant_message(tool_calls=[tool_call("c")])
    ctx.add_tool_result("search", "found", tool_call_id="c")
    ctx.build("anthropic", model=MODEL)
    assert len(asked) == 1
    logged = ctx.extend(list(turns(3)))
    assert len(logged) == 6
    assert all(item.source != "context:count" for item in logged)
    assert len(asked) == 2
    outcome_of(reloaded(ctx, max_tokens=1_500))
    assert len(asked) == 2


def test_a_stable_value_enters_again_only_when_it_changed() -> None:
    """It stays through compactions; another value supersedes it."""
    profile = ["Likes tea."]
    ctx = builder(
        context_providers=(
            ContextProvider("profile", lambda: profile[0], is_volatile=False),
        )
    )
    talk(ctx, 40)
    assert ctx.explain().compactions
    said = [item for item in ctx.items if item.source == "context:profile"]
    assert len(said) == 1
    assert sum("Likes tea." in text for text in texts(ctx)) == 1
    profile[0] = "Likes coffee."
    ctx.add_user_message("again")
    assert not any("Likes tea." in text for text in texts(ctx)[1:])
    assert sum("Likes coffee." in text for text in texts(ctx)) == 1
    ctx.clear()
    ctx.add_user_message("afresh")
    assert "Likes coffee." in texts(ctx)[0]


def test_at_a_compaction_stale_values_go_first_and_the_latest_stays() -> None:
    """No item of history leaves while a stale value is there."""
    seen: list[Compaction] = []
    ctx = builder(
        context_providers=(ContextProvider("time", ticking()),),
        on_compaction=(seen.append,),
    )
    for message in turns(40, words=40, tools=True):
        ctx.extend([message])
        known = len(seen)
        said = texts(ctx)
        latest = [i.text for i in ctx.items if i.source == "context:time"][-1]
        assert any(latest in text for text in said)
        if len(seen) > known:
            assert sum("o'clock." in text for text in said) == 1
    assert len(seen) > 2
    stale = [o for o in ctx.explain().outcomes if o.source == "context:time"]
    assert {o.priority for o in stale} == {0, 90}
    assert "o'clock" not in ctx.recall("o'clock")


def test_a_value_that_leaves_no_room_goes() -> None:
    """Rather than an error: it is optional."""
    ctx = builder(300, context_providers=(ContextProvider("docs", lambda: "x " * 900),))
    ctx.add_user_message("hello")
    assert texts(ctx) == ["hello"]


def test_a_provider_that_fails_is_reported_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The chat goes on; what it raised is kept, and content is never logged."""

    async def later() -> str:
        return "secret"

    def broken() -> str:
        message = "secret"
        raise RuntimeError(message)

    ctx = builder()
    for name, function in (("a", broken), ("b", later), ("c", lambda: 7)):
        ctx.add_context_provider(name, function)  # type: ignore[arg-type]
    ctx.add_context_provider("d", lambda: "  ")
    ctx.add_context_provider("e", lambda: None)
    with caplog.at_level(logging.WARNING, logger="context_builder"):
        ctx.add_user_message("hello")
    assert texts(ctx) == ["hello"]
    assert [(f.hook, f.name) for f in ctx.hook_failures] == [
        ("context_provider", name) for name in "abc"
    ]
    assert "hook_failed" in caplog.text
    assert "secret" not in caplog.text


def test_a_provider_that_adds_a_message_is_not_asked_for_it() -> None:
    """It would never end."""
    ctx = builder()

    def nested() -> str:
        ctx.add_user_message("from inside")
        return "value"

    ctx.add_context_provider("nested", nested)
    ctx.add_user_message("hello")
    assert [item.text for item in ctx.items] == ["from inside", "value", "hello"]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, 'a"b', 7])
def test_a_provider_needs_a_name(name: Any) -> None:
    """One that can stand in a frame."""
    with pytest.raises(InvalidItemError):
        builder().add_context_provider(name, lambda: "x")
    with pytest.raises(InvalidItemError):
        builder(context_providers=(ContextProvider(name, lambda: "x"),))


@given(strategies.logs(), strategies.budgets())
def test_with_providers_the_promises_hold(ops: list[Op], budget: int) -> None:
    """A reloaded session gives the same bytes, and the request fits and is valid."""
    ctx = ContextBuilder(
        max_tokens=budget,
        counter=WordCounter(),
        hooks=Hooks(
            context_providers=(
                ContextProvider("time", ticking()),
                ContextProvider("who", lambda: "Ann, 41", is_volatile=False),
            )
        ),
    )
    Session(ctx)
    for op in ops:
        if op.door not in {"edit", "remove", "rewind"}:
            getattr(ctx, op.door)(**op.given)
    again = reloaded(ctx, max_tokens=budget, counter=WordCounter())
    assert outcome_of(again) == outcome_of(ctx)
    try:
        request = ctx.request(model=MODEL)
    except (BudgetExceededError, AdapterError):
        return
    check_valid(request)
    assert recount(request, WordCounter().count) <= budget


def test_sessions_are_given_their_hooks_again() -> None:
    """A manager's hooks are there in every block; a block's own last as long as it."""
    with SessionManager(
        max_tokens=1_000,
        hooks=Hooks(context_providers=(ContextProvider("time", ticking()),)),
    ) as manager:
        with manager.open("u") as ctx:
            ctx.add_context_provider("mood", lambda: "sunny")
            ctx.add_user_message("one")
        with manager.open("u") as ctx:
            ctx.add_user_message("two")
            said = [item.text for item in ctx.items]
    assert said == ["It is 1 o'clock.", "sunny", "one", "It is 2 o'clock.", "two"]


# --- on_compaction, on_model_switch ---------------------------------------------------


def test_each_compaction_is_told_once() -> None:
    """With what moved and what it freed; however often is built, and reloaded."""
    seen: list[Compaction] = []
    ctx = builder(on_compaction=(seen.append,))
    talk(ctx, 40)
    for _ in range(3):
        ctx.build()
        ctx.explain()
        ctx.request(model="gpt-4o-mini", max_tokens=1_500)
    mine = [one for one in seen if one.model is None]
    assert len(mine) == ctx.explain().compactions > 2
    assert len({one.revision for one in mine}) == len(mine)
    for one in mine:
        assert one.tokens_after < one.tokens_before
        assert one.tokens_after <= one.budget_tokens == 1_500
        assert one.freed_tokens == one.tokens_before - one.tokens_after
        assert one.moved
        assert all(moved.reason for moved in one.moved)
        assert sum(one.counts.values()) == len(one.item_ids)
        assert one.to_dict()["revision"] == one.revision
    again: list[Compaction] = []
    loaded = reloaded(
        ctx,
        max_tokens=1_500,
        counter=WordCounter(),
        hooks=Hooks(on_compaction=(again.append,)),
    )
    loaded.build()
    assert again == []
    talk(loaded, 20)
    assert again


def test_a_compaction_that_was_asked_for_is_told_at_once() -> None:
    """With the reason that somebody asked."""
    seen: list[Compaction] = []
    ctx = builder(on_compaction=(seen.append,))
    ctx.extend(list(turns(6, words=40)))
    ctx.compact()
    assert [one.reason for one in seen] == ["compaction that was asked for"]
    ctx.build()
    assert len(seen) == 1


def test_a_request_in_between_is_no_compaction() -> None:
    """What is decided on a copy, while results are due, is not told."""
    seen: list[Compaction] = []
    ctx = builder(400, on_compaction=(seen.append,))
    ctx.add_user_message("w " * 200)
    ctx.add_assistant_message("w " * 150)
    ctx.add_user_message("and?")
    ctx.add_assistant_message("w " * 60, tool_calls=[tool_call("c")])
    ctx.build()
    assert ctx.explain().compactions == 1
    assert seen == []
    ctx.add_tool_result("search", "found", tool_call_id="c")
    ctx.build()
    ctx.build()
    assert len(seen) == 1


def test_hooks_are_called_outside_the_lock() -> None:
    """One that waits for another thread that uses the session does not hang."""
    done: list[bool] = []

    def ask(_: Compaction) -> None:
        other = threading.Thread(target=lambda: done.append(bool(ctx.explain())))
        other.start()
        other.join(timeout=20)

    ctx = builder(on_compaction=(ask,))
    talk(ctx, 20)
    assert done
    assert all(done)


def test_a_failing_hook_is_reported_and_harms_nobody() -> None:
    """The build goes on, and the others are told."""
    seen: list[object] = []

    def broken(_: object) -> None:
        raise ZeroDivisionError

    ctx = builder(
        on_compaction=(broken, seen.append), on_model_switch=(broken, seen.append)
    )
    talk(ctx, 20)
    ctx.build(model="gpt-4o")
    assert {(f.hook, f.name) for f in ctx.hook_failures} == {
        ("on_compaction", "broken"),
        ("on_model_switch", "broken"),
    }
    assert {type(one) for one in seen} == {Compaction, ModelSwitch}


def test_hooks_can_be_changed() -> None:
    """Others take their place; what was added to the session stays, told things too."""
    told: list[Compaction] = []
    ctx = ContextBuilder(
        model="gpt-4o",
        max_tokens=300,
        hooks=Hooks(context_providers=(ContextProvider("time", lambda: "10:00"),)),
    )
    ctx.add_context_provider("place", lambda: "at home")
    talk(ctx, 20)
    compactions = ctx.explain().compactions
    ctx.build()
    ctx.configure(
        hooks=Hooks(
            context_providers=(ContextProvider("mood", lambda: "calm"),),
            on_compaction=(told.append,),
        )
    )
    ctx.build()
    assert (compactions > 0, told) == (True, [])  # it happened before
    ctx.add_user_message("and now?")
    values = [i.text for i in ctx.items[-3:]]
    assert sorted(values) == ["and now?", "at home", "calm"]
    ctx.compact()
    ctx.build()
    assert all(one.revision >= compactions for one in told)


def test_a_switch_of_the_model_is_told() -> None:
    """Of requests, not of looking; a new setting counts at the next build."""
    seen: list[ModelSwitch] = []
    ctx = ContextBuilder(model="gpt-4o", hooks=Hooks(on_model_switch=(seen.append,)))
    ctx.add_user_message("hello")
    ctx.build()
    ctx.explain("anthropic", model="claude-sonnet-4-5")
    assert seen == []
    ctx.request("anthropic", model="claude-sonnet-4-5")
    ctx.configure(model="gpt-4o-mini")
    ctx.build()
    ctx.build()
    assert [(s.former_model, s.target, s.model) for s in seen] == [
        ("gpt-4o", "anthropic", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "openai", "gpt-4o-mini"),
    ]
