"""What a user of the manager may rely on, with and without `await`."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import (
    InvalidItemError,
    SessionConflictError,
    StoreError,
    UnknownModelError,
)
from context_builder.sessions import MemoryStore, Session, SessionKey, SessionManager
from context_builder.sessions.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.sessions.conftest import Clock

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]


def manager(store: Any = "memory:", **settings: Any) -> SessionManager:
    """Make a manager with a budget."""
    return SessionManager(store=store, **({"max_tokens": 10_000} | settings))


def say(sessions: SessionManager, session_id: str, *texts: str) -> None:
    """Let a user say something in a block of its own."""
    with sessions.open(session_id) as ctx:
        for text in texts:
            ctx.add_user_message(text)


def texts(sessions: SessionManager, session_id: str) -> list[str]:
    """Return what a session holds."""
    with sessions.open(session_id) as ctx:
        return [item.text for item in ctx.items]


# --- a block


async def test_one_object_for_with_and_async_with() -> None:
    """Both kinds of block yield the same session."""
    sessions = manager()
    with sessions.open("s") as ctx:
        assert ctx.is_new
        ctx.add_user_message("one")
    async with sessions.open("s") as ctx:
        assert not ctx.is_new
        assert ctx.session_id == "s"
        assert [item.text for item in ctx.items] == ["one"]


def test_a_block_is_entered_once() -> None:
    """A block that was left is not entered again."""
    block = manager().open("s")
    with block:
        pass
    with pytest.raises(StoreError, match="entered once"), block:
        pass


def test_a_left_session_is_not_written(tmp_path: Path) -> None:
    """Who keeps the object cannot write behind the back of the next one."""
    sessions = manager(f"sqlite:///{tmp_path}/s.db")
    with sessions.open("s") as kept:
        kept.add_user_message("one")
    assert not kept.is_open
    doors: tuple[Callable[[], object], ...] = (
        lambda: kept.add_user_message("late"),
        lambda: kept.add_system_prompt(None),
        lambda: kept.set_tools([]),
        lambda: kept.configure(max_tokens=77),
        kept.clear,
        kept.commit,
    )
    for door in doors:
        with pytest.raises(StoreError, match="not open any more"):
            door()
    with sessions.open("s") as ctx:
        assert ctx.is_open
        with pytest.raises(StoreError):
            kept.add_user_message("late")
        with pytest.raises(StoreError):
            kept.commit()
    assert texts(sessions, "s") == ["one"]


def test_looking_at_nothing_makes_nothing(durable_url: str, namespace: str) -> None:
    """An id that was only looked at does not exist afterwards."""
    with manager(
        durable_url, namespace=namespace, system_prompt="Be terse."
    ) as sessions:
        with sessions.open("s") as ctx:
            ctx.commit()
            ctx.build()
        assert sessions.list() == ()
        with sessions.open("s") as ctx:
            assert ctx.is_new


def test_settings_fail_at_once() -> None:
    """What is wrong with the settings is said when the manager is made."""
    with pytest.raises(UnknownModelError):
        SessionManager(model="no-such-model")
    with pytest.raises(InvalidItemError):
        SessionManager()
    with pytest.raises(InvalidItemError, match="max_sessions"):
        manager(max_sessions=0)
    with pytest.raises(InvalidItemError, match="namespace"):
        manager(namespace="")
    with pytest.raises(TypeError):
        manager(no_such_setting=1)


# --- nothing is lost


def test_what_was_committed_is_there_for_others(
    durable_url: str, namespace: str
) -> None:
    """Another process would see a commit before the block ends."""
    with manager(durable_url, namespace=namespace) as sessions:
        with sessions.open("s") as ctx:
            ctx.add_user_message("one")
            assert sessions.list() == ()
            ctx.commit()
            with manager(durable_url, namespace=namespace) as elsewhere:
                assert "one" in elsewhere.export("s")
            before = sessions.list()
            ctx.commit()
            assert sessions.list() == before  # there was no news
            ctx.add_user_message("two")
        assert texts(sessions, "s") == ["one", "two"]


async def test_restored_equals_live(durable_url: str, namespace: str) -> None:
    """The next request is byte for byte the same after a reload elsewhere."""
    settings: dict[str, Any] = {
        "namespace": namespace,
        "model": "gpt-4o",
        "max_tokens": 700,
        "system_prompt": "Be terse.",
        "tools": TOOLS,
    }
    async with (
        SessionManager(store=durable_url, **settings) as here,
        SessionManager(store=durable_url, **settings) as there,
    ):
        live = []
        for turn in range(12):
            async with here.open("s") as ctx:
                ctx.add_user_message(
                    f"Question {turn}: Größe? 尺寸? \ud83d\ude00 \udc00"
                )
                ctx.build()
                call = {
                    "id": f"c{turn}",
                    "function": {"name": "look", "arguments": '{"a": 1}'},
                }
                ctx.add_assistant_message("", tool_calls=[call], reasoning="hm")
                await ctx.acommit()
                ctx.add_tool_result(
                    "look", {"n": "long " * 40}, tool_call_id=f"c{turn}"
                )
                ctx.add_memory(f"fact {turn}", cache_key="fact")
                ctx.edit("i2", pinned=turn % 2 == 0)
                live.append(ctx.request("openai"))
            async with there.open("s") as ctx:
                assert ctx.request("openai") == live[-1]
        async with here.open("s") as ctx:
            assert ctx.request("openai") == live[-1]


async def test_any_worker_may_serve_any_turn(durable_url: str, namespace: str) -> None:
    """Copies in memory are checked against the store on every opening."""
    workers = [manager(durable_url, namespace=namespace) for _ in range(3)]
    for turn in range(9):
        async with workers[turn % 3].open("s") as ctx:
            assert len(ctx.items) == turn
            ctx.add_user_message(f"turn {turn}")
    for worker in workers:
        await worker.aclose()


def test_a_deleted_session_is_not_remembered(durable_url: str, namespace: str) -> None:
    """A copy in another worker's memory does not bring it back."""
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        say(here, "s", "old")
        assert there.delete("s")
        assert not there.delete("s")
        say(there, "s", "new")
        assert texts(here, "s") == ["new"]


