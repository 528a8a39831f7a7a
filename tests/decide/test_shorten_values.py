"""How much of a JSON value shows in so much room: each limit from both sides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide.shorten.values import JsonShortener, parse_json, quote

if TYPE_CHECKING:
    from collections.abc import Callable


def shortener(value: object, **how: Any) -> JsonShortener:
    """Return what shows a value."""
    return JsonShortener(parse_json(json.dumps(value)), **how)


def show(value: object, room: int, **how: Any) -> str:
    """Show a value in so many characters."""
    return shortener(value, **how).render(room)


def compact(value: object) -> str:
    """Write a value without a space too many."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def kept(text: str) -> list[str]:
    """Return the keys that are shown, without the marker."""
    return [key for key in json.loads(text) if not key.startswith("...")]


def first_room(test: Callable[[int], bool]) -> int:
    """Return the least room in which something holds."""
    return next(room for room in range(5_000) if test(room))


RECORD = {f"k{n}": "v" * 30 for n in range(10)}


# --- What fits


PLAIN = st.recursive(
    st.none() | st.booleans() | st.text("abc xyz", max_size=40),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text("abcde", max_size=6), inner, max_size=6)
    ),
    max_leaves=10,
).filter(lambda value: isinstance(value, dict | list | str))


@given(value=PLAIN)
def test_a_value_is_whole_in_exactly_its_own_room(value: object) -> None:
    """Names, signs and values are measured as they are written."""
    assert show(value, len(compact(value))) == compact(value)


@given(lengths=st.lists(st.integers(30, 60), min_size=1, max_size=6))
def test_something_is_missing_in_less_room(lengths: list[int]) -> None:
    """An object or a text that is one too long is not whole."""
    record = {f"k{n}": "v" * chars for n, chars in enumerate(lengths)}
    assert show(record, len(compact(record)) - 1) != compact(record)
    text = "v" * lengths[0]
    assert show(text, len(compact(text)) - 1) != compact(text)


@given(text=st.text('a\n"\\\t\r', min_size=1, max_size=60))
def test_escapes_are_measured_as_they_are_written(text: str) -> None:
    """One that is written with two characters takes two."""
    size = len(compact(text))
    assert show(text, size) == compact(text)
    assert show(text, size - 1) != compact(text)


@given(value=PLAIN)
def test_with_ample_room_nothing_is_missing(value: object) -> None:
    """That room is named, and it is not much more than the value takes."""
    whole = shortener(value)
    assert whole.render(whole.ample_chars) == compact(value)
    assert whole.ample_chars == 2 * len(compact(value)) + 32


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(("levels", "is_whole"), [(40, True), (41, False)])
def test_forty_levels_are_shown(opening: str, levels: int, is_whole: bool) -> None:
    """What is below says only how much it holds."""
    closing = {"[": "]", "{": "}"}[opening[0]]
    text = opening * levels + "1" + closing * levels
    shown = JsonShortener(parse_json(text)).render(10_000)
    last = {"[": '["...1"]', "{": '{"...":1}'}[opening[0]]
    below = text if is_whole else opening * 40 + last + closing * 40
    assert shown == below


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_what_lies_deep_is_measured_as_well(opening: str) -> None:
    """A long text at the thirtieth level does not fit in sixty characters."""
    closing = {"[": "]", "{": "}"}[opening[0]]
    text = opening * 30 + '"' + "x" * 300 + '"' + closing * 30
    one = JsonShortener(parse_json(text))
    assert "x" not in one.render(63)
    assert one.render(len(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", None),
        ("1.5", None),
        ("NaN", None),
        ("true", None),
        ("null", None),
        ("{", None),
        ('"a"', "a"),
        ("[]", []),
        ("{}", ()),
    ],
)
def test_only_what_can_be_shortened_is_read(text: str, value: object) -> None:
    """Objects, arrays and strings; a number is no larger than its marker."""
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[null,true,false]", "[null,true,false]"),
        ('[1.10,-0,1e400,{},[],""]', '[1.10,-0,1e400,{},[],""]'),
        ("[NaN,-Infinity]", '["NaN","-Infinity"]'),
        ('["\\ud83d","\\u00e9"]', '["\\ud83d","é"]'),
    ],
)
def test_leaves_are_written_as_they_came(text: str, written: str) -> None:
    """But for what JSON does not have."""
    assert JsonShortener(parse_json(text)).render(1_000) == written
    assert quote("é") == '"é"'


# --- Keys


