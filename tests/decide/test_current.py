"""The rungs of the current turn: how far each goes, and what it says of itself."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from context_builder.decide.current import (
    _level,
    clear_current_rounds,
    evict_current_rounds,
    keep_only_the_question,
    latest_user_index,
    shorten_current_results,
    shorten_latest_round,
    shorten_latest_user,
    shorten_results_over_share,
)
from context_builder.decide.evict import (
    drop_optional,
    drop_summary,
    evict_least_important,
)
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Plan, Unit
from context_builder.messages import ImagePart, TextPart, ToolCall
from context_builder.settings import Settings
from tests.decide.test_rungs import (
    RULES,
    Ruler,
    answer,
    fates,
    memory,
    plan,
    tools,
    unit,
    user,
)


def reasons(after: Plan) -> dict[float, str]:
    """Return why each unit is not whole."""
    return {one.id: one.reason for one in after.units if one.reason}


def speech(number: int, turn: int, *calls: ToolCall, words: int = 0) -> Unit:
    """Return calls with a short result each."""
    items = (
        ContextItem(
            role="assistant",
            content="so " * words,
            id=f"i{number}",
            tool_calls=calls,
        ),
        *(
            ContextItem(
                role="tool", content="ok", id=f"i{number + n}", tool_call_id=call.id
            )
            for n, call in enumerate(calls, start=1)
        ),
    )
    return unit(number, items, turn=turn, kind="tool")


# --- One length


@pytest.mark.parametrize(
    ("sizes", "excess", "level"),
    [
        ([900, 700, 50], 100, 800),
        ([900, 700, 50], 200, 672),  # 700, and a multiple of 32
        ([900, 700, 50], 300, 640),
        ([100], 36, 64),
        ([100], 37, 32),
        ([100], 68, 32),
        ([100], 69, 0),
        ([100], 100, 0),
        ([100], 101, 0),
        ([100, 60], 40, 32),
        ([128, 128, 128], 96, 96),
        ([128, 128, 128], 99, 64),
        ([64, 128], 64, 64),
        ([64, 128], 65, 32),
        ([], 5, 0),
    ],
)
def test_the_longest_come_down_to_one_length(
    sizes: list[int], excess: int, level: int
) -> None:
    """No lower than has to be, in steps of 32."""
    assert _level(sizes, excess) == level


@pytest.mark.parametrize("target", [1_500, 1_200, 900, 600, 300])
def test_results_are_cut_by_what_has_to_be_freed(target: int) -> None:
    """To a step of 32 tokens and a few for the marker; the short one stays."""
    before = plan(user(1, 1), tools(2, 1, 900, 700, 20), target=target)
    after = shorten_current_results(before, RULES)
    assert target - 3 * 32 - 80 <= after.tokens <= target
    assert after.units[1].sizes[3] == 21
    assert fates(after) == {1: "whole", 2: "shortened"}
    assert reasons(after) == {
        2: "over budget: the longest results were cut to one length"
    }


def test_results_are_not_cut_below_their_least_length() -> None:
    """The least is a setting; the last rung goes below it."""
    rules = Rules(Ruler(), Settings(min_shortened_tokens=200))
    before = plan(user(1, 1), tools(2, 1, 900, 150), target=30)
    after = shorten_current_results(before, rules)
    assert 150 < after.units[1].sizes[1] <= 200
    assert after.units[1].sizes[2] == 151
    lower = shorten_latest_round(before, rules)
    assert lower.tokens < 100


def test_nothing_is_cut_where_it_fits() -> None:
    """The same plan comes back, or the same units."""
    before = plan(user(1, 1), tools(2, 1, 90), target=200)
    assert shorten_current_results(before, RULES) is before
    assert shorten_results_over_share(before, RULES) is before
    exact = plan(user(1, 1), tools(2, 1, 90), target=before.tokens)
    assert shorten_current_results(exact, RULES) is exact
    assert shorten_latest_round(exact, RULES).units == exact.units


@pytest.mark.parametrize(
    "rung",
    [shorten_current_results, shorten_latest_round, clear_current_rounds],
)
def test_a_pinned_round_is_not_touched(rung: object) -> None:
    """Nor does its size count for what the others are cut to."""
    pinned = tools(2, 1, 900, pinned=True)
    before = plan(user(1, 1), pinned, tools(4, 1, 900, pinned=True), target=100)
    assert callable(rung)
    assert rung(before, RULES).units == before.units
    mixed = plan(user(1, 1), pinned, tools(4, 1, 400), target=1_200)
    after = shorten_current_results(mixed, RULES)
    assert after.units[1] == pinned
    assert 200 <= after.units[2].tokens <= 300


def test_a_text_that_was_cut_is_cut_from_what_is_left_of_it() -> None:
    """Data is cut from the whole again, a text from what is shown."""
    whole = tools(1, 1, 900)
    cut = shorten_latest_round(plan(whole, target=500), RULES).units[0]
    again = shorten_latest_round(plan(cut, target=200), RULES).units[0]
    marker = re.search(r"\[\.\.\. ([\d,]+) characters left out", again.items[1].text)
    assert marker is not None
    assert int(marker[1].replace(",", "")) < len(cut.items[1].text)
    assert again.tokens <= 200


# --- Which rounds are recent


@pytest.mark.parametrize(
    ("target", "cut"),
    [(1_300, {6, 8}), (800, {8})],
)
def test_the_newest_rounds_are_cut_as_far_as_they_stay_in_half(
    target: int, cut: set[float]
) -> None:
    """They are compared with one another; older ones are references by then."""
    rounds = [tools(n, 1, 300) for n in (2, 4, 6, 8)]
    before = plan(user(1, 1), *rounds, target=target, limit=9_999)
    before = dataclasses.replace(before, target_tokens=target)
    after = shorten_current_results(
        dataclasses.replace(before, reserve_tokens=target - 100), RULES
    )
    shortened = {one.id for one in after.units if one.rendition == "shortened"}
    assert shortened == cut


@pytest.mark.parametrize(("keep", "cut"), [(1, {8}), (2, {6, 8}), (3, {4, 6, 8})])
def test_how_many_rounds_are_recent_is_a_setting(keep: int, cut: set[float]) -> None:
    """The newest is always one."""
    rules = Rules(Ruler(), Settings(keep_recent_rounds=keep))
    rounds = [tools(n, 1, 100) for n in (2, 4, 6, 8)]
    before = plan(user(1, 1), *rounds, target=1_000, reserve_tokens=900)
    after = shorten_current_results(before, rules)
    assert {one.id for one in after.units if one.rendition == "shortened"} == cut


def test_the_newest_round_is_recent_however_large() -> None:
    """It alone, where it takes more than half."""
    rounds = [tools(2, 1, 40), tools(4, 1, 900)]
    before = plan(user(1, 1), *rounds, target=400)
    after = shorten_current_results(before, RULES)
    assert fates(after) == {1: "whole", 2: "whole", 4: "shortened"}


def test_a_turn_yields_only_what_it_takes_over_its_share() -> None:
    """The rest of what is too much is for others to give."""
    history = [answer(n, 1, 60) for n in range(1, 11)]
    before = plan(*history, user(20, 2), tools(21, 2, 400), target=800, limit=2_000)
    after = shorten_results_over_share(before, RULES)
    freed = before.tokens - after.tokens
    assert before.excess_tokens == 224
    # half of 800 for the two classes in need, in proportion to 25 and 25
    assert 400 - 96 <= after.units[-1].tokens <= 400
    assert freed <= before.excess_tokens
    assert (after.target_tokens, after.reserve_tokens) == (800, 0)


def test_what_is_kept_free_is_as_before_behind_a_rung() -> None:
    """A rung gives back the goals that it was given."""
    before = plan(
        user(1, 1), tools(2, 1, 900), target=300, limit=400, reserve_tokens=20
    )
    after = shorten_results_over_share(before, RULES)
    goals = (after.target_tokens, after.limit_tokens, after.reserve_tokens)
    assert goals == (300, 400, 20)
    assert after.units[1].tokens < before.units[1].tokens


# --- Arguments


def test_the_longest_arguments_are_cut_first_and_custom_ones_never() -> None:
    """Only a JSON object can be cut and still be one."""
    long = json.dumps({"text": "word " * 600})
    short = json.dumps({"text": "word " * 30})
    calls = [ToolCall(id="a", name="f", arguments=short)]
    calls += [ToolCall(id="b", name="f", arguments=long)]
    before = plan(user(1, 1), speech(2, 1, *calls), target=300)
    (call, cut) = shorten_latest_round(before, RULES).units[1].items[0].tool_calls
    assert call.arguments == short
    assert "left out" in json.loads(cut.arguments)["text"]
    custom = ToolCall(id="c", name="f", arguments="word " * 600, type="custom")
    before = plan(user(1, 1), speech(2, 1, custom), target=300)
    assert shorten_latest_round(before, RULES).units[1].items[0].tool_calls == (custom,)


def test_of_several_texts_the_longest_is_cut() -> None:
    """The others, and a picture, stay as they are."""
    parts = (
        TextPart(text="one " * 30),
        ImagePart(url="https://a.org/b.png"),
        TextPart(text="two " * 600),
        TextPart(text="three " * 40),
    )
    result = ContextItem(role="tool", content=parts, id="i3", tool_call_id="c0")
    call = ContextItem(
        role="assistant", id="i2", tool_calls=(ToolCall(id="c0", name="f"),)
    )
    before = plan(user(1, 1), unit(2, (call, result), kind="tool"), target=200)
    content = shorten_current_results(before, RULES).units[1].items[1].content
    assert isinstance(content, tuple)
    assert [part == old for part, old in zip(content, parts, strict=True)] == [
        True,
        True,
        False,
        True,
    ]
    picture = dataclasses.replace(result, content=parts[1:2])
    before = plan(user(1, 1, 90), unit(2, (call, picture), kind="tool"), target=10)
    assert shorten_current_results(before, RULES).units[1].items[1] == picture


# --- The question


def test_the_latest_question_that_is_shown_is_meant() -> None:
    """Wherever it stands; there may be none."""
    units = (user(1, 1), answer(2, 1), user(3, 2), answer(4, 2))
    assert latest_user_index(plan(*units, target=1)) == 2
    gone = (*units[:2], units[2].leave_out("why"), units[3])
    assert latest_user_index(plan(*gone, target=1)) == 0
    assert latest_user_index(plan(answer(4, 2), target=1)) is None


def test_a_question_is_cut_to_what_is_left_and_says_so() -> None:
    """In the middle, and not further than has to be."""
    before = plan(user(1, 1, 900), target=200)
    after = shorten_latest_user(before, RULES)
    assert 150 <= after.tokens <= 200
    assert reasons(after) == {
        1: "over budget: the user's own words were cut in the middle"
    }
    assert fates(after) == {1: "shortened"}


@pytest.mark.parametrize("target", [-500, 5, 24])
def test_a_question_is_not_cut_to_nothing(target: int) -> None:
    """Its beginning is there, or it stays whole and the request is refused."""
    before = plan(user(1, 1, 400), target=target)
    after = shorten_latest_user(before, RULES)
    text = after.units[0].items[0].text
    assert text.startswith("question-1")
    assert 12 <= Ruler().text(text) <= 24


def test_a_question_of_a_few_words_stays() -> None:
    """A marker would take as much."""
    before = plan(user(1, 1, 12), target=5)
    assert shorten_latest_user(before, RULES) is before


def test_for_the_question_even_the_newest_round_is_left_out() -> None:
    """Then it is whole again, if that fits; pinned rounds stay."""
    cut = shorten_latest_user(plan(user(1, 1, 100), target=60), RULES).units[0]
    before = plan(cut, tools(2, 1, 90), target=120, notice_tokens=7)
    after = keep_only_the_question(before, RULES)
    assert after.units[0].items == after.units[0].originals
    assert (after.units[0].rendition, after.units[0].reason) == ("whole", "")
    assert after.tokens == 101 + 7
    assert reasons(after) == {
        2: "over budget: there is room for the user's question only"
    }
    smaller = keep_only_the_question(
        dataclasses.replace(before, limit_tokens=107, target_tokens=107), RULES
    )
    assert smaller.units[0].rendition == "shortened"
    assert smaller.fits
    pinned = plan(cut, tools(2, 1, 90, pinned=True), target=120)
    assert keep_only_the_question(pinned, RULES) is pinned
    alone = plan(cut, target=120)
    assert keep_only_the_question(alone, RULES) is alone
    asked_by_nobody = plan(answer(1, 1), tools(2, 1, 90), target=20)
    assert keep_only_the_question(asked_by_nobody, RULES) is asked_by_nobody


# --- What leaves says why


def test_what_leaves_the_request_says_why() -> None:
    """Each rung in its own words."""
    before = plan(memory(1), user(2, 1), target=5)
    assert reasons(drop_optional(before, RULES)) == {
        1: "over budget: optional background"
    }
    before = plan(answer(1, 1), user(2, 2), target=12)
    assert reasons(evict_least_important(before, RULES)) == {
        1: "over budget: the least important goes first, then the oldest"
    }
    before = plan(answer(1, 1, 400, priority=80), user(2, 2), target=200)
    assert reasons(evict_least_important(before, RULES)) == {
        1: "over budget: too important to be left out"
    }
    before = plan(
        unit(0, memory(0).items, kind="summary", turn=0), user(2, 2), target=5
    )
    assert reasons(drop_summary(before, RULES)) == {
        0: "over budget: the current turn comes first"
    }
    before = plan(user(1, 1), answer(2, 1), tools(3, 1, 20), target=1)
    assert reasons(evict_current_rounds(before, RULES)) == {
        2: "over budget: an older part of the current turn"
    }
    before = plan(user(1, 1), tools(2, 1, 100), tools(4, 1, 100), target=20)
    assert reasons(clear_current_rounds(before, RULES)) == {
        2: "over budget: an older result, replaced by a reference"
    }


@pytest.mark.parametrize(("target", "kept"), [(33, "whole"), (32, "absent")])
def test_a_rung_stops_when_enough_is_free(target: int, kept: str) -> None:
    """At exactly the goal; one token more to free takes the next."""
    units = (memory(1), memory(2), user(3, 1))
    after = drop_optional(plan(*units, target=target - 11), RULES)
    assert fates(after) == {1: "absent", 2: kept, 3: "whole"}
    older = (answer(1, 1), answer(2, 1), user(3, 2))
    after = evict_least_important(plan(*older, target=target - 11), RULES)
    assert fates(after) == {1: "absent", 2: kept, 3: "whole"}
    now = (user(1, 1), answer(2, 1), answer(3, 1))
    after = evict_current_rounds(plan(*now, target=target - 11), RULES)
    assert fates(after) == {1: "whole", 2: "absent", 3: kept}
