"""The extractive digest: what left-out messages held, in one short framed text.

It needs no model. It says what the user said, whole where it is short, and which names,
ids, dates and amounts stood in what left: those that were asked for, used or repeated
before those that merely occurred. Each fact stands once, under the handle of the last
message that had it. The digest is a function of what left, and grows with it, not with
the session: what is worth least makes way.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from context_builder.copies import changed
from context_builder.decide.clear import facts_once
from context_builder.decide.rows import beside
from context_builder.decide.shorten import gist
from context_builder.decide.versions import is_double
from context_builder.decide.wishes import wish_in
from context_builder.items import ContextItem, Unit
from context_builder.passing import is_echo

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from context_builder.decide.rules import Rules

__all__ = ["NOTHING", "Digest", "Fact", "Still", "digest_of", "notice_item"]

_GIST_CHARS = 160
_WHOLE_CHARS = 240
_USER_SHARE = 0.2
"""How much of the room the user's own words may take before anything else."""
_WISH_SHARE = 0.5
"""Most of that for wishes that hold from turn to turn."""
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
_BESIDE_WEIGHT = 3.0
"""What stands in a row with something that a call asked for is worth so much more."""
_SPAN_TOKENS = 4
_MOST_REPEATS = 3
_LEAST_FACT_TOKENS = 2
_MOST_MISSES = 32
"""After so many facts that did not fit, there is hardly room for another one."""
_worth = operator.attrgetter("weight", "unit_id")
"""The order in which facts are told: the worthiest, then the newest."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """Something that cannot be reworded, and where it stood."""

    text: str
    weight: float
    unit_id: float
    """The last unit that had it."""
    heading: str
    """Its item's handle, and who said it."""
    tokens: int = 0
    """What its text takes; 0 as long as nobody had to know."""
    is_asked: bool = False
    """Whether a call asked for it."""

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
        weight = max(base, min(base + _REPEAT_WEIGHT, most))
        is_asked = self.is_asked or newer.is_asked
        return Fact(
            newer.text, weight, newer.unit_id, newer.heading, self.tokens, is_asked
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Still:
    """What a compaction leaves in the request."""

    shown: Sequence[Unit] = ()
    """All units that are shown: what they say need not be told."""
    lowered: Sequence[Unit] = ()
    """Those that say less than before: what they lost is told."""

    @property
    def text(self) -> str:
        """All that is said, recalled passages left out: those go first."""
        return "\n".join(
            text
            for unit in self.shown
            if unit.kind != "background"
            for item in unit.items
            for text in (item.text, *(call.arguments for call in item.tool_calls))
        )

    @classmethod
    def after(cls, before: Sequence[Unit], units: Sequence[Unit]) -> Still:
        """Return what is left where these units became those."""
        return cls(
            shown=[unit for unit in units if unit.is_shown],
            lowered=[
                new
                for old, new in zip(before, units, strict=True)
                if new is not old and new.is_shown and not _says_all(new)
            ],
        )


def _says_all(unit: Unit) -> bool:
    """Say whether a unit lost nothing that is still true."""
    return unit.rendition == "whole" or is_double(unit)


NOTHING = Still()


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What is told of the units that left."""

    lines: tuple[str, ...] = ()
    """In the order of the conversation."""
    facts: Mapping[str, Fact] = dataclasses.field(default_factory=dict)
    """All facts that are known, told or not."""
    users: tuple[Unit, ...] = ()
    """The user's messages that left, oldest first."""
    unit_ids: frozenset[float] = frozenset()
    """The units of which anything is known."""
    user_sizes: Mapping[float, tuple[int, bool]] = dataclasses.field(
        default_factory=dict
    )
    """What the line of each of them takes, and whether it says a wish, by unit."""
    whole: frozenset[float] = frozenset()
    """The units of which a line says all."""
    tokens: int = 0
    """About what the lines take: counted one by one."""

    def tells(self, unit_id: float) -> bool:
        """Say whether anything of a unit is known here."""
        return unit_id in self.unit_ids

    def without(self, unit_id: float) -> Digest:
        """Return the digest without what one unit said, not worded anew yet."""
        return Digest(
            facts={t: f for t, f in self.facts.items() if f.unit_id != unit_id},
            users=tuple(unit for unit in self.users if unit.id != unit_id),
            unit_ids=self.unit_ids - {unit_id},
        )


def digest_of(
    former: Digest,
    left: Sequence[Unit],
    rules: Rules,
    limit_tokens: int,
    *,
    covered: AbstractSet[float] = frozenset(),
    summary: str = "",
    still: Still = NOTHING,
) -> Digest:
    """Return the digest after these units have left as well.

    Args:
        former: The digest before.
        left: The units that have left since, oldest first.
        rules: What to measure with.
        limit_tokens: What all lines together may take.
        covered: Units that a summary tells of. Of these only the facts are told that
            it leaves out.
        summary: What it says.
        still: What stays in the request.
    """
    known = dict(former.facts)
    for unit in [*still.lowered, *left][-_MOST_UNITS:]:
        for fact in _once_facts_of(unit, rules):
            older = known.get(fact.text)
            known[fact.text] = fact if older is None else older.occurred_again(fact)
    if len(known) > _MOST_FACTS:
        best = sorted(known.values(), key=_worth)[-_MOST_FACTS:]
        known = {fact.text: fact for fact in best}
    users = (*former.users, *(unit for unit in left if unit.starts_turn))
    users = tuple(sorted(users, key=lambda unit: unit.id))[-_MOST_USER_UNITS:]
    sizes = {
        unit.id: former.user_sizes.get(unit.id) or _line_size(unit, rules)
        for unit in users
    }
    untold = [unit for unit in users if unit.id not in covered]
    spoken, user_tokens = _user_lines(untold, sizes, int(limit_tokens * _USER_SHARE))
    said = "\n".join(line for _, line in spoken.values())
    shown = still.text

    def is_told(fact: Fact) -> bool:
        """Say whether a fact stands in the request anyway."""
        is_covered = fact.unit_id in covered and fact.text in summary
        return is_covered or fact.text in said or fact.text in shown

    told, fact_tokens = _told_facts(known, rules, limit_tokens - user_tokens, is_told)
    return Digest(
        lines=_lines(spoken, told),
        facts=known,
        users=users,
        unit_ids=frozenset(fact.unit_id for fact in known.values()).union(sizes),
        user_sizes=sizes,
        tokens=user_tokens + fact_tokens,
        whole=frozenset(unit.id for unit, _ in spoken.values() if _is_said_whole(unit)),
    )


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


def _user_lines(
    users: Sequence[Unit],
    sizes: Mapping[float, tuple[int, bool]],
    limit_tokens: int,
) -> tuple[dict[float, tuple[Unit, str]], int]:
    """Return lines with the user's words: standing wishes, then the newest.

    A wish of the first turn holds in the last one; what was asked in between is done.
    Wishes take half of the room at most.
    """
    lines: dict[float, tuple[Unit, str]] = {}
    taken_tokens = 0
    wishes = [unit for unit in users if sizes[unit.id][1]]
    rounds = (wishes, int(limit_tokens * _WISH_SHARE)), (users, limit_tokens)
    for units, most_tokens in rounds:
        for unit in reversed(units):
            tokens = sizes[unit.id][0]
            if unit.id not in lines and taken_tokens + tokens <= most_tokens:
                taken_tokens += tokens
                lines[unit.id] = (unit, _user_line(unit))
    return lines, taken_tokens


def _line_size(unit: Unit, rules: Rules) -> tuple[int, bool]:
    tokens = rules.ruler.text(_user_line(unit)) + 1
    return tokens, wish_in(unit.originals[0].text) is not None


def _is_said_whole(unit: Unit) -> bool:
    text = unit.originals[0].text
    return len(text) <= _WHOLE_CHARS and len(text.splitlines()) <= 1


def _user_line(unit: Unit) -> str:
    item = unit.originals[0]
    if _is_said_whole(unit):
        return f"{item.id} user: {item.text}"
    said = gist(item.text, _GIST_CHARS)
    wish = wish_in(item.text)
    if wish is not None and wish not in said:
        said = f"{said} {wish}"
    return f"{item.id} user: {said}"


def _told_facts(
    known: dict[str, Fact],
    rules: Rules,
    limit_tokens: int,
    is_told: Callable[[Fact], bool],
) -> tuple[dict[str, list[Fact]], int]:
    """Return the worthiest facts that fit, by who said them, and what they take.

    They are counted from the worthiest on, and no further once several did not fit;
    `known` remembers what was counted.
    """
    told: dict[str, list[Fact]] = {}
    left_tokens = limit_tokens
    misses = 0
    for fact in _by_worth(known):
        if left_tokens < _LEAST_FACT_TOKENS or misses >= _MOST_MISSES:
            break
        tokens = fact.tokens or rules.ruler.text(fact.text) + 1
        if not fact.tokens:
            known[fact.text] = changed(fact, tokens=tokens)
        if fact.who not in told:
            tokens += rules.ruler.text(fact.heading) + _SPAN_TOKENS
        if tokens > left_tokens:
            misses += 1
        elif not is_told(fact):
            left_tokens -= tokens
            told.setdefault(fact.who, []).append(fact)
    return told, limit_tokens - left_tokens


def _by_worth(known: Mapping[str, Fact]) -> list[Fact]:
    """Return the facts, the worthiest first: what is likely to be asked for next."""
    asked = {text for text, fact in known.items() if fact.is_asked}
    near = beside(list(known), asked)

    def worth(fact: Fact) -> tuple[float, float]:
        extra = _BESIDE_WEIGHT if fact.text in near else 0.0
        return fact.weight + extra, fact.unit_id

    return sorted(known.values(), key=worth, reverse=True)


def _lines(
    spoken: Mapping[float, tuple[Unit, str]], told: Mapping[str, list[Fact]]
) -> tuple[str, ...]:
    lines = [(unit_id, line) for unit_id, (_, line) in spoken.items()]
    for who, found in told.items():
        found.sort(key=lambda fact: fact.unit_id)
        first, last = found[0].handle, found[-1].handle
        span = first if first == last else f"{first}-{last}"
        listed = ", ".join(fact.text for fact in found)
        lines.append((found[0].unit_id, f"{span} {who}: {listed}"))
    lines.sort(key=lambda pair: pair[0])
    return tuple(line for _, line in lines)


def notice_item(
    left_out_items: int, digest: Digest | None = None, *, is_marker: bool = False
) -> ContextItem:
    """Return the item that tells the model that something was left out, and what.

    Args:
        left_out_items: How many messages left.
        digest: What they held.
        is_marker: Whether it stands where they stood, behind the first messages.
    """
    were = "message was" if left_out_items == 1 else "messages were"
    text = f"{left_out_items:,} earlier {were} left out to save space"
    if is_marker:
        text = f"[snipped {left_out_items:,} {were.partition(' ')[0]}]"
    if digest is not None and digest.lines:
        text = "\n".join([f"{text}; names, ids and figures in them:", *digest.lines])
    return ContextItem(role="user", content=text, id="notice", source="notice")
