"""One summary at a time for a session, and never one inside another.

A build that comes in while a summary is under way does not wait and does not ask: it
goes on with the digest. So does a build that the summariser itself asks for, from its
own thread, from a task that it began, or long after its answer was given up.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SummaryGuard"]

_INSIDE: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "context_builder_summaries", default=frozenset()
)
"""The guards inside whose flight the running code was called."""


class SummaryGuard:
    """Lets one summary of one session be under way; each session has its own guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @property
    def is_inside(self) -> bool:
        """Whether the running code was called by a summariser of this session."""
        return id(self) in _INSIDE.get()

    @property
    def is_busy(self) -> bool:
        """Whether a summary of this session is under way, wherever."""
        return self._lock.locked()

    @contextlib.contextmanager
    def flight(self) -> Iterator[bool]:
        """Hold the place of the one summary; False: it is taken, go on without.

        It may be held across an await. What is started inside, threads with a copy of
        the context and tasks, counts as inside.
        """
        if self.is_inside or not self._lock.acquire(blocking=False):
            yield False
            return
        token = _INSIDE.set(_INSIDE.get() | {id(self)})
        try:
            yield True
        finally:
            _INSIDE.reset(token)
            self._lock.release()
