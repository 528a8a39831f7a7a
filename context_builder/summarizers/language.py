"""Says in which language a summary shall be written, from the user's own words.

A script is told by its characters, a language in Latin script by its commonest words.
Where that is not sure, nothing is guessed: the summariser sees a few of the user's
words and is told to write as they do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from context_builder.unicode import repair_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["detect_language", "language_hint"]

_SAMPLE_CHARS = 80
_MOST_CHARS = 4_000
"""So much of the user's words is looked at, the newest."""
_LEAST_HITS = 3
_LEAD = 1.5
"""How many times as often as the next language's the words of one must come."""
_SCRIPT_SHARE = 0.3
"""From this share of the letters up a script is the conversation's own."""
_KANA_SHARE = 0.05

_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("Korean", "\uac00-\ud7a3\u1100-\u11ff"),
    ("Chinese", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("Russian", "\u0400-\u04ff"),
    ("Greek", "\u0370-\u03ff"),
    ("Arabic", "\u0600-\u06ff"),
    ("Hebrew", "\u0590-\u05ff"),
    ("Thai", "\u0e00-\u0e7f"),
    ("Hindi", "\u0900-\u097f"),
)
_SHARED_SCRIPTS = frozenset({"Russian", "Arabic", "Hindi"})
"""Scripts that several languages write: the name is given with a doubt."""

_SCRIPT_RES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(f"[{letters}]")) for name, letters in _SCRIPTS
)
_KANA = re.compile("[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+"
    r"|(?<![\w.-])[\w.-]*+[/\\][\w./\\-]+",
    re.DOTALL,
)

_WORD_LISTS = """\
English: the and is are of to in that it you this with what how why can do for not
English: have please my was i be on should when which would
Spanish: el la los las que de y en un una es por para con no me mi se del al cómo
Spanish: qué está sobre cuál ahora pero más debe quiero puedo hay
French: le la les des que de et en un une est pour avec ne pas je mon ma se du au
French: comment sur vous nous dans qui ce cette mais plus peux faut
German: der die das und ist in ein eine zu den nicht mit ich wie was für auf es
German: sie wir auch kann bitte mein meine dem von bei noch soll wenn
Portuguese: o os as que de e em um uma é por para com não me meu minha se do da no na
Portuguese: como está você mais mas qual isso preciso quero pode dos ao
Italian: il lo la gli che di e in un una è per con non mi mio mia si del al come
Italian: sono della nel questo quale ma più vorrei posso anche cosa dei
Dutch: de het een en is in van dat niet met ik hoe wat voor op je wij ook kan
Dutch: mijn zijn er maar bij nog graag moet wil welke deze aan om
Polish: i w na nie się jest to z do że jak co czy proszę moje dla ale tak mam
Polish: można tego przez jestem ten po od chcę które
Turkish: ve bir bu da de için ile ne mi var ben benim daha çok ama lütfen
Turkish: olan gibi neden hangi istiyorum olarak
"""
"""The commonest words of languages in Latin script, in one or more lines each."""


def _word_lists() -> Mapping[str, frozenset[str]]:
    lists: dict[str, frozenset[str]] = {}
    for line in _WORD_LISTS.splitlines():
        language, _, words = line.partition(": ")
        lists[language] = lists.get(language, frozenset()) | frozenset(words.split())
    return lists


_COMMON_WORDS = _word_lists()


def detect_language(texts: Iterable[str]) -> str | None:
    """Name the language of the user's words in English; None: it is not sure.

    Args:
        texts: What the user said, oldest first. Code, paths and addresses do not count.
    """
    said = _CODE.sub(" ", "\n".join(texts)[-_MOST_CHARS:])
    letters = len(_LETTER.findall(said))
    if not letters:
        return None
    if len(_KANA.findall(said)) > letters * _KANA_SHARE:
        return "Japanese"
    for name, pattern in _SCRIPT_RES:
        if len(pattern.findall(said)) > letters * _SCRIPT_SHARE:
            return None if name in _SHARED_SCRIPTS else name
    return _by_words(said)


def _by_words(said: str) -> str | None:
    words = Counter(word.lower() for word in _WORD.findall(said))
    hits = sorted(
        (
            (sum(words[word] for word in common), language)
            for language, common in _COMMON_WORDS.items()
        ),
        reverse=True,
    )
    (most, language), (next_most, _) = hits[:2]
    return language if most >= _LEAST_HITS and most >= next_most * _LEAD else None


def language_hint(texts: Iterable[str]) -> str:
    """Return the instruction that says in which language to write.

    Args:
        texts: What the user said, oldest first.
    """
    said = list(texts)
    language = detect_language(said)
    if language is not None:
        return f"Write in the language of the conversation, which is {language}."
    hint = "Write in the language of the conversation: the one the user writes in"
    sample = _sample(said)
    return f"{hint}, as in {sample}." if sample else f"{hint}."


def _sample(texts: Iterable[str]) -> str:
    """Return a few of the user's newest words, quoted so that they stay a quotation."""
    for text in reversed(list(texts)):
        words = " ".join(re.findall(r"[^\s<>\"`{}\[\]|]+", _CODE.sub(" ", text)))
        if _LETTER.search(words):
            sample = repair_text(words)[:_SAMPLE_CHARS].strip()
            return json.dumps(sample, ensure_ascii=False)
    return ""
