"""Where token vocabularies come from: files shipped with the package, nowhere else.

Decides when a vocabulary is read (on first use, once a process) and that it is whole
(its sum is checked). It knows nothing of models or messages, and has no way to reach a
network. Ranks and patterns are those of tiktoken; `vocabularies/README.md` says whose.
"""

from __future__ import annotations

import binascii
import functools
import hashlib
import lzma
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from context_builder.errors import ContextBuilderError

if TYPE_CHECKING:
    import tiktoken

__all__ = ["encoding_names", "load_encoding", "vocabulary_name"]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """One shipped file, and what tiktoken has to know beside the ranks."""

    sha256: str
    """Of the uncompressed `.tiktoken` file."""
    pattern: str
    """How text is cut into pieces before any merging."""
    special_tokens: Mapping[str, int]


_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

_VOCABULARIES: Mapping[str, _Vocabulary] = {
    "o200k_base": _Vocabulary(
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern="|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        special_tokens={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    ),
    "cl100k_base": _Vocabulary(
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern="|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
        special_tokens={
            "<|endoftext|>": 100_257,
            "<|fim_prefix|>": 100_258,
            "<|fim_middle|>": 100_259,
            "<|fim_suffix|>": 100_260,
            "<|endofprompt|>": 100_276,
        },
    ),
}

# gpt-oss adds special tokens to o200k_base; plain text is cut the same way.
_SAME_RANKS: Mapping[str, str] = {"o200k_harmony": "o200k_base"}

# functools.cache alone would let two threads load the same vocabulary at once.
_LOAD_LOCK = threading.Lock()


def encoding_names() -> tuple[str, ...]:
    """Name the encodings that can be counted exactly."""
    return (*_VOCABULARIES, *_SAME_RANKS)


def vocabulary_name(encoding: str) -> str:
    """Name the shipped vocabulary that an encoding counts with.

    Raises:
        ContextBuilderError: If no vocabulary for this encoding is shipped.
    """
    name = _SAME_RANKS.get(encoding, encoding)
    if name not in _VOCABULARIES:
        msg = (
            f"There is no vocabulary for encoding {encoding!r}. Known: "
            f"{', '.join(encoding_names())}; None counts with an estimate."
        )
        raise ContextBuilderError(msg)
    return name


@functools.cache
def load_encoding(encoding: str) -> tiktoken.Encoding:
    """Hand out an encoding, read from the package at the first call of the process.

    Raises:
        ContextBuilderError: If the encoding is unknown, or its file is not whole.
    """
    name = vocabulary_name(encoding)
    with _LOAD_LOCK:
        return _build(name)


@functools.cache
def _build(name: str) -> tiktoken.Encoding:
    import tiktoken  # noqa: PLC0415 - costs 50 ms; only who counts shall pay it

    vocabulary = _VOCABULARIES[name]
    return tiktoken.Encoding(
        name,
        pat_str=vocabulary.pattern,
        mergeable_ranks=_parse(_unpack(name, _read(name), vocabulary.sha256)),
        special_tokens=dict(vocabulary.special_tokens),
    )


def _read(name: str) -> bytes:
    folder = files("context_builder.tokens") / "vocabularies"
    try:
        return (folder / f"{name}.tiktoken.xz").read_bytes()
    except OSError as error:
        msg = f"The vocabulary {name!r} cannot be read ({error}). {_REINSTALL}"
        raise ContextBuilderError(msg) from error


def _unpack(name: str, packed: bytes, sha256: str) -> bytes:
    try:
        ranks = lzma.decompress(packed)
    except (lzma.LZMAError, EOFError) as error:
        raise ContextBuilderError(_damaged(name)) from error
    if hashlib.sha256(ranks).hexdigest() != sha256:
        raise ContextBuilderError(_damaged(name))
    return ranks


def _damaged(name: str) -> str:
    return f"The vocabulary file of {name!r} is damaged. {_REINSTALL}"


_REINSTALL = "Install context_builder again."


def _parse(ranks: bytes) -> dict[bytes, int]:
    # Lines of "<token in base64> <rank>". Whole columns at a time: 200,000 lines one by
    # one take half as long again.
    words = ranks.split()
    return dict(
        zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True)
    )