# --- how a block ends


def call_and_fail(ctx: Session) -> None:
    """Take half a turn."""
    ctx.add_user_message("Look it up.")
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    ctx.add_assistant_message("", tool_calls=[call])
    raise ZeroDivisionError


async def test_an_error_keeps_what_came_in(durable_url: str, namespace: str) -> None:
    """A failed turn is kept, marked, and valid; the next good one clears the mark."""
    with manager(durable_url, namespace=namespace) as sessions:
        for elsewhere in (sessions, manager(durable_url, namespace=namespace)):
            with pytest.raises(ZeroDivisionError), sessions.open("s") as ctx:
                call_and_fail(ctx)
            with elsewhere.open("s") as ctx:
                assert ctx.was_interrupted
                messages = ctx.build()
                assert [m["role"] for m in messages][-3:] == [
                    "user",
                    "assistant",
                    "tool",
                ]
            with elsewhere.open("s") as ctx:
                assert ctx.was_interrupted  # looking at it is no turn
                ctx.add_user_message("Again.")
            with sessions.open("s") as ctx:
                assert not ctx.was_interrupted
            elsewhere.close()
            sessions.delete("s")


DIES = """
import os, signal, sys
from context_builder.sessions import SessionManager
sessions = SessionManager(
    store=sys.argv[1], namespace=sys.argv[2], max_tokens=9_000, lease_seconds=0.2
)
with sessions.open("s") as ctx:
    ctx.add_user_message("Look it up.")
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    ctx.add_assistant_message("", tool_calls=[call])
    ctx.commit()
    ctx.add_user_message("never kept")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_turn_whose_process_died_is_marked(durable_url: str, namespace: str) -> None:
    """Nobody was there to mark it; the next block knows, and builds a valid request."""
    command = [sys.executable, "-c", DIES, durable_url, namespace]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with manager(durable_url, namespace=namespace) as sessions:
        with sessions.open("s") as ctx:
            assert ctx.was_interrupted
            roles = [message["role"] for message in ctx.build()]
            assert roles[:3] == ["user", "assistant", "tool"]
            ctx.add_user_message("Again.")
            ctx.commit()
            assert ctx.was_interrupted  # as it was before this block
        with sessions.open("s") as ctx:
            assert not ctx.was_interrupted
            assert "never kept" not in str(ctx.items)


async def test_a_cancelled_turn_is_kept(durable_url: str, namespace: str) -> None:
    """Cancelling the task that holds a session loses nothing and frees the session."""
    async with manager(durable_url, namespace=namespace) as sessions:
        entered = asyncio.Event()

        async def turn() -> None:
            async with sessions.open("s") as ctx:
                ctx.add_user_message("one")
                entered.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(turn())
        await entered.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # a second time, while it is being kept
        with pytest.raises(asyncio.CancelledError):
            await task
        async with sessions.open("s") as ctx:
            assert ctx.was_interrupted
            assert [item.text for item in ctx.items] == ["one"]


async def test_cancelling_those_who_wait_blocks_nobody(
    durable_url: str, namespace: str
) -> None:
    """Cancelled in any moment of opening, a task leaves no lock and no lease behind."""
    async with manager(durable_url, namespace=namespace, wait_seconds=10) as sessions:

        async def turn(number: int) -> None:
            async with sessions.open("s") as ctx:
                ctx.add_user_message(f"{number}")
                await asyncio.sleep(0.002)

        tasks = [asyncio.create_task(turn(number)) for number in range(30)]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0.001 * (number % 4))
            if number % 3:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5), sessions.open("s") as ctx:
            kept = [item.text for item in ctx.items]
        assert len(set(kept)) == len(kept)
        assert {f"{number}" for number in range(0, 30, 3)} <= set(kept)


# --- one writer


def test_a_second_writer_waits_and_then_gives_up(
    durable_url: str, namespace: str
) -> None:
    """In this process and in others: the bound is kept, and the error says who."""
    with (
        manager(durable_url, namespace=namespace, wait_seconds=0.2) as here,
        manager(durable_url, namespace=namespace, wait_seconds=0.2) as there,
        here.open("s"),
    ):
        for second in (here, there):
            started = time.monotonic()
            with pytest.raises(SessionConflictError) as caught, second.open("s"):
                pass
            assert 0.15 < time.monotonic() - started < 5
            assert caught.value.session_id == "s"


async def test_a_waiting_task_holds_up_nobody(durable_url: str, namespace: str) -> None:
    """While one task waits for a session, the loop goes on with others."""
    async with (
        manager(durable_url, namespace=namespace, wait_seconds=0.5) as here,
        manager(durable_url, namespace=namespace, wait_seconds=0.5) as there,
        here.open("s"),
    ):

        async def wait() -> None:
            with pytest.raises(SessionConflictError):
                async with there.open("s"):
                    pass

        waiting = asyncio.create_task(wait())
        ticks = 0
        while not waiting.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert ticks > 10


def test_a_long_turn_keeps_its_lease(durable_url: str, namespace: str) -> None:
    """A lease is renewed for as long as its block is open."""
    with (
        manager(durable_url, namespace=namespace, lease_seconds=0.3) as here,
        manager(durable_url, namespace=namespace, wait_seconds=1.0) as there,
    ):
        with here.open("s") as ctx:
            ctx.add_user_message("slow")
            with pytest.raises(SessionConflictError), there.open("s"):
                pass
        assert texts(there, "s") == ["slow"]


def test_a_lost_lease_that_nobody_used_loses_nothing(
    durable_url: str, namespace: str
) -> None:
    """A worker that slept through its lease goes on if nobody has written."""
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        say(here, "s", "one")
        with here.open("s") as ctx:
            _steal_lease(here, "s")
            ctx.add_user_message("two")
            ctx.commit()
        assert texts(there, "s") == ["one", "two"]


def test_a_writer_who_was_overtaken_hears_of_it(
    durable_url: str, namespace: str
) -> None:
    """What somebody else wrote stays; the late turn is refused, and can be retried."""
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        say(here, "s", "one")
        block = here.open("s")
        ctx = block.__enter__()
        _steal_lease(here, "s")
        say(there, "s", "other")
        ctx.add_user_message("late")
        with pytest.raises(SessionConflictError):
            block.__exit__(None, None, None)
        say(here, "s", "again")
        assert texts(there, "s") == ["one", "other", "again"]


def test_a_writer_whose_session_was_deleted_hears_of_it(
    durable_url: str, namespace: str
) -> None:
    """A turn of a deleted session does not bring half of it back."""
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        say(here, "s", "one")
        block = here.open("s")
        ctx = block.__enter__()
        _steal_lease(here, "s")
        there.delete("s")
        ctx.add_user_message("late")
        with pytest.raises(SessionConflictError, match="deleted"):
            block.__exit__(None, None, None)
        assert texts(there, "s") == []


def _steal_lease(sessions: SessionManager, session_id: str) -> None:
    """Let a lease run out at once, as if its worker had been frozen."""
    turn_leases = sessions._desk.leases
    (lease,) = [lease for lease, _ in turn_leases._held.values()]
    assert lease.key.session_id == session_id
    sessions.store.renew(lease, lease_seconds=-10)
    time.sleep(0.005)


class LostAnswers(MemoryStore):
    """A store that does what it is told, and then does not answer, now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.fail = False

    def append(self, *args: Any, **named: Any) -> Any:
        """Append, and perhaps lose the answer."""
        outcome = super().append(*args, **named)
        if self.fail:
            self.fail = False
            message = "connection lost"
            raise StoreError(message)
        return outcome


