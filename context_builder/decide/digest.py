"""The extractive digest: what left-out messages held, in one short framed text.

It needs no model. Each unit that left gets a line: its handle, then what the user said
(whole where it is short), or which tool was called and what cannot be reworded in its
result: names, ids, dates, amounts. A fact stands in the newest line that has it, and
only there. The user's words have the first claim to the room; within a kind the oldest
lines make way for new ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from context_builder.decide.facts import facts, fresh_facts
from context_builder.decide.rules import Rules
from context_builder.decide.shorten import gist
from context_builder.items import ContextItem, Unit

__all__ = ["Digest", "digest_of"]

_GIST_CHARS = 160
_WHOLE_CHARS = 240
_MOST_LINE_FACTS = 60
_USER_SHARE = 0.6
"""How much of the room the user's own words may take before anything else."""


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What is told of the units that left."""

    lines: tuple[str, ...] = ()
    """In the order of the conversation."""
    units: tuple[Unit, ...] = ()
    """The units that have a line, in order."""
    whole: frozenset[float] = frozenset()
    """The units of which the line says all."""


def digest_of(units: Sequence[Unit], rules: Rules, limit_tokens: int) -> Digest:
    """Return the lines of these units, newest first as far as the limit allows.

    Args:
        units: Those that have left and are not told of otherwise, oldest first.
        rules: What to measure with.
        limit_tokens: What all lines together may take.
    """
    known: set[str] = set()
    spoken = [unit for unit in units if unit.starts_turn]
    others = [unit for unit in units if not unit.starts_turn]
    lines: dict[float, tuple[Unit, str]] = {}
    user_tokens = int(limit_tokens * _USER_SHARE)
    left_tokens = limit_tokens - _fill(lines, spoken, known, rules, user_tokens)
    _fill(lines, others, known, rules, left_tokens)
    order = sorted(lines)
    return Digest(
        lines=tuple(lines[unit_id][1] for unit_id in order),
        units=tuple(lines[unit_id][0] for unit_id in order),
        whole=frozenset(
            unit_id for unit_id in order if _is_said_whole(lines[unit_id][0])
        ),
    )


def _fill(
    lines: dict[float, tuple[Unit, str]],
    units: Iterable[Unit],
    known: set[str],
    rules: Rules,
    limit_tokens: int,
) -> int:
    """Add lines, newest first, as long as there is room; return what they take."""
    taken_tokens = 0
    for unit in reversed(list(units)):
        line = _line(unit, known)
        if not line:
            continue
        tokens = rules.ruler.text(line) + 1
        if taken_tokens + tokens > limit_tokens:
            break
        taken_tokens += tokens
        lines[unit.id] = (unit, line)
    return taken_tokens


def _is_said_whole(unit: Unit) -> bool:
    text = unit.originals[0].text
    return unit.starts_turn and len(text) <= _WHOLE_CHARS and "\n" not in text


def _line(unit: Unit, known: set[str]) -> str:
    if unit.kind == "tool":
        return _tool_line(unit, known)
    item = unit.originals[0]
    fresh = fresh_facts(facts(item.text), known)
    if not unit.starts_turn:
        return f"{item.id} {item.role}:{_listed(fresh, ' ')}" if fresh else ""
    if _is_said_whole(unit):
        return f"{item.id} user: {item.text}"
    said = gist(item.text, _GIST_CHARS)
    rest = [fact for fact in fresh if fact not in said]
    return f"{item.id} user: {said}{_listed(rest, ' | ')}"


def _tool_line(unit: Unit, known: set[str]) -> str:
    parts = []
    for call, result in zip(unit.originals[0].tool_calls, unit.originals[1:], strict=True):
        asked = fresh_facts(facts(call.arguments), known)
        got = fresh_facts(facts(_text(result)), known)
        if asked or got:
            parts.append(f"{call.name}({', '.join(asked[:8])}) ->{_listed(got, ' ')}")
    return f"{unit.originals[0].id} " + "; ".join(parts) if parts else ""


def _text(item: ContextItem) -> str:
    return "" if item.source == "repair" else item.text


def _listed(found: Sequence[str], lead: str) -> str:
    return lead + ", ".join(found[:_MOST_LINE_FACTS]) if found else ""
