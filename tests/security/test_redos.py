"""Threat: a text that makes a pattern, or a loop, take for ever.

Whatever looks at a text from outside takes a time that grows with its length, not with
its square. The processor's own time is measured, so that a busy machine fails nothing.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

import context_builder
from context_builder.agent.offline.calling import wanted_rounds
from context_builder.decide import facts as facts_module
from context_builder.decide.archive import Archive
from context_builder.decide.facts import facts
from context_builder.decide.shorten import (
    Shape,
    gist,
    shorten_arguments,
    shorten_middle,
    shorten_text,
    truncate_chars,
)
from context_builder.decide.terms import terms
from context_builder.decide.wishes import wish_in
from context_builder.items import ContextItem, Unit
from context_builder.passing import excerpts_in
from context_builder.render.frames import frame
from context_builder.summarizers.acceptance import answer_problem
from context_builder.tokens import counter_for
from context_builder.unicode import repair_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST_CHARS = 40
"""What takes long for so little would take for ever on more."""
PATTERN_CHARS = 2_000
PATTERN_SECONDS = 0.04
"""Two thousand steps take a third of that at most, and their square more."""
TEXT_CHARS = 15_000
MOST_SECONDS = 0.4
"""Of processor time. A square of the length takes longer, what is linear far less."""

BOUNDED = {
    "decide.shorten.gists._JSON_START": "tried at the beginning alone",
    "decide.shorten.shapes._CODE": "tried on 200 characters of a line",
    "summarizers.acceptance._ERROR": "tried on texts of at most 400 characters",
    "summarizers.acceptance._REFUSAL": "tried on texts of at most 400 characters",
}
"""Patterns that are not tried at every place of a text, or only on a short one."""

PIECES = [
    *"aA1 \n\t-_./@#<\"'`([{}]):,;|*=\\~“「月用中、。",
    *("a-", "a_", "a.", "a/", "a1", "1a", "1.", "1,", "1-", "Aa", "aA", "a ", "a\n"),
    *(" a", "\n ", "- ", "# ", "a:", "(a", "//", "<a", "</", "```", "x*", "\r\n"),
    *("| ", "a|", "$1", "1月", "use ", "call ", "may ", '"a', '":', '{"', "a@", "@a"),
    *("error", "no ", "<!", "data:", "; ", "a=", "then ", "http://", "aa--", "_a"),
    *("\u0301", "\u200d", "\U0001f1e9", "\ud800", "\0", "\u202e", "<recalled "),
]


def patterns() -> dict[str, re.Pattern[str]]:
    """Return every pattern that a module of the package holds, by where it is."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(context_builder.__path__, "context_builder."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            where = f"{module.name.removeprefix('context_builder.')}.{name}"
            found |= dict(_inside(where, value))
    for signs in itertools.product((False, True), repeat=5):
        found |= dict(_inside(f"decide.facts{signs}", facts_module._pattern(signs)))
    return found


def _inside(name: str, value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield name, value
    elif isinstance(value, tuple | list | frozenset):
        for number, one in enumerate(value):
            yield from _inside(f"{name}[{number}]", one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _inside(f"{name}[{key}]", one)


def spent(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that something takes."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def test_no_pattern_takes_the_square_of_a_text() -> None:
    """Every pattern of the package, on repetitions of what it looks for."""
    known = patterns()
    assert len(known) > 100
    slow = {
        name: piece
        for name, pattern in known.items()
        for piece, ending in itertools.product(PIECES, ("", "\x01"))
        if _is_slow(pattern, piece, ending)
    }
    assert set(slow) <= set(BOUNDED), slow


def _is_slow(pattern: re.Pattern[str], piece: str, ending: str) -> bool:
    """Say whether repetitions take long, however often one tries."""
    return any(
        _takes_long(pattern, piece * (chars // len(piece)) + ending)
        for chars in (FIRST_CHARS, PATTERN_CHARS)
    )


def _takes_long(pattern: re.Pattern[str], text: str) -> bool:
    return all(spent(lambda: _tried(pattern, text)) > PATTERN_SECONDS for _ in range(3))


def _tried(pattern: re.Pattern[str], text: str) -> None:
    pattern.fullmatch(text)
    for _ in pattern.finditer(text):
        pass


def texts(chars: int) -> Iterator[str]:
    """Yield repetitions, alone and between lines of a log."""
    for piece in PIECES:
        yield piece * (chars // len(piece))
    log = "2026-01-01 10:00:00 INFO x\n" * 8
    for piece in ("no error ", "error ", "a-", "\t"):
        yield f"{log}{piece * (chars // len(piece))}\n{log}"
    for begin, piece in (("#x ", "a-"), ("x.y ", "a-"), ("x@", "a"), (".a ", "a1-")):
        yield begin + piece * (chars // len(piece))
    yield "[" * (chars // 2) + "]" * (chars // 2)
    yield '["' + "\\" * chars + '"]'
    yield '"' + "\\ud83d" * (chars // 6) + '"'
    yield ("\t" * 199 + "\n") * (chars // 200)


def count(text: str) -> int:
    """Count about the tokens of a text."""
    return len(text) // 4 + 1


def archived(text: str) -> None:
    """Put a text into the archive, and look for how it begins."""
    item = ContextItem(role="user", content=text, id="i1")
    unit = Unit(id=1.0, items=(item,), originals=(item,), kind="message", turn=1)
    archive = Archive()
    archive.see(unit)
    archive.add(unit)
    archive.search(text[:2_000], users=set(), live=())


def estimated(text: str) -> None:
    """Count the tokens of a text without a vocabulary."""
    counter_for(None).count(text)


LOOKS: dict[str, Callable[[str], Any]] = {
    "facts": facts,
    "terms": lambda text: sum(1 for _ in terms(text)),
    "gist": gist,
    "wish": wish_in,
    "archive": archived,
    "middle": lambda text: shorten_middle(text, 50, count),
    "arguments": lambda text: shorten_arguments(text, 50, count),
    "truncate": lambda text: truncate_chars(text, 400),
    "frame": lambda text: frame("recalled", text),
    "excerpts": excerpts_in,
    "repair": repair_text,
    "answer": answer_problem,
    "estimate": estimated,
    "offline": lambda text: wanted_rounds(f"use f {text}", {"f": {}}),
}


def _shortened(shape: Shape) -> Callable[[str], Any]:
    return lambda text: shorten_text(text, 50, count, shape=shape)


_SHAPES: tuple[Shape, ...] = ("auto", "log", "code", "table", "prose", "json", "jsonl")
LOOKS |= {f"shorten {shape}": _shortened(shape) for shape in _SHAPES}


@pytest.mark.parametrize("look", LOOKS)
def test_no_look_at_a_text_takes_its_square(look: str) -> None:
    """Each way in which the library looks at what came in."""
    for text in texts(TEXT_CHARS):
        seconds = min(_tries(LOOKS[look], text))
        assert seconds < MOST_SECONDS, f"{seconds:.2f} s on {text[:40]!r}"


def _tries(look: Callable[[str], Any], text: str) -> Iterator[float]:
    """Yield how long it takes; once more only where that was long."""
    for _ in range(3):
        seconds = spent(lambda: look(text))
        yield seconds
        if seconds < MOST_SECONDS:
            return
