"""What stands in a row with what was asked for."""

from __future__ import annotations

from context_builder.decide.rows import beside, make_of


def near(facts: list[str], asked: set[str]) -> set[str]:
    """Return what is beside something that was asked for."""
    places = [place for place, fact in enumerate(facts) if fact in asked]
    return {facts[n] for n in beside([make_of(fact) for fact in facts], places)}


def test_who_asks_for_one_of_a_list_asks_for_the_next() -> None:
    """Ids of one make that came in together are near one that was asked for."""
    facts = ["XEHM4B", "59XX6W", "K1NW8N", "gift_card_1", "2024-05-20"]
    assert near(facts, {"59XX6W"}) == {"XEHM4B", "K1NW8N"}


def test_a_row_ends_where_another_make_begins() -> None:
    """What looks alike but came in elsewhere is not near."""
    facts = ["XEHM4B", "gift_card_1", "K1NW8N"]
    assert near(facts, {"XEHM4B"}) == set()


def test_names_of_one_make_differ_in_digits_only() -> None:
    """`gift_card_1` and `gift_card_2` are a row; `certificate_3` is none of it."""
    facts = ["gift_card_1", "gift_card_2", "certificate_3"]
    assert near(facts, {"gift_card_1"}) == {"gift_card_2"}


def test_several_of_one_row_are_one_row() -> None:
    """Each of the rest is named once, whatever was asked for; so is a later row."""
    facts = ["AB1", "AB2", "AB3", "AB4", "gift_card_1", "AB5", "AB6"]
    makes = [make_of(fact) for fact in facts]
    assert beside(makes, [0, 2, 6]) == [1, 3, 5]


def test_nothing_asked_is_nothing_near() -> None:
    """Neither without facts, nor without what was asked for."""
    assert near([], {"XEHM4B"}) == set()
    assert near(["XEHM4B", "K1NW8N"], set()) == set()
