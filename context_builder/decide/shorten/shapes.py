"""Guesses what kind of text it is, from its beginning and its end.

Decides the shape only. A wrong guess costs quality, never correctness: every shape can
shorten every text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from context_builder.decide.shorten.values import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Shape", "detect_shape"]

Shape: TypeAlias = Literal["auto", "json", "jsonl", "log", "code", "table", "prose"]
"""What kind of text it is; `auto` looks for itself."""

_LOOK_CHARS: Final = 4_096
_MARKDOWN_RULE: Final = re.compile(
    r"^\s*+\|?\s*+:?-{2,}+:?\s*+(?:\|\s*+:?-{2,}+:?\s*+)*+\|?\s*+$"
)
_MANY: Final = 0.35
_MOST: Final = 0.7
_FEW_LINES: Final = 4
_LONG_LINE: Final = 200
_LEAST_GAPS: Final = 2
_GAPS: Final = re.compile(r"\S(?: {2,}|\t)\S")
_CODE: Final = re.compile(
    r"^\s*(?:\d+[\u2192:|\t]\s*)?(?:(?:async\s+)?(?:def|defp|defmodule|class|func|fn"
    r"|function|import|from|package|use|return|if|else|elif|for|while|end|const|let|var"
    r"|public|private|struct|impl|interface|try|except|catch|switch|case)\b.*[^.,]$"
    r"|#include|@\w+|[})\]];?,?$|//|/\*|\*/|.*[{;]$|[\w.\[\]]+\s*(?:=|:=)\s*\S)"
)
_SENTENCE: Final = re.compile(r"[.!?:\u3002\uff01\uff1f][\"')\u201d]*(?:\s|$)")
_NUMBERED: Final = re.compile(r"^\s*\d+(?:\u2192|:)|^\s+\d+\t")
_LOG: Final = re.compile(
    r"^\W*\d{4}-\d\d-\d\d|^\W*\d\d:\d\d:\d\d"
    r"|\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b"
)


def detect_shape(text: str) -> Shape:
    """Name the shape of `text`; never `auto`."""
    stripped_start = text[:_LOOK_CHARS].lstrip()
    stripped_end = text[-_LOOK_CHARS:].rstrip()
    opening, closing = stripped_start[:1], stripped_end[-1:]
    if (opening, closing) in {("{", "}"), ("[", "]")} and _is_json_lines(text):
        return "jsonl"
    if (opening, closing) in {("{", "}"), ("[", "]"), ('"', '"')}:
        return "json"
    return _shape_of_lines(_sample(text))


def _sample(text: str) -> list[str]:
    """Return whole lines from the beginning and the end."""
    if len(text) <= 2 * _LOOK_CHARS:
        return [line for line in text.split("\n") if line.strip()]
    head = text[:_LOOK_CHARS].split("\n")[:-1]
    tail = text[-_LOOK_CHARS:].split("\n")[1:]
    return [line for line in (*head, *tail) if line.strip()]


def _is_json_lines(text: str) -> bool:
    lines = [line for line in text[:_LOOK_CHARS].split("\n") if line.strip()]
    if len(text) > _LOOK_CHARS:
        lines = lines[:-1] or [text.partition("\n")[0]]
    if "\n" not in text.strip():
        return False
    return all(parse_json(line) is not None for line in lines[:3])


def _shape_of_lines(lines: list[str]) -> Shape:
    if len(lines) < _FEW_LINES:
        return "prose"
    starts = [line[:200] for line in lines]
    if _share(map(_NUMBERED.match, starts)) > _MOST:
        return "code"  # a file as a tool shows it
    if _is_table(lines):
        return "table"
    if _share(map(_LOG.search, starts)) > _MANY:
        return "log"
    if _share(map(_CODE.match, starts)) > _MANY:
        return "code"
    return "prose" if _share(map(_is_prose, lines)) > _MANY else "log"


def _share(tests: Iterable[object]) -> float:
    """Return how many of the tests came out true, from 0 to 1."""
    results = [bool(test) for test in tests]
    return sum(results) / len(results)


def _is_prose(line: str) -> bool:
    return bool(_SENTENCE.search(line[-8:] if len(line) <= _LONG_LINE else line[:400]))


def _is_table(lines: list[str]) -> bool:
    """Say whether most lines have the same number of columns."""
    if any(_MARKDOWN_RULE.match(line) and "|" in line for line in lines[:_FEW_LINES]):
        return True
    for delimiter, least in (("\t", 1), (",", 2), (";", 2), ("|", 2)):
        counts = [line.count(delimiter) for line in lines]
        if counts[0] >= least and counts.count(counts[0]) >= 0.9 * len(counts):
            return True
    gaps = [len(_GAPS.findall(line[:400])) for line in lines]
    return gaps[0] >= _LEAST_GAPS and gaps.count(gaps[0]) >= _MOST * len(gaps)
