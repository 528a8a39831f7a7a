"""Chooses mutants: all of some files, or so many of each tier, and always the same."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from pathlib import Path
from typing import Any

from benchmarks.mutants.making import Mutant, Site, sites_of

ROOT = Path.cwd()
PACKAGE = ROOT / "context_builder"
TIERS = ("decide", "render")


@dataclasses.dataclass(frozen=True)
class Choice:
    """Mutants that were chosen, and of how many."""

    mutants: list[Mutant]
    of_all: dict[str, int]
    """How many places for a fault each tier has, in the files asked for."""


def chosen(modules: list[str], size: int, seed: int, kept: Path) -> Choice:
    """Choose mutants of some modules; as before, if nothing has changed since.

    Args:
        modules: Such as `decide/evict`, or a tier; none: everything.
        size: How many of each tier, of every file as many as its share; 0: all. A
            larger sample of the same seed holds the smaller one.
        seed: Of the sample.
        kept: Where the choice is kept: to make it takes a minute.
    """
    files = _files(modules)
    asked = f"{seed} {size} {modules}".encode()
    texts = b"".join(path.read_bytes() for path in files)
    key = hashlib.sha256(asked + texts).hexdigest()
    if kept.exists():
        before = json.loads(kept.read_text("utf-8"))
        if before["key"] == key:
            return Choice([_mutant(one) for one in before["mutants"]], before["of_all"])
    everything = {path: sites_of(ROOT, path) for path in files}
    of_all = {
        tier: sum(
            len(sites) for path, sites in everything.items() if tier_of(path) == tier
        )
        for tier in TIERS
    }
    choice = Choice(_sampled(everything, of_all, size, seed), of_all)
    kept.write_text(json.dumps({"key": key, **dataclasses.asdict(choice)}), "utf-8")
    return choice


def tier_of(path: Path) -> str:
    """Return the tier of a file."""
    return path.relative_to(PACKAGE).parts[0]


def _files(modules: list[str]) -> list[Path]:
    return [
        path
        for tier in TIERS
        for path in sorted((PACKAGE / tier).rglob("*.py"))
        if not modules or {_inside(path), tier} & {*modules}
    ]


def _inside(path: Path) -> str:
    """Return how a module is asked for: `decide/evict`."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def _sampled(
    everything: dict[Path, list[Site]], of_all: dict[str, int], size: int, seed: int
) -> list[Mutant]:
    found: list[Site] = []
    for path, sites in everything.items():
        if not size or not sites:
            found += sites
            continue
        share = max(1, round(size * len(sites) / of_all[tier_of(path)]))
        draw = random.Random(f"{seed} {_inside(path)}")
        found += draw.sample(sites, len(sites))[:share]
    random.Random(seed).shuffle(found)  # whoever stops early has a fair sample
    return [mutant for site in found if (mutant := site.mutant()) is not None]


def _mutant(fields: dict[str, Any]) -> Mutant:
    lines = {name: tuple(fields[name]) for name in ("lines", "body")}
    return Mutant(**{**fields, **lines})
