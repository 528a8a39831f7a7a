from __future__ import annotations

import base64
import importlib.util
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.errors import ContextBuilderError
from context_builder.tokens import (
    EstimatingCounter,
    TiktokenCounter,
    TokenCounter,
    counter_for,
)
from context_builder.tokens.fast_counter import QuicktokCounter, quicktok_is_installed
from context_builder.tokens.slices import SLICE_CHARS, slices
from context_builder.tokens.vocabularies import load_encoding

ENCODINGS = ("o200k_base", "cl100k_base")
MILLION = 1_000_000
NOISE = random.Random(1)  # noqa: S311 - no secret: the same noise every time

any_text = st.text(max_size=200)
with_surrogates = st.text(st.characters(exclude_categories=()), max_size=100)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=any_text)
def test_counts_are_those_of_tiktoken(encoding: str, text: str) -> None:
    """A text of ordinary size costs exactly what tiktoken makes of it."""
    tokens = load_encoding(encoding).encode_ordinary(text)
    assert TiktokenCounter(encoding).count(text) == len(tokens)


@pytest.mark.parametrize("counter", [counter_for("o200k_base"), counter_for(None)])
@given(text=with_surrogates)
def test_no_text_is_refused(counter: TokenCounter, text: str) -> None:
    """Half an emoji, a NUL, anything: it is counted, and only nothing costs nothing."""
    assert (counter.count(text) > 0) == bool(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_lone_surrogate_counts_as_the_replacement_character(encoding: str) -> None:
    """What cannot be sent as it is costs what will be sent in its place."""
    counter = TiktokenCounter(encoding)
    assert counter.count("x\ud800y") == counter.count("x\ufffdy")
    assert counter.count("\ud83d\udd25") == counter.count("\N{FIRE}")


@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "<|im_start|>system", "<|fim_prefix|>", "<|endofprompt|>"]
)
@pytest.mark.parametrize("encoding", [*ENCODINGS, "o200k_harmony"])
def test_special_tokens_are_text(encoding: str, text: str) -> None:
    """A text that names a special token costs its characters, and raises nothing."""
    assert TiktokenCounter(encoding).count(text) > 2