@pytest.mark.parametrize("more", [(), ("two",)])
@pytest.mark.parametrize("commits", [True, False])
def test_an_answer_that_was_lost_doubles_nothing(
    *, more: tuple[str, ...], commits: bool
) -> None:
    """Committing again, alone or with more, finds what had arrived."""
    store = LostAnswers()
    sessions = manager(store)
    with sessions.open("s") as ctx:
        ctx.add_user_message("one")
        store.fail = True
        with pytest.raises(StoreError, match="lost"):
            ctx.commit()
        for text in more:
            ctx.add_user_message(text)
        if commits:
            ctx.commit()
    assert texts(manager(store), "s") == ["one", *more]


def test_an_answer_that_was_lost_at_the_end() -> None:
    """The caller hears of it; what is stored is whole, and the next block goes on."""
    store = LostAnswers()
    sessions = manager(store)
    block = sessions.open("s")
    block.__enter__().add_user_message("one")
    store.fail = True
    with pytest.raises(StoreError, match="lost"):
        block.__exit__(None, None, None)
    say(sessions, "s", "two")
    assert texts(sessions, "s") == ["one", "two"]


def test_threads_share_an_open_session(durable_url: str, namespace: str) -> None:
    """Several threads add and commit within one block."""
    with manager(durable_url, namespace=namespace, max_tokens=100_000) as sessions:
        with sessions.open("s") as ctx:

            def work(number: int) -> None:
                for step in range(10):
                    ctx.add_user_message(f"{number}/{step}")
                    ctx.commit()

            threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        live = texts(sessions, "s")
        assert len(live) == len(set(live)) == 60
    with manager(durable_url, namespace=namespace) as elsewhere:
        assert texts(elsewhere, "s") == live


