"""A process that died holds nobody up: on one machine it is recognised."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from context_builder.sessions import processes, sqlite
from context_builder.sessions.processes import is_gone, named_owner
from context_builder.sessions.store import SessionKey

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/ns/pid").exists(), reason="processes are named by /proc"
)


def test_a_killed_process_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its session can be taken at once; alive or frozen it is left alone."""
    store, key = sqlite.SQLiteStore(tmp_path / "s.db"), SessionKey("default", "s")
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        name = processes._this_process.__wrapped__(process.pid)
        with monkeypatch.context() as there:
            there.setattr(sqlite, "named_owner", lambda owner: f"{owner}@{name}")
            held = store.acquire(key, owner="o", lease_seconds=600)
        assert held is not None
        assert store.append(held, [b"x"], expected_version=0, release=False) == "done"
        assert store.acquire(key, owner="me", lease_seconds=600) is None
        process.send_signal(signal.SIGSTOP)
        assert store.acquire(key, owner="me", lease_seconds=600) is None
        process.kill()
        deadline = time.monotonic() + 10
        while not is_gone(held.owner) and time.monotonic() < deadline:
            time.sleep(0.001)
        lease = store.acquire(key, owner="me", lease_seconds=600)  # nobody reaped it
    assert lease is not None
    assert (lease.token, lease.version) == (2, 1)
    assert is_gone(held.owner)
    assert store.append(held, [b"y"], expected_version=1, release=False) == "fenced"
    assert store.acquire(key, owner="you", lease_seconds=600) is None
    store.close()


def test_nobody_else_is_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who ran elsewhere, or cannot be seen, is not gone; a number given anew is."""
    owner = named_owner("o")
    name, place = owner.split("@")
    here, _, process = place.rpartition("/")
    number, began = process.split(".")
    assert (name, int(number)) == ("o", os.getpid())
    assert not is_gone(owner)
    assert not is_gone("o")
    assert not is_gone(f"o@elsewhere/{2**21}.1")
    assert not is_gone(f"o@{here}/{2**99}.1")
    assert is_gone(f"o@{here}/{number}.{int(began) + 1}")

    def refuse(number: int, sign: int) -> None:
        raise PermissionError(number, sign)

    assert is_gone(f"o@{here}/{2**22 + 1}.1")  # more than a number can be
    monkeypatch.setattr(os, "kill", refuse)
    assert not is_gone(f"o@{here}/{2**22 + 1}.1")  # there is one that is not shown
