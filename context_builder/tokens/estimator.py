"""Estimating tokens where a model's tokenizer is not public.

The rule of thumb is 1.2 tokens for a Chinese character and one token for 3.8 of the
rest. Here every kind of writing has its own price, as tokenizers treat them so
differently: a word costs about one token however long, digits and brackets far more.
An estimate is named as one, wherever it shows.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from context_builder.errors import ContextBuilderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["PROFILES", "EstimatingCounter", "Profile", "profile_for", "rule_of_thumb"]

_BEYOND_LATIN = re.compile(r"[^\x00-\xff]+")
_HAN = re.compile(
    r"[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]+")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+")
_LATIN = re.compile(r"[\u0100-\u024f\u1e00-\u1eff]+")
_CYRILLIC = re.compile(r"[\u0370-\u052f]+")
_ARABIC = re.compile(r"[\u0590-\u07ff\u08a0-\u08ff]+")
_SYLLABLES = re.compile(r"[\u0530-\u058f\u0900-\u137f\u1780-\u17ff]+")
_WIDE_MARKS = re.compile(r"[\u2000-\u206f\u3000-\u303f\uff00-\uff65]+")


@dataclass(frozen=True, slots=True)
class Profile:
    """What each kind of writing costs a family of models, in tokens."""

    name: str
    """The family, as it stands in the counter's name."""
    word: float = 0.87
    """A word of Latin letters, or a part of one in camel case ..."""
    letter: float = 0.034
    """... each of its letters ..."""
    long_word: float = 0.5
    """... and each fifteen letters in a row: longer than most words."""
    digits: float = 1.4
    """A number ..."""
    digit: float = 0.1
    """... and each of its digits."""
    marks: float = 0.64
    """A run of punctuation ..."""
    mark: float = 0.21
    """... and each mark in it."""
    line_break: float = 0.4
    """Line breaks in a row."""
    gap: float = 1.25
    """Two or more blanks in a row."""
    han: float = 0.83
    """A Chinese character."""
    kana: float = 0.8
    """A hiragana or katakana."""
    hangul: float = 0.7
    """A Korean syllable."""
    latin: float = 0.4
    """A Latin letter beyond those of Western Europe."""
    cyrillic: float = 0.29
    """A letter of Cyrillic or Greek."""
    arabic: float = 0.42
    """A letter of Arabic or Hebrew."""
    syllable: float = 0.38
    """A sign of Thai, Hindi, Georgian, Amharic, Khmer and their like."""
    wide_mark: float = 0.3
    """A mark or blank of East Asian or typographic punctuation."""
    other: float = 1.3
    """Whatever else: emoji, arrows, rare scripts, control characters."""

    def times(self, factor: float, name: str) -> Profile:
        """Make a profile whose every price is a multiple of this one's."""
        prices = {
            field.name: getattr(self, field.name) * factor
            for field in fields(self)
            if field.name != "name"
        }
        return replace(self, name=name, **prices)


_GENERIC = Profile("generic")

PROFILES: Mapping[str, Profile] = {
    "generic": _GENERIC,
    "claude": _GENERIC.times(1.14, "claude"),
    "claude-new": _GENERIC.times(1.55, "claude-new"),
    "gemini": replace(_GENERIC.times(1.03, "gemini"), digits=0.2, digit=1.0, han=0.75),
}
"""How the prices were found.

`generic`: non-negative least squares of o200k_base counts on 9,400 messages, tool
results and tool arguments in English, Chinese, Japanese and Russian, rounded; scripts
that those lack, on a few sentences each. The others are that, times one factor that
centres the errors on the billed input of recorded text-only requests: `claude` (up to
4.6) on 38 and `gemini` (where each digit is a token) on 9; `claude-new` (4.7 and later,
whose tokenizer cuts finer) on one, which agrees with what others report. They were
nearly all English: in other languages a family may be further off.
"""


def profile_for(name: str) -> Profile:
    """Look up a profile by its name; `""` is the generic one.

    Raises:
        ContextBuilderError: If there is none of this name.
    """
    profile = PROFILES.get(name or "generic")
    if profile is None:
        msg = f"There is no estimate profile {name!r}. Known: {', '.join(PROFILES)}."
        raise ContextBuilderError(msg)
    return profile