# --- memory


def test_memory_is_bounded(tmp_path: Path, clock: Clock) -> None:
    """The sessions used last stay; the others come back from the store."""
    sessions = manager(
        f"sqlite:///{tmp_path}/s.db", max_sessions=5, max_awake=2, clock=clock
    )
    for number in range(20):
        say(sessions, f"s{number}", f"text {number}")
    assert sessions.live_sessions == 5
    assert [texts(sessions, f"s{number}") for number in range(20)] == [
        [f"text {number}"] for number in range(20)
    ]
    sessions.close()


def test_idle_sessions_leave_memory(tmp_path: Path, clock: Clock) -> None:
    """By the injected clock, on a sweep and on the way."""
    sessions = manager(f"sqlite:///{tmp_path}/s.db", idle_seconds=60, clock=clock)
    say(sessions, "a", "one")
    clock.now += 40
    say(sessions, "b", "two")
    clock.now += 40
    assert sessions.sweep() == 1
    assert sessions.live_sessions == 1
    clock.now += 400
    say(sessions, "c", "three")
    assert sessions.live_sessions == 1
    assert texts(sessions, "a") == ["one"]
    sessions.close()


def test_a_session_in_use_is_never_evicted(clock: Clock) -> None:
    """However small the bound, however long it takes."""
    sessions = manager(max_sessions=1, idle_seconds=1, clock=clock)
    with sessions.open("a") as ctx:
        ctx.add_user_message("one")
        clock.now += 1_000
        say(sessions, "b", "other")
        sessions.sweep()
        ctx.add_user_message("two")
        assert sessions.live_sessions == 1
    assert texts(sessions, "a") == ["one", "two"]


