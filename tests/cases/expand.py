"""Writes out the shorthands of a case file: long texts, many tools, rounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["builds_of", "expand", "filled_in", "steps_of"]

Json = Any
"""A piece of a case file."""


def expand(value: Json) -> Json:
    """Write out every `$text` and `$tools` in a piece of a case."""
    if isinstance(value, list):
        return [expand(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$text"}:
        return "".join(_piece(piece) for piece in value["$text"])
    if set(value) == {"$tools"}:
        return _tools(**value["$tools"])
    return {key: expand(inner) for key, inner in value.items()}


def _piece(piece: Json) -> str:
    return piece if isinstance(piece, str) else piece["repeat"] * piece["times"]


def _tools(count: int, name: str, description_words: int) -> list[dict[str, Any]]:
    description = " ".join(["measure"] * description_words)
    parameters = {
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
    }
    return [
        {
            "type": "function",
            "function": {
                "name": name.replace("{i}", str(number)),
                "description": description,
                "parameters": parameters,
            },
        }
        for number in range(count)
    ]


def filled_in(value: Json, mark: str, number: int) -> Json:
    """Put a round (`{i}`) or a thread (`{t}`) into every text of a step."""
    if isinstance(value, str):
        return value.replace(mark, str(number))
    if isinstance(value, list):
        return [filled_in(inner, mark, number) for inner in value]
    if isinstance(value, dict):
        return {key: filled_in(inner, mark, number) for key, inner in value.items()}
    return value


def steps_of(ops: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield every step, those inside a repetition or threads once."""
    for op in ops:
        yield op
        yield from steps_of(op.get("ops", ()))


def builds_of(case: Mapping[str, Any]) -> list[tuple[re.Pattern[str], str]]:
    """Return for each build of a case how its names look, and the vendor it is for."""
    provider = case["input"]["provider"]
    found: list[tuple[re.Pattern[str], str]] = []
    for op in steps_of(case["input"].get("ops", [{"op": "build", "as": "build"}])):
        if op["op"] == "switch":
            provider = op["provider"]
        elif "as" in op:
            name = re.escape(op["as"]).replace(re.escape("{i}"), r"\d+")
            found.append((re.compile(rf"{name}(:\d+)?"), op.get("provider", provider)))
    return found
