"""What a turn costs beside its model: pieces, writes, and pauses of the collector."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.web import WebSettings
from context_builder.web.serving import app_of
from context_builder.web.streaming import EventStream, Outbox
from tests.web.serving import client_of, site

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping


@pytest.fixture
def collector() -> Iterator[None]:
    """Leave Python's garbage collector as it was."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
async def test_the_collector_seldom_looks_at_everything() -> None:
    """A pass over all that is ready would hold up every turn."""
    young, middle, _ = gc.get_threshold()
    app = app_of(
        WebSettings(
            store="memory:", is_offline=True, max_tokens=2_000, gc_full_every=321
        )
    )
    async with app.router.lifespan_context(app):
        assert gc.get_threshold() == (young, middle, 321)
        assert gc.get_freeze_count() > 0


async def test_a_turn_writes_its_message_and_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each write is a flush to the disk, and somebody waits for it."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        written: list[bool] = []
        aappend = one.sessions.store.aappend

        async def counted(*args: Any, **named: Any) -> Any:
            written.append(named["release"])
            return await aappend(*args, **named)

        monkeypatch.setattr(one.sessions.store, "aappend", counted)
        await ada.say(session_id, "What is a river?")
    assert written == [False, True]


# --- passing pieces on ----------------------------------------------------------------


class Wire:
    """A server's side of one request."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.gone = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        """Wait until the listener has gone."""
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Take a piece."""
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])


async def listened(outbox: Outbox, wire: Wire, keep_alive: float = 60.0) -> list[str]:
    """Send all of an outbox; return what was called at its end."""
    ended: list[str] = []

    async def stop() -> None:
        ended.append("stopped")

    stream = EventStream(outbox, stop=stop, keep_alive_seconds=keep_alive)
    await stream({}, wire.receive, wire.send)
    return ended


async def test_what_is_ready_at_once_goes_together() -> None:
    """A piece of its own costs a write of its own."""
    outbox, wire = Outbox(), Wire()
    outbox.put(b"one ")
    outbox.put(b"two ")
    asyncio.get_running_loop().call_later(0.01, outbox.put, b"three")
    asyncio.get_running_loop().call_later(0.02, outbox.close)
    assert await listened(outbox, wire) == ["stopped"]
    assert wire.sent == [b"one two ", b"three", b""]


async def test_what_came_before_the_end_is_sent() -> None:
    """The last word and the end may come in one step."""
    outbox, wire = Outbox(), Wire()
    outbox.put(b"all")
    outbox.close()
    outbox.put(b"too late")
    await listened(outbox, wire)
    assert wire.sent == [b"all", b""]


async def test_who_has_gone_ends_the_turn() -> None:
    """Nothing has to be said for it to be noticed."""
    outbox, wire = Outbox(), Wire()
    asyncio.get_running_loop().call_later(0.01, wire.gone.set)
    assert await listened(outbox, wire) == ["stopped"]


async def test_a_server_that_says_so_by_an_error_ends_it_as_well() -> None:
    """As servers of the newer interface do."""
    outbox, wire = Outbox(), Wire()
    outbox.put(b"to nobody")

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            raise BrokenPipeError

    wire.send = send  # type: ignore[method-assign]
    assert await listened(outbox, wire) == ["stopped"]


async def test_signs_of_life_come_only_while_nothing_is_said() -> None:
    """They keep a connection open through a long wait."""
    outbox, wire = Outbox(), Wire()
    asyncio.get_running_loop().call_later(0.05, outbox.close)
    await listened(outbox, wire, keep_alive=0.01)
    assert wire.sent.count(b": still there\n\n") > 1
