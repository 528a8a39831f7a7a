"""What a text holds that cannot be reworded, and how likely it is needed again."""

from __future__ import annotations

import json

import pytest

from context_builder.decide.facts import WEIGHTS, facts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.org/b?c=1 now", [("https://a.org/b?c=1", "url")]),
        ("ask ann.lee@mail.org", [("ann.lee@mail.org", "mail")]),
        (
            "in /etc/app.conf and main.py",
            [("/etc/app.conf", "path"), ("main.py", "path")],
        ),
        ("on 2024-05-01 at 12:30", [("2024-05-01", "date"), ("12:30", "date")]),
        ("order ord_0042 or XK4711", [("ord_0042", "ident"), ("XK4711", "ident")]),
        ("it took 1,234 of 99", [("1,234", "number")]),
        ("say `git push` twice", [("git push", "quoted")]),
        ("the NATO and MacBook", [("NATO", "name"), ("MacBook", "name")]),
        ('he said "so it is" and left', [("so it is", "value")]),
        ("nothing of that kind", []),
        ("", []),
    ],
)
def test_each_kind_of_fact_is_found(text: str, found: list[tuple[str, str]]) -> None:
    """In order, with the weight of its kind."""
    assert facts(text) == [(fact, WEIGHTS[kind]) for fact, kind in found]


def test_a_fact_is_found_once() -> None:
    """Where it stood first."""
    found = facts("XB22 then XA11 then XB22")
    assert found == [("XB22", 3.0), ("XA11", 3.0)]


def test_the_values_of_data_are_facts_where_they_are_short() -> None:
    """Depth first, as they are written; keys where they look like ids."""
    data = {
        "name": "Ann Lee",
        "note": "long words " * 20 + "with ord_77 in them",
        "rooms": [{"room_12": "free"}, ["XK4711"]],
        "empty": "",
        "lined": "one\ntwo A1B2",
    }
    assert facts(json.dumps(data)) == [
        ("Ann Lee", WEIGHTS["value"]),
        ("ord_77", WEIGHTS["ident"]),
        ("room_12", WEIGHTS["ident"]),
        ("free", WEIGHTS["value"]),
        ("XK4711", WEIGHTS["ident"]),
        ("A1B2", WEIGHTS["ident"]),
    ]


@pytest.mark.parametrize(
    ("number", "fact"),
    [
        ("99", None),
        ("100", "100"),
        ("-99", None),
        ("-100", "-100"),
        ("1.5", "1.5"),
        ("-0.5", "-0.5"),
        ("2.0", None),
        ("100.0", "100.0"),
        ("true", None),
        ("null", None),
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", None),
    ],
)
def test_a_number_in_data_is_told_from_a_hundred_on(
    number: str, fact: str | None
) -> None:
    """Or where it is no whole one; what JSON does not have is none."""
    assert facts(f"[{number}]") == ([(fact, 1.0)] if fact else [])


@pytest.mark.parametrize(("chars", "is_whole"), [(60, True), (61, False)])
def test_a_value_is_short_up_to_sixty_characters(chars: int, is_whole: bool) -> None:
    """A longer one is looked into."""
    value = ("word " * 20)[: chars - 6] + " ord_7"
    assert len(value) == chars
    assert facts(json.dumps([value])) == [
        (value, WEIGHTS["value"]) if is_whole else ("ord_7", WEIGHTS["ident"])
    ]


def test_of_a_huge_text_both_ends_are_looked_at() -> None:
    """What is between is not."""
    words = "word " * 20_000
    text = f"first_1 {words} middle_2 {words} last_3"
    assert [fact for fact, _ in facts(text)] == ["first_1", "last_3"]


def test_there_are_no_more_than_four_hundred_facts() -> None:
    """The first ones."""
    found = facts(" ".join(f"ord_{n}" for n in range(500)))
    assert [fact for fact, _ in found] == [f"ord_{n}" for n in range(400)]


@pytest.mark.parametrize(("chars", "is_told"), [(160, True), (161, False)])
def test_a_fact_is_no_longer_than_a_line(chars: int, is_told: bool) -> None:
    """What is longer says too little for its room."""
    text = "a_" + "b" * (chars - 2)
    assert facts(text) == ([(text, 3.0)] if is_told else [])


def test_broken_data_is_a_text() -> None:
    """It is looked into as one."""
    assert facts('{"a": ord_7') == [("ord_7", 3.0)]
    assert facts("[" * 100_000) == []
