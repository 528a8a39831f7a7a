"""Sessions that follow another one: they take in its log as it grows.

To play a whole log anew for every vendor after every step is most of what the machine
costs, and the more the longer a session is. A follower takes in what is new, for the
vendors that the session itself is not asked for. That it says what a session says that
was made anew is one of the promises: it is checked at each step for one of them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilder
from context_builder.collect import entry_from_dict
from tests.machine.model import Setup
from tests.machine.promises import TALLY, Said, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Anew", "Followers", "Stored"]

Stored = list[dict[str, Any]]
"""A log as it is stored; what stands first in it is no entry."""

KEPT_DECISIONS = 8
"""For so many vendors a builder keeps what it decided; for more it begins anew."""


@dataclasses.dataclass(frozen=True)
class Anew:
    """A builder that was made from a log, and of what: the same again says the same."""

    setup: Setup
    stored: Stored
    ctx: ContextBuilder

    def is_of(self, setup: Setup, stored: Stored) -> bool:
        """Say whether it is of this log, decided in this way."""
        return self.stored == stored and self.setup.decides_as(setup)


class Followers:
    """As many builders as keep their decisions for all of these vendors."""

    def __init__(self, targets: Sequence[str]) -> None:
        starts = range(0, len(targets), KEPT_DECISIONS)
        self.groups = [targets[start : start + KEPT_DECISIONS] for start in starts]
        self.builders: list[ContextBuilder] = []
        self.known: Stored = []
        self.setup: Setup | None = None

    def ask(self, setup: Setup, stored: Stored) -> dict[str, Said]:
        """Ask for each vendor's request, after what is new in the log."""
        if self._is_followed(setup, stored):
            self._go_on(stored)
        else:  # other settings; or another log, as after a process was killed
            self.builders = [setup.playing(stored) for _ in self.groups]
        self.setup, self.known = dataclasses.replace(setup), stored
        return {
            target: ask(ctx, target)
            for ctx, targets in zip(self.builders, self.groups, strict=True)
            for target in targets
        }

    def _is_followed(self, setup: Setup, stored: Stored) -> bool:
        if self.setup is None or not setup.decides_as(self.setup):
            return False
        return stored[: len(self.known)] == self.known

    def _go_on(self, stored: Stored) -> None:
        new = stored[len(self.known) :]
        for ctx in self.builders:
            for entry in new:
                ctx._admit(entry_from_dict(entry))
        TALLY["entries followed"] += len(new)
