"""What the offline model says: it calls what it was told to, and quotes its context."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from context_builder.agent.offline.calling import Wanted, wanted_rounds
from context_builder.agent.offline.reading import Seen, Sentence, read, words_of
from context_builder.agent.offline.wishes import obeyed, wishes_in

__all__ = ["OfflineReply", "Scripted", "reply_to"]

_MOST_QUOTES = 3
_QUOTE_CHARS = 240
_RESULT_CHARS = 400
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OWN = "[offline]"


@dataclasses.dataclass(frozen=True, slots=True)
class OfflineReply:
    """What the offline model answers: a text, calls, or both."""

    text: str = ""
    calls: Sequence[Wanted] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    """None: `tool_calls` with calls, and `stop` without."""


Scripted = str | OfflineReply | Exception
"""A step of a script: a text, a reply, or an error to raise."""


def reply_to(request: Mapping[str, Any], *, tells_wishes: bool = True) -> OfflineReply:
    """Return the answer to a Chat Completions request; the same one each time."""
    seen = Seen.of(request)
    rounds = wanted_rounds(seen.asked, seen.tools) if seen.tools else []
    if seen.rounds < len(rounds):
        return OfflineReply(calls=tuple(rounds[seen.rounds]))
    sentences = seen.sentences()
    wishes = wishes_in([*sentences, *read("user", seen.asked)])
    lines = [*_told(seen.results)]
    if not lines:
        lines += _quoted(seen.asked, sentences)
    if not lines:
        lines.append(f"You said: {_cut(seen.asked, _QUOTE_CHARS)}")
    if wishes and tells_wishes:
        lines.append("Keeping to: " + " | ".join(wishes))
    return OfflineReply(f"{_OWN} " + obeyed("\n".join(lines), wishes))


def _told(results: Sequence[tuple[str, str]]) -> list[str]:
    """Tell what tools returned; two or more are compared."""
    lines = [f"{name} returned: {_cut(text, _RESULT_CHARS)}" for name, text in results]
    numbers = [
        (float(found.group()), f"result {number} ({name})")
        for number, (name, text) in enumerate(results, 1)
        if (found := _NUMBER.search(text))
    ]
    if len(numbers) > 1:
        (least, of_least), (most, of_most) = min(numbers), max(numbers)
        lines.append(
            f"Compared: {of_most} has the larger figure, {most:,.12g} against "
            f"{least:,.12g} of {of_least}."
        )
    return lines


def _quoted(asked: str, sentences: Sequence[Sentence]) -> list[str]:
    """Quote what answers best: the sentences that share the rarest words with it."""
    wanted = words_of(asked)
    shared = {
        one: words
        for one in sentences
        if (words := one.words & wanted) and not _is_own(one)
    }
    rarity = Counter(chain.from_iterable(shared.values()))
    ranked = sorted(
        shared,
        key=lambda one: _worth(shared[one], rarity),
        reverse=True,
    )
    quotes = list(dict.fromkeys((one.role, one.text) for one in ranked))[:_MOST_QUOTES]
    return [f'The {role} said: "{_cut(text, _QUOTE_CHARS)}"' for role, text in quotes]


def _is_own(sentence: Sentence) -> bool:
    return sentence.role == "assistant" and _OWN in sentence.text


def _worth(words: Iterable[str], rarity: Mapping[str, int]) -> float:
    """Return how much words tell apart; the same in whatever order a set has them."""
    return math.fsum(1 / rarity[word] for word in words)


def _cut(text: str, most_chars: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"