@pytest.mark.parametrize(
    "text",
    [
        "a" * MILLION,
        "^" * MILLION,
        "ab" * (MILLION // 2),
        "\N{FIRE}" * MILLION,
        "\u4f60\u597d\u4e16\u754c" * (MILLION // 4),
        base64.b64encode(NOISE.randbytes(MILLION * 3 // 4)).decode(),
        " " * MILLION,
        " " * MILLION + "x",
        "\u3000" * MILLION,
        "\t " * (MILLION // 2) + "x",
        "\n" * MILLION,
    ],
    ids=lambda text: f"{text[:4]!r}",
)
def test_a_million_characters_without_a_word_are_counted(text: str) -> None:
    """Runs on which tiktoken alone fails or is slow have a count in bounded time."""
    counter = TiktokenCounter("o200k_base")
    counter.count("load")
    started = time.perf_counter()
    assert 5_000 < counter.count(text) <= MILLION
    # A tenth of this on a quiet machine; it guards against quadratic work, not load.
    assert time.perf_counter() - started < 15


@given(
    words=st.lists(
        st.sampled_from(
            ["word", "Wort,", "don't", "x1", "\u4f60\u597d\u3002", "...", "\n"]
        ),
        min_size=8,
        max_size=20,
    )
)
def test_slices_of_text_with_words_add_up_exactly(words: list[str]) -> None:
    """Cutting a huge text for the tokenizer's sake does not change its count."""
    text = " ".join(words * (3 * SLICE_CHARS // len(" ".join(words))))
    assert "".join(slices(text)) == text
    tokens = load_encoding("o200k_base").encode_ordinary(text)
    assert TiktokenCounter("o200k_base").count(text) == len(tokens)


@given(text=st.text(max_size=30), times=st.integers(1, 20_000))
def test_slices_lose_nothing(text: str, times: int) -> None:
    """The slices are the text, none longer than the limit."""
    whole = text * times
    parts = list(slices(whole))
    assert "".join(parts) == whole
    assert all(len(part) <= SLICE_CHARS for part in parts)


def test_many_texts_count_like_each() -> None:
    """Counting in bulk, with threads, gives the counts of one by one, in order."""
    counter = TiktokenCounter("o200k_base")
    texts = ["lorem ipsum " * number for number in range(400)]
    assert counter.count_many(texts) == [counter.count(text) for text in texts]
    assert counter.count_many([]) == []


def test_a_counter_is_shared_and_immutable() -> None:
    """The same question gives the same counter, which nobody can change."""
    counter = counter_for("o200k_base")
    assert counter_for("o200k_base") is counter
    with pytest.raises((FrozenInstanceError, AttributeError)):
        counter.encoding = "cl100k_base"  # type: ignore[attr-defined]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(counter.count, ["The same text."] * 200)) == {4}


@pytest.mark.parametrize(
    ("encoding", "name", "is_exact"),
    [
        ("o200k_base", "o200k_base", True),
        ("cl100k_base", "cl100k_base", True),
        ("o200k_harmony", "o200k_harmony", True),
        (None, "estimate:generic", False),
        ("estimate", "estimate:generic", False),
        ("estimate:claude", "estimate:claude", False),
    ],
)
def test_a_counter_says_what_it_is(
    encoding: str | None, name: str, *, is_exact: bool
) -> None:
    """An estimate is named one, and the name leads back to the same counter."""
    counter = counter_for(encoding)
    assert isinstance(counter, TokenCounter)
    assert (counter.name, counter.is_exact) == (name, is_exact)
    assert counter_for(counter.name) == counter


@pytest.mark.parametrize("encoding", ["p50k_base", "estimate:nobody", ""])
def test_an_unknown_encoding_is_refused_at_once(encoding: str) -> None:
    """A wrong name is an error when the counter is chosen, not at the first count."""
    with pytest.raises(ContextBuilderError):
        counter_for(encoding)


def test_fast_changes_no_name() -> None:
    """Asking for speed is allowed with or without the extra."""
    assert counter_for("o200k_base", fast=True).name == "o200k_base"
    assert isinstance(counter_for(None, fast=True), EstimatingCounter)


def test_the_fast_counter_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the extra, its counter is refused with the way to get it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ContextBuilderError, match=r"context_builder\[fast\]"):
        QuicktokCounter("o200k_base")


def diverse_texts() -> list[str]:
    """Make 2,600 texts of every script, mark and blank, some of them nonsense."""
    rng = random.Random(7)  # noqa: S311 - the same texts every time
    pools = [
        "abc ABC'sS'llre\n\r\t  ",
        "0123456789.,-+ \u0663\u0664\u2167\u00bd\u00b2",
        "  \n\n\t\u00a0\u3000\u2003\u200b\x0b\x0c\x85x",
        "\u01c5\u02b0\u00aa\u0301\u0308e\u00e9\u00df'S'T\u017f",
        "\u4f60\u597d\u3002\u30ab\u30ca\ud55c\uae00\u0e01\u0e32 \u0645\u0631",
        "{}[]()//\n\r/\\\"':;,<>=!@#$%^&*|~`_",
        "<|endoftext|><|im_start|>",
        "\x00\x7f\ufeff\ufffd\U0001f44d\U0001f3fd\u200d\U0010ffff",
    ]
    nonsense = [
        "".join(
            chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x30000)]))
        )
        * rng.randint(1, 5)
        for _ in range(600)
    ]
    mixed = [
        "".join(
            rng.choices(rng.choice(pools) + rng.choice(pools), k=rng.randint(0, 60))
        )
        for _ in range(2_000)
    ]
    return [*nonsense, *mixed, "a" * 5_000, "\ud800", "x\udc00\ud83d\ude00"]


@pytest.mark.skipif(not quicktok_is_installed(), reason="needs the extra `fast`")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_fast_counts_are_the_same(
    encoding: str, usage_records: list[dict[str, Any]]
) -> None:
    """The fast one is taken only because not one count differs."""
    real = [
        message["content"]
        for record in usage_records
        for message in record["request"]["messages"]
        if isinstance(message.get("content"), str)
    ]
    texts = [*diverse_texts(), *real]
    assert len(texts) >= 2_400
    fast, slow = QuicktokCounter(encoding), TiktokenCounter(encoding)
    assert fast.count_many(texts) == slow.count_many(texts)