@dataclass(frozen=True, slots=True)
class EstimatingCounter:
    """Estimates tokens by script, in one pass for each kind of writing.

    Typically within a few percent for prose and ten for code and data; never 0 for a
    text that is not empty.
    """

    profile: Profile = _GENERIC

    @property
    def name(self) -> str:
        """Such as `"estimate:claude"`; `counter_for` takes it back."""
        return f"estimate:{self.profile.name}"

    @property
    def is_exact(self) -> bool:
        """False: this is an estimate."""
        return False

    def count(self, text: str) -> int:
        """Estimate the tokens of a text."""
        if not text:
            return 0
        tokens = _latin_tokens(text, self.profile)
        if not text.isascii():
            tokens += self._beyond_latin("".join(_BEYOND_LATIN.findall(text)))
        return max(math.ceil(tokens), 1)

    def _beyond_latin(self, text: str) -> float:
        price = self.profile
        prices = (
            (_HAN, price.han),
            (_KANA, price.kana),
            (_HANGUL, price.hangul),
            (_LATIN, price.latin),
            (_CYRILLIC, price.cyrillic),
            (_ARABIC, price.arabic),
            (_SYLLABLES, price.syllable),
            (_WIDE_MARKS, price.wide_mark),
        )
        tokens, left = 0.0, len(text)
        for script, each in prices:
            chars = sum(map(len, script.findall(text)))
            tokens += chars * each
            left -= chars
        return tokens + left * price.other


# Characters of one kind are found with a table of bytes, and runs of them by shifting
# the whole text by one: some operations on large numbers instead of a step for each
# character. Whatever is beyond Latin-1 turns into "?", which is therefore no mark.


def _table(chars: Iterable[int]) -> bytes:
    chosen = frozenset(chars)
    return bytes(byte in chosen for byte in range(256))


_LOWER = (*range(ord("a"), ord("z") + 1), *range(0xDF, 0x100))
_UPPER = (*range(ord("A"), ord("Z") + 1), *range(0xC0, 0xDF))
_IS_LOWER, _IS_UPPER = _table(_LOWER), _table(_UPPER)
_IS_LETTER = _table((*_LOWER, *_UPPER))
_IS_DIGIT = _table(b"0123456789")
_IS_MARK = _table(b"!\"#$%&'()*+,-./:;<=>@[\\]^_`{|}~" + bytes(range(0xA1, 0xC0)))
_IS_LINE_BREAK = _table(b"\r\n")
_IS_BLANK = _table(b" \t")
_IS_CONTROL = _table((*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)))
_LONG_WORD = b"\x01" * 15
_LONG_BREAK = b"\x01" * 16
_LONG_GAP = b"\x01" * 100


def _latin_tokens(text: str, price: Profile) -> float:
    latin = text.replace("?", "!").encode("latin-1", "replace")
    letters, breaks, blanks = map(
        latin.translate, (_IS_LETTER, _IS_LINE_BREAK, _IS_BLANK)
    )
    in_words, in_gaps = _flags(letters), _flags(blanks)
    digits, marks = (_flags(latin.translate(kind)) for kind in (_IS_DIGIT, _IS_MARK))
    # "fooBar" is two words: a capital behind a small letter begins one.
    lower, upper = (_flags(latin.translate(kind)) for kind in (_IS_LOWER, _IS_UPPER))
    words = _runs(in_words) + (upper & (lower << 8)).bit_count()
    return (
        price.word * words
        + price.letter * in_words.bit_count()
        + price.long_word * letters.count(_LONG_WORD)
        + price.digits * _runs(digits)
        + price.digit * digits.bit_count()
        + price.marks * _runs(marks)
        + price.mark * marks.bit_count()
        + price.line_break * (_runs(_flags(breaks)) + breaks.count(_LONG_BREAK))
        + price.gap * (_runs(in_gaps & (in_gaps << 8)) + blanks.count(_LONG_GAP))
        + price.other * latin.translate(_IS_CONTROL).count(1)
    )


def _flags(mask: bytes) -> int:
    return int.from_bytes(mask, "little")


def _runs(flags: int) -> int:
    return flags.bit_count() - (flags & (flags << 8)).bit_count()


def rule_of_thumb(text: str) -> int:
    """Estimate by two prices alone: 1.2 for a Chinese character, 1/3.8 for the rest.

    The yardstick that `EstimatingCounter` has to beat.
    """
    han = sum(map(len, _HAN.findall(text)))
    return math.ceil(han * 1.2 + (len(text) - han) / 3.8)
