from __future__ import annotations

import pytest

from context_builder.decide.wishes import wish_in


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("What is it?", None),
        ("", None),
        ("Always  answer\nin French.", "Always answer in French."),
        ("MY NAME IS Ann", "MY NAME IS Ann"),
        ("以后请用中文回答。", "以后请用中文回答。"),
        ("always " + "a" * 233, "always " + "a" * 233),
        ("always " + "a" * 234, None),
        ("x " * 150 + ". Call me Bo! " + "y " * 50, "Call me Bo!"),
        ("x " * 150 + "。叫我小明。" + "y " * 50, "叫我小明。"),
        ("Call me Bo. " * 30 + "x " * 50, "Call me Bo."),
        ("x" * 300 + ". Call me Bo. Never so. Bye.", "Call me Bo. Never so."),
        ("a. " * 6_660 + "Call me Bo.", "Call me Bo."),
        ("a. " * 6_667 + "Call me Bo.", None),
    ],
)
def test_a_wish_is_said_in_its_own_short_sentences(text: str, wish: str | None) -> None:
    """Of a short message all of it; of a long one the sentences that wish."""
    assert wish_in(text) == wish


def test_several_wishes_have_to_be_short_together() -> None:
    """Or none is said: half a wish is none."""
    two = [f"Always do {letter * 105}." for letter in "ab"]
    assert wish_in("x" * 300 + ". " + " ".join(two)) == " ".join(two)
    three = [f"Always do {letter * 105}." for letter in "abc"]
    assert wish_in("x" * 300 + ". " + " ".join(three)) is None
