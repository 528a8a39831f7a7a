"""What a text is taken for: each share and each limit from both sides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from context_builder.decide.shorten.shapes import detect_shape

if TYPE_CHECKING:
    from context_builder.decide.shorten import Shape

LOG = "2024-05-01 12:00:00 INFO step done"
CODE = "    return total"
NUMBERED = "    12\twhat stands there"
SENTENCE = "And so it went on."
PLAIN = "neither this nor that"
RECORD = '{"a": 1}'


def mixed(line: str, times: int, of: int, other: str) -> str:
    """Return a text in which so many of the lines are of one kind."""
    return "\n".join([other] * (of - times) + [line] * times)


@pytest.mark.parametrize(
    ("line", "other", "least", "kind", "with_fewer"),
    [
        (LOG, SENTENCE, 8, "log", "prose"),
        (CODE, SENTENCE, 8, "code", "prose"),
        (NUMBERED, PLAIN, 15, "code", "log"),
    ],
)
def test_so_many_lines_of_a_kind_make_the_whole_one(
    line: str, other: str, least: int, kind: Shape, with_fewer: Shape
) -> None:
    """More than 35 of 100 of a log or of code; of numbered lines more than 70."""
    assert detect_shape(mixed(line, least, 20, other)) == kind
    assert detect_shape(mixed(line, least - 1, 20, other)) == with_fewer


@pytest.mark.parametrize(("times", "kind"), [(8, "prose"), (7, "log")])
def test_sentences_make_prose(times: int, kind: Shape) -> None:
    """Lines of which too few end as sentences do are kept as lines."""
    assert detect_shape(mixed(SENTENCE, times, 20, PLAIN)) == kind


@pytest.mark.parametrize(("lines", "kind"), [(3, "prose"), (4, "log")])
def test_a_few_lines_have_no_shape(lines: int, kind: Shape) -> None:
    """From four on; blank ones do not count."""
    assert detect_shape("\n\n  \n".join([LOG] * lines)) == kind


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("a\tb", "table"),
        ("a,b", "log"),
        ("a,b,c", "table"),
        ("a;b", "log"),
        ("a;b;c", "table"),
        ("a|b", "log"),
        ("a|b|c", "table"),
        ("a:b:c", "log"),
        ("name  size", "log"),
        ("name  size  date", "table"),
        ("name size date", "log"),
    ],
)
def test_columns_make_a_table(row: str, kind: Shape) -> None:
    """One tab, two of other signs, or two wide gaps in every line."""
    assert detect_shape("\n".join([row] * 9)) == kind


@pytest.mark.parametrize(
    ("row", "other", "times", "kind"),
    [
        ("a,b,c", "total", 18, "table"),
        ("a,b,c", "total", 17, "log"),
        ("name  size  date", "total", 14, "table"),
        ("name  size  date", "total", 13, "log"),
    ],
)
def test_some_lines_of_a_table_may_be_others(
    row: str, other: str, times: int, kind: Shape
) -> None:
    """One in ten; where blanks make the columns, three in ten. The first is none."""
    assert detect_shape("\n".join([row] * times + [other] * (20 - times))) == kind
    assert detect_shape("\n".join([other] * (20 - times) + [row] * times)) == "log"


@pytest.mark.parametrize(("place", "kind"), [(3, "table"), (4, "log")])
def test_the_rule_of_a_table_stands_near_its_beginning(place: int, kind: Shape) -> None:
    """Within four lines, with a bar: a rule alone is a line."""
    lines = [PLAIN] * 9
    lines[place] = "| --- | --- |"
    assert detect_shape("\n".join(lines)) == kind
    lines[place] = "-----"
    assert detect_shape("\n".join(lines)) == "log"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (RECORD, "json"),
        (f"  {RECORD}\n ", "json"),
        ("[1]", "json"),
        ('"a"', "json"),
        ("{1]", "prose"),
        ('{"', "prose"),
        ("(1)", "prose"),
        (f"{RECORD}\n{RECORD}", "jsonl"),
        ("[1]\n\n[2]", "jsonl"),
        (f"{RECORD}\n{{\n{RECORD}", "json"),
        ("\n".join([RECORD] * 3 + ["{broken}"]), "jsonl"),
        ("\n".join([RECORD] * 2 + ["{broken}"] + [RECORD]), "json"),
        (json.dumps({"a": [1, 2]}, indent=1), "json"),
    ],
)
def test_signs_at_both_ends_make_json(text: str, kind: Shape) -> None:
    """Lines of it are told by the first three."""
    assert detect_shape(text) == kind


def test_of_a_long_text_the_ends_are_looked_at() -> None:
    """The last record at the edge is broken, and so is one that is longer than it."""
    record = json.dumps({"a": "x" * 1_400})
    assert detect_shape("\n".join([record] * 9)) == "jsonl"
    large = json.dumps({"a": "x" * 5_000})
    assert detect_shape("\n".join([large] * 3)) == "jsonl"
    assert detect_shape(json.dumps({"a": ["x" * 900] * 9}, indent=1)) == "json"
    blanks = " " * 4_000
    assert detect_shape(blanks + RECORD + blanks) == "json"
    assert detect_shape(" " * 200 + blanks + RECORD) == "prose"
    middle = [LOG] * 30 + [SENTENCE] * 3_000 + [LOG] * 30
    assert detect_shape("\n".join(middle)) != "log"
    middle = [LOG] * 200 + [SENTENCE] * 3_000 + [LOG] * 200
    assert detect_shape("\n".join(middle)) == "log"
    middle = [LOG] * 200 + [SENTENCE] * 3_000
    assert detect_shape("\n".join(middle)) == "log"
    assert detect_shape("\n".join(middle[::-1])) == "log"


def test_a_line_that_is_cut_by_the_edge_is_not_looked_at() -> None:
    """Half a row has other columns than a row."""
    row = ",".join(["cell"] * 60)
    assert detect_shape("\n".join([row] * 60)) == "table"


@pytest.mark.parametrize(
    ("chars", "kind"), [(200 - 2, "log"), (200 - 1, "log"), (200, "prose")]
)
def test_a_long_line_may_hold_sentences(chars: int, kind: Shape) -> None:
    """A short one has to end with one."""
    line = "One. " + "x" * (chars - 4)
    assert len(line) == chars + 1
    assert detect_shape("\n".join([line] * 9)) == kind


@pytest.mark.parametrize(("place", "kind"), [(398, "prose"), (401, "log")])
def test_a_sentence_of_a_long_line_is_near_its_beginning(
    place: int, kind: Shape
) -> None:
    """Within 400 characters."""
    line = "x" * place + ". " + "x" * 200
    assert detect_shape("\n".join([line] * 9)) == kind


@pytest.mark.parametrize(("behind", "kind"), [(6, "prose"), (7, "prose"), (8, "log")])
def test_a_short_line_ends_with_its_sentence(behind: int, kind: Shape) -> None:
    """A few characters may come behind it."""
    line = "it was so. " + "x" * (behind - 1)
    assert detect_shape("\n".join([line] * 9)) == kind
