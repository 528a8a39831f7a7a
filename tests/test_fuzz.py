"""What is fuzzed for long elsewhere, here for moments: the same targets."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from fuzz.mutate import ODD, mutated
from fuzz.targets import SEEDS, TARGETS

KNOWN = Path(__file__).parent / "data" / "fuzz"
FOUND = sorted(KNOWN.glob("*/*"))
CHANGES = 25
LARGEST = 20_000


@pytest.mark.parametrize(
    "path", FOUND, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_what_once_crashed_does_not_any_more(path: Path) -> None:
    """Each input that was ever found is tried again."""
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_changed_input_is_taken_or_refused(name: str) -> None:
    """Real input with a few changes: an error of the library, or all promises kept."""
    chance = Random(7)  # noqa: S311
    seeds = SEEDS[name]()
    assert seeds
    TARGETS[name](seeds[0])
    tried = 0
    while tried < CHANGES:
        data = _changed(chance.choice(seeds), chance)
        TARGETS[name](data)
        tried += 1


def _changed(data: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    made = mutated(lines[at], chance, LARGEST)
    if made is None:
        return _spoilt(data, chance)
    lines[at] = made
    return b"\n".join(lines)


def _spoilt(data: bytes, chance: Random) -> bytes:
    raw = bytearray(data)
    for _ in range(chance.randint(1, 4) if raw else 0):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)


def test_a_change_leaves_a_document() -> None:
    """What is changed as data can be read again, and differs mostly."""
    chance = Random(3)  # noqa: S311
    made = [mutated(b'{"a": [1, {"b": "c"}]}', chance, 1_000) for _ in range(50)]
    assert all(one is not None for one in made)
    assert len({*made}) > 20
    assert mutated(b"no document", chance, 1_000) is None


def test_what_is_put_in_stays_as_it_is() -> None:
    """A change of one document changes no other, and no document holds itself."""
    before = json.dumps(ODD)
    for seed in range(2_000):
        mutated(b'{"a": [1]}', Random(seed), 1_000)  # noqa: S311
    assert json.dumps(ODD) == before


def test_a_document_as_deep_as_can_be_read_is_no_error() -> None:
    """What an error in the changes ends is the fuzzer, without a word of the input."""
    depth = next(depth for depth in range(1_000, 0, -1) if _is_readable(depth))
    for seed in range(40):
        mutated(_nested(depth), Random(seed), LARGEST)  # noqa: S311


def _nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def _is_readable(depth: int) -> bool:
    try:
        json.loads(_nested(depth))
    except RecursionError:
        return False
    return True
