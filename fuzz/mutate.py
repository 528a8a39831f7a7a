"""Changes inputs as data: a document stays a document, and its fields change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

__all__ = ["mutated", "written"]

Json = Any

ODD: tuple[Json, ...] = (
    None, True, 0, -1, 10**30, 1e308, -0.0, "", " ", "\0", "\ud83d", "\u202e",
    "a" * 300,
    [], {}, [[]], [{}], {"type": "text"}, {"role": "tool"}, {"$ref": "#"}, "user",
    "assistant", "tool", "system", "developer", "model", "text", "image", "tool_use",
    "tool_result", "function_call", "function_call_output", "thinking", "reasoning",
    "data:image/png;base64,AAAA", "https://a.test/b", "call_1", "{\"a\": ", "null",
)  # fmt: skip
"""What stands where something else is expected."""


def written(value: Json) -> bytes:
    """Write a document as seeds and mutants are kept."""
    return json.dumps(value).encode()


def mutated(data: bytes, chance: Random, most: int) -> bytes | None:
    """Return a document with one to four changes; None: it is no document.

    None as well for one that is nested deeper than Python writes: a change may put a
    document into itself. An error here would end the fuzzer, and leave no input behind.
    """
    try:
        value = json.loads(data)
        for _ in range(chance.randint(1, 4)):
            value = _changed(value, chance)
        made = written(value)
    except (ValueError, RecursionError):
        return None
    return made if len(made) <= most else None


def _changed(value: Json, chance: Random) -> Json:
    """Return the value with one place in it changed."""
    places = [*_places(value, 0)]
    if not places or chance.random() < 0.02:
        return _copied(chance.choice(ODD))
    parent, key = chance.choice(places)
    kind = chance.random()
    if kind < 0.2:
        del parent[key]
    elif kind < 0.5:
        parent[key] = _copied(chance.choice(ODD))
    elif kind < 0.7:
        other, name = chance.choice(places)
        parent[key] = _copied(other[name])
    elif isinstance(parent, list):
        _lengthen(parent, key, chance)
    else:
        parent[_name(places, chance)] = parent.pop(key)
    return value


def _copied(value: Json) -> Json:
    """Copy what is put in: never a circle, and changed in this document alone."""
    return json.loads(json.dumps(value))


def _lengthen(parent: list[Json], at: int, chance: Random) -> None:
    if chance.random() < 0.5:
        parent.insert(at, _copied(parent[at]))
    else:
        parent.append(parent.pop(at))


def _name(places: list[tuple[Json, Json]], chance: Random) -> str:
    names = [key for _, key in places if isinstance(key, str)]
    return chance.choice(names) if names else "role"


def _places(value: Json, depth: int) -> Any:
    """Yield where a value stands: its parent, and its name or number in it."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, member in [*pairs]:
        yield value, key
        if depth < 40:
            yield from _places(member, depth + 1)
