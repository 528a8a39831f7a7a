"""Reported situations: many threads, sessions apart, a turn that was cut short."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextItem, ToolCall
from context_builder.render import validate
from context_builder.sessions import Session, SessionManager

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sessions.conftest import Clock


def assert_pairs_intact(messages: list[dict[str, Any]]) -> None:
    """Show that every call is answered right behind it, and every result asked for."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert not open_calls


def test_one_session_many_threads(durable_url: str, namespace: str) -> None:
    """A turn added as one unit is never split; no update is lost; no build is stale."""
    sessions = SessionManager(
        store=durable_url, namespace=namespace, context_window=200_000
    )
    errors: list[BaseException] = []

    def work(ctx: Any, thread: int) -> None:
        try:
            for step in range(50):
                call = ToolCall(id=f"c_{thread}_{step}", name="count", arguments="{}")
                ctx.add_turn(
                    [
                        ContextItem(
                            "user", f"thread {thread} ask {step}", source="user"
                        ),
                        ContextItem("assistant", tool_calls=(call,)),
                        ContextItem(
                            "tool",
                            f"thread {thread} result {step}",
                            tool_call_id=call.id,
                        ),
                    ]
                )
                assert_pairs_intact(ctx.build())
                if step % 10 == 0:
                    ctx.commit()
        except BaseException as error:
            errors.append(error)

    with sessions.open("marbles") as ctx:
        ctx.add_system_prompt("You count marbles.")
        threads = [threading.Thread(target=work, args=(ctx, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        ctx.add_user_message("How many in all?")
        first, second = ctx.build(), ctx.build()
        assert first == second
        second.clear()
        assert ctx.build() == first
        ctx.add_user_message("And yellow ones?")
        live = ctx.build()
        assert "And yellow ones?" in str(live[-1])
        assert validate({"messages": live, "model": "m"}, "openai") == []
    sessions.close()
    with (
        SessionManager(
            store=durable_url, namespace=namespace, context_window=200_000
        ) as elsewhere,
        elsewhere.open("marbles") as ctx,
    ):
        assert len(ctx.items) == 1_203
        assert ctx.build() == live


@pytest.mark.parametrize("stored", [True, False])
def test_sessions_apart_and_forgotten(
    tmp_path: Path, clock: Clock, *, stored: bool
) -> None:
    """Nobody sees another's items; idle ones leave memory, and come back if stored."""
    sessions = SessionManager(
        store=f"sqlite:///{tmp_path}/s.db" if stored else None,
        context_window=8_000,
        max_sessions=100,
        idle_seconds=3_600,
        clock=clock,
    )
    for table, dish, text in (
        ("A", "soup", "Only A may know: code word walnut."),
        ("B", "fish", "What is on the menu?"),
    ):
        with sessions.open(f"s-{table}") as ctx:
            ctx.add_system_prompt(f"You serve table {table}.")
            ctx.add_memory(f"menu {table}: {dish}", cache_key="menu")
            ctx.add_user_message(text)
    with sessions.open("s-B") as ctx:
        built = str(ctx.build())
        assert "walnut" not in built
        assert "menu B: fish" in built
        assert "menu A" not in built
    with sessions.open("s-A") as ctx:
        built = str(ctx.build())
        assert "menu A: soup" in built
        assert "menu B" not in built
    for number in range(200 if stored else 1_000):
        with sessions.open(f"idle-{number}") as ctx:
            ctx.add_user_message("filler text " * 200)
    assert sessions.live_sessions == 100
    clock.now += 7_200
    with sessions.open("s-B") as ctx:
        ctx.add_user_message("Still here?")
        sessions.sweep()
    assert sessions.live_sessions == 1
    with sessions.open("s-B") as ctx:
        built = str(ctx.build())
        assert ("What is on the menu?" in built) == stored
        assert "Still here?" in built
    with sessions.open("s-A") as ctx:
        assert ctx.is_new != stored
        assert any("walnut" in item.text for item in ctx.items) == stored
    sessions.close()


async def test_three_users_at_once_never_mix(durable_url: str, namespace: str) -> None:
    """Their blocks are open at the same time, in one process."""
    async with SessionManager(
        store=durable_url, namespace=namespace, max_tokens=9_000
    ) as sessions:
        async with (
            sessions.open("anna") as anna,
            sessions.open("bert") as bert,
            sessions.open("cleo") as cleo,
        ):
            for turn in range(5):
                for ctx in (anna, bert, cleo):
                    ctx.add_user_message(f"{ctx.session_id} says {turn}")
                    await ctx.acommit()
        for name in ("anna", "bert", "cleo"):
            async with sessions.open(name) as ctx:
                assert [item.text for item in ctx.items] == [
                    f"{name} says {turn}" for turn in range(5)
                ]


def test_parallel_calls_half_answered(durable_url: str, namespace: str) -> None:
    """A turn that was cut short is valid next time; a late answer finds its call."""
    settings: dict[str, Any] = {"namespace": namespace, "context_window": 8_000}
    calls = [ToolCall(id=f"p{n}", name="station") for n in (1, 2, 3)]

    def interrupted(ctx: Session) -> None:
        ctx.add_user_message("Read stations north, south and west.")
        ctx.add_assistant_message("Reading.", tool_calls=calls)
        ctx.add_tool_result("station", "north: 11 degrees", tool_call_id="p1")
        raise KeyboardInterrupt

    with (
        SessionManager(store=durable_url, **settings) as sessions,
        pytest.raises(KeyboardInterrupt),
        sessions.open("weather") as ctx,
    ):
        interrupted(ctx)
    with (
        SessionManager(store=durable_url, **settings) as sessions,
        sessions.open("weather") as ctx,
    ):
        assert ctx.was_interrupted
        ctx.add_user_message("Stop. Just tell me the north one.")
        messages = ctx.build()
        assert_pairs_intact(messages)
        assert messages[-1]["role"] == "user"
        assert "north: 11 degrees" in str(messages)
        for vendor in ("openai", "anthropic"):
            body = ctx.request(vendor, model="m", max_tokens=5_000)
            assert validate(body, vendor) == []
        ctx.add_assistant_message("North has 11 degrees.")
    with (
        SessionManager(store=durable_url, **settings) as sessions,
        sessions.open("weather") as ctx,
    ):
        assert not ctx.was_interrupted
        ctx.add_tool_result("station", "south: 19 degrees", tool_call_id="p2")
        ctx.add_user_message("Thanks. Anything else?")
        messages = ctx.build()
        assert_pairs_intact(messages)
        assert str(messages).count("south: 19 degrees") <= 1


async def test_a_stream_that_was_cut_is_kept_as_partial(tmp_path: Path) -> None:
    """What the model said before the cut stays, marked."""
    url = f"sqlite:///{tmp_path}/s.db"

    async def cut_short(ctx: Session) -> None:
        ctx.add_user_message("Tell me a story.")
        ctx.add_assistant_message("Once upon a", partial=True)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        async with (
            SessionManager(store=url, max_tokens=9_000) as sessions,
            sessions.open("s") as ctx,
        ):
            await cut_short(ctx)
    async with (
        SessionManager(store=url, max_tokens=9_000) as sessions,
        sessions.open("s") as ctx,
    ):
        assert ctx.was_interrupted
        assert ctx.items[-1].partial
        ctx.add_user_message("Go on.")
        assert "Once upon a" in str(ctx.build())
