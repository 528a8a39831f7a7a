"""Mutants that no test can tell from the original, and why."""

from __future__ import annotations

import tomllib
from pathlib import Path

LIST = Path(__file__).with_name("explained.toml")


def explanations() -> dict[tuple[str, str], str]:
    """Return the kind of each mutant that makes no difference, by its key."""
    if not LIST.exists():
        return {}
    kinds = tomllib.loads(LIST.read_text("utf-8"))["kind"]
    return {
        (function, change): kind["name"]
        for kind in kinds
        for function, changes in kind["mutants"].items()
        for change in changes
    }
