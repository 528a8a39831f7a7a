"""The extractive digest: what left-out messages held, in one short framed text.

It needs no model. It says what the user said, whole where it is short, and which names,
ids, dates and amounts stood in what left: those that were asked for, used or repeated
before those that merely occurred. Each fact stands once, under the handle of the last
message that had it. The digest is a function of what left, and grows with it, not with
the session: what is worth least makes way.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from context_builder.decide.known import Fact, by_worth, with_facts_of
from context_builder.decide.shorten import gist
from context_builder.decide.versions import is_double
from context_builder.decide.wishes import wish_in
from context_builder.items import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from context_builder.decide.heard import Heard
    from context_builder.decide.rules import Rules

__all__ = ["NOTHING", "Digest", "Line", "Still", "digest_of", "notice_parts"]

_GIST_CHARS = 160
_WHOLE_CHARS = 240
_USER_SHARE = 0.2
"""How much of the room the user's own words may take before anything else."""
_WISH_SHARE = 0.5
"""Most of that for wishes that hold from turn to turn."""
_MOST_USER_UNITS = 400
_SPARE_TOKENS = 32
"""So much the user's own words take wherever the facts leave it: a sentence. Were it
all that is left over, each compaction would leave less room until the next one."""
_SPAN_TOKENS = 4
_LEAST_FACT_TOKENS = 2
_MOST_MISSES = 32
"""After so many facts or lines that did not fit, there is hardly room for another."""


@dataclasses.dataclass(frozen=True, slots=True)
class Still:
    """What a compaction leaves in the request."""

    shown: Sequence[Unit] = ()
    """All units that are shown: what they say need not be told."""
    lowered: Sequence[Unit] = ()
    """Those that say less than before: what they lost is told."""

    def texts(self) -> Iterator[str]:
        """Yield all that is said, recalled passages left out: those go first."""
        for unit in self.shown:
            if unit.kind != "background":
                for item in unit.items:
                    yield item.text
                    for call in item.tool_calls:
                        yield call.arguments

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
class Line:
    """What the digest says with a message of the user's."""

    text: str
    is_whole: bool
    """Whether that is all that the message says."""


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What is told of the units that left."""

    lines: tuple[tuple[str, ...], ...] = ()
    """In the order of the conversation, each in the parts that it is made of."""
    facts: Mapping[str, Fact] = dataclasses.field(default_factory=dict)
    """All facts that are known, told or not."""
    best: tuple[Fact, ...] = ()
    """The same facts, the worthiest first; empty if nobody has asked."""
    users: tuple[Unit, ...] = ()
    """The user's messages that left, oldest first."""
    wishes: frozenset[float] = frozenset()
    """Those of them that say a wish."""
    user_sizes: dict[float, int] = dataclasses.field(default_factory=dict)
    """What the line of each takes, by unit, as far as somebody had to know; one
    digest hands it on to the next."""
    spoken: Mapping[float, Line] = dataclasses.field(default_factory=dict)
    """The lines with the user's words, by unit."""
    tokens: int = 0
    """About what the lines take, counted one by one; not those of the user that stand
    there only because there was room."""

    @property
    def whole(self) -> frozenset[float]:
        """The units of which a line says all."""
        return frozenset(n for n, line in self.spoken.items() if line.is_whole)

    def tells(self, unit_id: float) -> bool:
        """Say whether anything of a unit is known here."""
        return any(unit.id == unit_id for unit in self.users) or any(
            fact.unit_id == unit_id for fact in self.facts.values()
        )

    def without(self, unit_id: float) -> Digest:
        """Return the digest without what one unit said, not worded anew yet."""
        sizes = {n: tokens for n, tokens in self.user_sizes.items() if n != unit_id}
        return Digest(
            facts={t: f for t, f in self.facts.items() if f.unit_id != unit_id},
            users=tuple(unit for unit in self.users if unit.id != unit_id),
            wishes=self.wishes - {unit_id},
            user_sizes=sizes,
        )


