"""Finds what a session holds, shown or not, and says it in frames with handles.

The whole session is searched: what left the request and what is still in it. What its
owner took out or replaced is not found, nor what only passed: values of the moment, and
what was recalled before.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from context_builder.decide.archive import Archive
from context_builder.decide.meaning import by_words_and_meaning
from context_builder.decide.shorten import shorten_text
from context_builder.decide.terms import terms
from context_builder.entries import (
    Cleared,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    Rewound,
)
from context_builder.items import ContextItem, Unit
from context_builder.passing import ECHOING_TOOLS, RECALLED, Excerpt, is_passing
from context_builder.render.frames import frame

if TYPE_CHECKING:
    from context_builder.collect import SessionLog
    from context_builder.decide.archive import Passage
    from context_builder.items import LogEntry

__all__ = [
    "ALL_SHOWN",
    "LEAST_TOKENS",
    "Hit",
    "SessionIndex",
    "found_text",
    "item_text",
    "lines_text",
]

LEAST_TOKENS = 64
"""Less than this has no room for a frame and what it is about."""
_LEAST_SHARE_OF_BEST = 0.22
"""Passages that match much worse than the best one are not worth their tokens."""
_MOST_LOOKED_AT = 64
_MOST_CHARS_PER_TOKEN = 32
"""No more of a text is looked at: few tokens are longer."""
_NOTE_TOKENS = 40
"""About what the line takes that says what is missing."""
NOTHING = "Nothing in this session matches. Try other words, or a handle such as i7."
ALL_SHOWN = (
    "What matches stands above, in what was recalled before. Use that, or ask for "
    "something else."
)

Count = Callable[[str], int]


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A piece of an item that matches, as character positions of `item_text`."""

    item: ContextItem
    start: int
    end: int

    @property
    def excerpt(self) -> Excerpt:
        """The piece by the handle of its item."""
        return Excerpt(self.item.id, self.start, self.end)


class SessionIndex:
    """An index over all that a session holds; it grows with the log."""

    def __init__(self) -> None:
        self._archive = Archive()
        self._position = 0
        self._known: dict[str, ContextItem] = {}
        self._called: dict[str, str] = {}
        """The tool of each call, the newest of an id: vendors reuse ids."""
        self._users: set[float] = set()

    def search(
        self,
        log: SessionLog,
        query: str,
        *,
        handle: str | None,
        meant: Sequence[tuple[float, int]] = (),
    ) -> list[Hit]:
        """Return the pieces that match, best first; of one item if it is named.

        Args:
            log: The session's.
            query: Words.
            handle: The item's id.
            meant: What an embedder found: (cosine, number of a passage), best first.
        """
        self.archive_of(log)
        found = self._archive.search(query, users=self._users, live=())
        hits: list[Hit] = []
        least = found.ranked[0][0] * _LEAST_SHARE_OF_BEST if found.ranked else 0.0
        if meant:
            found = by_words_and_meaning(found, meant, 0.0)
            least = found.least or 0.0
        for rank, number in found.ranked:
            if len(hits) >= _MOST_LOOKED_AT or (handle is None and rank < least):
                break
            passage = self._archive.passages[number]
            item = self._known[_name(passage.unit_id)]
            if handle in {None, item.id}:
                hits.append(Hit(item, passage.start, passage.end))
        return hits or self._scanned(query, handle)

    def _scanned(self, query: str, handle: str | None) -> list[Hit]:
        """Look through all for words that are too common to tell passages apart.

        In a short session every word is.
        """
        wanted = set(terms(query))
        found: list[tuple[int, int, Hit]] = []
        for number, passage in enumerate(self._archive.passages):
            item = self._known.get(_name(passage.unit_id))
            if item is None or handle not in {None, item.id}:
                continue
            hit = Hit(item, passage.start, passage.end)
            same = wanted & set(terms(item_text(item)[hit.start : hit.end]))
            if same:
                found.append((-len(same), -number, hit))
        found.sort(key=lambda one: one[:2])
        return [hit for _, _, hit in found[:_MOST_LOOKED_AT]]

    def text_of(self, passage: Passage) -> str | None:
        """Return the text of a passage; None: it was taken back."""
        item = self._known.get(_name(passage.unit_id))
        return None if item is None else item_text(item)[passage.start : passage.end]

    def archive_of(self, log: SessionLog) -> Archive:
        """Return the index over all that a log holds by now."""
        self._catch_up(log)
        return self._archive

    def _catch_up(self, log: SessionLog) -> None:
        for entry in log.since(self._position):
            self._position += 1
            self._take_in(entry, log)

    def _take_in(self, entry: LogEntry, log: SessionLog) -> None:
        match entry:
            case ContextItem():
                self._add(entry)
            case ItemsAdded():
                for item in entry.items:
                    self._add(item)
            case ItemEdited() if entry.item.id in self._known:
                self._forget(entry.item.id)
                self._add(entry.item)
            case ItemRemoved():
                self._forget(entry.item_id)
            case Rewound() | Cleared():
                self._forget_all(one for one in [*self._known] if not log.holds(one))
            case _:
                pass

    def _add(self, item: ContextItem) -> None:
        item = self._named(item)
        if is_passing(item) or not item_text(item):
            return
        said = item if item.text == item_text(item) else _as_text(item)
        number = float(item.id[1:])
        unit = Unit(id=number, items=(said,), originals=(said,), kind="message", turn=0)
        self._known[item.id] = item
        if item.is_spoken:
            self._users.add(number)
        self._archive.see(unit)
        self._archive.add(unit)

    def _named(self, item: ContextItem) -> ContextItem:
        """Return a result with the name of the tool that was called, if it has none."""
        for call in item.tool_calls:
            self._called[call.id] = call.name
        if item.role != "tool" or item.tool_name is not None:
            return item
        name = self._called.get(item.tool_call_id or "")
        return item if not name else dataclasses.replace(item, tool_name=name)

    def _forget_all(self, item_ids: Iterable[str]) -> None:
        for item_id in item_ids:
            self._forget(item_id)

    def _forget(self, item_id: str) -> None:
        if self._known.pop(item_id, None) is not None:
            self._archive.forget(float(item_id[1:]))
            self._users.discard(float(item_id[1:]))


