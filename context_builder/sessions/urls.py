"""Finds the store that a URL names. Its driver is imported here, and not before."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from context_builder.errors import InvalidItemError
from context_builder.sessions.memory import MemoryStore
from context_builder.sessions.sqlite import SQLiteStore

if TYPE_CHECKING:
    from context_builder.sessions.store import Store

__all__ = ["open_store", "store_kind"]

_HELP = (
    "a store is memory:, sqlite:///file.db, sqlite:////absolute/file.db, sqlite: (in "
    "the user's state folder), redis://host:port/db, or postgresql://user@host/database"
)


def store_kind(store: object) -> str:
    """Return the name of a store's kind, for logs: never its address."""
    return type(store).__name__.removesuffix("Store").lower()


def open_store(url: str) -> Store:
    """Return the store that a URL names. Nothing is connected to yet.

    Raises:
        InvalidItemError: If it names none.
        StoreError: If its driver is not installed.
    """
    scheme, _, rest = url.partition(":")
    match scheme.lower():
        case "memory" if rest in {"", "//"}:
            return MemoryStore()
        case "sqlite":
            return _sqlite(rest)
        case "redis" | "rediss" | "unix":
            from context_builder.sessions.redis import RedisStore  # noqa: PLC0415

            _require_port(url)
            return RedisStore(url)
        case "postgresql" | "postgres":
            from context_builder.sessions.postgres import PostgresStore  # noqa: PLC0415

            return PostgresStore(url)
    # The URL itself may hold a password.
    message = f"no store has URLs that begin with {scheme[:20]!r}: {_HELP}"
    raise InvalidItemError(message, field="store")


def _require_port(url: str) -> None:
    """Refuse an address whose port is none, before a driver says so in its own way.

    Raises:
        InvalidItemError: If it is none. The URL is not said: it may hold a password.
    """
    try:
        _ = urlsplit(url).port
    except ValueError:
        message = f"the port of this store is no number: {_HELP}"
        raise InvalidItemError(message, field="store") from None


def _sqlite(rest: str) -> Store:
    """Read the path behind `sqlite:`.

    Raises:
        InvalidItemError: If it is none.
    """
    if rest in {"", "//"}:
        return SQLiteStore()
    path = rest.removeprefix("///")
    if path == rest or path in {"", ":memory:"} or "?" in path:
        message = f"this is no path of a SQLite file: {_HELP}"
        raise InvalidItemError(message, field="store")
    return SQLiteStore(path)
