"""Which id a call goes by: its own where it fits, else one that is always the same."""

from __future__ import annotations

import re

import pytest

from context_builder.items import ContextItem
from context_builder.messages import ToolCall
from context_builder.render.adapter import Capabilities
from context_builder.render.ids import IdMap, clean_name


def asked(item_id: str, *call_ids: str) -> ContextItem:
    """Return an assistant's message with calls of these ids."""
    calls = tuple(ToolCall(id=one, name="f") for one in call_ids)
    return ContextItem(role="assistant", id=item_id, tool_calls=calls)


def chosen(capabilities: Capabilities, *items: ContextItem) -> list[str]:
    """Return the ids of all calls, in order."""
    ids = IdMap(items, capabilities)
    return [ids.call(item, call.id) for item in items for call in item.tool_calls]


@pytest.mark.parametrize("name", ["a", "get_it-2", "x" * 64])
def test_a_name_that_everybody_takes_stays(name: str) -> None:
    """Letters, digits, _ and -, up to 64 of them."""
    assert clean_name(name) == name


def test_another_name_is_cleaned_and_told_apart() -> None:
    """Eight signs of its hash stand behind what is left of it."""
    assert clean_name("a b") == "a_b_" + clean_name("a b")[-8:]
    assert re.fullmatch(r"[0-9A-Za-z]{8}", clean_name("a b")[-8:])
    assert clean_name("a b") != clean_name("a.b")
    assert clean_name("") == "_" + clean_name("")[-8:]
    assert clean_name("x" * 65) == "x" * 55 + "_" + clean_name("x" * 65)[-8:]
    assert len(clean_name("\u00e9" * 70, max_chars=20)) == 20
    assert clean_name("x" * 20, max_chars=20) == "x" * 20
    assert clean_name("\ud800")[:2] == "__"


def test_the_hash_is_the_same_for_ever() -> None:
    """A name that changed between two versions would move the cached prefix."""
    assert clean_name("a b") == "a_b_lNJTE7Pu"
    assert clean_name("weather.get") == "weather_get_AXaJR0jH"


LOOSE = Capabilities(id_chars=20, id_pattern=r"^[a-zA-Z0-9_-]+$")
UNIQUE = Capabilities(id_chars=20, id_pattern=r"^[a-zA-Z0-9_-]+$", ids_are_unique=True)
NINE = Capabilities(id_exact_chars=9, id_pattern=r"^[a-zA-Z0-9]+$")


def test_an_id_that_fits_stays() -> None:
    """At its shortest and its longest."""
    assert chosen(LOOSE, asked("i", "a", "b" * 20)) == ["a", "b" * 20]
    assert chosen(NINE, asked("i", "abcdefgh1")) == ["abcdefgh1"]


def test_an_id_that_does_not_fit_is_replaced() -> None:
    """By what is left of it and a hash, within the length; or by a hash alone."""
    long, odd, empty = chosen(LOOSE, asked("i", "b" * 21, "a|b", ""))
    assert re.fullmatch(r"b{11}_[0-9A-Za-z]{8}", long)
    assert re.fullmatch(r"a_b_[0-9A-Za-z]{8}", odd)
    assert re.fullmatch(r"_[0-9A-Za-z]{8}", empty)
    broken = chosen(LOOSE, asked("i", "a\n"))  # `$` stands before a last newline, too
    assert re.fullmatch(r"a_[0-9A-Za-z]{8}", broken[0])
    for one in chosen(NINE, asked("i", "abcdefgh", "abcdefgh12", "a|cdefghi")):
        assert re.fullmatch(r"[0-9A-Za-z]{9}", one)


def test_one_id_of_two_messages_stays_one_where_that_is_allowed() -> None:
    """And becomes two where ids are unique in a request."""
    items = (asked("i", "a", "x|y"), asked("j", "a", "x|y"))
    first, odd, *again = chosen(LOOSE, *items)
    assert again == [first, odd]
    found = chosen(UNIQUE, *items)
    assert len(set(found)) == 4
    assert found[:2] == [first, odd]
    assert re.fullmatch(r"a_[0-9A-Za-z]{8}", found[2])
    assert re.fullmatch(r"x_y_[0-9A-Za-z]{8}", found[3])
    assert chosen(UNIQUE, *items, asked("k", "b")) == [*found, "b"]


def test_two_ids_never_become_one() -> None:
    """Also where the second is what the first was replaced by."""
    taken = chosen(LOOSE, asked("i", "a|b"))[0]
    assert len({*chosen(LOOSE, asked("i", "a|b", taken))}) == 2
    assert len({*chosen(LOOSE, asked("i", taken, "a|b"))}) == 2


def test_a_result_goes_by_the_id_of_the_message_that_asked_last() -> None:
    """The same call id stands for another call in another message."""
    items = (asked("i", "a"), asked("j", "a"))
    ids = IdMap(items, UNIQUE)
    first = ids.call(items[0], "a")
    assert ids.result("a") == first
    second = ids.call(items[1], "a")
    assert ids.result("a") == second != first