def test_locks_of_evicted_sessions_go_too() -> None:
    """Nothing is kept of a session that is neither in use nor in memory."""
    sessions = manager(store=None, max_sessions=2)
    for number in range(100):
        say(sessions, f"s{number}", "text")
    gc.collect()
    assert len(sessions._desk.gate) == 0
    assert sessions.live_sessions == 2
    assert len(sessions._desk.leases._held) == 0
    assert isinstance(sessions.store, MemoryStore)
    assert len(sessions.store._kept) == 2


def test_without_a_store_an_evicted_session_is_new() -> None:
    """And the caller can tell."""
    sessions = manager(store=None, max_sessions=1)
    say(sessions, "a", "one")
    with sessions.open("a") as ctx:
        assert not ctx.is_new
    say(sessions, "b", "two")
    with sessions.open("a") as ctx:
        assert ctx.is_new
        assert ctx.items == ()


def test_asleep_or_awake_is_the_same(tmp_path: Path) -> None:
    """A session that slept compressed builds the same request, and goes on."""
    sessions = manager(f"sqlite:///{tmp_path}/s.db", max_awake=1, model="gpt-4o")
    with sessions.open("a") as ctx:
        ctx.extend(
            [{"role": "user", "content": "one"}, {"role": "assistant", "content": "x"}]
        )
        ctx.add_memory("two \ud83d", cache_key="k")
        before = ctx.request("openai")
    say(sessions, "b", "other")
    with sessions.open("a") as ctx:
        assert ctx.request("openai") == before
        ctx.add_user_message("three")
    say(sessions, "b", "other")
    assert texts(sessions, "a")[-1] == "three"
    sessions.close()


# --- defaults


def test_the_managers_prompt_is_logged_once(durable_url: str, namespace: str) -> None:
    """Reopening adds nothing; a new release's prompt takes the old one's place."""
    settings = {"namespace": namespace, "tools": TOOLS}
    with manager(durable_url, system_prompt="First.", **settings) as sessions:
        for _ in range(3):
            say(sessions, "s", "hello")
    with manager(durable_url, system_prompt="First.", **settings) as sessions:
        say(sessions, "s", "hello")
        assert len(texts(sessions, "s")) == 5
    with manager(durable_url, system_prompt="Second.", **settings) as sessions:
        with sessions.open("s") as ctx:
            assert ctx.build()[0]["content"] == "Second."
        say(sessions, "s", "hello")
        with sessions.open("s") as ctx:
            assert ctx.build()[0]["content"] == "Second."


def test_a_session_keeps_its_own_prompt(durable_url: str, namespace: str) -> None:
    """What a session was given of its own is not overruled by the manager."""
    for own in ("Mine.", None):
        with (
            manager(
                durable_url, namespace=namespace, system_prompt="Ours."
            ) as sessions,
            sessions.open(f"{own}") as ctx,
        ):
            ctx.add_system_prompt(own)
            ctx.set_tools(TOOLS)
            ctx.add_user_message("hello")
            live = ctx.build()
        with (
            manager(durable_url, namespace=namespace, system_prompt="New.") as sessions,
            sessions.open(f"{own}") as ctx,
        ):
            assert ctx.build() == live


def test_a_prompt_that_is_asked(durable_url: str, namespace: str) -> None:
    """A callable is asked when a user message comes, after a reload as before."""
    said = iter(f"It is {hour} o'clock." for hour in range(100))
    for turn in range(3):
        with (
            manager(
                durable_url, namespace=namespace, system_prompt=lambda: next(said)
            ) as m,
            m.open("s") as ctx,
        ):
            if turn:
                before = ctx.build()
                assert ctx.build() == before
            ctx.add_user_message("hello")
            assert ctx.build()[0]["content"] == f"It is {turn + 1} o'clock."


