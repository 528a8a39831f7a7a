"""One at a time, within this process: threads and tasks wait in one line, first come.

The store's lease keeps processes apart; waiting for it means asking again and again.
Within a process nobody has to ask: who leaves hands over to who came next. A gate
remembers nothing about keys that nobody holds.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Gate"]


class Gate:
    """Lets one holder a key in, and the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Hashable, deque[Future[None]]] = {}

    def __len__(self) -> int:
        """Return how many keys are held."""
        return len(self._lines)

    def enter(self, key: Hashable, *, wait_seconds: float | None) -> bool:
        """Wait for a key, at most so long (None: for ever); False if it was in vain."""
        place = self._join(key)
        if place is None:
            return True
        try:
            place.result(wait_seconds)
        except TimeoutError:
            return not place.cancel()  # False: it was handed over just now
        except BaseException:
            self._leave_line(key, place)
            raise
        return True

    async def aenter(self, key: Hashable, *, wait_seconds: float | None) -> bool:
        """As `enter`, without holding up the event loop."""
        place = self._join(key)
        if place is None:
            return True
        waiting = asyncio.wrap_future(place)
        try:
            await asyncio.wait([waiting], timeout=wait_seconds)
        except BaseException:
            self._leave_line(key, place)
            raise
        return not place.cancel()

    def leave(self, key: Hashable) -> None:
        """Hand the key to whoever came next."""
        with self._lock:
            line = self._lines[key]
            while line:
                place = line.popleft()
                if place.set_running_or_notify_cancel():
                    break
            else:
                del self._lines[key]
                return
        place.set_result(None)

    def _join(self, key: Hashable) -> Future[None] | None:
        """Stand in line; None if the key was free, and is ours."""
        with self._lock:
            line = self._lines.get(key)
            if line is None:
                self._lines[key] = deque()
                return None
            place: Future[None] = Future()
            line.append(place)
            return place

    def _leave_line(self, key: Hashable, place: Future[None]) -> None:
        if not place.cancel():  # it was handed over just now
            self.leave(key)
