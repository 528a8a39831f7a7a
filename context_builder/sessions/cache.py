"""Which sessions stay in memory between two turns, and in which form.

The sessions used last stay awake: ready, with their decision. Those before them sleep,
packed with their decision, and wake without asking the store or deciding anything anew.
The rest, and what was idle for too long, leaves memory; the store has all of it. What
is in use is not here, so it cannot be evicted under its user.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from pickle import PicklingError
from typing import TYPE_CHECKING

from context_builder.sessions.asleep import PackedSession
from context_builder.sessions.journal import Journal
from context_builder.sessions.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.sessions.store import SessionKey

__all__ = ["SessionCache"]

LONGEST_SLEEPER = 400
"""Entries; a longer session is not put to sleep but dropped: reading it again in a
thread is better than compressing it in an event loop."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Sleeping:
    """A session that is packed: its log, and what was decided."""

    journal: Journal
    packed: PackedSession | Session
    """The session itself, if it has something in it that cannot be packed."""

    @classmethod
    def of(cls, session: Session) -> _Sleeping:
        try:
            return cls(session.journal, session.packed())
        except PicklingError:
            return cls(session.journal, session)

    def wake(self, make: Callable[[Journal], Session]) -> Session:
        if not isinstance(self.packed, PackedSession):
            return self.packed
        session = make(self.journal)
        session.unpack(self.packed)
        return session


class SessionCache:
    """Sessions that nobody uses at the moment, the one used last at the end.

    Args:
        max_sessions: Sessions in memory at most, those in use included.
        max_awake: Of these, sessions that stay ready.
        idle_seconds: What was not used for so long leaves memory; None: never.
        clock: Gives the time, in seconds.
    """

    def __init__(
        self,
        *,
        max_sessions: int,
        max_awake: int,
        idle_seconds: float | None,
        clock: Callable[[], float],
    ) -> None:
        self._max_sessions = max_sessions
        self._max_awake = max_awake
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._awake: OrderedDict[SessionKey, tuple[float, Session]] = OrderedDict()
        self._asleep: OrderedDict[SessionKey, tuple[float, _Sleeping]] = OrderedDict()
        self._in_use = 0
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Return how many sessions are in memory, those in use included."""
        with self._lock:
            return len(self._awake) + len(self._asleep) + self._in_use

    def __contains__(self, key: SessionKey) -> bool:
        """Say whether a session is in memory, and nobody uses it."""
        with self._lock:
            return key in self._awake or key in self._asleep

    def take(
        self, key: SessionKey, make: Callable[[Journal], Session]
    ) -> Session | None:
        """Take a session out, for use; None if it is not here. See `done`."""
        with self._lock:
            self._in_use += 1
            _, awake = self._awake.pop(key, (0.0, None))
            _, asleep = self._asleep.pop(key, (0.0, None))
        if awake is not None:
            return awake
        return None if asleep is None else asleep.wake(make)

    def done(self, key: SessionKey, session: Session | None) -> list[SessionKey]:
        """End the use of a session, keep it if given, and return who had to go."""
        with self._lock:
            self._in_use -= 1
            if session is not None and session.can_be_kept:
                self._awake[key] = (self._clock(), session)
            dropped = self._put_to_sleep()
            return dropped + self.sweep()

    def discard(self, key: SessionKey) -> None:
        """Forget a session."""
        with self._lock:
            self._awake.pop(key, None)
            self._asleep.pop(key, None)

    def clear(self) -> None:
        """Forget all sessions."""
        with self._lock:
            self._awake.clear()
            self._asleep.clear()

    def sweep(self) -> list[SessionKey]:
        """Evict what was idle for too long, and what is too many; return their keys."""
        with self._lock:
            gone = []
            while (oldest := self._oldest()) is not None:
                key, used = oldest
                if len(self) <= self._max_sessions and not self._is_idle(used):
                    break
                self.discard(key)
                gone.append(key)
            return gone

    def _oldest(self) -> tuple[SessionKey, float] | None:
        for part in (self._asleep, self._awake):  # whoever sleeps was used earlier
            for key, (used, _) in part.items():
                return key, used
        return None

    def _is_idle(self, used: float) -> bool:
        if self._idle_seconds is None:
            return False
        return self._clock() - used >= self._idle_seconds

    def _put_to_sleep(self) -> list[SessionKey]:
        dropped = []
        while len(self._awake) > self._max_awake:
            key, (used, session) = self._awake.popitem(last=False)
            if len(session.log) > LONGEST_SLEEPER:
                dropped.append(key)
            else:
                self._asleep[key] = (used, _Sleeping.of(session))
        return dropped
