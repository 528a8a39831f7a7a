from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from context_builder.sessions.urls import open_store
from tests.sessions import stores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from context_builder.sessions import Store


@pytest.fixture
def namespace() -> str:
    """Give a namespace that nobody else uses."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture(params=stores.ALL)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, namespace: str
) -> Iterator[Store]:
    """Give each kind of store, cleaned up in the end."""
    with stores.place(request.param, tmp_path, namespace) as url:
        opened = open_store(url)
        yield opened
        opened.close()


@pytest.fixture(params=stores.DURABLE)
def durable_url(
    request: pytest.FixtureRequest, tmp_path: Path, namespace: str
) -> Iterator[str]:
    """Give the URL of each kind of durable store, cleaned up in the end."""
    with stores.place(request.param, tmp_path, namespace) as url:
        yield url


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        """Say what time it is."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock that is moved by hand."""
    return Clock()
