"""What the request says anyway, remembered from one compaction to the next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide.heard import Heard
from context_builder.decide.known import Fact

WORDS = ("ord_1", "ord_12", "ord_2", "4711", "blue")
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
steps = st.lists(
    st.tuples(
        st.lists(texts, max_size=4),
        st.lists(st.integers(0, len(WORDS) - 1), max_size=6),
        st.booleans(),
    ),
    max_size=8,
)


def facts() -> list[Fact]:
    """Return one fact for each word."""
    return [Fact(word, 1.0, 1.0, "i1 user") for word in WORDS]


@given(steps=steps)
def test_it_says_what_looking_anew_would_say(
    steps: list[tuple[list[str], list[int], bool]],
) -> None:
    """Texts come, go and come back; a copy for one request changes nothing."""
    heard, known = Heard(), facts()
    for said, asked, is_provisional in steps:
        now = heard.copy() if is_provisional else heard
        now.listen(said)
        for number in asked:
            is_there = any(WORDS[number] in text for text in said)
            assert now.says(known[number]) == is_there


def test_what_stays_is_looked_at_once() -> None:
    """A fact that no text said is looked for in new texts only."""
    heard, (fact, *_) = Heard(), facts()
    heard.listen(["an old text"])
    assert not heard.says(fact)
    heard.listen(["an old text", "a new one"])
    assert not heard.says(fact)
    assert heard.unheard(fact) == ""
    heard.listen(["an old text", "a new one", "and ord_1"])
    assert heard.unheard(fact) == "and ord_1"
    assert heard.says(fact)
    heard.listen(["an old text"])
    assert heard.unheard(fact) == "an old text", "what said it is gone"
