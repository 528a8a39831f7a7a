"""A connection that ends in mid-commit, a server that is slow, a server that hangs."""

from __future__ import annotations

import contextlib
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import SessionConflictError, StoreError
from context_builder.sessions import SessionManager, postgres
from tests.sessions import stores
from tests.sessions.proxy import Proxy, Way

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POINTS = 12
"""Places in a turn, each way, where the connection is cut."""
LEASE_SECONDS = 0.3
PATIENCE = {"redis": "socket_timeout=1", "postgres": "tcp_user_timeout=1000"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a second for PostgreSQL where half a minute is the default."""
    monkeypatch.setitem(postgres._POOL, "timeout", 1.0)
    monkeypatch.setattr(postgres, "ANSWER_SECONDS", 2.0)


@contextlib.contextmanager
def behind_proxy(
    kind: str, folder: Path, namespace: str
) -> Iterator[tuple[Proxy, str, str]]:
    """Give a proxy, the URL through it, and the URL past it."""
    with stores.place(kind, folder, namespace) as direct:
        parts = urllib.parse.urlsplit(direct)
        default = 6379 if kind == "redis" else 5432
        with Proxy(parts.port or default) as proxy:
            user = f"{parts.username}@" if parts.username else ""
            through = parts._replace(netloc=f"{user}127.0.0.1:{proxy.port}")
            joint = "&" if parts.query else "?"
            yield proxy, f"{through.geturl()}{joint}{PATIENCE[kind]}", direct


def manager(url: str, namespace: str, **settings: Any) -> SessionManager:
    """Make a manager whose leases are soon free again."""
    return SessionManager(
        store=url,
        namespace=namespace,
        max_tokens=9_000,
        lease_seconds=LEASE_SECONDS,
        wait_seconds=10.0,
        **settings,
    )


def turn(
    sessions: SessionManager, session_id: str, said: list[str], kept: list[str]
) -> None:
    """Say two things, each committed; note what was acknowledged."""
    with sessions.open(session_id) as ctx:
        for number in range(2):
            text = f"{len(said)} says {number} " + "word " * 40
            said.append(text)
            ctx.add_user_message(text)
            ctx.commit()
            kept[:] = said
        ctx.add_assistant_message("done")
        said.append("done")
    kept[:] = said


def outcome(
    sessions: SessionManager, session_id: str, said: list[str], kept: list[str]
) -> StoreError | None:
    """Take a turn, and return the error that ended it."""
    try:
        turn(sessions, session_id, said, kept)
    except StoreError as error:
        return error
    return None


def stored(url: str, namespace: str, session_id: str) -> list[str]:
    """Return what the next worker finds."""
    with manager(url, namespace) as sessions, sessions.open(session_id) as ctx:
        assert ctx.damage == ()
        return [item.text for item in ctx.items]


@pytest.mark.parametrize("way", ["asked", "answered"])
@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_a_cut_connection_loses_nothing_that_was_acknowledged(
    kind: str, way: Way, tmp_path: Path, namespace: str
) -> None:
    """Wherever in a turn it is cut: a typed error or none, nothing lost or doubled."""
    with behind_proxy(kind, tmp_path, namespace) as (proxy, through, direct):
        with manager(through, namespace) as sessions:
            proxy.reset()
            turn(sessions, "whole", [], [])
            whole = proxy.passed[way]
        errors = 0
        for point in range(POINTS):
            proxy.reset()
            said: list[str] = []
            kept: list[str] = []
            with manager(through, namespace) as sessions:
                proxy.cut_after[way] = whole * point // POINTS
                error = outcome(sessions, f"s{point}", said, kept)
                assert not isinstance(error, SessionConflictError)
                errors += error is not None
                proxy.reset()
            found = stored(direct, namespace, f"s{point}")
            assert found[: len(kept)] == kept
            assert found == said[: len(found)]
        assert errors > POINTS // 2


@pytest.mark.parametrize("way", ["asked", "answered"])
@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_a_turn_goes_on_when_the_connection_is_back(
    kind: str, way: Way, tmp_path: Path, namespace: str
) -> None:
    """What could not be committed is committed by a later try, once."""
    with behind_proxy(kind, tmp_path, namespace) as (proxy, through, direct):
        for point in range(0, 2_400, 400):
            proxy.reset()
            with (
                manager(through, namespace) as sessions,
                sessions.open(f"t{point}") as ctx,
            ):
                ctx.add_user_message("first")
                ctx.commit()
                proxy.cut_after[way] = proxy.passed[way] + point
                ctx.add_user_message("second " * 100)
                with contextlib.suppress(StoreError):
                    ctx.commit()
                proxy.reset()
                ctx.add_assistant_message("third")
                commit_when_back(ctx)
            texts = stored(direct, namespace, f"t{point}")
            assert texts == ["first", "second " * 100, "third"]


def commit_when_back(ctx: Any) -> None:
    """Try until the pool has found the server again, which may take some seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(StoreError):
            ctx.commit()
            return
    ctx.commit()


@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_a_slow_server_is_waited_for(
    kind: str, tmp_path: Path, namespace: str
) -> None:
    """A turn over a slow line is slow, and whole; sync and awaited."""
    with behind_proxy(kind, tmp_path, namespace) as (proxy, through, direct):
        proxy.delay_seconds = 0.03
        async with manager(through, namespace) as sessions:
            with sessions.open("s") as ctx:
                ctx.add_user_message("one")
            async with sessions.open("s") as ctx:
                ctx.add_user_message("two")
        assert stored(direct, namespace, "s") == ["one", "two"]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_a_server_that_hangs_is_an_error_in_time(
    kind: str, tmp_path: Path, namespace: str, *, awaited: bool
) -> None:
    """A server that stops answering in mid-turn does not hold the turn for ever."""
    with behind_proxy(kind, tmp_path, namespace) as (proxy, through, direct):
        async with manager(through, namespace) as sessions:
            block = sessions.open("s")
            ctx = await block.__aenter__() if awaited else block.__enter__()
            ctx.add_user_message("acknowledged")
            await commit(ctx, awaited=awaited)
            proxy.stalls = True
            ctx.add_user_message("not acknowledged")
            started = time.monotonic()
            with pytest.raises(StoreError):
                await commit(ctx, awaited=awaited)
            assert time.monotonic() - started < 15
            proxy.stalls = False
            await commit(ctx, awaited=awaited)
            if awaited:
                await block.__aexit__(None, None, None)
            else:
                block.__exit__(None, None, None)
        found = stored(direct, namespace, "s")
        assert found == ["acknowledged", "not acknowledged"]


async def commit(ctx: Any, *, awaited: bool) -> None:
    """Commit in one of the two ways."""
    if awaited:
        await ctx.acommit()
    else:
        ctx.commit()
