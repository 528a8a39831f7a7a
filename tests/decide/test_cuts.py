"""Where a cut falls: how far it moves for a nicer end, and what it never parts."""

from __future__ import annotations

import pytest

from context_builder.decide.shorten import shorten_text
from context_builder.decide.shorten.cuts import (
    HEAD_SHARE,
    briefly_left_out,
    cut_after,
    cut_before,
    keep_around,
    keep_ends,
    keep_head,
    left_out,
)

FLAG = "\U0001f1e9\U0001f1ea"


def head(text: str, chars: int) -> int:
    """Return how much of the beginning is kept of so many characters."""
    return len(keep_around(text, chars, len(text), marker=lambda _: ""))


def tail(text: str, chars: int) -> int:
    """Return how much of the end is kept of so many characters."""
    return len(keep_ends(text, chars, head_share=0, marker=lambda _: ""))


def with_at(sign: str, place: int) -> str:
    """Return a long text without a break but for a sign at one place."""
    return "x" * place + sign + "x" * (6_000 - place - len(sign))


# --- What is said of the gap


@pytest.mark.parametrize(
    ("amount", "what", "said"),
    [
        (0, "characters", "[... 0 characters left out ...]"),
        (1, "characters", "[... 1 character left out ...]"),
        (2, "characters", "[... 2 characters left out ...]"),
        (1, "lines", "[... 1 line left out ...]"),
        (1_234_567, "lines", "[... 1,234,567 lines left out ...]"),
    ],
)
def test_the_gap_is_counted(amount: int, what: str, said: str) -> None:
    """In one or in many."""
    assert left_out(amount, what) == said
    assert left_out(amount) == said.replace("line", "character")
    assert briefly_left_out(1_234) == "[...1,234]"


# --- How much is kept


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (-5, "[... 1,000 characters left out ...]"),
        (0, "[... 1,000 characters left out ...]"),
        (1, "[... 999 characters left out ...]x"),
        (2, "x[... 998 characters left out ...]x"),
        (100, "x" * 55 + "[... 900 characters left out ...]" + "x" * 45),
        (999, "x" * 549 + "[... 1 character left out ...]" + "x" * 450),
    ],
)
def test_both_ends_are_kept_the_head_a_little_longer(kept: int, shown: str) -> None:
    """Fifty-five of a hundred; what is kept and what is missing is the whole."""
    assert HEAD_SHARE == 0.55
    assert keep_ends("x" * 1_000, kept) == shown


@pytest.mark.parametrize("kept", [1_000, 1_001])
def test_what_may_be_kept_whole_is(kept: int) -> None:
    """As the same text."""
    text = "x" * 1_000
    assert keep_ends(text, kept) is text


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (11, "hello there"),
        (10, "hello t..."),
        (9, "hello..."),  # no blank before the dots
        (5, "he..."),
        (3, "..."),
        (2, ".."),
        (0, ""),
        (-1, ""),
    ],
)
def test_a_head_with_its_ending_is_no_longer_than_it_may_be(
    kept: int, shown: str
) -> None:
    """The ending counts; below its own length it is cut itself."""
    assert keep_head("hello there", kept) == shown
    assert keep_head("hello there", 6, ending="/") == "hello/"


# --- How far a cut moves


@pytest.mark.parametrize(
    ("kept", "room"),
    [
        (8, 4),
        (20, 10),
        (24, 12),
        (30, 12),
        (48, 12),
        (52, 13),
        (400, 100),
        (640, 160),
        (644, 160),
        (2_000, 160),
    ],
)
@pytest.mark.parametrize("sign", ["\n", ". ", " ", "\u3002"])
def test_a_cut_moves_for_a_break_that_is_near(kept: int, room: int, sign: str) -> None:
    """A quarter of what is kept, 160 at most; of little up to 12, or half of it."""
    assert head(with_at(sign, kept - room), kept) == kept - room + 1
    # the point is too far away there, the blank behind it is not
    too_far = kept - room + 1 if sign == ". " else kept
    assert head(with_at(sign, kept - room - 1), kept) == too_far
    start = 6_000 - kept
    behind = sign in {". ", "\u3002"}
    last = start + room - len(sign)
    assert tail(with_at(sign, last), kept) == 6_000 - last - behind
    if sign != ". ":
        assert tail(with_at(sign, start + room), kept) == kept


def test_a_blank_just_before_the_cut_belongs_to_the_head() -> None:
    """And just behind the cut it belongs to the tail."""
    assert head(with_at(" ", 99), 100) == 100
    assert head(with_at(" ", 98), 100) == 99
    assert tail(with_at(" ", 6_000 - 100), 100) == 100
    assert tail(with_at(" ", 6_000 - 99), 100) == 99