def test_settings_of_a_block_end_with_it() -> None:
    """What a block configures is not kept, in memory or out of it."""
    sessions = manager()
    with sessions.open("s") as ctx:
        ctx.add_user_message("hello")
        ctx.configure(max_tokens=77)
    with sessions.open("s") as ctx:
        assert ctx.budget_tokens == 10_000


def test_a_provider_of_a_block_ends_with_it(durable_url: str, namespace: str) -> None:
    """What it said is kept; it is not asked again, by this process or another."""
    said = iter(f"It is {hour} o'clock." for hour in range(100))
    with (
        manager(durable_url, namespace=namespace) as here,
        manager(durable_url, namespace=namespace) as there,
    ):
        with here.open("s") as ctx:
            ctx.add_context_provider("time", lambda: next(said))
            ctx.add_user_message("hello")
            ctx.add_assistant_message("hello")
        say(here, "s", "again")
        for sessions in (here, there):
            assert len(texts(sessions, "s")) == 4
        assert next(said) == "It is 1 o'clock."


# --- moving about


async def test_export_and_import(durable_url: str, namespace: str) -> None:
    """A session that was carried to another store says the same."""
    async with (
        manager(durable_url, namespace=namespace, model="gpt-4o") as here,
        manager(model="gpt-4o") as there,
    ):
        async with here.open("ä/1") as ctx:
            ctx.add_user_message("Größe? 尺寸多少? \ud83d")
            ctx.add_assistant_message("40 cm")
            ctx.rewind("i1")
            live = ctx.request("openai")
        text = await here.aexport("ä/1")
        assert text == here.export("ä/1")
        assert "尺寸多少" in text
        assert await there.aimport(text) == "ä/1"
        assert there.import_(text, session_id="other") == "other"
        async with there.open("ä/1") as ctx:
            assert ctx.request("openai") == live
        with pytest.raises(StoreError, match="already"):
            await there.aimport(text)
        with pytest.raises(StoreError, match="no session"):
            await there.aexport("missing")


async def test_forks_go_their_own_way(durable_url: str, namespace: str) -> None:
    """A fork starts with what was committed, and shares nothing afterwards."""
    async with manager(durable_url, namespace=namespace) as sessions:
        say(sessions, "a", "one")
        assert await sessions.afork("a", "b") == "b"
        say(sessions, "a", "left")
        say(sessions, "b", "right")
        assert texts(sessions, "a") == ["one", "left"]
        assert texts(sessions, "b") == ["one", "right"]
        with pytest.raises(StoreError, match="already"):
            sessions.fork("a", "b")
        with pytest.raises(StoreError, match="no session"):
            sessions.fork("missing", "c")
        assert [info.session_id for info in await sessions.alist()] == ["a", "b"]


def test_lists_are_whole(namespace: str) -> None:
    """More sessions than a page has."""
    sessions = manager(MemoryStore())
    for number in range(2_345):
        key = SessionKey("default", f"{number:05}")
        lease = sessions.store.acquire(key, owner="o", lease_seconds=1)
        assert lease is not None
        sessions.store.append(lease, [b"x"], expected_version=0, release=True)
    assert len(sessions.list()) == 2_345
    assert [i.session_id for i in sessions.list(after="00001", limit=2)] == [
        "00002",
        "00003",
    ]


def test_tenants_are_apart(durable_url: str, namespace: str) -> None:
    """The same id in two namespaces is two sessions, in memory and in the store."""
    with manager(durable_url, namespace=namespace) as sessions:
        tenant = sessions.for_namespace(f"{namespace}-b")
        say(sessions, "s", "mine")
        say(tenant, "s", "yours")
        assert texts(sessions, "s") == ["mine"]
        assert texts(tenant, "s") == ["yours"]
        assert sessions.live_sessions == tenant.live_sessions == 2
        assert tenant.delete("s")
        assert texts(sessions, "s") == ["mine"]


@pytest.mark.parametrize("kind", ["plain", "encrypted"])
def test_deleted_is_really_gone(tmp_path: Path, kind: str) -> None:
    """No byte of a deleted session is left in the file, nor in its log."""
    url = f"sqlite:///{tmp_path}/s.db"
    with manager(url) as sessions:
        say(sessions, "keep", "harmless")
        say(sessions, "s", *(f"walnut {number} " * 400 for number in range(40)))
        found = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"walnut" in found
        sessions.delete("s")
        found = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"walnut" not in found
        assert b"harmless" in found


