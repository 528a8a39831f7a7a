"""Sessions are put to sleep in nobody's way: after the answer, one after the other."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

from context_builder.sessions import SessionManager, bedtime, cache, desk
from context_builder.sessions.asleep import PackedSession, Sleeper
from context_builder.sessions.cache import SessionCache, Sleeping
from context_builder.sessions.store import SessionKey

if TYPE_CHECKING:
    import pytest

    from context_builder.sessions.session import Session


def manager(**settings: Any) -> SessionManager:
    """Return a manager whose sessions sleep but for the one that was used last."""
    known: dict[str, Any] = {"model": "gpt-4o", "max_awake": 1} | settings
    return SessionManager(clock=lambda: 1.0, **known)


def cache_of(sessions: SessionManager) -> SessionCache:
    """Return what keeps the sessions that nobody uses."""
    return sessions._desk.cache


def say(sessions: SessionManager, session_id: str, text: str) -> None:
    """Add a message to a session."""
    with sessions.open(session_id) as ctx:
        ctx.add_user_message(text)


async def asay(sessions: SessionManager, session_id: str, text: str) -> None:
    """Add a message to a session, in an event loop."""
    async with sessions.open(session_id) as ctx:
        ctx.add_user_message(text)


async def slept(sessions: SessionManager) -> None:
    """Wait until nobody has to be put to sleep."""
    for _ in range(1_000):
        if not cache_of(sessions).excess:
            break
        await asyncio.sleep(0.001)


class Timers:
    """An event loop's timers, run by hand."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, ...]] = []

    def call_later(self, seconds: float, *call: Any) -> None:
        """Take a timer."""
        assert seconds == bedtime.PAUSE_SECONDS
        self.waiting.append(call)

    def run(self) -> None:
        """Let time pass until the next timer."""
        function, *args = self.waiting.pop(0)
        function(*args)


def test_in_a_loop_it_comes_after_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn ends before anything is packed; then one after the other is."""
    monkeypatch.setattr(bedtime, "PAUSE_SECONDS", 60)
    sessions = manager()

    async def work() -> None:
        for number in range(5):
            await asay(sessions, f"s{number}", "hello")

    asyncio.run(work())
    kept, timers = cache_of(sessions), Timers()
    assert (len(kept._asleep), kept.excess) == (0, 4)
    loop: Any = timers
    resting = bedtime.Bedtime(kept)
    resting.come(loop)
    resting.come(loop)
    for asleep in range(5):
        assert len(kept._asleep) == asleep
        assert len(timers.waiting) == 1
        timers.run()
    assert not timers.waiting
    assert list(kept._awake) == [SessionKey("default", "s4")]


def test_few_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where turns come fast, those that wait to be packed stay a few."""
    monkeypatch.setattr(bedtime, "PAUSE_SECONDS", 60)
    sessions = manager()

    async def work() -> None:
        for number in range(desk.MOST_TIRED + 9):
            await asay(sessions, f"s{number}", "hello")

    asyncio.run(work())
    assert cache_of(sessions).excess == desk.MOST_TIRED
    asyncio.run(asay(sessions, "s0", "again"))  # another loop has a timer of its own
    say(sessions, "s0", "no loop at all")
    assert cache_of(sessions).excess == 0


def test_a_long_one_holds_no_loop_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is packed and unpacked in a thread, and keeps its decision."""
    monkeypatch.setattr(bedtime, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(cache, "LONG", 3)
    sessions = manager()
    threads: set[tuple[str, str, bool]] = set()

    def noted(name: str) -> None:
        real = getattr(Sleeper, name)

        def work(session: Session, *args: Any) -> Any:
            is_main = threading.current_thread() is threading.main_thread()
            threads.add((name, session.session_id, is_main))
            return real(session, *args)

        monkeypatch.setattr(Sleeper, name, work)

    noted("packed")
    noted("unpack")

    async def work() -> None:
        for length in (2, 5):
            async with sessions.open(f"s{length}") as ctx:
                for _ in range(length):
                    ctx.add_user_message("hello")
                ctx.build()
            await asay(sessions, "other", "hello")
            await slept(sessions)
            async with sessions.open(f"s{length}") as ctx:
                assert len(ctx.log) == length
                assert ctx._targets
            cache_of(sessions).discard(ctx.key)

    asyncio.run(work())
    assert {one for one in threads if one[1] != "other"} == {
        ("packed", "s2", True),
        ("unpack", "s2", True),
        ("packed", "s5", False),
        ("unpack", "s5", False),
    }


def test_who_comes_meanwhile_finds_it_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that is opened while it is packed is not the packed one afterwards."""
    sessions = manager()
    say(sessions, "a", "one")
    real = Sleeping.of
    packed: list[str] = []

    def of(session: Any) -> Sleeping:
        found = real(session)
        packed.append(session.session_id)
        if packed == ["a"]:
            say(sessions, "a", "meanwhile")
        return found

    monkeypatch.setattr(Sleeping, "of", of)
    say(sessions, "b", "two")
    assert packed[0] == "a"
    with sessions.open("a") as ctx:
        assert [item.content for item in ctx.items] == ["one", "meanwhile"]
    assert len(cache_of(sessions)) == 2


def test_most_sessions_sleep_by_default() -> None:
    """Of fifty all but twenty, each in less than its texts take."""
    sessions = SessionManager(model="gpt-4o", max_tokens=50_000)
    messages = [
        {"role": role, "content": f"What of order {number}? " * 9}
        for number in range(10)
        for role in ("user", "assistant")
    ]
    for number in range(50):
        with sessions.open(f"s{number}") as ctx:
            ctx.extend(messages)
            ctx.build()
    held = [kept.packed for _, kept in cache_of(sessions)._asleep.values()]
    assert sessions.live_sessions == 50
    assert len(held) == 30
    for packed in held:
        assert isinstance(packed, PackedSession)
        parts = [packed.data, *packed.texts]
        texts = [message["content"] for message in messages]
        assert sum(map(sys.getsizeof, parts)) < sum(map(sys.getsizeof, texts))
