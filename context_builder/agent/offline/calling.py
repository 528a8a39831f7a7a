"""Which tools the user asked the offline model to use, in which order, and with what.

`use search for rivers and use weather with city=Rome, then use convert` is two rounds:
the first has two calls. What is not said of an argument is taken from the words around.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Wanted", "wanted_rounds"]

Json = Mapping[str, Any]

_STAGE = re.compile(
    r"(?:[,;.]\s*+|(?<!\s)\s*+)\b(?:and\s++)?then\b|然后|接着", re.IGNORECASE
)
_ASKS = re.compile(r"\b(?:use|using|call|run|invoke)\b|使用|调用|用", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:\b(?:use|call|run|invoke)\s+(?:the\s+)?tool\s+|(?:使用|调用|用)工具\s*)"
    r"[`\"']?(?P<name>[A-Za-z][\w-]*)",
    re.IGNORECASE,
)
_LEADS_OVER = re.compile(
    r"(?<![\s,;])[\s,;]*+(?:\band\b|\u548c)?\s*+(?:\b(?:use|using|call|run|invoke)\b|"
    r"\u4f7f\u7528|\u8c03\u7528|\u7528)?\s*+(?:the\s++)?(?:tool\s++)?$",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?<!\w)(?P<key>[A-Za-z_]\w*+)\s*+=\s*+(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\s,;()]*[^\s,;().:!?]))"
)
_QUOTED = re.compile(r"[\"“「](?P<text>[^\"“「”」]+)[\"”」]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_EDGES = " .,;:!?\u3002\uff0c\uff1f\uff01"
"""Punctuation, the Chinese included."""
_LEADING = re.compile(
    r"^\W*(?:(?:to|for|with|about|on|of|and|find|look up|search for)\b\s*)*",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A call that the user asked for."""

    name: str
    arguments: str
    """JSON text."""


def wanted_rounds(asked: str, tools: Mapping[str, Json]) -> list[list[Wanted]]:
    """Return the calls that a message asks for, round by round."""
    rounds = [
        list(_wanted(stage, tools))
        for stage in _STAGE.split(asked)
        if _ASKS.search(stage)
    ]
    return [calls for calls in rounds if calls]


def _wanted(stage: str, tools: Mapping[str, Json]) -> Iterator[Wanted]:
    places = sorted(_places(stage, tools))
    if not places:  # it asks for something that is no tool
        return
    ends = [start for start, _, _ in places[1:]] + [len(stage)]
    for (_, stop, name), end in zip(places, ends, strict=True):
        said = stage[stop:end]
        if end < len(stage):  # what leads over to the next name is not said of this one
            said = _LEADS_OVER.sub("", said)
        yield Wanted(name, _arguments(said, tools.get(name, {})))


def _places(stage: str, tools: Mapping[str, Json]) -> Iterator[tuple[int, int, str]]:
    """Yield where tools are named: start, end, name."""
    for name in tools:
        pattern = rf"(?<![\w-])[`\"']?{re.escape(name)}[`\"']?(?![\w-])"
        for found in re.finditer(pattern, stage):
            yield found.start(), found.end(), name
    for found in _NAMED.finditer(stage):
        if found["name"] not in tools:
            yield found.start("name"), found.end(), found["name"]


def _arguments(said: str, schema: Json) -> str:
    first, last = said.find("{"), said.rfind("}")
    if 0 <= first < last:
        return said[first : last + 1]
    properties: Mapping[str, Json] = schema.get("properties") or {}
    given = {
        pair["key"]: _valued(
            pair["quoted"] or pair["bare"], properties.get(pair["key"])
        )
        for pair in _PAIR.finditer(said)
    }
    rest = _Rest(said)
    for key in schema.get("required") or ():
        if key not in given:
            given[key] = rest.value_of(properties.get(key) or {})
    return json.dumps(given, ensure_ascii=False)


def _valued(text: str, schema: Json | None) -> Any:
    if (schema or {}).get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class _Rest:
    """What is said beside the name of a tool, given out piece by piece."""

    def __init__(self, said: str) -> None:
        self._quoted = [found["text"] for found in _QUOTED.finditer(said)]
        self._numbers = _NUMBER.findall(said)
        self._text = _LEADING.sub("", _PAIR.sub("", said)).strip(_EDGES)

    def value_of(self, schema: Json) -> Any:
        """Return a value of that type."""
        options = schema.get("enum") or ()
        if options:
            said = (one for one in options if str(one).lower() in self._text.lower())
            return next(said, options[0])
        match schema.get("type"):
            case "integer" | "number" as kind:
                number = self._numbers.pop(0) if self._numbers else "1"
                return int(float(number)) if kind == "integer" else float(number)
            case "boolean":
                return True
            case "array":
                return [self.value_of(schema.get("items") or {"type": "string"})]
            case "object":
                return {}
            case _:
                return self._quoted.pop(0) if self._quoted else self._text
