"""Threat: keys, tokens and passwords in what is printed, stored or raised."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from context_builder.accounts import AccountsFile
from context_builder.errors import ContextBuilderError
from context_builder.sessions import SessionManager

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "correct-horse-battery"  # noqa: S105  what must not be shown
URLS = (
    f"redis://:{PASSWORD}@127.0.0.1:1/0",
    f"redis://:{PASSWORD}@127.0.0.1:none/0",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1/x",
    f"mysql://ada:{PASSWORD}@127.0.0.1/x",
    f"{PASSWORD}://x",
    f"sqlite://ada:{PASSWORD}@x/y.db",
)


def run(*arguments: str, **more: str) -> str:
    """Return all that a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "context_builder.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **more},
    )
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.parametrize("url", URLS[:4])
def test_no_command_shows_the_password_of_a_store(url: str) -> None:
    """Whatever goes wrong with the store."""
    assert PASSWORD not in run("sessions", "list", "--store", url)


@pytest.mark.parametrize("url", URLS[:4])
def test_no_error_of_a_store_shows_its_password(url: str) -> None:
    """Nor does its `repr`."""
    with pytest.raises(ContextBuilderError) as refused:
        _list(url)
    assert PASSWORD not in str(refused.value)


def _list(url: str) -> None:
    sessions = SessionManager(max_tokens=500, store=url, wait_seconds=0.1)
    assert PASSWORD not in repr(sessions.store)
    sessions.list()


def test_a_token_is_kept_as_a_digest_that_only_its_owner_reads(tmp_path: Path) -> None:
    """Nobody can log in with what is kept."""
    path = tmp_path / "users.json"
    accounts = AccountsFile(path)
    token = accounts.add("ada")
    assert token not in path.read_text()
    assert token.rpartition("-")[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert accounts.user_of(token) == "ada"
    for forged in (token[:-1], token + "x", token.upper(), "", "cb-", path.read_text()):
        assert accounts.user_of(forged) is None
    assert token not in repr(accounts)


def test_a_store_is_for_its_owners_eyes(tmp_path: Path) -> None:
    """The file is made so."""
    with SessionManager(max_tokens=500, store=f"sqlite:///{tmp_path}/s.db") as sessions:
        with sessions.open("s") as ctx:
            ctx.add_user_message("x")
        assert stat.S_IMODE((tmp_path / "s.db").stat().st_mode) == 0o600
