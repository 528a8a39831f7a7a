"""Brings back what left: the passages that a new user message asks for.

They come as one framed item just before that message, behind the stable prefix. They
are worked out when the message arrives and stay where they are put; at the next
compaction of a later turn they are the first to go.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING

from context_builder.decide.passages import Passage
from context_builder.items import ContextItem, Unit
from context_builder.tokens.joints import core_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from context_builder.decide.archive import Archive, Search
    from context_builder.decide.rules import Rules

__all__ = ["Found", "choose_passages", "passage_text", "recall_unit"]

_LEAST_SHARE_OF_BEST = 0.1
"""Passages that match much worse than the best one are not worth their tokens."""
_LEAST_SHARE_OF_RAREST = 0.2
"""A passage that shares nothing rare with the message is no answer to it."""
_MOST_LOOKED_AT = 256
_ENOUGH_SHARE = 0.9
"""Nothing more is looked at once so much of the limit is used."""
_LEAST_RESULT_CHARS = 12
_FRAMING_TOKENS = 3
"""About what a message takes besides its text; its line needs less."""
_LINE_TOKENS = 4
"""About what a passage's heading takes."""


_HEADING = re.compile(
    r"^(?=\[(?:i\d{1,18}\b[^\]\n]*|assistant|developer|system|tool|user)\])",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that would pass for the heading of a passage."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """Passages chosen for a message, and what they take."""

    passages: tuple[Passage, ...]
    tokens: int


def choose_passages(
    search: Search,
    archive: Archive,
    *,
    limit_tokens: int,
    is_said: Callable[[Passage], bool],
    unit_of: Callable[[float], Unit | None],
    texts: int,
) -> Found:
    """Return the best passages of a search, as far as the limit allows.

    The result is in the log's order.

    Args:
        search: What was found, best first.
        archive: Where it was found.
        limit_tokens: What the passages may take.
        is_said: Whether a passage stands in the request in another way.
        unit_of: Finds a unit by its id.
        texts: How many texts are in the request anyway.
    """
    if not search.ranked:
        return Found((), 0)
    chosen: list[Passage] = []
    tokens = 0
    least = search.least
    if least is None:
        least = max(
            search.ranked[0][0] * _LEAST_SHARE_OF_BEST,
            archive.rarest(texts) * _LEAST_SHARE_OF_RAREST,
        )
    for rank, number in search.ranked[:_MOST_LOOKED_AT]:
        if rank < least or tokens > limit_tokens * _ENOUGH_SHARE:
            break
        passage = archive.passages[number]
        unit = unit_of(passage.unit_id)
        if unit is None or is_said(passage) or _is_shown(unit, passage.index):
            continue
        if _says_nothing(passage, unit):
            continue
        cost = _cost(passage, unit)
        if tokens + cost <= limit_tokens:
            chosen.append(passage)
            tokens += cost
    chosen.sort(key=lambda p: (p.unit_id, p.index, p.start))
    return Found(tuple(chosen), tokens)


def _cost(passage: Passage, unit: Unit) -> int:
    """Return about what a passage takes: its part of what its text does.

    It is not counted: most of what is looked at is not chosen, and what is chosen is
    measured as it is framed.
    """
    text_chars = len(unit.originals[passage.index].text)
    whole_tokens = max(1, unit.whole_sizes[passage.index] - _FRAMING_TOKENS)
    passage_chars = passage.end - passage.start
    if passage_chars == text_chars:
        return whole_tokens
    return math.ceil(whole_tokens * passage_chars / text_chars) + _LINE_TOKENS


def _says_nothing(passage: Passage, unit: Unit) -> bool:
    """Say whether a piece is a result of a word, such as None: nothing without call."""
    is_result = unit.originals[passage.index].role == "tool"
    return is_result and passage.end - passage.start < _LEAST_RESULT_CHARS


def _is_shown(unit: Unit, index: int) -> bool:
    """Say whether an item of a unit stands whole in the request."""
    return unit.is_shown and unit.items[index] is unit.originals[index]


def passage_text(passage: Passage, unit: Unit) -> str:
    """Return the text of a passage."""
    return unit.originals[passage.index].text[passage.start : passage.end]


def recall_unit(
    found: Sequence[Passage],
    *,
    unit_id: float,
    turn: int,
    unit_of: Callable[[float], Unit | None],
    rules: Rules,
    archive: Archive,
) -> Unit:
    """Return the framed item that holds the passages, as a unit.

    The archive remembers what a passage takes: it is counted once, however often it
    comes back.
    """
    lines = list(_lines(found, unit_of))
    parts = _parts(lines)
    item = ContextItem(
        role="user",
        content="".join(parts),
        id=f"r{int(unit_id + 1)}",
        source="recall",
        optional=True,
    )
    passages = archive.passages
    cores = {hash(core): line.number for line in lines if (core := line.core)}
    known = {
        key: tokens
        for key, number in cores.items()
        if (tokens := passages.tokens(number))
    }
    size, sizes = rules.ruler.composed(item, parts, known)
    for key in sizes.keys() & cores.keys():
        passages.remember(cores[key], sizes[key])
    return Unit(
        id=unit_id,
        items=(item,),
        originals=(item,),
        kind="background",
        turn=turn,
        sizes=(size,),
        whole_sizes=(size,),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    """A passage as it is said."""

    number: int
    """Which passage of the archive it is."""
    heading: str
    """Empty where it follows on the one before."""
    text: str
    """Behind a heading it begins with a blank."""
    start: int
    end: int
    """From where to where the text counts the same wherever it is said."""

    @property
    def core(self) -> str:
        """What is counted once; empty: it has no such part."""
        return self.text[self.start : self.end]


def _parts(lines: Sequence[_Line]) -> list[str]:
    """Return what the lines say: the core of each, and what stands between two."""
    parts: list[str] = []
    loose = ""
    for line in lines:
        parts += (f"{loose}{line.heading}{line.text[: line.start]}", line.core)
        loose = f"{line.text[line.end :]}\n"
    parts.append(loose.removesuffix("\n"))
    return parts


def _line(number: int, heading: str, text: str) -> _Line:
    start, end = core_of(text)
    if not start and not heading:
        end = 0  # what stands before it may count with it
    if heading:
        text = f" {text}"
        start, end = (start + 1 if start else 0), (end + 1 if end else 0)
    return _Line(number, heading, text, start, max(start, end))


def _lines(
    found: Sequence[Passage], unit_of: Callable[[float], Unit | None]
) -> Iterator[_Line]:
    """Yield the passages with their headings.

    What follows on the one before needs no handle, and no speaker where that is the
    same. A line of a passage that looks like a heading is marked: what a tool read may
    not pass for what the user said.
    """
    number, speaker = -1, ""
    for passage in found:
        unit = unit_of(passage.unit_id)
        if unit is None:
            continue
        item = unit.originals[passage.index]
        who = (item.tool_name or "tool") if item.role == "tool" else item.role
        text = passage_text(passage, unit)
        if "[" in text:
            text = _HEADING.sub(r"\\", text)
        own = int(item.id[1:].partition(".")[0])
        if own not in {number, number + 1}:
            heading = f"[{item.id} {who}]"
        else:
            heading = "" if who == speaker else f"[{who}]"
        yield _line(passage.number, heading, text)
        number, speaker = own, who
