"""The sliding window: only the last messages or turns, whatever the budget is.

The first messages may stay as well, before a marker. A plain rule for those who want
it. It moves the beginning of the request with every message, which empties the vendor's
prompt cache; the marks of the budget do not.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.current import latest_user_index
from context_builder.decide.versions import is_history

if TYPE_CHECKING:
    from context_builder.decide.rules import Rules
    from context_builder.items import Plan, Unit

__all__ = ["Head", "slide_window"]

_REASON = "outside of the sliding window"


class Head:
    """The units that hold the first messages: they stay longest, before a marker."""

    __slots__ = ("_most_messages", "_sizes", "ids")

    def __init__(self, most_messages: int) -> None:
        self._most_messages = most_messages
        self._sizes: dict[float, int] = {}
        self.ids: frozenset[float] = frozenset()

    def see(self, unit: Unit) -> None:
        """Take a new unit in, if the first messages are not there yet.

        Calls take their results along.
        """
        if unit.kind == "background" or sum(self._sizes.values()) >= (
            self._most_messages
        ):
            return
        self._sizes[unit.id] = len(unit.originals)
        self.ids = frozenset(self._sizes)

    def forget(self, unit_id: float) -> None:
        """Let go of a unit that its owner took out."""
        if self._sizes.pop(unit_id, None) is not None:
            self.ids = frozenset(self._sizes)


def slide_window(plan: Plan, rules: Rules) -> Plan:
    """Leave out what came before the last messages or turns.

    The same plan comes back where nothing did.

    A turn begins at a message of the user's own. Calls and their results are never
    parted: where the cut would fall between them, the call stays as well. The first
    messages stay where the settings say so, pinned units and background always.
    """
    first = max(_first_by_turns(plan, rules), _first_by_messages(plan, rules))
    latest = latest_user_index(plan)
    units = tuple(
        unit.leave_out(_REASON)
        if index < first
        and index != latest
        and unit.id not in plan.head
        and not unit.pinned
        and is_history(unit)
        else unit
        for index, unit in enumerate(plan.units)
    )
    if all(unit.is_shown for unit in units):
        return plan
    return dataclasses.replace(plan, units=units, has_gap=True)


def _first_by_turns(plan: Plan, rules: Rules) -> int:
    """Return the place of the first unit that the number of turns lets stay."""
    most = rules.settings.keep_last_turns
    if most is None:
        return 0
    starts = [index for index, unit in enumerate(plan.units) if unit.starts_turn]
    return starts[-most] if len(starts) >= most else 0


def _first_by_messages(plan: Plan, rules: Rules) -> int:
    """Return the place of the first unit that the number of messages lets stay."""
    most = rules.settings.keep_last_messages
    if most is None:
        return 0
    seen = 0
    for index in range(len(plan.units) - 1, -1, -1):
        if seen >= most:
            return index + 1
        if is_history(plan.units[index]):
            seen += len(plan.units[index].items)
    return 0
