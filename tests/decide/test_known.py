"""What facts are worth, in which order they are told, and how much room they take."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.decide.digest import Digest, Still, digest_of, notice_parts
from context_builder.decide.heard import Heard
from context_builder.decide.known import Fact, by_worth, with_facts_of
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem
from context_builder.settings import Settings
from tests.decide.test_digest import looked_up, said
from tests.decide.test_rungs import Ruler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.items import Unit


def words_of(text: str) -> list[tuple[str, float]]:
    """Take every word with a digit for a fact of the same worth."""
    return [(word, 1.0) for word in text.split() if any(map(str.isdigit, word))]


def rules() -> Rules:
    """Return rules by which facts are easy to see."""
    return Rules(Ruler(), Settings(), facts=words_of)


def facts_of(*units: Unit) -> dict[str, Fact]:
    """Return what is known of these units."""
    return dict(with_facts_of({}, units, rules()))


def told(left: Sequence[Unit], limit: int, **fields: Any) -> Digest:
    """Return what is told of units that left."""
    given = {"former": Digest(), "heard": Heard(), **fields}
    return digest_of(left=left, rules=rules(), limit_tokens=limit, **given)


def lines(digest: Digest) -> list[str]:
    """Return the lines as they are said."""
    return ["".join(parts) for parts in digest.lines]


# --- What a fact is worth


@pytest.mark.parametrize(
    ("role", "worth"), [("user", 3.0), ("assistant", 2.0), ("system", 2.0)]
)
def test_a_fact_is_worth_more_where_the_user_said_it(role: str, worth: float) -> None:
    """By two; what the assistant said by one."""
    (fact,) = facts_of(said(4, "it is A1", role)).values()
    assert (fact.text, fact.weight, fact.unit_id) == ("A1", worth, 4)
    assert (fact.handle, fact.who, fact.is_asked) == ("i4", role, False)


def test_what_a_call_asked_for_is_worth_as_much_as_what_the_user_said() -> None:
    """What it found is worth its kind alone."""
    known = facts_of(looked_up(4, "find A1", "found B2"))
    assert (known["A1"].weight, known["A1"].is_asked) == (3.0, True)
    assert (known["B2"].weight, known["B2"].is_asked) == (1.0, False)
    assert {(one.handle, one.who) for one in known.values()} == {("i4", "look")}


def test_a_stand_in_for_a_result_holds_nothing() -> None:
    """Nobody said it."""
    unit = looked_up(4, "find A1", "stand-in B2")
    made = ContextItem(role="tool", content="stand-in B2", id="i5", source="repair")
    items = (unit.items[0], made)
    assert set(facts_of(dataclasses.replace(unit, originals=items))) == {"A1"}


@pytest.mark.parametrize(
    ("roles", "worth"),
    [
        (["user"], 3.0),
        (["user", "user"], 4.5),
        (["user", "user", "user"], 6.0),
        (["user", "user", "user", "user"], 7.5),
        (["user", "user", "user", "user", "user"], 7.5),
        (["assistant", "user"], 4.5),
        (["user", "assistant"], 4.5),
        (["user", "user", "user", "assistant"], 6.5),
        (["user", "user", "user", "user", "assistant"], 7.5),
    ],
)
def test_what_comes_again_is_worth_more(roles: list[str], worth: float) -> None:
    """Three times at most, and never less than before."""
    units = [said(n, "it is A1", role) for n, role in enumerate(roles, start=1)]
    (fact,) = facts_of(*units).values()
    assert fact.weight == worth
    assert (fact.unit_id, fact.handle) == (len(roles), f"i{len(roles)}")
    assert fact.who == roles[-1]


def test_twice_in_one_unit_is_once() -> None:
    """And who asked for it once, has asked for it."""
    assert facts_of(said(1, "A1 and A1"))["A1"].weight == 3.0
    known = facts_of(looked_up(1, "A1", "nothing"), said(3, "A1"))
    assert known["A1"].is_asked
    known = facts_of(said(1, "A1"), looked_up(3, "A1", "nothing"))
    assert known["A1"].is_asked


def test_what_was_found_out_about_a_fact_stays_known() -> None:
    """Its size, and what it was looked for in."""
    old = Fact("A1", 3.0, 1, "i1 user", tokens=7, heard=5)
    new = old.occurred_again(Fact("A1", 3.0, 2, "i2 user"))
    assert (new.tokens, new.heard, new.unit_id) == (7, 5, 2)
    assert old.occurred_again(Fact("A1", 9.0, 1, "i1 user")) is old


def test_the_worthiest_come_first_and_of_equals_the_newest() -> None:
    """What was added in vain changes nothing."""
    facts = [
        Fact("a", 1.0, 1, "i1 user"),
        Fact("b", 2.0, 1, "i1 user"),
        Fact("c", 2.0, 9, "i9 user"),
        Fact("d", 1.5, 99, "i99 user"),
        Fact("e", 2.0, 1, "i1 user"),
    ]
    assert [fact.text for fact in by_worth(facts)] == ["c", "b", "e", "d", "a"]


def test_what_stands_beside_what_was_asked_for_is_worth_more() -> None:
    """Three more: as much as anything that is said once."""
    row = looked_up(2, "ord_1", "ord_1 open_1 ord_2 open_2")
    known = by_worth(facts_of(row).values())
    assert known[0].text == "ord_1"
    bare = by_worth(facts_of(said(1, "x1", "assistant"), row).values())
    assert "x1" in [fact.text for fact in bare]


def test_of_very_many_facts_the_worthiest_stay() -> None:
    """Fifteen hundred; and of very many units the newest are looked at."""
    text = " ".join(f"A{n}" for n in range(1_600))
    known = facts_of(said(1, text, "assistant"), said(2, "U1"))
    assert len(known) == 1_500
    assert "U1" in known
    units = [said(n, f"A{n}") for n in range(1, 301)]
    assert set(facts_of(*units)) == {f"A{n}" for n in range(45, 301)}
    assert with_facts_of(known, [], rules()) is known


# --- What is told


def test_facts_of_one_speaker_stand_in_one_line() -> None:
    """In order, under the first handle and the last."""
    left = [
        looked_up(1, "{}", "B1 B2"),
        said(3, "so A1", "assistant"),
        looked_up(5, "{}", "B3"),
    ]
    assert lines(told(left, 100)) == ["i1-i5 look: B1, B2, B3", "i3 assistant: A1"]
    assert lines(told(left[:1], 100)) == ["i1 look: B1, B2"]


def test_a_fact_takes_its_words_and_a_line_its_heading() -> None:
    """Two tokens a fact of a word here, six a heading: no more than allowed."""
    left = [looked_up(1, "{}", "B1 B2 B3")]
    needed = {0: 7, 1: 8, 2: 10, 3: 12}
    for count in (1, 2, 3):
        digest = told(left, needed[count])
        assert sum(line.count("B") for line in lines(digest)) == count
        assert digest.tokens == needed[count]
        fewer = told(left, needed[count] - 1)
        assert sum(line.count("B") for line in lines(fewer)) == count - 1


def test_facts_that_do_not_fit_are_passed_over() -> None:
    """Up to thirty-two of them; a smaller one behind them is told."""

    def long_ones(text: str) -> list[tuple[str, float]]:
        count = int(text)
        long = [(f"{'x ' * 20}{n}", 2.0) for n in range(count)]
        return [*long, ("short", 1.0)]

    one = Rules(Ruler(), Settings(), facts=long_ones)
    for count, is_told in ((0, True), (31, True), (32, False)):
        digest = digest_of(
            Digest(), [said(1, str(count), "assistant")], one, 20, heard=Heard()
        )
        assert ("short" in str(lines(digest))) is is_told


def test_what_a_summary_tells_is_not_told_again() -> None:
    """Of what it covers only the facts that it leaves out; nor the user's words."""
    left = [said(1, "take A1 and A2"), looked_up(3, "{}", "B1 B2")]
    digest = told(left, 100, covered={1, 3}, summary="They spoke of A1 and B1.")
    assert lines(digest) == ["i1 user: A2", "i3 look: B2"]
    digest = told(left, 100, covered={3}, summary="They spoke of A1 and B1.")
    assert lines(digest) == ["i1 user: take A1 and A2", "i3 look: B2"]
    digest = told(left, 100)
    assert lines(digest) == ["i1 user: take A1 and A2", "i3 look: B1, B2"]


