"""What the offline model sees of a request: who said what, and what is asked now."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from context_builder.agent.offline.wishes import utters_wish

__all__ = ["Seen", "Sentence", "read", "sentences_of", "words_of"]

Json = Mapping[str, Any]

_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_WORD = re.compile(r"[A-Za-z][\w'-]*|\d[\d.,:-]*|[\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """
        a about an and are as at be by can could did do does for from had has have how i
        in is it its me my of on or our please she so tell that the them there these
        they this to us was we were what when where which who why will with would you
        your
        """,
    )
)
"""Words that say nothing about what is asked."""
_LEAST_CHARS = 2
_MOST_KEPT_CHARS = 4_000
"""Of a message whose sentences are remembered."""


class Sentence(NamedTuple):
    """One sentence of the context."""

    role: str
    text: str
    words: frozenset[str]
    """Those that say something."""
    is_wish: bool
    """Whether it says how answers are to be."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """A request, as far as the model looks at it."""

    asked: str
    """What the user said last."""
    before: tuple[Json, ...]
    """All that stands before it."""
    results: tuple[tuple[str, str], ...]
    """Name and text of each tool result since then, in order."""
    rounds: int
    """Rounds of calls since then."""
    tools: Mapping[str, Json]
    """The schema of each tool's arguments, by name; empty: none may be called."""

    @classmethod
    def of(cls, request: Json) -> Seen:
        """Read a Chat Completions request."""
        messages: Sequence[Json] = list(request.get("messages") or ())
        last = max(
            (n for n, one in enumerate(messages) if one.get("role") == "user"),
            default=-1,
        )
        after = messages[last + 1 :]
        may_call = request.get("tool_choice") != "none"
        return cls(
            asked=_text(messages[last]) if last >= 0 else "",
            before=tuple(messages[: max(last, 0)]),
            results=tuple(_results(after)),
            rounds=sum(bool(one.get("tool_calls")) for one in after),
            tools=dict(_tools(request)) if may_call else {},
        )

    def sentences(self) -> list[Sentence]:
        """Return what was said before, sentence by sentence."""
        return [
            sentence
            for one in self.before
            for sentence in read(str(one.get("role")), _text(one))
        ]


def read(role: str, text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message."""
    short = len(text) <= _MOST_KEPT_CHARS
    return _read(role, text) if short else _read.__wrapped__(role, text)


@functools.lru_cache(maxsize=4_096)  # the same context comes again at each turn
def _read(role: str, text: str) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(role, one, words_of(one), utters_wish(role, one))
        for one in sentences_of(text)
    )


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences."""
    found = (piece.strip() for piece in _END.split(text))
    return [piece for piece in found if len(piece) >= _LEAST_CHARS]


def words_of(text: str) -> frozenset[str]:
    """Return the words that say something; Chinese as pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if _HAN.match(word):
            found |= {word[n : n + 2] for n in range(max(1, len(word) - 1))}
        elif word not in _EMPTY:
            # A word is kept once, however many sentences have it.
            found.add(sys.intern(_stem(word.strip("'-.,:"))))
    return frozenset(found)


def _stem(word: str) -> str:
    """Take the plural off, so that `rivers` finds `river`."""
    is_plural = word.endswith("s") and not word.endswith("ss") and len(word) > 3  # noqa: PLR2004
    return word[:-1] if is_plural else word


def _text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content or ()
    return "\n".join(part["text"] for part in parts if part.get("type") == "text")


def _results(messages: Sequence[Json]) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    for one in messages:
        for call in one.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if one.get("role") == "tool":
            yield names.get(one.get("tool_call_id") or "", "a tool"), _text(one)


def _tools(request: Json) -> Iterator[tuple[str, Json]]:
    for one in request.get("tools") or ():
        function = one.get("function") or {}
        if function.get("name"):
            yield function["name"], function.get("parameters") or {}
