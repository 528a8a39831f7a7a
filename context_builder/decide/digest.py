"""The extractive digest: what left-out messages held, in one short framed text.

It needs no model. It says what the user said, whole where it is short, and which names,
ids, dates and amounts stood in what left: those that were asked for, used or repeated
before those that merely occurred. Each fact stands once, under the handle of the last
message that had it. The digest is a function of what left, and grows with it, not with
the session: what is worth least makes way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from context_builder.decide.facts import facts
from context_builder.decide.shorten import gist
from context_builder.items import ContextItem, Unit

if TYPE_CHECKING:
    from context_builder.decide.rules import Rules

__all__ = ["Digest", "Fact", "digest_of", "notice_item"]

_GIST_CHARS = 160
_WHOLE_CHARS = 240
_USER_SHARE = 0.65
"""How much of the room the user's own words may take before anything else."""
_MOST_FACTS = 1_500
_MOST_USER_UNITS = 400
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
_MOST_REPEATS = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """Something that cannot be reworded, and where it stood."""

    text: str
    weight: float
    unit_id: float
    """The last unit that had it."""
    heading: str
    """How the line of that unit begins."""
    tokens: int
    """What its text takes."""

    @property
    def worth(self) -> tuple[float, float]:
        """The order in which facts are told: the worthiest, then the newest."""
        return self.weight, self.unit_id


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What is told of the units that left."""

    lines: tuple[str, ...] = ()
    """In the order of the conversation."""
    facts: Mapping[str, Fact] = dataclasses.field(default_factory=dict)
    """All facts that are known, told or not."""
    users: tuple[Unit, ...] = ()
    """The user's messages that left, oldest first."""
    whole: frozenset[float] = frozenset()
    """The units of which a line says all."""

    def tells(self, unit_id: float) -> bool:
        """Say whether anything of a unit is known here."""
        return any(unit.id == unit_id for unit in self.users) or any(
            fact.unit_id == unit_id for fact in self.facts.values()
        )

    def without(self, unit_id: float) -> Digest:
        """Return the digest without what one unit said, not worded anew yet."""
        return Digest(
            facts={t: f for t, f in self.facts.items() if f.unit_id != unit_id},
            users=tuple(unit for unit in self.users if unit.id != unit_id),
        )


def digest_of(
    former: Digest, left: Sequence[Unit], rules: Rules, limit_tokens: int
) -> Digest:
    """Return the digest after these units have left as well.

    Args:
        former: The digest before.
        left: The units that have left since, oldest first.
        rules: What to measure with.
        limit_tokens: What all lines together may take.
    """
    known = dict(former.facts)
    for unit in left[-_MOST_UNITS:]:
        for fact in _facts_of(unit, rules):
            known[fact.text] = _merged(known.get(fact.text), fact)
    if len(known) > _MOST_FACTS:
        best = sorted(known.values(), key=lambda fact: fact.worth)[-_MOST_FACTS:]
        known = {fact.text: fact for fact in best}
    users = (*former.users, *(unit for unit in left if unit.starts_turn))
    users = tuple(sorted(users, key=lambda unit: unit.id))[-_MOST_USER_UNITS:]
    spoken, user_tokens = _user_lines(users, rules, int(limit_tokens * _USER_SHARE))
    said = "\n".join(line for _, line in spoken.values())
    told = _told_facts(
        (fact for fact in known.values() if fact.text not in said),
        rules,
        limit_tokens - user_tokens,
    )
    return Digest(
        lines=_lines(spoken, told),
        facts=known,
        users=users,
        whole=frozenset(unit.id for unit, _ in spoken.values() if _is_said_whole(unit)),
    )


def _merged(older: Fact | None, newer: Fact) -> Fact:
    """Return a fact that occurred again: worth more, and standing with the newer."""
    if older is None:
        return newer
    base = max(older.weight, newer.weight)
    weight = min(base + _REPEAT_WEIGHT, newer.weight + _REPEAT_WEIGHT * _MOST_REPEATS)
    return dataclasses.replace(newer, weight=max(weight, base))


def _facts_of(unit: Unit, rules: Rules) -> Iterator[Fact]:
    count = rules.ruler.text
    head = unit.originals[0]
    if unit.kind != "tool":
        heading = f"{head.id} {head.role}"
        for text, weight in facts(head.text):
            worth = weight + _SOURCE_WEIGHT[head.role]
            yield Fact(text, worth, unit.id, heading, count(text) + 1)
        return
    for call, result in zip(head.tool_calls, unit.originals[1:], strict=True):
        heading = f"{head.id} {call.name}"
        for text, weight in facts(call.arguments):
            worth = weight + _SOURCE_WEIGHT["call"]
            yield Fact(text, worth, unit.id, heading, count(text) + 1)
        if result.source != "repair":
            for text, weight in facts(result.text):
                worth = weight + _SOURCE_WEIGHT["tool"]
                yield Fact(text, worth, unit.id, heading, count(text) + 1)


def _user_lines(
    users: Sequence[Unit], rules: Rules, limit_tokens: int
) -> tuple[dict[float, tuple[Unit, str]], int]:
    """Return lines with the user's words, newest first as far as there is room."""
    lines: dict[float, tuple[Unit, str]] = {}
    taken_tokens = 0
    for unit in reversed(users):
        line = _user_line(unit)
        tokens = rules.ruler.text(line) + 1
        if taken_tokens + tokens <= limit_tokens:
            taken_tokens += tokens
            lines[unit.id] = (unit, line)
    return lines, taken_tokens


def _is_said_whole(unit: Unit) -> bool:
    text = unit.originals[0].text
    return len(text) <= _WHOLE_CHARS and "\n" not in text


def _user_line(unit: Unit) -> str:
    item = unit.originals[0]
    said = item.text if _is_said_whole(unit) else gist(item.text, _GIST_CHARS)
    return f"{item.id} user: {said}"


def _told_facts(
    known: Iterable[Fact], rules: Rules, limit_tokens: int
) -> dict[str, list[Fact]]:
    """Return the worthiest facts that fit, by the heading that they stand under."""
    told: dict[str, list[Fact]] = {}
    left_tokens = limit_tokens
    for fact in sorted(known, key=lambda one: one.worth, reverse=True):
        if left_tokens <= 0:
            break
        tokens = fact.tokens
        if fact.heading not in told:
            tokens += rules.ruler.text(fact.heading) + 2
        if tokens <= left_tokens:
            left_tokens -= tokens
            told.setdefault(fact.heading, []).append(fact)
    return told


def _lines(
    spoken: Mapping[float, tuple[Unit, str]], told: Mapping[str, list[Fact]]
) -> tuple[str, ...]:
    lines = [(unit_id, line) for unit_id, (_, line) in spoken.items()]
    for heading, found in told.items():
        unit_id = found[0].unit_id
        listed = ", ".join(fact.text for fact in found)
        lines.append((unit_id, f"{heading}: {listed}"))
    lines.sort(key=lambda pair: pair[0])
    return tuple(line for _, line in lines)


def notice_item(left_out_items: int, digest: Digest | None = None) -> ContextItem:
    """Return the item that tells the model that something was left out, and what."""
    were = "message was" if left_out_items == 1 else "messages were"
    text = f"{left_out_items:,} earlier {were} left out to save space"
    if digest is not None and digest.lines:
        text = "\n".join([f"{text}; names, ids and figures in them:", *digest.lines])
    return ContextItem(role="user", content=text, id="notice", source="notice")