@pytest.mark.parametrize(
    ("room", "keys"),
    [
        (50, ""),
        (51, "0"),
        (68, "0"),
        (69, "01"),
        (86, "01"),
        (87, "019"),
        (105, "0129"),
        (123, "01239"),
        (180, "01234589"),
        (181, "0123456789"),
    ],
)
def test_each_key_needs_room_for_its_name_and_a_hint(room: int, keys: str) -> None:
    """Two of the head to one of the tail; all of them where no marker is needed."""
    assert kept(show(RECORD, room)) == [f"k{n}" for n in keys]


def test_the_marker_stands_where_keys_are_missing() -> None:
    """Behind the head, before the tail, and at the end if the tail is missing."""
    shown = list(json.loads(show(RECORD, 105)).items())
    assert shown[3] == ("...", "6 more keys")
    assert list(json.loads(show(RECORD, 69)))[-1] == "..."
    assert "1 more key" in show({"a": "v" * 90, "b" * 40: "v" * 90}, 51)


def test_an_object_without_room_for_a_key_says_how_many_it_has() -> None:
    """So does an array without room for an item."""
    assert show(RECORD, 0) == '{"...":10}'
    assert show(["x" * 60] * 100, 0) == '["...100"]'


def test_telling_names_stay_first() -> None:
    """Wherever they stand, and in the order in which they came."""
    record = {f"k{n}": "v" * 30 for n in range(9)} | {"error": "e" * 30, "z": "v" * 30}
    record = {"k": "v" * 30, **record, "user_id": "u" * 30}
    needed = 33 + len("error") + 4 + 12
    assert kept(show(record, needed)) == ["error"]
    assert kept(show(record, needed - 1)) == []
    needed += len("user_id") + 4 + 12
    assert kept(show(record, needed)) == ["error", "user_id"]
    needed += len("k") + 4 + 12
    assert kept(show(record, needed)) == ["k", "error", "user_id"]


@pytest.mark.parametrize(("keys", "first"), [(320, "id"), (321, "k000")])
def test_of_very_many_keys_the_telling_are_not_looked_for(
    keys: int, first: str
) -> None:
    """Nobody has room for them: then the first is as good."""
    names = [f"k{n:03}" for n in range(keys - 1)]
    names.insert(150, "id")
    record = dict.fromkeys(names, "v" * 60)
    room = first_room(lambda room: bool(kept(show(record, room))))
    assert kept(show(record, room)) == [first]


@pytest.mark.parametrize(("keys", "each"), [(40, 12), (41, 48)])
def test_of_many_keys_fewer_are_shown_and_with_more(keys: int, each: int) -> None:
    """Forty short hints are a list of names; more would say nothing."""
    record = {f"k{n:02}": "v" * 60 for n in range(keys)}
    for count in (1, 2, 5):
        room = 33 + count * (3 + 4 + each)
        assert len(kept(show(record, room))) == count
        assert len(kept(show(record, room - 1))) == count - 1


def test_of_many_keys_not_even_the_last_marker_is_saved() -> None:
    """All of forty stay where they just fit without one; of more than forty not."""
    few = {f"k{n:02}": "v" * 60 for n in range(40)}
    assert len(kept(show(few, 1 + 40 * (7 + 12)))) == 40
    many = {f"k{n:02}": "v" * 60 for n in range(41)}
    assert len(kept(show(many, 1 + 41 * (7 + 48)))) < 41


@pytest.mark.parametrize(("name_chars", "is_cut"), [(120, False), (121, True)])
def test_a_long_name_is_cut_where_something_has_to_be(
    name_chars: int, is_cut: bool
) -> None:
    """From 121 characters on, to 120 with its marker."""
    name = "n" * name_chars
    (shown, _) = json.loads(show({name: "v" * 900, "z": "v" * 900}, 400))
    assert (shown != name) is is_cut
    assert 119 <= len(shown) <= 120
    assert ("left out" in shown) is is_cut


def test_outermost_keys_stay_where_that_is_asked_for() -> None:
    """Those further inside may go."""
    inside = {**RECORD, "inner": RECORD}
    shown = json.loads(show(inside, 60, keep_keys=True))
    assert list(shown) == list(inside)
    assert kept(json.dumps(shown["inner"])) == []
    assert kept(show(inside, 60)) != list(inside)


@pytest.mark.parametrize(
    ("names", "marker"),
    [((), "..."), (("...",), "...."), (("...", "...."), "....."), (("....",), "...")],
)
def test_the_marker_has_a_name_of_its_own(names: tuple[str, ...], marker: str) -> None:
    """As short as the object lets it be."""
    shown = json.loads(show({**dict.fromkeys(names, 1), **RECORD}, 100))
    assert "more key" in shown[marker]


