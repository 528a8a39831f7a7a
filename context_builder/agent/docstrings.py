"""Reads what a function's docstring says to a model: in Google's style."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping

__all__ = ["Described", "described"]

_SECTION = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+):\s*$")
_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)$")
_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters"})
_OTHERS = frozenset(
    {
        "Attributes",
        "Example",
        "Examples",
        "Note",
        "Notes",
        "Raises",
        "References",
        "Return",
        "Returns",
        "See Also",
        "Todo",
        "Warning",
        "Warnings",
        "Warns",
        "Yields",
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """What a docstring says."""

    text: str
    """All before the first section; the `Returns` section is added to it."""
    arguments: Mapping[str, str]
    """What it says of each argument."""


def described(docstring: str | None) -> Described:
    """Read a docstring; without one, nothing is said."""
    sections = _sections(inspect.cleandoc(docstring or ""))
    text = "\n".join(sections.pop("", [])).strip()
    returns = " ".join(
        " ".join(sections.get("Returns", sections.get("Return", []))).split()
    )
    if returns:
        text = f"{text}\n\nReturns: {returns}" if text else f"Returns: {returns}"
    entries: dict[str, str] = {}
    for name in _ARGUMENTS & sections.keys():
        entries |= _entries(sections[name])
    return Described(text, entries)


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines below each heading; those before the first below ""."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in text.split("\n"):
        heading = _SECTION.match(line)
        if heading and heading["name"] in _ARGUMENTS | _OTHERS:
            name = heading["name"]
            found.setdefault(name, [])
        else:
            found[name].append(line)
    return found


def _entries(lines: list[str]) -> dict[str, str]:
    """Read `name: text` and `name (type): text`; deeper lines go on with the text."""
    block = inspect.cleandoc("\n".join(["", *lines])).split("\n")
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block:
        entry = None if line.startswith((" ", "\t")) else _ENTRY.match(line)
        if entry:
            current = entries.setdefault(entry["name"], [])
            current.append(entry["text"])
        else:
            current.append(line.strip())
    return {name: " ".join(" ".join(said).split()) for name, said in entries.items()}
