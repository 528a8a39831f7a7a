"""Which lines of a text stay: how much of each end, and what between them first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from context_builder.decide.shorten import shorten_text
from context_builder.decide.shorten.lines import (
    _definitions,
    _Selection,
    _troubled,
    code_lines,
    json_lines,
    log_lines,
    table_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.decide.shorten.fit import Renderer

EQUAL = "\n".join(f"line number {n:06d} " for n in range(1_000))
"""A thousand lines; each takes twenty characters with its end."""


def cut(line: str, chars: int) -> str:
    """Cut a line the simplest way."""
    return line[:chars]


def jsonl(text: str) -> Renderer:
    """Show lines of JSON."""
    return json_lines(text, cut)


def ends(shown: str) -> tuple[int, int]:
    """Return how many lines are kept before and behind the one gap."""
    lines = shown.split("\n")
    (gap,) = [n for n, line in enumerate(lines) if not line.startswith("line")]
    return gap, len(lines) - gap - 1


@pytest.mark.parametrize(
    ("shape", "head", "tail"),
    [(log_lines, 47, 49), (code_lines, 53, 43), (table_lines, 57, 39), (jsonl, 57, 39)],
)
def test_each_shape_keeps_so_much_of_each_end(
    shape: Callable[[str], Renderer], head: int, tail: int
) -> None:
    """The end of a log tells more than its beginning, of a table it is the reverse."""
    assert ends(shape(EQUAL)(2_000)) == (head, tail)


@pytest.mark.parametrize(
    ("room", "head", "tail"),
    [(51, 0, 0), (52, 1, 0), (103, 3, 0), (104, 1, 1), (124, 1, 2), (144, 2, 2)],
)
def test_both_ends_come_first(room: int, head: int, tail: int) -> None:
    """The first line, then the last; each takes a marker as well."""
    assert ends(table_lines(EQUAL)(room)) == (head, tail)


@pytest.mark.parametrize("shape", [log_lines, code_lines, table_lines, jsonl])
@pytest.mark.parametrize("room", [200, 777, 3_000, 12_000])
def test_the_room_is_used(shape: Callable[[str], Renderer], room: int) -> None:
    """To a line or two, and the markers."""
    assert room - 2 * 32 - 20 <= len(shape(EQUAL)(room)) <= room + 20


def test_the_last_line_that_says_something_stays() -> None:
    """Blank ones behind it do not."""
    shown = table_lines(EQUAL + "\n\n  \n\n")(104)
    assert "line number 000999" in shown


def test_gaps_are_told_in_the_words_of_the_shape() -> None:
    """Of JSON as JSON."""
    assert "[... 904 lines left out ...]" in log_lines(EQUAL)(2_000)
    assert '{"...":"904 lines left out"}' in jsonl(EQUAL)(2_000)
    assert json_lines(EQUAL, cut)(0) == '{"...":"1,000 lines left out"}'


@pytest.mark.parametrize(("room", "line_chars"), [(60, 24), (100, 25), (400, 100)])
def test_a_line_may_take_a_quarter_of_the_room(room: int, line_chars: int) -> None:
    """And 24 characters at least; a longer one is shortened."""
    lines = ["x" * 5_000] * 3
    shown = json_lines("\n".join(lines), cut)(room)
    assert max(len(line) for line in shown.split("\n") if "x" in line) == line_chars


@pytest.mark.parametrize(("chars", "shown"), [(133, 133), (134, 100)])
def test_a_line_is_shortened_where_that_saves_more_than_the_marker(
    chars: int, shown: int
) -> None:
    """Of a hundred and a marker, nothing would be saved."""
    text = "\n".join(["x" * chars, *["y" * 300] * 9])
    first = json_lines(text, cut)(400).split("\n")[0]
    assert len(first) == shown


# --- How lines are chosen


def selection(room: int, chosen: set[int] | None = None) -> _Selection:
    """Return a choice among lines of nine characters."""
    return _Selection(["x" * 9] * 100, room, 80, chosen or set())


@pytest.mark.parametrize(
    ("share", "room", "taken"),
    [
        (1.0, 42, 1),
        (1.0, 51, 1),
        (1.0, 52, 2),
        (0.5, 104, 2),
        (0.5, 103, 1),
        (1, 41, 0),
    ],
)
def test_lines_are_taken_while_a_share_of_the_room_lasts(
    share: float, room: int, taken: int
) -> None:
    """The first takes a marker as well, its neighbours do not."""
    one = selection(room)
    one.take(range(100), share)
    assert one.chosen == set(range(taken))
    cost = 42 + 10 * (taken - 1) if taken else 0
    assert one.room == room - cost


def test_what_is_taken_already_costs_nothing() -> None:
    """It is passed over."""
    one = selection(20, {0, 1})
    one.take([0, 1, 2, 3], 1.0)
    assert (one.chosen, one.room) == ({0, 1, 2, 3}, 0)


@pytest.mark.parametrize(("misses", "taken"), [(1, set()), (2, {2}), (3, {2})])
def test_lines_that_are_too_long_may_be_passed_over(
    misses: int, taken: set[int]
) -> None:
    """So many of them end the search; by default the first."""
    lines = ["x" * 500, "x" * 9, "x" * 9, "x" * 500, "x" * 9]
    one = _Selection(lines, 45, 80)
    one.take([0, 2, 3, 4], 1.0, misses)
    assert one.chosen == taken
    one = _Selection(lines, 45, 80)
    one.take([0, 2], 1.0)
    assert one.chosen == set()


# --- Trouble


@pytest.mark.parametrize(
    "words",
    [
        ["an error", "an exception", "a traceback", "it failed", "fatal", "panic"],
        ["ERROR", "Exception", "Traceback", "FAILURE", "FATAL", "Panic", "Warning"],
    ],
)
def test_the_worst_kind_of_trouble_comes_first(words: list[str]) -> None:
    """Errors before warnings, wherever they stand; of one kind the first."""
    lines = ["all is well"] * 20
    places = [15, 12, 9, 7, 5, 3, 1][: len(words)]
    for place, word in zip(places, words, strict=True):
        lines[place] = f"{word} at {word[::-1]}"
    assert _troubled("\n".join(lines)) == places
    lines = [f"error {word}" for word in ("one", "two", "three")]
    assert _troubled("\n".join(lines)) == [0, 1, 2]


def test_the_same_trouble_again_comes_last() -> None:
    """Numbers and hashes do not make it another one."""
    lines = ["error 17 at 0a1b", "error 18 at 0c2d", "warning: slow", "error here"]
    assert _troubled("\n".join(lines)) == [0, 3, 2, 1]


def test_a_line_is_trouble_once() -> None:
    """Whatever it says; two lines are two."""
    assert _troubled("error: fatal error\nok\nerror: it failed") == [0, 2]
    assert _troubled("ok\n\nwarning") == [2]


@pytest.mark.parametrize("word", ["0 errors", "no exceptions", "without warnings"])
def test_to_say_that_there_is_no_trouble_is_none(word: str) -> None:
    """On the same line only."""
    assert _troubled(f"done: {word}") == []
    assert _troubled(f"done: {word}\nerror") == [1]
    assert _troubled(f"error\n{word}") == [0]


def test_of_a_very_long_line_the_surroundings_are_looked_at() -> None:
    """It may be all that there is."""
    assert _troubled("no error " + "x " * 80 + "error") == []
    assert _troubled("no error " + "x " * 200 + "error") == [0]
    assert _troubled("x " * 4_000 + "error" + " y" * 4_000) == [0]


def test_trouble_is_counted_up_to_two_thousand() -> None:
    """Nobody has room for more."""
    text = "\n".join(f"error {chr(97 + n % 26)}z{'q' * (n % 7)}" for n in range(2_500))
    assert len(_troubled(text)) == 2_000


# --- Definitions


def test_what_stands_further_out_is_defined_first() -> None:
    """A tab is four blanks; of one depth, the first comes first."""
    code = [
        "    def inner(self):",
        "class Outer:",
        "\tdef tabbed(self):",
        "  def between(self):",
        "x = 1",
        "def outer():",
        "        def innermost():",
    ]
    assert _definitions("\n".join(code)) == [1, 5, 3, 0, 2, 6]


def test_definitions_are_counted_up_to_two_thousand() -> None:
    """The outermost of all."""
    text = "    def f():\n" * 2_500 + "def g():"
    found = _definitions(text)
    assert len(found) == 2_000
    assert found[0] == 2_500


@pytest.mark.parametrize(("blanks", "found"), [(190, [0]), (200, [])])
def test_a_definition_is_seen_near_the_beginning_of_its_line(
    blanks: int, found: list[int]
) -> None:
    """Within two hundred characters."""
    assert _definitions(" " * blanks + "def f():") == found


# --- Lines of JSON


def test_a_line_that_is_not_json_is_cut_in_the_middle() -> None:
    """Among lines that are; those stay JSON."""
    good = json.dumps({"id": 7, "text": "word " * 200})
    broken = "{" + "x" * 900
    text = "\n".join([good, broken, *[json.dumps({"id": 8})] * 200])
    shown = shorten_text(text, 600, len, shape="jsonl").split("\n")
    assert json.loads(shown[0])["id"] == 7
    assert shown[1].startswith("{xx")
    assert "left out" in shown[1]
    assert shown[1].endswith("xx")


@pytest.mark.parametrize(("ends_of_line", "is_cut_in_lines"), [(2, False), (3, True)])
def test_a_text_of_a_few_lines_is_cut_anywhere(
    ends_of_line: int, is_cut_in_lines: bool
) -> None:
    """From four lines on, lines are kept whole."""
    text = "\n".join(["x" * 200] * (ends_of_line + 1))
    shown = shorten_text(text, 300, len, shape="table")
    assert ("lines left out" in shown) is is_cut_in_lines
