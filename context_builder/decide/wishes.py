"""What a user wants to hold from then on: a wish outlives the turn it was uttered in.

Words tell, not understanding: what is missed here is told as all else is.
"""

from __future__ import annotations

import re

__all__ = ["wish_in"]

_WISH = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|remember|call me|my name is|"
    r"i (?:would |'d )?prefer|i(?: would|'d) like you to|allergic|"
    r"(?:every|each|all|your) (?:answers?|repl(?:y|ies)|messages?)|"
    r"(?:answer|reply|respond|write|speak) (?:\w+ )?in\b|"
    r"please (?:do not|don't|only|keep)|"
    r"immer|niemals|ab jetzt|nenn mich|toujours|jamais|siempre|nunca)\b|"
    r"始终|总是|永远|以后|从现在起|记住|叫我|我叫|我的名字|我喜欢|我更喜欢|过敏|"
    r"请用.{1,8}回答|请不要|いつも|これから",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\u3002\uff01\uff1f]*")
_MOST_CHARS = 240
_MOST_LOOKED_AT_CHARS = 20_000


def wish_in(text: str) -> str | None:
    """Return the sentences of a user's message that say a wish; None: there is none.

    A wish is short: of a longer sentence, and of a message beyond 20,000 characters,
    nothing is said.
    """
    if not _WISH.search(text, 0, _MOST_LOOKED_AT_CHARS):
        return None
    if len(text) <= _MOST_CHARS:
        return " ".join(text.split())
    found = [
        " ".join(sentence.split())
        for sentence in _SENTENCE.findall(text[:_MOST_LOOKED_AT_CHARS])
        if len(sentence) <= _MOST_CHARS and _WISH.search(sentence)
    ]
    said = " ".join(dict.fromkeys(found))
    return said if 0 < len(said) <= _MOST_CHARS else None
