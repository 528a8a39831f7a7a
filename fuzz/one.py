"""Fuzzes one target in this process, with atheris: `python -m fuzz` starts it."""

from __future__ import annotations

import sys
from random import Random

import atheris

with atheris.instrument_imports(include=["context_builder"]):
    from fuzz.mutate import mutated
    from fuzz.targets import TARGETS

AS_DATA_SHARE = 0.8
"""How many changes are made to documents; the others are made to bytes."""
TEXTS = frozenset({"shorten"})


def main() -> None:
    """Fuzz what the first argument names; the others are libFuzzer's."""
    name, *rest = sys.argv[1:]

    def changed(data: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)  # noqa: S311  data, not secrets
        made = None
        if name not in TEXTS and chance.random() < AS_DATA_SHARE:
            made = _lines_or_document(data, chance, most)
        return atheris.Mutate(data, most) if made is None else made

    atheris.Setup([sys.argv[0], *rest], TARGETS[name], custom_mutator=changed)
    atheris.Fuzz()


def _lines_or_document(data: bytes, chance: Random, most: int) -> bytes | None:
    """Change a document, or one line of several."""
    if b"\n" not in data:
        return mutated(data, chance, most)
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    made = mutated(lines[at], chance, most)
    if made is None or len(data) + len(made) > most:
        return None
    lines[at] = made
    return b"\n".join(lines)


if __name__ == "__main__":
    main()
