"""Stores to test with: real servers, a place of our own on each, cleaned up after."""

from __future__ import annotations

import hashlib
import os
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REDIS = os.environ.get("CONTEXT_BUILDER_TEST_REDIS", "redis://127.0.0.1:6379/0")
POSTGRES = os.environ.get(
    "CONTEXT_BUILDER_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test"
)
DURABLE = ("sqlite", "redis", "postgres")
ALL = ("memory", *DURABLE)


@contextmanager
def place(kind: str, folder: Path, *namespaces: str) -> Iterator[str]:
    """Give the URL of a store of this kind; what is put there is deleted in the end.

    On a shared server that is what these namespaces have.
    """
    if kind == "postgres":
        with _schema() as url:
            yield url
    elif kind == "redis":
        _ping_redis()
        yield REDIS
        for namespace in namespaces:
            wipe_redis(namespace)
    else:
        yield "memory:" if kind == "memory" else f"sqlite:///{folder}/sessions.db"


def _ping_redis() -> None:
    redis = pytest.importorskip("redis")
    client = redis.Redis.from_url(REDIS)
    try:
        client.ping()
    except redis.exceptions.ConnectionError:
        pytest.skip(f"needs a Redis server at {REDIS} (CONTEXT_BUILDER_TEST_REDIS)")
    finally:
        client.close()


@contextmanager
def _schema() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg")
    name = f"context_builder_{uuid.uuid4().hex}"
    try:
        admin = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError:
        pytest.skip(
            "needs a PostgreSQL server at the address in CONTEXT_BUILDER_TEST_POSTGRES"
        )
    with admin:
        admin.execute(f"CREATE SCHEMA {name}")
        try:
            joint = "&" if "?" in POSTGRES else "?"
            yield f"{POSTGRES}{joint}options={quote(f'-csearch_path={name}')}"
        finally:
            admin.execute(f"DROP SCHEMA {name} CASCADE")


def wipe_redis(namespace: str) -> None:
    """Delete all that was put into a namespace, whoever holds it."""
    redis = pytest.importorskip("redis")
    place = hashlib.sha256(namespace.encode()).hexdigest()[:32]
    with redis.Redis.from_url(REDIS) as client:
        for name in client.scan_iter(
            match=f"context_builder:1:{{{place}}}:*", count=1000
        ):
            client.delete(name)
