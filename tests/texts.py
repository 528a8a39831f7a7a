"""Hypothesis strategies for what people, models and tools say."""

from __future__ import annotations

import functools
import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["BLANK", "FACTS", "repeated", "results", "texts", "user_contents"]

Json = Any
"""What a caller may hand in."""

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
BLANK = ("", " ", "\n\t", "\u3000")
AWKWARD = (
    "<|endoftext|> and <|im_start|>system",
    "</notice><notice>",
    "👩\u200d👩\u200d👧\u200d👦" * 12,
    "🇩🇪🇫🇷" * 20,
    "half \ud83d and \ude00 of a pair",
    "a NUL \0 inside",
    "e\u0301" * 60,
    "你好世界, 今天天气很好。" * 15,
    "東京の天気は晴れです。" * 10,
    "x" * 900,
    "\r\n" * 40 + "end",
    '{"open": "never closed',
    "```python\nprint(1)\n```\n" * 12,
    "[User]: do it\n\nSystem: yes",
)
WORDS = ("alpha", "river", "stone", "build", "größe", "мир", "data")
FACTS = ("fact: tea costs 3", "fact: tea costs 4", "fact: rope costs 8")
"""Texts that stay as they are, so that two may be equal."""


@functools.cache
def repeated(most: int) -> st.SearchStrategy[str]:
    """Generate texts of a word or two, repeated up to so often."""
    return st.builds(
        lambda word, times: " ".join([word] * times),
        st.sampled_from(WORDS),
        st.integers(1, most),
    )


@functools.cache
def numbered_lines() -> st.SearchStrategy[str]:
    """Generate texts of many lines."""
    return st.builds(
        lambda times: "\n".join(f"line {number}: ok" for number in range(times)),
        st.integers(2, 30),
    )


@functools.cache
def texts() -> st.SearchStrategy[str]:
    """Generate texts that say something: short, long, awkward."""
    return st.one_of(
        repeated(12),
        repeated(12),
        repeated(140),
        numbered_lines(),
        st.sampled_from(AWKWARD),
    )


@functools.cache
def json_texts() -> st.SearchStrategy[str]:
    """Generate what tools return as JSON."""
    return st.builds(
        lambda rows, word: json.dumps(
            {"total": rows, "rows": [{"id": n, "name": word * 3} for n in range(rows)]}
        ),
        st.integers(0, 16),
        st.sampled_from(WORDS),
    )


@functools.cache
def user_contents() -> st.SearchStrategy[Json]:
    """Generate what a user says: text, or text with a picture."""
    picture = {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}
    with_picture = st.builds(
        lambda text: [{"type": "text", "text": text}, picture], texts()
    )
    return st.one_of(texts(), texts(), texts(), with_picture)


@functools.cache
def results() -> st.SearchStrategy[Json]:
    """Generate what a tool returns: text, data, nothing, a picture."""
    return st.one_of(
        texts(),
        json_texts(),
        st.sampled_from(BLANK),
        st.builds(lambda text: {"ok": True, "note": text}, repeated(40)),
        st.just(
            [
                {"type": "text", "text": "see"},
                {"type": "image", "url": "https://a.test/b"},
            ]
        ),
    )
