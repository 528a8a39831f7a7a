"""Counting with OpenAI's own tokenizer, from a vocabulary that is shipped.

Text is text here: what looks like a special token (`<|endoftext|>`) is counted as the
characters it is made of, as the vendor does with the content of messages.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from context_builder.tokens.slices import SLICE_CHARS, slices
from context_builder.tokens.vocabularies import load_encoding, vocabulary_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tiktoken

__all__ = ["TiktokenCounter"]

_THREADS_PAY_OFF_CHARS = 200_000
"""Below this many characters in total, starting threads costs more than it saves."""


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts exactly what tiktoken counts; two of one encoding are equal.

    Texts longer than 100,000 characters are counted in slices (see `slices`): exact
    for any text with words in it, at most a token or two too many per 100,000
    characters of one unbroken run. A lone surrogate counts as U+FFFD.

    Raises:
        ContextBuilderError: If no vocabulary of this encoding is shipped; at the first
            count, if its file is damaged.
    """

    encoding: str
    """Such as `"o200k_base"`."""

    def __post_init__(self) -> None:
        vocabulary_name(self.encoding)

    @property
    def name(self) -> str:
        """The encoding."""
        return self.encoding

    @property
    def is_exact(self) -> bool:
        """True: for the models of this encoding these are the billed tokens."""
        return True

    @property
    def adds_up(self) -> bool:
        """True: the parts of a text add up to it where it is cut at a joint."""
        return True

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return _count(load_encoding(self.encoding), text)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count many texts, on all processors where that pays off."""
        encoding = load_encoding(self.encoding)
        workers = min(len(texts), os.cpu_count() or 1)
        if workers < 2 or sum(map(len, texts)) < _THREADS_PAY_OFF_CHARS:  # noqa: PLR2004
            return [_count(encoding, text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  slow to load

        # tiktoken lets go of the interpreter lock while it works.
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda text: _count(encoding, text), texts))


def _count(encoding: tiktoken.Encoding, text: str) -> int:
    if len(text) <= SLICE_CHARS:
        return len(encoding.encode_ordinary(_passing(text)))
    return sum(len(encoding.encode_ordinary(piece)) for piece in slices(text))


def _passing(text: str) -> str:
    """Return a text that can be read once and thrown away.

    A Python text keeps its UTF-8 form once it was asked for it, which tiktoken does: a
    session's texts would take twice their memory.
    """
    return text if text.isascii() else f"{text} "[:-1]
