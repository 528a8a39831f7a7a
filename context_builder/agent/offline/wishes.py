"""What the user wants of every answer: found in the context, and kept to.

The offline model has no memory of its own. A wish that it keeps to was in the request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.agent.offline.reading import Sentence

__all__ = ["obeyed", "utters_wish", "wishes_in"]

_WISH = re.compile(
    r"\b(?:always|never|from now on|remember(?: that|:)|call me|my name is|i prefer|"
    r"i would like you to|i'd like you to|i(?: a|')m allergic|keep (?:your )?answers|"
    r"(?:answer|reply|respond|write) (?:only )?in|"
    r"(?:start|begin|end|finish) (?:every|each|all|your))\b|"
    r"始终|总是|永远|以后|从现在起|记住|叫我|我叫|我喜欢|我更喜欢|过敏|请用.{1,8}回答|请不要",
    re.IGNORECASE,
)
_OPENING, _CLOSING = r"\"'\u201c\u2018\u300c", r"\"'\u201d\u2019\u300d"
_QUOTED = rf"[{_OPENING}](?P<text>[^{_CLOSING}]{{1,60}})[{_CLOSING}]"
_ANSWERS = (
    r"(?:every|each|all|your)\s+(?:of your\s+)?(?:answers?|repl(?:y|ies)|messages?)"
)
_FIRST = re.compile(rf"(?:start|begin)\s+{_ANSWERS}\s+with\s+{_QUOTED}", re.IGNORECASE)
_LAST = re.compile(rf"(?:end|finish)\s+{_ANSWERS}\s+with\s+{_QUOTED}", re.IGNORECASE)
_CALLED = re.compile(r"(?:\bcall me\s+|叫我)(?P<text>[\w-]{1,30})", re.IGNORECASE)
_CAPITALS = re.compile(
    r"\bin (?:capitals|capital letters|upper ?case|all caps)\b", re.I
)
_MOST = 5


def utters_wish(role: str, text: str) -> bool:
    """Say whether a sentence wants something of every answer, and may want it."""
    return role in {"system", "user", "developer"} and bool(_WISH.search(text))


def wishes_in(sentences: Iterable[Sentence]) -> list[str]:
    """Return the wishes that the user uttered, in order, each once; the latest few."""
    found = [one.text for one in sentences if one.is_wish]
    return list(dict.fromkeys(found))[-_MOST:]


def obeyed(text: str, wishes: Iterable[str]) -> str:
    """Return an answer as the wishes want it; of two that differ the later counts."""
    said = "\n".join(wishes)
    if _CAPITALS.search(said):
        text = text.upper()
    if name := _latest(_CALLED, said):
        text = f"{name}, {text}"
    if first := _latest(_FIRST, said):
        text = f"{first} {text}"
    if last := _latest(_LAST, said):
        text = f"{text} {last}"
    return text


def _latest(pattern: re.Pattern[str], text: str) -> str | None:
    found = [match["text"] for match in pattern.finditer(text)]
    return found[-1] if found else None
