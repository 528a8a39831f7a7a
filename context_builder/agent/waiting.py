"""Counts how long a turn waited for others: for the model, and for tools."""

from __future__ import annotations

import time

__all__ = ["Waited"]


class Waited:
    """A block in which somebody else is waited for; the times of all add up."""

    __slots__ = ("_since", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._since
