"""What the offline model says: it calls what it was told to, and quotes its context."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.agent.offline.calling import Wanted, wanted_rounds
from context_builder.agent.offline.reading import Seen, Sentence, words_of
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
    wishes = wishes_in([*sentences, *_said_now(seen)])
    lines = [*_told(seen.results)]
    if not lines:
        lines += _quoted(seen.asked, sentences)
    if not lines:
        lines.append(f"You said: {_cut(seen.asked, _QUOTE_CHARS)}")
    if wishes and tells_wishes:
        lines.append("Keeping to: " + " | ".join(wishes))
    return OfflineReply(f"{_OWN} " + obeyed("\n".join(lines), wishes))


def _said_now(seen: Seen) -> list[Sentence]:
    now = Seen(
        asked="",
        before=({"role": "user", "content": seen.asked},),
        results=(),
        rounds=0,
        tools={},
    )
    return now.sentences()


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
    shared = {one: _shared(one, wanted) for one in sentences if not _is_own(one)}
    rarity = Counter(word for words in shared.values() for word in words)
    ranked = sorted(
        (one for one, words in shared.items() if words),
        key=lambda one: sum(1 / rarity[word] for word in shared[one]),
        reverse=True,
    )
    quotes = list(dict.fromkeys((one.role, one.text) for one in ranked))[:_MOST_QUOTES]
    return [f'The {role} said: "{_cut(text, _QUOTE_CHARS)}"' for role, text in quotes]


def _is_own(sentence: Sentence) -> bool:
    return sentence.role == "assistant" and _OWN in sentence.text


def _shared(sentence: Sentence, wanted: frozenset[str]) -> frozenset[str]:
    """Return the words that a sentence shares with a question."""
    lowered = sentence.text.lower()
    if not any(word in lowered for word in wanted):  # most share none: cheap to see
        return frozenset()
    return words_of(sentence.text) & wanted


def _cut(text: str, most_chars: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"
