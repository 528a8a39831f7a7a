"""Small pieces of shortening, each for itself."""

from __future__ import annotations

import pytest

from context_builder.decide.clear import reference_text
from context_builder.decide.rules import Rules
from context_builder.decide.shorten import shorten_arguments
from context_builder.decide.shorten.lines import _GAP_CHARS, _Selection, _shown
from context_builder.items import ContextItem
from context_builder.settings import Settings
from tests.decide.test_rungs import Ruler


def chosen(lines: list[str], *places: int, line_chars: int = 80) -> _Selection:
    """Return a selection of these lines."""
    return _Selection(lines, 1_000, line_chars, {*places})


def cut(line: str, chars: int) -> str:
    """Cut a line the simplest way."""
    return line[:chars]


def gap(missing: int) -> str:
    """Say how many lines are missing."""
    return f"<{missing}>"


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ((0, 1, 2, 3, 4), ["aa", "b", "cccc", "dd", "ee"]),
        ((0, 4), ["aa", "<3>", "ee"]),
        ((2,), ["<2>", "cccc", "<2>"]),
        ((0, 2, 4), ["aa", "b", "cccc", "dd", "ee"]),
        ((0, 1, 3, 4), ["aa", "b", "<1>", "dd", "ee"]),
        ((0, 1, 2, 3), ["aa", "b", "cccc", "dd", "ee"]),
        ((), ["<5>"]),
    ],
)
def test_a_marker_stands_where_lines_are_missing(
    places: tuple[int, ...], said: list[str]
) -> None:
    """A single line that is no longer than its marker stands itself."""
    lines = ["aa", "b", "cccc", "dd", "ee"]
    assert list(_shown(chosen(lines, *places), cut, gap)) == said


def test_a_line_that_is_far_too_long_is_cut() -> None:
    """One that is hardly longer is not: the marker would take as much."""
    lines = ["x" * 400, "y" * 100]
    assert list(_shown(chosen(lines, 0, 1), cut, gap)) == ["x" * 80, "y" * 100]


def test_a_line_on_its_own_costs_a_marker_as_well() -> None:
    """A neighbour of a chosen one does not; none costs more than a line may take."""
    lines = ["a" * 10] * 9 + ["b" * 500]
    selection = chosen(lines, 3)
    assert selection.cost(2) == selection.cost(4) == 11
    assert selection.cost(1) == selection.cost(5) == 11 + _GAP_CHARS
    assert selection.cost(9) == 81 + _GAP_CHARS


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "{}"),
        (" \n", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ("no json", '{"_raw":"no json"}'),
        ("[1]", '{"_raw":"[1]"}'),
    ],
)
def test_arguments_are_an_object(arguments: str, said: str) -> None:
    """What is none becomes one; what fits stays as it is."""
    assert shorten_arguments(arguments, 100, len) == said


def test_long_arguments_that_are_no_object_keep_their_key() -> None:
    """Their beginning and their end."""
    said = shorten_arguments("begin " + "x" * 900 + " end", 120, len)
    assert said.startswith('{"_raw":"begin ')
    assert said.endswith(' end"}')
    assert len(said) <= 120


def test_how_a_result_began_is_said_in_a_line() -> None:
    """In eighty characters at most."""
    rules = Rules(Ruler(), Settings(), facts=lambda _: [])
    item = ContextItem(role="tool", content="w" * 200, id="i1")
    began = reference_text(item, 100, rules).partition("It began: ")[2]
    assert len(began.removesuffix("]")) <= 80
    assert began.startswith("w" * 20)
