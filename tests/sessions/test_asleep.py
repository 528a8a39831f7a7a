"""A session that sleeps stays as it was, in little memory, and goes on at once."""

from __future__ import annotations

import json
import os
import pickle
import sys
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.collect.log import SessionLog
from context_builder.hooks import Hooks
from context_builder.items import ContextItem
from context_builder.packing import Texts, decided, pack, unpack
from context_builder.render.script import Spoken
from context_builder.sessions import SessionManager
from context_builder.sessions.asleep import PackedSession
from context_builder.testing import FakeSummarizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder import ContextBuilder

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}


def turn(number: int) -> list[dict[str, Any]]:
    """Return a question, a call, its result and an answer."""
    rows = [{"order": f"A-{number}{row}", "state": "late" * 9} for row in range(9)]
    function = {"name": "orders", "arguments": json.dumps({"page": number})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "user", "content": f"Which order of day {number} is late, and why?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(rows)},
        {
            "role": "assistant",
            "content": f"Order A-{number}3 waits at the border. " * 9,
        },
    ]


def both(**settings: Any) -> tuple[SessionManager, SessionManager]:
    """Return two managers: sessions of one sleep between turns, the other's never."""
    known: dict[str, Any] = {"model": "gpt-4o", "max_tokens": 900} | settings
    return (
        SessionManager(max_awake=1, clock=lambda: 1.0, **known),
        SessionManager(max_awake=64, clock=lambda: 1.0, **known),
    )


def let_sleep(sessions: SessionManager) -> None:
    """Have another session take the place of the one that was used last."""
    with sessions.open("other") as ctx:
        ctx.add_user_message("?")


def said(ctx: ContextBuilder) -> list[Any]:
    """Return what every vendor is asked, and what is told of it."""
    return [
        *(ctx.request(target, model=MODELS[target]) for target in MODELS),
        ctx.explain().compactions,
        ctx.explain().prefix_moves,
        [str(outcome) for outcome in ctx.explain().outcomes],
    ]


def test_it_goes_on_as_if_it_had_been_awake() -> None:
    """Requests and reports are the same, turn by turn, compactions included."""
    sleeper, waker = both()
    for number in range(4):
        seen = []
        for sessions in (sleeper, waker):
            with sessions.open("s") as ctx:
                came = turn(number)
                ctx.extend(came[:3])  # the result may come in after a sleep
                if number == 2:
                    ctx.edit("i2", content="Which was early?")
                    ctx.rewind("i9")
                    ctx.add_memory("Late is over an hour.", cache_key="late")
                if number == 3:
                    ctx.add_tool_result("orders", "again", tool_call_id="call_1")
                    ctx.add_memory("Late is over a day.", cache_key="late")
                seen.append(said(ctx))
            let_sleep(sessions)
            with sessions.open("s") as ctx:
                seen.append(said(ctx))
                ctx.extend(came[3:])
            let_sleep(sessions)
        assert seen[0] == seen[1] == seen[2] == seen[3]
    with sleeper.open("s") as one, waker.open("s") as other:
        assert one.explain().compactions > 0
        assert one.dump() == other.dump()
        assert one.recall("A-13 border") == other.recall("A-13 border")


def test_nothing_is_decided_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wakes takes in what comes in, and nothing of what was there."""
    sleeper, _ = both()
    with sleeper.open("s") as ctx:
        ctx.extend([message for number in range(5) for message in turn(number)])
        ctx.build()
        entries, revision = len(ctx.log), ctx.revision
    let_sleep(sleeper)
    taken: list[int] = []
    real = SessionLog.since

    def since(log: SessionLog, position: int) -> Any:
        found = real(log, position)
        taken.append(len(found))
        return found

    monkeypatch.setattr(SessionLog, "since", since)
    with sleeper.open("s") as ctx:
        assert (len(ctx.log), ctx.revision) == (entries, revision)
        ctx.add_user_message("And now?")
        ctx.build()
    assert taken == [1]


def test_it_takes_less_than_its_texts() -> None:
    """Log and decision together, packed."""
    sleeper, _ = both(max_tokens=20_000)
    came = [message for number in range(24) for message in turn(number)]
    with sleeper.open("s") as ctx:
        ctx.extend(came)
        ctx.build()
    packed = ctx.packed()
    texts = sum(sys.getsizeof(message["content"] or "") for message in came)
    assert packed.keys
    held = [packed.data, *packed.texts]
    assert sum(map(sys.getsizeof, held)) < texts / 2


def test_a_prompt_that_is_asked_is_asked_after_a_sleep() -> None:
    """A callable is no value: it is kept beside what is packed."""
    hours = iter(range(100))
    sleeper, _ = both(system_prompt=lambda: f"It is {next(hours)} o'clock.")
    seen = []
    for _ in range(3):
        with sleeper.open("s") as ctx:
            ctx.add_user_message("hello")
            seen.append(ctx.build()[0]["content"])
        let_sleep(sleeper)
    assert len(set(seen)) == len(seen)


def test_what_cannot_be_packed_is_decided_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object of somebody else's in a decision costs time, and nothing else."""
    sleeper, waker = both()
    name = "context_builder.sessions.asleep.decided"
    monkeypatch.setattr(name, lambda target: decided(target) | {"": lambda: 0})
    for sessions in (sleeper, waker):
        with sessions.open("s") as ctx:
            ctx.extend([message for number in range(5) for message in turn(number)])
            ctx.build()
        assert sessions is waker or not ctx.packed().keys
        let_sleep(sessions)
    with sleeper.open("s") as one, waker.open("s") as other:
        one.add_user_message("And now?")
        other.add_user_message("And now?")
        assert said(one) == said(other)


