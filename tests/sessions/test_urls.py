from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from context_builder.errors import InvalidItemError, StoreError
from context_builder.sessions import MemoryStore, SessionManager
from context_builder.sessions.urls import open_store, store_kind
from tests.sessions import stores

if TYPE_CHECKING:
    from pathlib import Path


def test_each_kind_has_its_scheme(tmp_path: Path) -> None:
    """And nothing is connected to before it is used."""
    kinds = {
        "memory:": "memory",
        f"sqlite:///{tmp_path}/s.db": "sqlite",
        "sqlite:///relative.db": "sqlite",
        "redis://nowhere.invalid:1/0": "redis",
        "rediss://nowhere.invalid:1/0": "redis",
        "postgresql://nowhere.invalid/x": "postgres",
        "postgres://nowhere.invalid/x": "postgres",
    }
    for url, kind in kinds.items():
        assert store_kind(open_store(url)) == kind
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://root:walnut@host/db",
        "sqlite:file.db",
        "sqlite://file.db",
        "sqlite:///:memory:",
        "sqlite:///a.db?mode=ro",
        "memory:x",
        "walnut",
    ],
)
def test_what_is_no_store_is_said(url: str) -> None:
    """With what would be one, and without the URL, which may hold a password."""
    with pytest.raises(InvalidItemError, match=r"sqlite:///file\.db") as caught:
        open_store(url)
    assert "root:walnut" not in str(caught.value)


def test_sqlite_lies_in_the_state_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the working folder; parent folders are made."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with SessionManager(max_tokens=99, store="sqlite:") as sessions:
        with sessions.open("s") as ctx:
            ctx.add_user_message("one")
        (path,) = tmp_path.rglob("sessions.db")
        assert path.parent.name == "context_builder"


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [
        ("redis://localhost/0", "redis", "redis"),
        ("postgresql://localhost/x", "psycopg", "postgres"),
    ],
)
def test_a_missing_driver_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, driver: str, extra: str
) -> None:
    """When it is wanted, and not before."""
    for name in [n for n in sys.modules if n.partition(".")[0] == driver]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(StoreError, match=rf"context-builder\[{extra}\]"):
        SessionManager(max_tokens=99, store=url)


def test_drivers_are_imported_on_use() -> None:
    """Not by importing the package, nor by using another store."""
    script = (
        "import sys; from context_builder.sessions import SessionManager; "
        "SessionManager(max_tokens=99).close(); "
        "print([m for m in ('redis', 'psycopg', 'cryptography', 'platformdirs') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True
    )
    assert done.stdout.strip() == b"[]"


@pytest.mark.parametrize(
    "url",
    ["redis://user:walnut@127.0.0.1:1/0", "postgresql://user:walnut@127.0.0.1:1/x"],
)
async def test_a_server_that_is_not_there(url: str) -> None:
    """Is an error of ours, without the password."""
    async with SessionManager(max_tokens=99, store=url) as sessions:
        with pytest.raises(StoreError) as caught, sessions.open("s"):
            pass
        assert "walnut" not in str(caught.value)
        with pytest.raises(StoreError):
            async with sessions.open("s"):
                pass


def test_a_store_of_ones_own() -> None:
    """Whatever has the methods is a store."""
    store = MemoryStore()
    with SessionManager(max_tokens=99, store=store) as sessions:
        assert sessions.store is store


def end_connections(name: str) -> int:
    """End the connections of an application, as a restart would; return how many."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(stores.POSTGRES, autocommit=True) as admin:
        rows = admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = %s",
            (name,),
        ).fetchall()
    return len(rows)


async def test_a_restarted_server_is_found_again(
    tmp_path: Path, namespace: str
) -> None:
    """Connections that the server has closed are no error of the next turn."""
    with stores.place("postgres", tmp_path, namespace) as place:
        url = f"{place}&application_name={namespace}"
        async with SessionManager(store=url, max_tokens=9_000) as sessions:
            for turn in range(3):
                with sessions.open("s") as ctx:
                    ctx.add_user_message(f"{turn}")
                    assert end_connections(namespace) > 0
                async with sessions.open("s") as ctx:
                    ctx.add_assistant_message(f"{turn}")
                    assert end_connections(namespace) > 0
            with sessions.open("s") as ctx:
                assert len(ctx.items) == 6


def test_a_silent_server_is_an_error_in_time(tmp_path: Path) -> None:
    """A server that takes the call and says nothing does not hold a turn for ever."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for url in (
            f"redis://127.0.0.1:{port}/0?socket_timeout=0.2",
            f"postgresql://u@127.0.0.1:{port}/d?connect_timeout=2",
        ):
            with (
                SessionManager(store=url, max_tokens=9_000) as sessions,
                pytest.raises(StoreError),
                sessions.open("s"),
            ):
                pass