# --- privacy and events


async def test_events_have_ids_and_counts_and_no_content(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, clock: Clock
) -> None:
    """What is logged names the session, and says nothing of what it holds."""
    caplog.set_level(logging.DEBUG, logger="context_builder")
    url = f"sqlite:///{tmp_path}/s.db"
    async with manager(
        url, idle_seconds=5, clock=clock, system_prompt="walnut"
    ) as sessions:
        async with sessions.open("user-1") as ctx:
            ctx.add_user_message("walnut")
            await ctx.acommit()
        with pytest.raises(ZeroDivisionError):
            async with sessions.open("user-1") as ctx:
                call_and_fail(ctx)
        clock.now += 60
        await sessions.asweep()
        await sessions.aimport(await sessions.aexport("user-1"), session_id="user-2")
        await sessions.adelete("user-1")
    events = {record.message for record in caplog.records}
    assert {
        "session_opened",
        "session_committed",
        "session_evicted",
        "session_exported",
        "session_imported",
        "session_deleted",
    } <= events
    assert all(record.__dict__.get("session_id") for record in caplog.records)
    assert not any("walnut" in str(record.__dict__) for record in caplog.records)
    assert b"ZeroDivisionError" in (tmp_path / "s.db").read_bytes()


def test_errors_hold_no_content(durable_url: str, namespace: str) -> None:
    """What cannot be stored is refused at the door, by its kind."""
    with (
        manager(durable_url, namespace=namespace) as sessions,
        sessions.open("s") as ctx,
    ):
        with pytest.raises(InvalidItemError) as caught:
            ctx.add_user_message("walnut", metadata={"when": {1, 2}})
        assert "walnut" not in str(caught.value)
        assert ctx.items == ()


def test_store_and_manager_can_be_made_apart(tmp_path: Path) -> None:
    """A store that was passed in is the caller's to close."""
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    with manager(store) as sessions:
        say(sessions, "s", "one")
    assert [info.session_id for info in store.sessions("default", after=None, limit=9)]
    store.close()


@pytest.fixture(autouse=True)
def no_threads_stay() -> Iterator[None]:
    """Show that no test leaves a thread that keeps the process alive."""
    yield
    assert not [t for t in threading.enumerate() if not t.daemon and "lease" in t.name]


def test_what_is_no_store() -> None:
    """A store is a URL, or has a store's methods."""
    with pytest.raises(InvalidItemError, match="store must be"):
        manager(object())


def test_a_new_file_is_for_its_owner(tmp_path: Path) -> None:
    """Nobody else on the machine can read it, nor its log."""
    with manager(f"sqlite:///{tmp_path}/s.db") as sessions:
        say(sessions, "s", "one")
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


async def test_a_long_session_is_read_in_a_thread(
    durable_url: str, namespace: str
) -> None:
    """Opening it does not hold up the event loop."""
    history = [{"role": "user", "content": f"text {n} " * 20} for n in range(4_000)]
    settings = {"namespace": namespace, "max_tokens": 1_000}
    async with manager(durable_url, **settings) as sessions, sessions.open("s") as ctx:
        for message in history:
            ctx.extend([message])
    async with manager(durable_url, **settings) as sessions:
        opening = asyncio.create_task(sessions.open("s").__aenter__())
        ticks = 0
        while not opening.done():
            await asyncio.sleep(0.001)
            ticks += 1
        assert len((await opening).items) == 4_000
        assert ticks > 5


async def test_cancelled_while_it_commits_elsewhere(
    durable_url: str, namespace: str
) -> None:
    """What came in during another task's commit is kept as well."""
    async with manager(durable_url, namespace=namespace) as sessions:
        entered = asyncio.Event()

        async def turn() -> None:
            async with sessions.open("s") as ctx:
                ctx.add_user_message("one")
                committing = asyncio.create_task(ctx.acommit())
                entered.set()
                await asyncio.sleep(0)
                ctx.add_user_message("two")
                await asyncio.sleep(10)
                await committing

        task = asyncio.create_task(turn())
        await entered.wait()
        await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert texts(sessions, "s") == ["one", "two"]
