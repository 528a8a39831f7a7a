"""Cuts by characters, one-line gists, and text that is fit to be sent."""

from __future__ import annotations

import json
import re

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from context_builder.decide.shorten import (
    gist,
    is_well_formed,
    repair_text,
    truncate_chars,
)
from context_builder.errors import InvalidItemError

NOTICE = re.compile(r"\[\.\.\. ([\d,]+) characters? left out \.\.\.\]")
PIECES = st.sampled_from(
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "e\u0301",
        "\u0915\u094d\u0937\u093f",
        "\u4e2d\u6587\u3002",
        "\ud83d",
        "\ude00",
        "\0",
        "\x1b[31m",
        "\r\n",
        "\u2028",
        "word ",
    ]
)
JSON_TEXTS = st.builds(json.dumps, st.dictionaries(st.text(), st.integers()))
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=80).map("".join) | st.text(
    st.characters(), max_size=300
)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abcdefghij", 4, "ab[... 6 characters left out ...]ij"),
        ("abcdefghij", 5, "ab[... 5 characters left out ...]hij"),
        ("abcdefghij", 9, "abcd[... 1 character left out ...]fghij"),
        ("abcdefghij", 1, "[... 9 characters left out ...]j"),
        ("abcdefghij", 0, "[... 10 characters left out ...]"),
        ("abcdefghij", 10, "abcdefghij"),
        ("", 0, ""),
        (
            "ab\U0001f1e9\U0001f1ea" * 3,
            6,
            "ab[... 7 characters left out ...]b\U0001f1e9\U0001f1ea",
        ),
        (
            "x" * 4_000,
            400,
            "x" * 200 + "[... 3,600 characters left out ...]" + "x" * 200,
        ),
    ],
)
def test_truncation_by_characters(text: str, limit: int, expected: str) -> None:
    """Half of the limit is the head; an odd one favours the tail; 0 is the notice."""
    assert truncate_chars(text, limit) == expected


@given(text=TEXTS, limit=st.integers(0, 300))
@example(text="\U0001f1e9\U0001f1ea" * 2_000, limit=2_502)
def test_truncation_keeps_no_more_than_the_limit_and_adds_up(
    text: str, limit: int
) -> None:
    """Kept and missing characters are the whole text, and no character is split."""
    shortened = truncate_chars(text, limit)
    if len(text) <= limit:
        assert shortened is text
        return
    ends = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    fitting = [
        notice
        for notice in NOTICE.finditer(shortened)
        if text.startswith(shortened[: notice.start()])
        and text.endswith(shortened[notice.end() :])
        and len(shortened) - len(notice[0]) + int(notice[1].replace(",", ""))
        == len(text)
    ]
    assert fitting
    notice = fitting[0]
    assert len(shortened) - len(notice[0]) <= limit
    assert notice.start() <= limit // 2
    assert {notice.start(), len(text) - (len(shortened) - notice.end())} <= ends


def test_a_negative_limit_is_refused() -> None:
    """The error names the argument and what was passed."""
    with pytest.raises(InvalidItemError) as caught:
        truncate_chars("text", -1)
    assert (caught.value.field, caught.value.value) == ("limit_chars", -1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id": 1, "status": "ok"}', "JSON object: id, status"),
        ('[{"id": 1}, {"id": 2}]', "JSON array of 2 items: id"),
        ("[1]", "JSON array of 1 item"),
        ("[]", "JSON array, empty"),
        ("{}", "JSON object, empty"),
        ("{broken\nsecond", "{broken"),
        ("----\n\n  Total:\t12 \x07files\nmore", "Total: 12 files"),
        ("     1\u2192defmodule Spotter do\n", "defmodule Spotter do"),
        ("\u4e2d", "\u4e2d"),
        ("----\n====", "----"),
        ("\0\0", "2 characters"),
        (" \n\t ", ""),
    ],
)
def test_a_gist_says_what_a_text_was(text: str, expected: str) -> None:
    """JSON by its keys, all else by its first line that says something."""
    assert gist(text) == expected


@given(text=TEXTS | JSON_TEXTS, max_chars=st.integers(1, 130))
def test_a_gist_is_one_short_line(text: str, max_chars: int) -> None:
    """One line of printable, sendable text; empty only for blank text."""
    line = gist(text, max_chars)
    assert len(line) <= max_chars
    assert len(line.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)
    assert is_well_formed(line)
    assert bool(line) or not text.strip()


def test_a_long_gist_ends_between_characters() -> None:
    """What does not fit is left out whole, and the end shows it."""
    assert gist("\U0001f1e9\U0001f1ea" * 9 + " flags", 8) == (
        "\U0001f1e9\U0001f1ea" * 2 + "..."
    )


@given(text=TEXTS)
def test_repaired_text_can_be_sent(text: str) -> None:
    """A repaired text is well-formed; a well-formed one is the same object."""
    repaired = repair_text(text)
    assert is_well_formed(repaired)
    assert "\0" not in repaired
    repaired.encode("utf-8")
    if is_well_formed(text):
        assert repaired is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud83d\ude00b", "a\U0001f600b"),
        ("a\ud83db", "a\ufffdb"),
        ("a\ude00", "a\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("a\0b", "ab"),
        ("\ufeffa\ud83d", "\ufeffa\ufffd"),
    ],
)
def test_repair_changes_no_more_than_it_must(text: str, expected: str) -> None:
    """Pairs are joined, halves replaced, NUL removed, all else untouched."""
    assert repair_text(text) == expected