# --- Who gets the room


def test_small_values_are_whole_and_the_large_ones_share_the_rest() -> None:
    """What the small ones leave over goes to the large."""
    record = {"a": "x" * 500, "b": "short value of the record", "c": "y" * 500}
    shown = json.loads(show(record, 300))
    assert shown["b"] == record["b"]
    lengths = [len(shown[key]) for key in "ac"]
    assert abs(lengths[0] - lengths[1]) <= 4
    assert 285 <= len(show(record, 300)) <= 300


@given(room=st.integers(140, 2_250))
def test_the_room_is_used_and_not_overdrawn(room: int) -> None:
    """A long text takes what is left, to a few characters."""
    record = {"id": 7, "state": "ok", "body": "x" * 2_300}
    assert room - 16 <= len(show(record, room)) <= room


def test_a_telling_value_gets_up_to_a_third() -> None:
    """More than its equal share among many; the others share what is left."""
    record = {f"k{n}": "v" * 400 for n in range(9)} | {"error": "e" * 400}
    plain = {f"k{n}": "v" * 400 for n in range(9)} | {"other": "e" * 400}
    told, untold = (json.loads(show(one, 700)) for one in (record, plain))
    inside = 700 - 9 * 6 - 9 - 1
    assert len(told["error"]) + 2 == pytest.approx(inside / 3, abs=2)
    assert len(untold["other"]) + 2 == pytest.approx(inside / 10, abs=6)
    short = {**record, "error": "e" * 150}
    assert json.loads(show(short, 700))["error"] == "e" * 150


def test_a_telling_value_leaves_the_others_a_hint() -> None:
    """Twelve characters each stay reserved for them."""
    record = {"error": "e" * 400} | {f"k{n}": "v" * 400 for n in range(9)}
    shown = json.loads(show(record, 1 + 9 + 9 * 6 + 10 * 12))
    assert len(shown) == 10
    assert all("[..." in value for value in shown.values())


# --- Strings


@pytest.mark.parametrize(("chars", "is_whole"), [(22, True), (23, False)])
def test_names_and_ids_are_whole_or_not_there(chars: int, is_whole: bool) -> None:
    """Up to 24 characters with their quotes, inside of something; not on their own."""
    record = {f"k{n}": "v" * chars for n in range(10)}
    values = list(json.loads(show(record, 100)).values())
    assert ("v" * chars in values) is is_whole
    assert show("v" * chars, 12) != f'"{"v" * chars}"'


@pytest.mark.parametrize(
    ("room", "kept_chars", "is_brief"), [(107, 94, True), (108, 70, False)]
)
def test_a_marker_says_more_where_it_is_a_third_of_the_room(
    room: int, kept_chars: int, is_brief: bool
) -> None:
    """Shorter than that, it gives the number alone."""
    shown = show("x" * 1_000, room)
    assert shown.count("x") == kept_chars
    missing = 1_000 - kept_chars
    long = f"[... {missing} characters left out ...]"
    marker = f"[...{missing}]" if is_brief else long
    # "characters" has no x, so what is left is the marker and two quotes
    assert shown.strip('"').replace("x", "") == marker
    assert abs(len(shown) - room) <= 6


def test_room_is_for_the_text_as_it_is_written() -> None:
    """A text of many escapes is cut shorter."""
    assert 175 <= len(show("a\n" * 500, 200)) <= 200


@pytest.mark.parametrize(("room", "shape"), [(242, None), (243, '"<205>"')])
def test_a_string_with_room_is_shortened_by_its_shape(
    room: int, shape: str | None
) -> None:
    """From 240 characters on, less what a marker takes; it is looked at once."""
    looked: list[str] = []

    def shape_string(text: str) -> Callable[[int], str]:
        looked.append(text)
        return lambda room: f"<{room}>"

    one = shortener("x" * 1_000, shape_string=shape_string)
    shown = one.render(room)
    assert one.render(room) == shown
    assert len(looked) == (0 if shape is None else 1)
    if shape is not None:
        assert shown == shape


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: [[], inner]])
def test_what_is_nested_deeper_than_python_reaches_is_shown(
    wrap: Callable[[object], object],
) -> None:
    """Newer Pythons read such JSON: its first levels are shown, and nothing fails."""
    value: object = [1]
    for _ in range(20_000):
        value = wrap(value)
    for room in (20, 200, 2_000):
        shown = JsonShortener(value).render(room)
        assert json.loads(shown)
