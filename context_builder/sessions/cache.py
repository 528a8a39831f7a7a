"""Which sessions stay in memory between two turns, and in which form.

The sessions used last stay awake: ready, with their decision. Those before them sleep,
packed with their decision, and wake without asking the store or deciding anything anew.
The rest, and what was idle for too long, leaves memory; the store has all of it. What
is in use is not here, so it cannot be evicted under its user. Nothing is packed or
unpacked while the lock is held, so that nobody waits for somebody else's session.
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

__all__ = ["SessionCache", "Sleeping"]

LONG = 400
"""Entries; a longer session is packed and unpacked in a thread, not in an event
loop."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sleeping:
    """A session that is packed: its log, and what was decided."""

    journal: Journal
    packed: PackedSession | Session
    """The session itself, if it has something in it that cannot be packed."""
    is_long: bool

    @classmethod
    def of(cls, session: Session) -> Sleeping:
        """Put a session aside, as it is."""
        packed: PackedSession | Session
        try:
            packed = session.packed()
        except PicklingError:
            packed = session
        return cls(session.journal, packed, is_long=_is_long(session))

    def woken(self, make: Callable[[Journal], Session]) -> Session:
        """Return the session as it was."""
        if not isinstance(self.packed, PackedSession):
            return self.packed
        session = make(self.journal)
        session.unpack(self.packed)
        return session


def _is_long(session: Session) -> bool:
    return len(session.log) > LONG


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
        self._asleep: OrderedDict[SessionKey, tuple[float, Sleeping]] = OrderedDict()
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

    def take(self, key: SessionKey) -> Session | Sleeping | None:
        """Take a session out, for use; None if it is not here. See `done`."""
        with self._lock:
            self._in_use += 1
            _, awake = self._awake.pop(key, (0.0, None))
            _, asleep = self._asleep.pop(key, (0.0, None))
        return asleep if awake is None else awake

    def done(self, key: SessionKey, session: Session | None) -> list[SessionKey]:
        """End the use of a session, keep it if given, and return who had to go.

        It stays awake until somebody calls `put_to_sleep`.
        """
        with self._lock:
            self._in_use -= 1
            if session is not None and session.can_be_kept:
                self._awake[key] = (self._clock(), session)
            return self.sweep()

    @property
    def excess(self) -> int:
        """How many more sessions are awake than may stay so."""
        with self._lock:
            return max(0, len(self._awake) - self._max_awake)

    @property
    def is_next_long(self) -> bool:
        """Whether the one to be put to sleep next takes long to pack."""
        with self._lock:
            entry = next(iter(self._awake.values()), None)
            return entry is not None and _is_long(entry[1])

    def put_to_sleep(self) -> None:
        """Pack the session that nobody has used for longest, if too many are awake.

        Who opens it meanwhile gets it awake, and what was packed counts for nothing.
        """
        with self._lock:
            if not self.excess:
                return
            key, (_, session) = next(iter(self._awake.items()))
        asleep = Sleeping.of(session)
        with self._lock:
            used, still = self._awake.get(key, (0.0, None))
            if still is session:
                del self._awake[key]
                self._asleep[key] = (used, asleep)

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