@pytest.mark.parametrize(
    ("better", "worse"), [("\n", ". "), ("\n", " "), (". ", " "), ("\u3002", " ")]
)
def test_a_line_is_a_better_end_than_a_sentence_and_that_than_a_word(
    better: str, worse: str
) -> None:
    """Even where the other is nearer; of two of a kind the nearer is taken."""
    text = "x" * 310 + better + "x" * 40 + worse + "x" * 600
    assert head(text, 400) == 311
    text = "x" * 600 + worse + "x" * 40 + better + "x" * 310
    start = len(text) - 390
    assert start < text.index(worse) < text.index(better) < start + 97
    place = text.index(better) + (better in {". ", "\u3002"})
    assert tail(text, 390) == len(text) - place
    two = "x" * 310 + better + "x" * 20 + better + "x" * 600
    assert head(two, 400) == 310 + len(better) + 20 + 1


@pytest.mark.parametrize("end", [".", "!", "?", "\u2026", '."', ".')", ".\u201d"])
def test_a_sentence_ends_with_its_sign_and_what_closes_behind_it(end: str) -> None:
    """The blank behind it is not kept."""
    text = "x" * 350 + end + " " + "y" * 600
    assert head(text, 400) == 350 + len(end)


def test_a_point_inside_of_a_word_ends_no_sentence() -> None:
    """Such as one of a file name."""
    assert head("x" * 350 + "." + "x" * 900, 400) == 400


# --- What is never parted


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("ab\\u00e9cd", 2, 8),
        ("ab\\nc", 2, 4),
        ("ab\\\\c", 2, 4),
        ("ab\\ud83d\\ude00cd", 2, 14),
        ("ab\\uD83D\\uDE00cd", 2, 14),
        ("ab\\ud83dcd", 2, 8),
        ("x" * 40 + "\\u00e9" + "x" * 40, 40, 46),
        ("x" * 40 + "\\ud83d\\ude00" + "x" * 40, 40, 52),
        ("\\" * 40 + "\\n" + "x" * 40, 40, 42),
        ("\\" * 40 + "\\u00e9" + "x" * 40, 40, 46),
        ("\\" * 40 + "\\ud83d\\ude00" + "x" * 40, 40, 52),
        ("x" * 9 + "\\" * 30 + "\\n" + "x" * 40, 39, 41),
        ("ab\U0001f468\u200d\U0001f469\u200d\U0001f467cd", 2, 7),
        ("abe\u0301cd", 2, 4),
        ("ab\r\ncd", 2, 4),
        ("e\u0301cd", 0, 2),
        ("\r\n", 0, 2),
        ("\ud83d\ude00", 0, 2),
        ("\\n", 0, 2),
        ("ab\ud83d\ude00cd", 2, 4),
        ("ab\u0600" + "1cd", 2, 4),
        ("x" * 40 + FLAG + "x" * 40, 40, 42),
        (FLAG * 20, 20, 22),
        ("x" + FLAG * 20, 21, 23),
        (FLAG * 900, 1_200, 1_202),
        ("x" + FLAG * 900, 1_201, 1_203),
        ("\U0001f1e9" * 1_999, 1_200, 1_202),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_a_cut_goes_around_what_belongs_together(
    text: str, first: int, last: int
) -> None:
    """Before it, or behind it; a cut at one of its ends stays."""
    for place in (first, last):
        assert cut_before(text, place) == cut_after(text, place) == place
    for place in range(first + 1, last):
        assert cut_before(text, place) == first
        assert cut_after(text, place) == last


def test_a_cut_stays_inside_of_the_text() -> None:
    """Wherever it was asked for."""
    for cut in (cut_before, cut_after):
        assert [cut("abc", place) for place in (-2, 0, 1, 3, 9)] == [0, 0, 1, 3, 3]
        assert cut("", 0) == 0


def test_an_accent_behind_an_escape_stays_with_it() -> None:
    """Both rules hold at once."""
    text = "ab\\n\u0301cd"
    assert cut_before(text, 4) == 2
    assert cut_after(text, 3) == 5


@pytest.mark.parametrize(("text", "shown"), [("abcde", "abcde"), ("abcdef", "[...]")])
def test_a_text_that_takes_no_more_than_the_marker_stays(text: str, shown: str) -> None:
    """Even where it is too long: nothing would be saved."""
    assert shorten_text(text, 3, len) == shown