def test_what_is_known_of_a_unit_can_be_taken_back() -> None:
    """Its line, and the facts that it had last."""
    left = [said(1, "take A1"), said(2, "take A2"), looked_up(3, "{}", "A2 B1")]
    heard = Heard()
    digest = told(left, 100, heard=heard)
    assert [digest.tells(n) for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert told([looked_up(3, "{}", "none")], 100).tells(3) is False
    assert told([said(1, "no fact")], 100).tells(1) is True
    assert told([looked_up(3, "{}", "B1")], 100).tells(3) is True
    fewer = digest.without(1)
    assert set(fewer.facts) == {"A2", "B1"}
    assert [unit.id for unit in fewer.users] == [2]
    assert set(fewer.user_sizes) == {2}
    assert set(digest.without(3).facts) == {"A1"}
    again = told([], 100, former=fewer, heard=heard)
    assert "A1" not in str(lines(again))
    assert "take A2" in str(lines(again))


def test_a_digest_goes_on_from_the_former_one() -> None:
    """As if all had left at once."""
    units = [said(n, f"take A{n} please") for n in range(1, 7)]
    for place in range(7):
        heard = Heard()
        first = told(units[:place], 60, heard=heard)
        both = told(units[place:], 60, former=first, heard=heard)
        assert lines(both) == lines(told(units, 60))


# --- The user's words


@pytest.mark.parametrize(("chars", "is_whole"), [(240, True), (241, False)])
def test_short_words_are_told_whole(chars: int, is_whole: bool) -> None:
    """Up to 240 characters on one line; of others what they are about."""
    text = ("word " * 60)[: chars - 1] + "."
    digest = told([said(1, text)], 500)
    assert (lines(digest) == [f"i1 user: {text}"]) is is_whole
    assert digest.whole == ({1} if is_whole else set())
    lined = told([said(1, "one\ntwo")], 500)
    assert lines(lined) == ["i1 user: one"]
    assert lined.whole == set()


def test_a_wish_that_holds_is_told_with_a_long_message() -> None:
    """It is what the next turns go by."""
    text = "so it was " * 40 + "\nFrom now on always answer in French.\n"
    (line,) = lines(told([said(1, text)], 500))
    assert "always answer in French" in line
    assert len(line) < 300


def test_wishes_come_first_up_to_half_of_the_user_s_room() -> None:
    """Then the newest words, wishes or not."""
    wish = "From now on always answer in French, every time."
    left = [said(1, wish), *[said(n, "what is it then, and why?") for n in range(2, 9)]]
    facts = looked_up(20, "{}", " ".join(f"B{n}" for n in range(200)))
    # a fifth of 120 for the user: half of it, 12 tokens, for the wish of 11
    digest = told([*left, facts], 120)
    assert [line.split()[0] for line in lines(digest)][:2] == ["i1", "i8"]
    digest = told([*left, facts], 100)
    assert [line.split()[0] for line in lines(digest)][:2] == ["i7", "i8"]


def test_of_very_many_messages_the_newest_four_hundred_are_known() -> None:
    """Nobody has room for more."""
    units = [said(n, "go") for n in range(1, 451)]
    assert [unit.id for unit in told(units, 10).users] == list(range(51, 451))


def test_what_is_still_said_is_not_told() -> None:
    """Of the units that are shown, and of the user's own words in the digest."""
    left = [looked_up(1, "{}", "B1 B2"), said(5, "take B2")]
    still = Still(shown=[said(9, "it is B1", "assistant")])
    assert lines(told(left, 100, still=still)) == ["i5 user: take B2"]


# --- The notice


@pytest.mark.parametrize(
    ("count", "is_marker", "text"),
    [
        (1, False, "1 earlier message was left out to save space"),
        (2, False, "2 earlier messages were left out to save space"),
        (1_234, False, "1,234 earlier messages were left out to save space"),
        (1, True, "[snipped 1 message]"),
        (1_234, True, "[snipped 1,234 messages]"),
    ],
)
def test_a_notice_counts_what_left(count: int, is_marker: bool, text: str) -> None:
    """Where the first messages stay, it is the marker behind them."""
    assert notice_parts(count, is_marker=is_marker) == [text]
    assert notice_parts(count, Digest(), is_marker=is_marker) == [text]
    digest = Digest(lines=(("i1 user:", " A1"), ("i2 look: B1",)))
    assert "".join(notice_parts(count, digest, is_marker=is_marker)) == (
        f"{text}; names, ids and figures in them:\ni1 user: A1\ni2 look: B1"
    )
