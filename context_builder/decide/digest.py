"""The extractive digest: what left-out messages held, in one short framed text.

It needs no model. Each unit that left gets one line: its handle, who spoke or which tool
was called, and what cannot be reworded (names, ids, dates, amounts). A fact stands in
the newest line that has it, and only there. The oldest lines make room for new ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from context_builder.decide.facts import facts, fresh_facts
from context_builder.decide.rules import Rules
from context_builder.decide.shorten import gist
from context_builder.items import ContextItem, Unit

__all__ = ["Digest", "digest_of"]

_GIST_CHARS = 90
_MOST_LINE_FACTS = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What is told of the units that left."""

    lines: tuple[str, ...] = ()
    """Oldest first."""
    units: tuple[Unit, ...] = ()
    """The units that have a line, oldest first."""


def digest_of(units: Sequence[Unit], rules: Rules, limit_tokens: int) -> Digest:
    """Return the lines of these units, newest first as far as the limit allows.

    Args:
        units: Those that have left and are not told of otherwise, oldest first.
        rules: What to measure with.
        limit_tokens: What all lines together may take.
    """
    known: set[str] = set()
    lines: list[str] = []
    told: list[Unit] = []
    left_tokens = limit_tokens
    for unit in reversed(units):
        line = _line(unit, known)
        if not line:
            continue
        tokens = rules.ruler.text(line) + 1
        if tokens > left_tokens:
            break
        left_tokens -= tokens
        lines.append(line)
        told.append(unit)
    return Digest(tuple(reversed(lines)), tuple(reversed(told)))


def _line(unit: Unit, known: set[str]) -> str:
    if unit.kind == "tool":
        return _tool_line(unit, known)
    item = unit.originals[0]
    fresh = fresh_facts(facts(item.text), known)
    if unit.starts_turn:
        said = gist(item.text, _GIST_CHARS)
        rest = [fact for fact in fresh if fact not in said]
        return f"{item.id} user: {said}{_listed(rest, ' | ')}"
    return f"{item.id} {item.role}:{_listed(fresh, ' ')}" if fresh else ""


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
