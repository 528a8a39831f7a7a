"""When sessions are put to sleep in an event loop: a bit after the turn that ended.

There is no thread and no task for it: a timer of the loop, which is gone with the loop.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from context_builder.sessions.cache import SessionCache

__all__ = ["Bedtime"]

PAUSE_SECONDS = 0.02
"""Between the end of a turn and the first session that is put to sleep, and between
that and the next: others come first."""


class Bedtime:
    """Puts sessions to sleep one after the other, in the loops that want it.

    Args:
        cache: Has the sessions.
    """

    def __init__(self, cache: SessionCache) -> None:
        self._cache = cache
        self._waiting: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()

    def come(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have sessions put to sleep soon, until not too many are awake."""
        if loop not in self._waiting:
            self._waiting.add(loop)
            loop.call_later(PAUSE_SECONDS, self._put_one, loop)

    def _put_one(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.discard(loop)
        if not self._cache.excess:
            return
        if not self._cache.is_next_long:
            self._cache.put_to_sleep()
            self.come(loop)
            return
        with contextlib.suppress(RuntimeError):  # a loop at its end has no threads
            packing = loop.run_in_executor(None, self._cache.put_to_sleep)
            self._waiting.add(loop)
            packing.add_done_callback(lambda _: self._go_on(loop))

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.discard(loop)
        if not loop.is_closed():
            self.come(loop)
