"""What is known of what left: facts, each once, and which are worth most.

A fact is worth what its kind is worth, more where the user or a call said it, where it
came in again, and where it stands in a row with what a call asked for.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from context_builder.decide.clear import facts_once
from context_builder.decide.rows import Make, beside, make_of
from context_builder.passing import is_echo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from context_builder.decide.rules import Rules
    from context_builder.items import Unit

__all__ = ["Fact", "by_worth", "with_facts_of"]

_MOST_FACTS = 1_500
_MOST_UNITS = 256
"""Of what leaves at once, the newest units are looked at for facts."""
_SOURCE_WEIGHT: Mapping[str, float] = {
    "user": 2.0,
    "call": 2.0,
    "assistant": 1.0,
    "tool": 0.0,
    "system": 1.0,
}
_REPEAT_WEIGHT = 1.5
_BESIDE_WEIGHT = 3.0
"""What stands in a row with something that a call asked for is worth so much more."""
_MOST_REPEATS = 3
_ABOVE_UNIT_IDS = float(1 << 34)
"""One number orders facts by weight and, of equal weight, by unit: weights are halves
and units fewer than this, so that no bit is lost."""


@dataclasses.dataclass(slots=True)
class Fact:
    """Something that cannot be reworded, and where it stood.

    Everything but the last three fields stays as it is; those remember what was found
    out about it.
    """

    text: str
    weight: float
    unit_id: float
    """The last unit that had it."""
    heading: str
    """Its item's handle, and who said it."""
    is_asked: bool = False
    """Whether a call asked for it."""
    make: Make | None = None
    """What it looks like; see `rows`."""
    tokens: int = 0
    """What its text takes; 0 as long as nobody had to know."""
    heard: int = 0
    """Which of the request's texts it was looked for in; see `Heard`."""

    @property
    def handle(self) -> str:
        """The item that had it last."""
        return self.heading.partition(" ")[0]

    @property
    def who(self) -> str:
        """The tool or the role that said it: its facts share a line."""
        return self.heading.partition(" ")[2]

    def occurred_again(self, newer: Fact) -> Fact:
        """Return the fact as it stands in a newer unit, worth more than before."""
        if newer.unit_id == self.unit_id:
            return self
        base = max(self.weight, newer.weight)
        most = newer.weight + _REPEAT_WEIGHT * _MOST_REPEATS
        return Fact(
            newer.text,
            weight=max(base, min(base + _REPEAT_WEIGHT, most)),
            unit_id=newer.unit_id,
            heading=newer.heading,
            is_asked=self.is_asked or newer.is_asked,
            make=self.make,
            tokens=self.tokens,
            heard=self.heard,
        )


def with_facts_of(
    known: Mapping[str, Fact], units: Sequence[Unit], rules: Rules
) -> Mapping[str, Fact]:
    """Return what is known, with what these units say; the worthiest, if it is a lot.

    Args:
        known: Facts by their text.
        units: What left or says less than before, in order.
        rules: What finds facts.
    """
    if not units:
        return known
    facts = dict(known)
    for unit in units[-_MOST_UNITS:]:
        for fact in _once_facts_of(unit, rules):
            older = facts.get(fact.text)
            facts[fact.text] = fact if older is None else older.occurred_again(fact)
    if len(facts) > _MOST_FACTS:
        best = _ordered(list(facts.values()))[-_MOST_FACTS:]
        facts = {fact.text: fact for fact in best}
    return facts


def by_worth(known: Iterable[Fact]) -> list[Fact]:
    """Return the facts, the worthiest first: what is likely to be asked for next."""
    facts = list(known)
    asked = [place for place, fact in enumerate(facts) if fact.is_asked]
    near = beside([_make(fact) for fact in facts], asked) if asked else ()
    return _ordered(facts, near, is_best_first=True)


def _ordered(
    facts: Sequence[Fact], near: Iterable[int] = (), *, is_best_first: bool = False
) -> list[Fact]:
    """Return facts by weight, those of equal weight by unit, and as they came."""
    worths = [fact.weight * _ABOVE_UNIT_IDS + fact.unit_id for fact in facts]
    for place in near:
        worths[place] += _BESIDE_WEIGHT * _ABOVE_UNIT_IDS
    places = sorted(range(len(facts)), key=worths.__getitem__, reverse=is_best_first)
    return [facts[place] for place in places]


def _make(fact: Fact) -> Make:
    if fact.make is None:
        fact.make = make_of(fact.text)
    return fact.make


def _once_facts_of(unit: Unit, rules: Rules) -> tuple[Fact, ...]:
    return rules.once("facts", unit.originals, lambda: tuple(_facts_of(unit, rules)))


def _facts_of(unit: Unit, rules: Rules) -> Iterator[Fact]:
    head = unit.originals[0]
    if unit.kind != "tool":
        heading = f"{head.id} {head.role}"
        for text, weight in rules.facts(head.text):
            worth = weight + _SOURCE_WEIGHT[head.role]
            yield Fact(text, worth, unit.id, heading)
        return
    for call, result in zip(head.tool_calls, unit.originals[1:], strict=True):
        heading = f"{head.id} {call.name}"
        for text, weight in rules.facts(call.arguments):
            worth = weight + _SOURCE_WEIGHT["call"]
            yield Fact(text, worth, unit.id, heading, is_asked=True)
        if result.source != "repair" and not is_echo(result):
            for text, weight in facts_once(result.text, rules):
                worth = weight + _SOURCE_WEIGHT["tool"]
                yield Fact(text, worth, unit.id, heading)
