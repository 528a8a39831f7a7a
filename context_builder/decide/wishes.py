"""What a user wants to hold from then on: a wish outlives the turn it was uttered in.

Words tell, not understanding: what is missed here is told as all else is. There are
words of English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese and
Korean.
"""

from __future__ import annotations

import re

__all__ = ["wish_in"]

_PHRASES = (
    *("always", "never", "from now on", "in future", "in the future", "remember"),
    *("call me", "my name is", "like you to", "please do not", "please don't"),
    *("please only", "please keep", "wheelchair"),
    *("immer", "nie", "niemals", "stets", "ab jetzt", "ab sofort", "künftig"),
    *("in zukunft", "merk dir", "merke dir", "denk daran", "denke daran"),
    *("vergiss nicht", "nenn mich", "nenne mich", "ich heiße", "ich heisse"),
    *("mein name ist", "ich bevorzuge", "bitte nur", "bitte nicht", "bitte kein"),
    *("bitte keine", "rollstuhl", "sieze mich", "duze mich"),
    *("toujours", "jamais", "désormais", "dorénavant", "à partir de maintenant"),
    *("à l'avenir", "souviens-toi", "souvenez-vous", "n'oublie pas"),
    *("n'oubliez pas", "appelle-moi", "appelez-moi", "je m'appelle", "mon nom est"),
    *("je préfère", "je préférerais", "fauteuil roulant"),
    *("siempre", "nunca", "jamás", "a partir de ahora", "de ahora en adelante"),
    *("en el futuro", "recuerda que", "recuerde que", "no olvides", "llámame"),
    *("me llamo", "mi nombre es", "prefiero", "preferiría", "silla de ruedas"),
    *("sempre", "a partir de agora", "de agora em diante", "daqui em diante"),
    *("no futuro", "lembre-se", "lembra-te", "não se esqueça", "não esqueça"),
    *("me chame", "chame-me", "chama-me", "me chamo", "chamo-me", "meu nome é"),
    *("prefiro", "preferiria", "cadeira de rodas"),
    *("всегда", "никогда", "отныне", "впредь", "этого момента", "в будущем"),
    *("запомни", "запомните", "не забывай", "не забывайте", "зови меня"),
    *("зовите меня", "называй меня", "называйте меня", "меня зовут", "моё имя"),
    *("мое имя", "я предпочитаю", "пожалуйста, не", "пожалуйста, только"),
)
"""They stand between other words."""
_BEGINNINGS = (
    *("allerg", "vegetari", "végétari", "vegan", "végan", "alergi", "alérgic"),
    *("intoleran", "intoléran", "unverträglich", "аллерги", "вегетариан", "веган"),
    *("инвалидной коляск", "инвалидную коляск", "инвалидная коляск"),
)
"""A word begins with them."""
_SIGNS = (
    *("始终", "总是", "永远", "以后", "从现在起", "记住", "叫我", "我叫", "我的名字"),
    *("我喜欢", "我更喜欢", "过敏", "请不要", "轮椅", "素食", "從現在起", "過敏"),
    *("記住", "輪椅", "總是", "永遠", "始終", "以後", "我喜歡", "請不要"),
    *("いつも", "これから", "今後", "常に", "必ず", "二度と", "覚えて", "忘れないで"),
    *("と呼んで", "私の名前は", "アレルギー", "車椅子", "車いす", "ベジタリアン"),
    *("ヴィーガン", "ビーガン", "で答えて", "で回答して"),
    *("항상", "언제나", "앞으로", "기억해", "이름은", "알레르기", "휠체어", "채식"),
)
"""They may stand anywhere: there are no blanks between words."""
_ANSWERED = (
    r"(?:answer|reply|respond|write|speak) (?:\w+ )?in\b",
    r"(?:antworte|schreib|schreibe|sprich) (?:\w+ )?(?:auf|in)\b",
    r"(?:réponds|répondez|écris|écrivez|responde|responda) (?:\w+ )?(?:en|em)\b",
    r"(?:отвечай|отвечайте|пиши|пишите) (?:\w+ )?(?:на|по)\b",
    r"(?:every|each|all|your) (?:answers?|repl(?:y|ies)|messages?)\b",
    r"i(?: would|'d)? prefer\b",
    r"请用.{1,8}回答|請用.{1,8}回答",
)
"""How to answer."""

_WISH = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, _PHRASES))})\b"
    rf"|\b(?:{'|'.join(map(re.escape, _BEGINNINGS))})"
    rf"|{'|'.join(_SIGNS)}"
    rf"|\b(?:{'|'.join(_ANSWERED[:-1])})|{_ANSWERED[-1]}",
    re.IGNORECASE,
)
_LITERAL = (*_PHRASES, *_BEGINNINGS, *_SIGNS)
_PLAIN = tuple(one for one in _LITERAL if one.isascii())
_HOW = re.compile("|".join(_ANSWERED))
_SAYING = (
    *("answer", "repl", "respond", "write", "speak", "message", "prefer", "antworte"),
    *("schreib", "sprich", "répond", "écri", "отвеча", "пиши", "请用", "請用"),
)
"""Each of `_ANSWERED` has one of these."""
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\u3002\uff01\uff1f]*")
_MOST_CHARS = 240
_MOST_LOOKED_AT_CHARS = 20_000


def wish_in(text: str) -> str | None:
    """Return the sentences of a user's message that say a wish; None: there is none.

    A wish is short: of a longer sentence, and of a message beyond 20,000 characters,
    nothing is said.
    """
    head = text[:_MOST_LOOKED_AT_CHARS]
    if not _may_wish(head.lower()) or not _WISH.search(head):
        return None
    if len(text) <= _MOST_CHARS:
        return " ".join(text.split())
    found = [
        " ".join(sentence.split())
        for sentence in _SENTENCE.findall(head)
        if len(sentence) <= _MOST_CHARS and _WISH.search(sentence)
    ]
    said = " ".join(dict.fromkeys(found))
    return said if 0 < len(said) <= _MOST_CHARS else None


def _may_wish(lowered: str) -> bool:
    """Say whether it is worth looking closer: most messages wish for nothing.

    To look for the words one by one is many times as fast as for all in one pattern.
    """
    words = _PLAIN if lowered.isascii() else _LITERAL
    if any(map(lowered.__contains__, words)):
        return True
    is_said = any(map(lowered.__contains__, _SAYING))
    return is_said and _HOW.search(lowered) is not None
