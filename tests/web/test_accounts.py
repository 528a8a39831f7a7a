from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from context_builder.accounts import Accounts, AccountsFile, account_of, new_token
from context_builder.errors import InvalidItemError, StoreError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_token_is_its_users_and_nobody_elses() -> None:
    """Each token names one user; a changed one names nobody."""
    made = {name: new_token(name) for name in ("ada", "bob", "ada.l@example-2")}
    accounts = Accounts(account for _, account in made.values())
    for name, (token, _) in made.items():
        assert accounts.user_of(token) == name
        for place in (0, 4, 10, 25, -1):
            other = "A" if token[place] != "A" else "B"
            changed = (
                token[:place] + other + (token[place + 1 :] if place != -1 else "")
            )
            assert accounts.user_of(changed) is None
    for nobody in ("", "cb-", "\ud800", "x" * 10_000, made["ada"][1].digest):
        assert accounts.user_of(nobody) is None


def test_a_file_holds_no_token(tmp_path: Path) -> None:
    """What is stored cannot be used to log in, and only its owner can read it."""
    path = tmp_path / "new" / "users.json"
    token = AccountsFile(path).add("ada")
    text = path.read_text("utf-8")
    _, key, secret = token.split("-", 2)
    assert secret not in text
    assert key in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (stored,) = json.loads(text)["accounts"]
    assert AccountsFile(path).user_of(stored["digest"]) is None
    assert AccountsFile(path).user_of(token) == "ada"


def test_a_change_counts_at_once(tmp_path: Path) -> None:
    """Who is added can log in, and who is removed cannot, without a restart."""
    path = tmp_path / "users.json"
    serving, managing = AccountsFile(path), AccountsFile(path)
    assert len(serving) == 0
    first, second = managing.add("ada"), managing.add("ada")
    other = managing.add("bob")
    assert [serving.user_of(t) for t in (first, second, other)] == ["ada", "ada", "bob"]
    assert serving.users == ("ada", "bob")
    assert managing.remove("ada") == 2
    assert [serving.user_of(t) for t in (first, second, other)] == [None, None, "bob"]
    assert managing.remove("ada") == 0


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a/b", "a" * 65, "a\n", "日"])
def test_a_name_is_plain(name: str, tmp_path: Path) -> None:
    """It becomes part of where conversations are kept; nothing is guessed about it."""
    with pytest.raises(InvalidItemError):
        AccountsFile(tmp_path / "users.json").add(name)
    assert not (tmp_path / "users.json").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "context_builder.users", "version": 2, "accounts": []}',
        '{"schema": "context_builder.users", "version": 1, "accounts": [{"user": 1}]}',
        '{"schema": "context_builder.users", "version": 1, "accounts": [7]}',
    ],
)
def test_a_damaged_file_lets_nobody_in(text: str, tmp_path: Path) -> None:
    """It is refused, not read as a file without users."""
    path = tmp_path / "users.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"users\.json"):
        AccountsFile(path)


def test_a_token_can_come_from_elsewhere() -> None:
    """What one machine printed is good on another, as an environment's value."""
    token, account = new_token("ada")
    assert account_of("ada", token) == account
    with pytest.raises(InvalidItemError):
        account_of("ada", "my own password")
