"""Who may use a service: users, each with tokens of their own.

A token is shown once, when it is made. What is kept of it is a digest, which nobody can
log in with. A token has 256 random bits, so a fast digest is as good as a slow one:
there is nothing to guess.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.errors import InvalidItemError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Account", "Accounts", "AccountsFile", "account_of", "new_token"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"cb-([0-9a-f]{16})-([A-Za-z0-9_-]{43})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCHEMA = "context_builder.users"
_DAMAGE = (KeyError, RecursionError, TypeError, ValueError)
"""What reading trips on where a file is something else."""
_NOBODY = "0" * 64
"""Compared with where no account has the key, so that a miss takes as long as a hit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """One token of one user, as it is kept."""

    user: str
    key: str
    """The part of the token that names it; no secret."""
    digest: str
    """SHA-256 of the whole token, in hexadecimal."""


def new_token(user: str) -> tuple[str, Account]:
    """Make a token for a user; return it, and what is kept of it.

    Raises:
        InvalidItemError: If the name is not 1 to 64 letters, digits, or `._@-`.
    """
    key = secrets.token_hex(8)
    token = f"cb-{key}-{secrets.token_urlsafe(32)}"
    return token, Account(_checked_name(user), key, _digest(token))


def account_of(user: str, token: str) -> Account:
    """Return what is kept of a token that was made elsewhere.

    Raises:
        InvalidItemError: If it is none, or the name is none.
    """
    found = _TOKEN.fullmatch(token)
    if found is None:
        message = "a token is what `context-builder users add` prints"
        raise InvalidItemError(message, field="token")
    return Account(_checked_name(user), found[1], _digest(token))


class Accounts:
    """The users of a service, by their tokens."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._by_key = {account.key: account for account in accounts}

    def __len__(self) -> int:
        return len(self._by_key)

    def user_of(self, token: str) -> str | None:
        """Return whose token it is; None: nobody's. Takes as long either way."""
        found = _TOKEN.fullmatch(token)
        account = self._accounts().get(found[1]) if found else None
        kept = account.digest if account else _NOBODY
        is_right = hmac.compare_digest(kept, _digest(token))
        return account.user if account is not None and is_right else None

    def _accounts(self) -> Mapping[str, Account]:
        return self._by_key


class AccountsFile(Accounts):
    """Users in a JSON file that only its owner can read.

    It is read again when it has changed, so that a user who was added can log in at
    once, and one who was removed cannot.

    Args:
        path: The file. A missing one has no users.

    Raises:
        StoreError: If it cannot be read, or is something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._lock = threading.Lock()
        self._refresh()

    def __len__(self) -> int:
        return len(self._accounts())

    @property
    def users(self) -> tuple[str, ...]:
        """The names of all users, sorted."""
        return tuple(sorted({a.user for a in self._accounts().values()}))

    def add(self, user: str) -> str:
        """Give a user a token, beside those that they have; return it.

        Raises:
            InvalidItemError: If the name is none.
            StoreError: If the file cannot be written.
        """
        token, account = new_token(user)
        self._write([*self._accounts().values(), account])
        return token

    def remove(self, user: str) -> int:
        """Take all tokens of a user away; return how many there were.

        Raises:
            StoreError: If the file cannot be written.
        """
        known = list(self._accounts().values())
        left = [account for account in known if account.user != user]
        if len(left) < len(known):
            self._write(left)
        return len(known) - len(left)

    def _accounts(self) -> Mapping[str, Account]:
        self._refresh()
        return self._by_key

    def _refresh(self) -> None:
        with self._lock:
            try:
                state = self._path.stat()
                seen = (state.st_mtime_ns, state.st_size, state.st_ino)
                if seen != self._seen:
                    accounts = _read(json.loads(self._path.read_bytes()))
                    self._by_key = {account.key: account for account in accounts}
                    self._seen = seen
            except FileNotFoundError:
                self._by_key, self._seen = {}, None
            except (OSError, *_DAMAGE) as error:
                why = getattr(error, "strerror", None) or error
                message = f"cannot read the users in {str(self._path)!r}: {why}"
                raise StoreError(message) from None

    def _write(self, accounts: list[Account]) -> None:
        text = json.dumps(
            {
                "schema": _SCHEMA,
                "version": 1,
                "accounts": [dataclasses.asdict(account) for account in accounts],
            },
            indent=1,
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".users.")
            with os.fdopen(handle, "w", encoding="utf-8") as file:  # mode 0600
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except OSError as error:
            message = f"cannot write {str(self._path)!r}: {error.strerror or error}"
            raise StoreError(message) from error


def _read(data: Any) -> list[Account]:
    """Read what `_write` wrote.

    Raises:
        ValueError: If it is something else.
    """
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
        message = "it is no file of users"
        raise ValueError(message)
    if data.get("version") != 1:
        message = "it is of a later version"
        raise ValueError(message)
    accounts = [Account(**account) for account in data["accounts"]]
    for account in accounts:
        if not _NAME.fullmatch(account.user) or not _DIGEST.fullmatch(account.digest):
            message = "an account in it is damaged"
            raise ValueError(message)
    return accounts


def _checked_name(user: str) -> str:
    if not _NAME.fullmatch(user):
        message = "a user's name has 1 to 64 letters, digits, or any of . _ @ -"
        raise InvalidItemError(message, field="user", value=user)
    return user


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