def _name(number: float) -> str:
    return f"i{int(number)}"


def _as_text(item: ContextItem) -> ContextItem:
    """Return an item with all that it says as its text."""
    return dataclasses.replace(item, content=item_text(item))


def item_text(item: ContextItem) -> str:
    """Return all that an item says: its text, its calls, and that it has a picture."""
    lines = [item.text] if item.text else []
    if not isinstance(item.content, str):
        others = [part.type for part in item.content if part.type != "text"]
        lines += [f"[{kind}]" for kind in others]
    lines += [
        f"{call.name}({call.arguments})"
        for call in item.tool_calls
        if call.name not in ECHOING_TOOLS  # else a search would find itself
    ]
    return "\n".join(lines)


def _source(item: ContextItem) -> str:
    if item.role != "tool":
        return item.role
    return f"tool {item.tool_name}" if item.tool_name else "tool"


def _framed(item: ContextItem, start: int, end: int) -> str:
    """Return a piece of what an item says in its frame."""
    text = item_text(item)
    return frame(
        RECALLED,
        text[start:end],
        handle=item.id,
        source=_source(item),
        lines=_lines(text, start, end),
        chars=f"{start}-{end}",
    )


def _lines(text: str, start: int, end: int) -> str:
    first = text.count("\n", 0, start) + 1
    last = first + text[start:end].rstrip("\n").count("\n")
    return f"{first}-{last} of {text.count(chr(10)) + 1}"


def lines_text(
    item: ContextItem, lines: tuple[int, int] | None, max_tokens: int, count: Count
) -> str:
    """Return lines of an item in a frame, as far as the limit allows.

    A line below the frame says what is missing.

    Args:
        item: Any item.
        lines: The first and the last line, from 1; None: all.
        max_tokens: What frame and line may take.
        count: Counts the tokens of a text.
    """
    ends = _line_ends(item_text(item))
    first, last = lines or (1, len(ends))
    last = min(last, len(ends))
    start = ends[first - 2] + 1 if first > 1 else 0

    def said(lines_shown: int) -> str:
        return _framed(item, start, ends[first - 2 + lines_shown])

    wanted = last - first + 1
    if _fits(said(wanted), max_tokens, count):
        return said(wanted)
    fitting = _fitting(said, wanted, max_tokens - _NOTE_TOKENS, count)
    if fitting == 0:
        return _one_line(item, start, ends[first - 1], max_tokens, count)
    rest = f"[Lines {first + fitting}-{last} of {item.id} are left out here.]"
    return f"{said(fitting)}\n{rest}"


def _line_ends(text: str) -> list[int]:
    """Return where each line ends."""
    return [*(match.start() for match in re.finditer("\n", text)), len(text)]


def _one_line(
    item: ContextItem, start: int, end: int, max_tokens: int, count: Count
) -> str:
    """Return one line that is too long, shortened. It does not count as said."""
    line = item_text(item)[start:end][: max_tokens * _MOST_CHARS_PER_TOKEN]
    head = {"handle": item.id, "source": _source(item), "shortened": "yes"}
    room_tokens = max(1, max_tokens - count(frame(RECALLED, "", **head)) - 2)
    short = shorten_text(line, room_tokens, count, shape="prose")
    while count(text := frame(RECALLED, short, **head)) > max_tokens and short:
        short = short[: len(short) * 3 // 4]
    return text


def _fits(text: str, max_tokens: int, count: Count) -> bool:
    is_small = len(text) <= max_tokens * _MOST_CHARS_PER_TOKEN
    return is_small and count(text) <= max_tokens


def _fitting(
    said: Callable[[int], str], most: int, max_tokens: int, count: Count
) -> int:
    """Return how many lines can be said in so many tokens, by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(said(middle), max_tokens, count):
            low = middle
        else:
            high = middle - 1
    return low


def found_text(
    hits: Iterable[Hit],
    max_tokens: int,
    count: Count,
    *,
    shown: Iterable[Excerpt] = (),
) -> str:
    """Return the hits in frames, in the order of the session, as far as they fit.

    Args:
        hits: Best first.
        max_tokens: What all frames together may take.
        count: Counts the tokens of a text.
        shown: What need not be said again.
    """
    said = tuple(shown)
    found = list(hits)
    news = [hit for hit in found if not any(one.covers(hit.excerpt) for one in said)]
    chosen: list[Hit] = []
    for hit in news:
        if count(_frames([*chosen, hit])) <= max_tokens:
            chosen.append(hit)
    if chosen:
        return _frames(chosen)
    if news:
        return _one_line(news[0].item, news[0].start, news[0].end, max_tokens, count)
    return frame(RECALLED, ALL_SHOWN if found else NOTHING)


def _frames(hits: Sequence[Hit]) -> str:
    """Return a frame for each piece, those joined that follow one another."""
    runs: list[Hit] = []
    for hit in sorted(hits, key=lambda one: (int(one.item.id[1:]), one.start)):
        last = runs[-1] if runs else None
        if last and last.item.id == hit.item.id and hit.start <= last.end:
            runs[-1] = dataclasses.replace(last, end=max(last.end, hit.end))
        else:
            runs.append(hit)
    return "\n".join(_framed(run.item, run.start, run.end) for run in runs)
