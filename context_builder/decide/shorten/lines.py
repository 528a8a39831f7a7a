"""Shortens text made of lines: logs, code, tables, JSON Lines.

Decides which lines stay: both ends, and from the middle those that tell most (errors
in a log, definitions in code). Lines stay whole unless one is very long. Knows
characters only; nothing of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from context_builder.decide.shorten.cuts import keep_ends, left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from context_builder.decide.shorten.fit import Renderer

__all__ = ["code_lines", "json_lines", "log_lines", "table_lines"]

_GAP_CHARS: Final = 32
"""About the size of the marker between two kept lines that are not neighbours."""

_MOST_RANKED: Final = 2_000
"""More lines than this are not worth ranking: nobody has room for them."""

_TROUBLE: Final = re.compile(
    r"(error)|(exception)|(traceback)|(fail(?:ed|ure)?\b)|(fatal)|(panic)|(warn(?:ing)?\b)",
    re.IGNORECASE,
)
_NO_TROUBLE: Final = re.compile(
    r"\b(?:0|no|without)\s+(?:error|exception|fail|warn)", re.IGNORECASE
)
_DIGITS: Final = re.compile(r"(?<![0-9a-f])(?=[a-f]*+[0-9])[0-9a-f]++")
_NUMBERED: Final = r"(?:[ \t]*+\d++[\u2192:|\t][ \t]?+)?"
_DEFINITION: Final = re.compile(
    rf"^{_NUMBERED}(?P<indent>[ \t]*+)(?:"
    r"(?:export\s+|default\s+|async\s+|pub(?:\([a-z]+\))?\s+|abstract\s+|static\s+"
    r"|final\s+|unsafe\s+|extern\s+|inline\s+|override\s+)*"
    r"(?:def|defp|defmodule|defmacro|class|func|fn|fun|function|interface|struct|enum"
    r"|trait|impl|type|module|namespace|object|record|actor|protocol|describe|test)\b"
    r"|(?:public|private|protected|internal)\s+\w"
    r"|#\s*(?:include|define)\b|import\b|from\s+\S+\s+import\b|use\s+\w|using\s+\w"
    r"|package\s+\w|require\b|@[A-Za-z_][\w.]*\s*$"
    r"|(?!(?:if|for|while|switch|else|catch|return|match|with|elif)\b)\w[\w\s*&<>:,]*\([^;=]*\)\s*\{\s*$)"
)


@dataclass(slots=True)
class _Selection:
    """The lines chosen so far, and the room that is left for more."""

    lines: Sequence[str]
    room: int
    line_chars: int
    chosen: set[int] = field(default_factory=set)

    def cost(self, index: int) -> int:
        """Return what showing a line takes; a line on its own takes a marker too."""
        alone = index - 1 not in self.chosen and index + 1 not in self.chosen
        line = min(len(self.lines[index]), self.line_chars) + 1
        return line + (_GAP_CHARS if alone else 0)

    def take(self, order: Iterable[int], share: float, misses: int = 1) -> None:
        """Choose lines in this order while a share of the room lasts."""
        allowed = int(self.room * share)
        for index in order:
            if index in self.chosen:
                continue
            cost = self.cost(index)
            if cost > allowed:
                misses -= 1
                if not misses:
                    return
                continue
            allowed -= cost
            self.room -= cost
            self.chosen.add(index)


def log_lines(text: str) -> Renderer:
    """Show a log: both ends, and the lines of trouble between them."""
    return _lines(text, _troubled(text), head_share=0.3, tail_share=0.45)


def code_lines(text: str) -> Renderer:
    """Show code: the beginning, what it defines, and the end."""
    return _lines(text, _definitions(text), head_share=0.25, tail_share=0.2)


def table_lines(text: str) -> Renderer:
    """Show a table: its heading, its first rows and its last."""
    return _lines(text, (), head_share=0.6, tail_share=1.0)


def json_lines(text: str, shorten_line: Callable[[str, int], str]) -> Renderer:
    """Show JSON Lines: the first and the last; long ones stay JSON."""
    return _lines(
        text,
        (),
        head_share=0.6,
        tail_share=1.0,
        shorten_line=shorten_line,
        gap=lambda missing: f'{{"...":"{missing:,} lines left out"}}',
    )


def _lines(
    text: str,
    ranked: Sequence[int],
    *,
    head_share: float,
    tail_share: float,
    shorten_line: Callable[[str, int], str] = keep_ends,
    gap: Callable[[int], str] = lambda missing: left_out(missing, "lines"),
) -> Renderer:
    lines = text.split("\n")
    last = next((i for i in reversed(range(len(lines))) if lines[i].strip()), 0)

    def render(room: int) -> str:
        line_chars = max(room // 4, 24)
        selection = _Selection(lines, room, line_chars)
        forward = range(len(lines))
        selection.take((0, last), 1.0, misses=2)
        selection.take(forward, head_share)
        selection.take(reversed(forward), tail_share)
        selection.take(ranked, 1.0, misses=8)
        selection.take(reversed(forward), 0.5)
        selection.take(forward, 1.0)
        return "\n".join(_shown(selection, shorten_line, gap))

    return render


def _shown(
    selection: _Selection,
    shorten_line: Callable[[str, int], str],
    gap: Callable[[int], str],
) -> Iterable[str]:
    """Write the chosen lines in order, and a marker wherever some are missing."""
    next_line = 0
    for index in (*sorted(selection.chosen), len(selection.lines)):
        if index > next_line:
            marker = gap(index - next_line)
            alone = index == next_line + 1
            line = selection.lines[next_line]
            yield line if alone and len(line) <= len(marker) else marker
        if index < len(selection.lines):
            line = selection.lines[index]
            too_long = len(line) > selection.line_chars + len(left_out(len(line)))
            yield shorten_line(line, selection.line_chars) if too_long else line
        next_line = index + 1


def _troubled(text: str) -> list[int]:
    """Rank the lines that look like trouble: the worst kind first, repeats last."""
    ranked: list[tuple[bool, int, int]] = []
    seen: set[str] = set()
    line, position = 0, 0
    for match in _TROUBLE.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        if ranked and ranked[-1][2] == line:
            continue
        first = max(0, position - 200)  # a line may be all there is
        start = max(first, text.rfind("\n", first, position) + 1)
        shown = text[start : position + 100].partition("\n")[0]
        if _NO_TROUBLE.search(shown):
            continue
        pattern = _DIGITS.sub("0", shown)
        ranked.append((pattern in seen, match.lastindex or 0, line))
        seen.add(pattern)
        if len(ranked) >= _MOST_RANKED:
            break
    return [line for _, _, line in sorted(ranked)]


def _definitions(text: str) -> list[int]:
    """Rank the lines that define something: outermost first."""
    ranked: list[tuple[int, int]] = []
    for index, line in enumerate(text.split("\n")):
        match = _DEFINITION.match(line[:200])
        if match:
            ranked.append((len(match["indent"].expandtabs(4)), index))
    return [index for _, index in sorted(ranked)[:_MOST_RANKED]]