class Own(ContextItem):
    """Somebody's own kind of item."""


def test_nothing_of_somebody_else_is_packed_or_unpacked() -> None:
    """Only values of the library are; whoever has something else stays as it is."""
    with pytest.raises(pickle.PicklingError, match="Own"):
        pack([Own("user", "Hello.")], {}, Texts())
    with pytest.raises(pickle.PicklingError, match="getcwd"):
        pack([os.getcwd], {}, Texts())
    foreign = zlib.compress(pickle.dumps(os.getcwd))
    with pytest.raises(pickle.UnpicklingError, match="getcwd"):
        unpack(foreign, {}, Texts())
    sleeper, _ = both()
    with sleeper.open("s") as ctx:
        ctx.add_turn([Own("user", "Hello.")])
        before = ctx.build()
    let_sleep(sleeper)
    with sleeper.open("s") as ctx:
        assert ctx.build() == before


def test_hooks_and_summaries_survive() -> None:
    """Rules of somebody's own still count, and an accepted summary still stands."""

    def rule(item: ContextItem, age: int, kind: str) -> int | None:
        del age, kind
        return 95 if "day 0" in item.text else None

    def mark(items: Sequence[ContextItem]) -> Sequence[ContextItem]:
        return items

    hooks = Hooks(priority_rule=rule, before_build=(mark,))
    settings: dict[str, Any] = {
        "hooks": hooks,
        "summarizer": FakeSummarizer(),
    }
    sleeper, waker = both(**settings)
    for number in range(6):
        for sessions in (sleeper, waker):
            with sessions.open("s") as ctx:
                ctx.extend(turn(number)[:3])
                ctx.build()
                ctx.extend(turn(number)[3:])
            let_sleep(sessions)
    with sleeper.open("s") as one, waker.open("s") as other:
        one.add_user_message("And now?")
        other.add_user_message("And now?")
        assert said(one) == said(other)
        assert any("day 0" in str(message) for message in one.build())
        assert one.log.summaries


def test_texts_are_packed_once() -> None:
    """Who sleeps again packs the texts that came in since, and those alone."""
    sleeper, waker = both(max_tokens=20_000)
    blocks: list[tuple[bytes, ...]] = []
    for number in range(20):
        for sessions in (sleeper, waker):
            with sessions.open("s") as ctx:
                ctx.extend(turn(number))
                ctx.build()
            let_sleep(sessions)
        packed = sleeper._desk.cache._asleep[ctx.key][1].packed
        assert isinstance(packed, PackedSession)
        blocks.append(packed.texts)
    assert all(new[:-1] == old for old, new in pairwise(blocks[:8]))
    assert max(map(len, blocks)) == 8  # then they are made one again
    assert len(blocks[8]) == 1
    with sleeper.open("s") as one, waker.open("s") as other:
        assert said(one) == said(other)
        assert one.dump() == other.dump()


def test_what_was_said_is_not_said_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request goes on from the one before the sleep."""
    sleeper, _ = both(max_tokens=20_000)
    with sleeper.open("s") as ctx:
        ctx.extend([message for number in range(9) for message in turn(number)])
        before = ctx.build()
    let_sleep(sleeper)
    added: list[str] = []
    real = Spoken.add

    def add(spoken: Spoken, item: ContextItem, *args: Any) -> None:
        added.append(item.id)
        real(spoken, item, *args)

    monkeypatch.setattr(Spoken, "add", add)
    with sleeper.open("s") as ctx:
        assert ctx.build() == before
        assert added == []
        ctx.add_user_message("And now?")
        assert ctx.build()[:-1] == before
    assert added == ["i37"]
