"""A disk that is full at any write, and a store that fails at any step."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.errors import SessionConflictError, StoreError
from context_builder.sessions import (
    MemoryStore,
    SessionManager,
    load_session,
    save_session,
)
from tests.sessions.test_files import BUDGET, logbook

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE_SECONDS = 60.0
ROOT = Path(__file__).parents[2]

# Prints, for each limit, how many turns were acknowledged and what ended the rest.
FILL = """
import json, os, resource, signal, sys
from context_builder.errors import StoreError
from context_builder.sessions import SessionManager

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, *limits = sys.argv[1:]
for limit in map(int, limits):
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    kept, error = 0, None
    try:
        with SessionManager(
            store=f"sqlite:///{folder}/{limit}.db", max_tokens=9_999, lease_seconds=0.2
        ) as sessions:
            for turn in range(40):
                with sessions.open("s") as ctx:
                    ctx.add_user_message(f"{turn} " + "word " * 300)
                    ctx.commit()
                    kept += 1
                    ctx.add_assistant_message("done")
    except StoreError as raised:
        error = str(raised)
    print(json.dumps([limit, kept, error]), flush=True)
    os._exit(0)
"""


def test_a_disk_that_is_full_at_any_size(tmp_path: Path) -> None:
    """Wherever SQLite's files may not grow any more: a typed error, nothing lost."""
    limits = [str(limit) for limit in range(1_000, 150_000, 3_700)]
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path), *limits],
        check=True,
        capture_output=True,
        cwd=ROOT,
        timeout=240,
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [str(limit) for limit, _, _ in outcomes] == limits
    assert sum(error is not None for _, _, error in outcomes) > len(limits) // 2
    assert len({kept for _, kept, _ in outcomes}) > 3
    for limit, kept, error in outcomes:
        assert error is None or f"{limit}.db" in error
        with SessionManager(
            store=f"sqlite:///{tmp_path}/{limit}.db", max_tokens=9_999
        ) as sessions:
            with sessions.open("s") as ctx:
                asked = [item.text for item in ctx.items if item.role == "user"]
                assert ctx.damage == ()
                assert len(asked) >= kept
                assert [int(text.split()[0]) for text in asked] == [*range(len(asked))]
                ctx.add_user_message("there is room again")
            with sessions.open("s") as ctx:
                assert ctx.items[-1].text == "there is room again"


# --- a file: each call of the system that writes --------------------------------------


class FullDisk:
    """Fails the nth call of one kind, as a full disk does."""

    def __init__(self, real: Callable[..., Any], fails_at: int) -> None:
        self.real = real
        self.fails_at = fails_at
        self.calls = 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Do it, or say that there is no space left."""
        self.calls += 1
        if self.calls == self.fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.real(*args, **named)


PLACES: dict[str, tuple[Any, str]] = {
    "open": (os, "open"),
    "fsync": (os, "fsync"),
    "fdopen": (os, "fdopen"),
    "chmod": (os, "chmod"),
    "rename": (os, "replace"),
    "mkdir": (os, "mkdir"),
}


@pytest.mark.parametrize("fails_at", [1, 2])
@pytest.mark.parametrize("call", PLACES)
def test_a_disk_that_is_full_at_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, fails_at: int
) -> None:
    """A save that fails is a typed error; the file is the old one, or the new one."""
    path = tmp_path / "f.jsonl"
    save_session(logbook(), path)
    before = path.read_bytes()
    grown = load_session(path, **BUDGET)
    grown.add_user_message("one more")
    where, name = PLACES[call]
    disk = FullDisk(getattr(where, name), fails_at)
    monkeypatch.setattr(where, name, disk)
    failed = None
    try:
        save_session(grown, path)
    except StoreError as error:
        failed = error
    monkeypatch.undo()
    if failed is not None:
        assert "cannot write" in str(failed)
        assert path.read_bytes() == before
    loaded = load_session(path, **BUDGET)
    assert loaded.damage == ()
    assert len(loaded.items) == len(grown.items) - (failed is not None)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    save_session(grown, path)
    assert load_session(path, **BUDGET).build() == grown.build()


# --- a store that fails at any step ---------------------------------------------------


class Failing(MemoryStore):
    """Fails before or after it has done what it was asked, as the plan says."""

    def __init__(self, plan: list[str]) -> None:
        super().__init__(clock=lambda: self.now)
        self.now = 0.0
        self.plan = iter(plan)

    def _do(self, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        kind = next(self.plan, "works")
        if kind == "fails":
            message = "the disk is full"
            raise StoreError(message)
        outcome = real(*args, **named)
        if kind == "answer lost":
            message = "the connection was lost"
            raise StoreError(message)
        return outcome

    def acquire(self, *args: Any, **named: Any) -> Any:
        """Acquire, or fail."""
        return self._do(super().acquire, *args, **named)

    def append(self, *args: Any, **named: Any) -> Any:
        """Append, or fail."""
        return self._do(super().append, *args, **named)

    def load(self, *args: Any, **named: Any) -> Any:
        """Load, or fail."""
        return self._do(super().load, *args, **named)

    def release(self, *args: Any, **named: Any) -> Any:
        """Release, or fail."""
        return self._do(super().release, *args, **named)


plans = st.lists(
    st.sampled_from(("works", "works", "fails", "answer lost")), max_size=40
)


@given(plans, st.integers(1, 4), st.booleans())
def test_a_store_that_fails_at_any_step(
    plan: list[str], commits: int, moves: bool
) -> None:
    """What was acknowledged is there, once and in order, whatever failed between."""
    store = Failing(plan)
    said: list[str] = []
    kept = 0
    sessions = _manager(store)
    for _ in range(6):
        with contextlib.suppress(StoreError), sessions.open("s") as ctx:
            said = [item.text for item in ctx.items]
            for _ in range(commits):
                said.append(f"message {len(said)}")
                ctx.add_user_message(said[-1])
                with contextlib.suppress(StoreError):
                    ctx.commit()
                    kept = len(said)
        store.now += 2 * LEASE_SECONDS  # who does not know that it has one lets it go
        if moves:
            sessions = _manager(store)
    store.plan = iter(())
    with _manager(store).open("s") as ctx:
        found = [item.text for item in ctx.items]
    assert len(found) >= kept
    assert found == [f"message {number}" for number in range(len(found))]


def _manager(store: MemoryStore) -> SessionManager:
    """Make a manager that waits for nobody."""
    return SessionManager(
        store=store,
        max_tokens=9_000,
        lease_seconds=LEASE_SECONDS,
        wait_seconds=0.0,
    )


def test_failing_is_no_conflict() -> None:
    """A store that cannot be written is not mistaken for a second writer."""
    with _manager(Failing(["works", "fails"])) as sessions:
        block = sessions.open("s")
        block.__enter__().add_user_message("one")
        with pytest.raises(StoreError) as caught:
            block.__exit__(None, None, None)
        assert not isinstance(caught.value, SessionConflictError)
