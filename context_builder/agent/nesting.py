"""How deep turns run within turns: an agent whose tool runs an agent, and so on."""

from __future__ import annotations

import contextlib
import contextvars
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["depth", "one_deeper"]

_DEPTH = contextvars.ContextVar("context_builder_agent_depth", default=0)


def depth() -> int:
    """Return how many turns run around this place; 0: none."""
    return _DEPTH.get()


@contextlib.contextmanager
def one_deeper() -> Iterator[None]:
    """Count a turn while it runs, for all that it starts."""
    before = _DEPTH.set(_DEPTH.get() + 1)
    try:
        yield
    finally:
        _DEPTH.reset(before)