def digest_of(
    former: Digest,
    left: Sequence[Unit],
    rules: Rules,
    limit_tokens: int,
    *,
    heard: Heard,
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
        heard: Remembers what the request says anyway.
        covered: Units that a summary tells of. Of these only the facts are told that
            it leaves out.
        summary: What it says.
        still: What stays in the request.
    """
    known = with_facts_of(former.facts, [*still.lowered, *left], rules)
    is_same = known is former.facts and former.best
    best = former.best if is_same else tuple(by_worth(known.values()))
    users, wishes = _users_of(former, left)
    untold = [unit for unit in users if unit.id not in covered] if covered else users
    lines = _UserLines(former, users, rules)
    room_tokens = int(limit_tokens * _USER_SHARE)
    spoken, user_tokens = lines.fitting(untold, wishes, room_tokens)
    heard.listen([*still.texts(), *(line.text for line in spoken.values())])

    untold_facts: Iterable[Fact] = best
    if covered:
        untold_facts = (
            f for f in best if not (f.unit_id in covered and f.text in summary)
        )
    told, fact_tokens = _told_facts(
        heard.unsaid(untold_facts), rules, limit_tokens - user_tokens
    )
    left_tokens = min(limit_tokens - fact_tokens, _SPARE_TOKENS) - user_tokens
    if left_tokens > 0:
        others = [unit for unit in untold if unit.id not in spoken]
        spoken |= lines.fitting(others, wishes, left_tokens)[0]
    return Digest(
        lines=_lines(spoken, told),
        facts=known,
        best=best,
        users=users,
        wishes=wishes,
        user_sizes=lines.sizes,
        spoken=spoken,
        tokens=user_tokens + fact_tokens,
    )


def _users_of(
    former: Digest, left: Sequence[Unit]
) -> tuple[tuple[Unit, ...], frozenset[float]]:
    """Return the newest of the user's messages that left, and which say a wish."""
    come = [unit for unit in left if unit.starts_turn]
    if not come:
        return former.users, former.wishes
    users = tuple(sorted((*former.users, *come), key=lambda unit: unit.id))
    users = users[-_MOST_USER_UNITS:]
    fresh = {unit.id for unit in come}
    return users, frozenset(
        unit.id
        for unit in users
        if unit.id in former.wishes
        or (unit.id in fresh and wish_in(unit.originals[0].text))
    )


class _UserLines:
    """Words the lines with the user's words, and measures each once."""

    def __init__(self, former: Digest, users: Sequence[Unit], rules: Rules) -> None:
        self._former = former.spoken
        self._rules = rules
        self.sizes = former.user_sizes
        if len(self.sizes) > len(users):  # of some, nothing is known any more
            known = self.sizes
            self.sizes = {u.id: known[u.id] for u in users if u.id in known}

    def fitting(
        self, users: Sequence[Unit], wishes: AbstractSet[float], limit_tokens: int
    ) -> tuple[dict[float, Line], int]:
        """Return lines with the user's words: standing wishes, then the newest.

        A wish of the first turn holds in the last one; what was asked in between is
        done. Wishes take half of the room at most.
        """
        lines: dict[float, Line] = {}
        wishing = [unit for unit in users if unit.id in wishes]
        taken_tokens = self._fill(lines, wishing, int(limit_tokens * _WISH_SHARE), 0)
        return lines, self._fill(lines, users, limit_tokens, taken_tokens)

    def _fill(
        self,
        lines: dict[float, Line],
        users: Sequence[Unit],
        limit_tokens: int,
        taken_tokens: int,
    ) -> int:
        """Add lines, the newest first, and return what all of them take.

        No more are looked at once several did not fit.
        """
        misses = 0
        for unit in reversed(users):
            if misses >= _MOST_MISSES:
                break
            if unit.id in lines:
                continue
            tokens = self._size(unit)
            if taken_tokens + tokens > limit_tokens:
                misses += 1
            else:
                taken_tokens += tokens
                lines[unit.id] = self._former.get(unit.id) or _user_line(unit)
        return taken_tokens

    def _size(self, unit: Unit) -> int:
        tokens = self.sizes.get(unit.id)
        if tokens is None:
            line = self._former.get(unit.id) or _user_line(unit)
            tokens = self.sizes[unit.id] = self._rules.ruler.text(line.text) + 1
        return tokens


def _user_line(unit: Unit) -> Line:
    item = unit.originals[0]
    text = item.text
    if len(text) <= _WHOLE_CHARS and len(text.splitlines()) <= 1:
        return Line(f"{item.id} user: {text}", is_whole=True)
    said = gist(text, _GIST_CHARS)
    wish = wish_in(text)
    if wish is not None and wish not in said:
        said = f"{said} {wish}"
    return Line(f"{item.id} user: {said}", is_whole=False)


def _told_facts(
    untold: Iterable[Fact], rules: Rules, limit_tokens: int
) -> tuple[dict[str, list[Fact]], int]:
    """Return the worthiest facts that fit, by who said them, and what they take.

    They are counted from the worthiest on, and no further once several did not fit.
    """
    told: dict[str, list[Fact]] = {}
    whose: dict[str, str] = {}
    count = rules.ruler.text
    left_tokens = limit_tokens
    misses = 0
    for fact in untold if left_tokens >= _LEAST_FACT_TOKENS else ():
        tokens = fact.tokens
        if not tokens:
            tokens = fact.tokens = count(fact.text) + 1
        who = whose.get(fact.heading)
        if who is None:
            who = whose[fact.heading] = fact.who
        if who not in told:
            tokens += count(fact.heading) + _SPAN_TOKENS
        if tokens <= left_tokens:
            left_tokens -= tokens
            told.setdefault(who, []).append(fact)
            if left_tokens < _LEAST_FACT_TOKENS:
                break
        else:
            misses += 1
            if misses >= _MOST_MISSES:
                break
    return told, limit_tokens - left_tokens


def _lines(
    spoken: Mapping[float, Line], told: Mapping[str, list[Fact]]
) -> tuple[tuple[str, ...], ...]:
    lines: list[tuple[float, tuple[str, ...]]] = [
        (unit_id, (line.text,)) for unit_id, line in spoken.items()
    ]
    for who, found in told.items():
        found.sort(key=lambda fact: fact.unit_id)
        first, last = found[0].handle, found[-1].handle
        span = first if first == last else f"{first}-{last}"
        lines.append((found[0].unit_id, (f"{span} {who}:", *_listed(found))))
    lines.sort(key=lambda pair: pair[0])
    return tuple(parts for _, parts in lines)


def _listed(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield facts as they are listed, those of one unit together."""
    before = " "
    for _, found in itertools.groupby(facts, key=lambda fact: fact.unit_id):
        yield before + ", ".join([fact.text for fact in found])
        before = ", "


def notice_parts(
    left_out_items: int, digest: Digest | None = None, *, is_marker: bool = False
) -> list[str]:
    """Return what tells the model that something was left out, and what, in parts.

    Args:
        left_out_items: How many messages left.
        digest: What they held.
        is_marker: Whether it stands where they stood, behind the first messages.
    """
    were = "message was" if left_out_items == 1 else "messages were"
    text = f"{left_out_items:,} earlier {were} left out to save space"
    if is_marker:
        text = f"[snipped {left_out_items:,} {were.partition(' ')[0]}]"
    if digest is None or not digest.lines:
        return [text]
    parts = [f"{text}; names, ids and figures in them:"]
    for line in digest.lines:
        parts += ("\n", *line)
    return parts
