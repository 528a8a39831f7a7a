"""Each rung of the ladder alone, on plans made by hand."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.decide.clear import clear_old_results, to_reference
from context_builder.decide.current import (
    clear_current_rounds,
    drop_notice,
    evict_current_rounds,
    shorten_current_results,
    shorten_latest_round,
    shorten_latest_user,
    shorten_results_over_share,
)
from context_builder.decide.dedup import drop_superseded
from context_builder.decide.evict import drop_optional, evict_least_important
from context_builder.decide.plan import LADDER, descend
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Mark, Plan, Unit
from context_builder.messages import ImagePart, TextPart, ToolCall
from context_builder.settings import Settings
from context_builder.testing import WordCounter, tool_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Ruler:
    """Counts words and the words of calls; an item has one token of its own."""

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return the tokens of an item."""
        del calls
        said = sum(self.text(call.arguments) for call in item.tool_calls)
        return 1 + said + self.text(item.text)

    def whole(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return the same."""
        return self.item(item, calls=calls)

    def prepare(self, items: Iterable[tuple[ContextItem, int]]) -> None:
        """Counting here needs no preparation."""

    def text(self, text: str) -> int:
        """Return the words of a text."""
        return len(text.split())

    def composed(
        self, item: ContextItem, parts: Sequence[str], known: Mapping[int, int]
    ) -> tuple[int, dict[int, int]]:
        """Return the tokens of an item, however it is put together."""
        del known
        assert "".join(parts) == item.text
        return self.item(item), {}


RULES = Rules(Ruler(), Settings())


def unit(number: int, items: tuple[ContextItem, ...], **fields: Any) -> Unit:
    """Return a unit, measured."""
    sizes = tuple(map(Ruler().item, items))
    given = {"kind": "message", "turn": 1, **fields}
    return Unit(number, items, items, sizes=sizes, whole_sizes=sizes, **given)


def user(number: int, turn: int, words: int = 10, **fields: Any) -> Unit:
    """Return a message of the user's own."""
    text = " ".join([f"question-{number}", *["why"] * (words - 1)])
    item = ContextItem(role="user", content=text, id=f"i{number}", source="user")
    return unit(number, (item,), turn=turn, starts_turn=True, **fields)


def answer(number: int, turn: int, words: int = 10, **fields: Any) -> Unit:
    """Return what the assistant said."""
    item = ContextItem(role="assistant", content="so " * words, id=f"i{number}")
    return unit(number, (item,), turn=turn, **fields)


def memory(number: int, turn: int = 0, words: int = 10, **fields: Any) -> Unit:
    """Return background."""
    item = ContextItem(
        role="user", content="fact " * words, id=f"i{number}", source="memory"
    )
    return unit(number, (item,), turn=turn, kind="background", **fields)


def tools(number: int, turn: int, *words: int, **fields: Any) -> Unit:
    """Return a round of calls with a result of so many words each."""
    calls = tuple(ToolCall(id=f"c{n}", name="f") for n in range(len(words)))
    items = (
        ContextItem(role="assistant", id=f"i{number}", tool_calls=calls),
        *(
            ContextItem(
                role="tool",
                content=" ".join(f"row{n}" for n in range(size)),
                id=f"i{number + 1 + place}",
                tool_call_id=f"c{place}",
            )
            for place, size in enumerate(words)
        ),
    )
    return unit(number, items, turn=turn, kind="tool", **fields)


def plan(*units: Unit, target: int, limit: int | None = None, **fields: Any) -> Plan:
    """Return a plan whose latest turn is the current one."""
    return Plan(
        units,
        fixed_tokens=0,
        target_tokens=target,
        limit_tokens=target if limit is None else limit,
        current_turn=max(one.turn for one in units),
        **fields,
    )


def fates(after: Plan) -> dict[float, str]:
    """Return how each unit is shown."""
    return {one.id: one.rendition for one in after.units}


# --- background -----------------------------------------------------------------------


def test_background_goes_the_least_important_first() -> None:
    """And only as much of it as has to."""
    before = plan(memory(1, priority=40), memory(2, priority=20), user(3, 1), target=25)
    after = drop_optional(before, RULES)
    assert fates(after) == {1: "whole", 2: "absent", 3: "whole"}


def test_pinned_background_stays() -> None:
    """Pinned is never evicted."""
    before = plan(memory(1, pinned=True), user(2, 1), target=5)
    assert fates(drop_optional(before, RULES)) == {1: "whole", 2: "whole"}


# --- duplicates and references --------------------------------------------------------


def stale(one: Unit, *numbers: int) -> Unit:
    """Return the unit with results that were superseded."""
    marks = tuple(
        Mark(f"i{number}", "deduplicated", "superseded") for number in numbers
    )
    return dataclasses.replace(one, marks=marks)


def test_old_rounds_of_stale_results_go() -> None:
    """Only where every result of the round is stale, and not in the current turn."""
    before = plan(
        stale(tools(1, 1, 5, 5), 2, 3),
        stale(tools(4, 1, 5, 5), 5),
        user(7, 2),
        stale(tools(8, 2, 5), 9),
        target=1,
    )
    after = drop_superseded(before, RULES)
    assert fates(after) == {1: "absent", 4: "whole", 7: "whole", 8: "whole"}


def test_old_results_become_references_oldest_first() -> None:
    """What it was, and the handle that brings it back; the call stays."""
    before = plan(tools(1, 1, 200), tools(3, 2, 200), user(5, 3), target=320)
    after = clear_old_results(before, RULES)
    assert fates(after) == {1: "reference", 3: "whole", 5: "whole"}
    call, result = after.units[0].items
    assert call is before.units[0].items[0]
    assert "i2" in result.text
    assert after.tokens < before.tokens


def test_results_of_the_current_turn_are_not_old() -> None:
    """This rung does not touch them."""
    before = plan(user(1, 1), tools(2, 1, 200), target=1)
    assert clear_old_results(before, RULES).units == before.units


def test_a_reference_is_never_larger_than_the_result() -> None:
    """A short result stays as it is."""
    assert to_reference(tools(1, 1, 3), RULES).items == tools(1, 1, 3).items


def test_long_arguments_are_shortened_with_their_results_and_stay_json() -> None:
    """The call keeps its keys."""
    arguments = json.dumps({"path": "a.txt", "text": "word " * 300})
    before = tools(1, 1, 200)
    call = ToolCall(id="c0", name="f", arguments=arguments)
    asking = dataclasses.replace(before.items[0], tool_calls=(call,))
    before = unit(1, (asking, before.items[1]), kind="tool")
    after = to_reference(before, RULES)
    assert set(json.loads(after.items[0].tool_calls[0].arguments)) == {"path", "text"}
    assert after.sizes[0] < before.sizes[0]


# --- eviction -------------------------------------------------------------------------


def test_the_least_important_goes_first_then_the_oldest() -> None:
    """Age lowers importance, an explicit priority does not decay."""
    before = plan(
        answer(1, 1, priority=75),
        answer(2, 1),
        answer(3, 2),
        answer(4, 3),
        user(5, 4),
        target=34,
    )
    after = evict_least_important(before, RULES)
    assert fates(after) == {
        1: "whole",
        2: "absent",
        3: "absent",
        4: "whole",
        5: "whole",
    }


def test_pinned_units_and_the_current_turn_are_not_evicted() -> None:
    """However far over the budget the plan is."""
    before = plan(answer(1, 1, pinned=True), user(2, 2), answer(3, 2), target=1)
    assert evict_least_important(before, RULES) is before


def test_the_class_furthest_over_its_share_yields_first() -> None:
    """Large old results yield before a short history does."""
    before = plan(
        answer(1, 1, 30), tools(2, 1, 500), tools(4, 1, 500), user(6, 2), target=700
    )
    after = evict_least_important(before, RULES)
    assert fates(after) == {1: "whole", 2: "absent", 4: "whole", 6: "whole"}


def test_what_is_important_is_shortened_to_what_is_left() -> None:
    """From `truncate_at` up a fragment is worth more than nothing."""
    before = plan(answer(1, 1, 400, priority=85), user(2, 2), target=200)
    after = evict_least_important(before, RULES)
    assert fates(after)[1] == "shortened"
    assert after.fits


def test_below_that_nothing_becomes_a_fragment() -> None:
    """Whole or out."""
    before = plan(answer(1, 1, 400, priority=79), user(2, 2), target=200)
    assert fates(evict_least_important(before, RULES))[1] == "absent"


def test_the_notice_counts_while_deciding() -> None:
    """The line that tells of the gap has to fit as well."""
    before = plan(answer(1, 1), answer(2, 1), user(3, 2), target=22, notice_tokens=5)
    after = evict_least_important(before, RULES)
    assert after.has_gap
    assert fates(after) == {1: "absent", 2: "absent", 3: "whole"}


# --- the current turn -----------------------------------------------------------------


def test_the_turn_over_its_share_yields_results_beyond_the_newest_rounds() -> None:
    """Rounds before the newest three become references."""
    rounds = [tools(2 * n, 1, 100) for n in range(1, 6)]
    before = plan(user(1, 1), *rounds, target=400, limit=600)
    after = shorten_results_over_share(before, RULES)
    assert [one.rendition for one in after.units[1:3]] == ["reference", "reference"]
    assert after.tokens < before.tokens
    assert after.target_tokens == before.target_tokens


def test_the_turn_within_its_share_is_left_alone() -> None:
    """What others leave over is the turn's to use."""
    before = plan(user(1, 1), tools(2, 1, 100), target=400)
    assert shorten_results_over_share(before, RULES) is before


def test_current_rounds_but_the_newest_become_references() -> None:
    """Oldest first, until it fits."""
    before = plan(
        user(1, 1), tools(2, 1, 100), tools(4, 1, 100), tools(6, 1, 100), target=20
    )
    after = clear_current_rounds(before, RULES)
    assert fates(after) == {1: "whole", 2: "reference", 4: "reference", 6: "whole"}


def test_the_longest_results_are_cut_to_one_length() -> None:
    """Short ones stay whole."""
    before = plan(user(1, 1), tools(2, 1, 900, 700, 50), target=700)
    after = shorten_current_results(before, RULES)
    _, first, second, third = after.units[1].sizes
    assert third == 51
    assert abs(first - second) < 100
    assert after.fits


def test_older_parts_of_the_turn_go_before_the_newest_round() -> None:
    """The latest user message and the newest round stay."""
    before = plan(user(1, 1), answer(2, 1), tools(3, 1, 20), tools(5, 1, 20), target=1)
    after = evict_current_rounds(before, RULES)
    assert fates(after) == {1: "whole", 2: "absent", 3: "absent", 5: "whole"}


def test_the_newest_round_is_cut_and_then_becomes_references() -> None:
    """Its calls and results stay together, however small."""
    before = plan(user(1, 1), tools(2, 1, 900, 900), target=60)
    after = shorten_latest_round(before, RULES)
    assert len(after.units[1].items) == 3
    assert after.tokens < 100


def test_long_words_beside_the_newest_calls_are_cut_as_well() -> None:
    """A request that could be made to fit is no error."""
    round_ = tools(2, 1, 5)
    speaking = dataclasses.replace(round_.items[0], content="word " * 900)
    before = plan(
        user(1, 1), unit(2, (speaking, round_.items[1]), kind="tool"), target=200
    )
    assert descend(before, RULES).fits_limit


def test_the_notice_is_given_up_for_the_users_words() -> None:
    """It costs nothing any more."""
    before = plan(user(1, 1), target=5, notice_tokens=7, has_gap=True)
    assert drop_notice(before, RULES).tokens == before.tokens - 7


def test_the_latest_user_message_is_cut_in_the_middle() -> None:
    """Its beginning and its end stay."""
    before = plan(user(1, 1, 900), target=200)
    after = shorten_latest_user(before, RULES)
    text = after.units[0].items[0].text
    assert text.startswith("question-1")
    assert text.endswith("why")
    assert after.fits


def test_a_picture_in_the_latest_user_message_stays() -> None:
    """Only its text is cut."""
    item = ContextItem(
        role="user",
        content=(TextPart(text="why " * 900), ImagePart(url="https://a.org/b.png")),
        id="i1",
    )
    before = plan(unit(1, (item,), starts_turn=True), target=200)
    content = shorten_latest_user(before, RULES).units[0].items[0].content
    assert isinstance(content, tuple)
    assert [part.type for part in content] == ["text", "image"]


def test_a_pinned_user_message_is_not_cut() -> None:
    """Pinned is never shortened: rather an error."""
    before = plan(user(1, 1, 900, pinned=True), target=200)
    assert shorten_latest_user(before, RULES) is before


def test_a_user_message_that_was_left_out_is_not_cut() -> None:
    """The newest message that is shown may be one of an earlier turn."""
    gone = user(1, 1, 100).leave_out("over budget")
    before = dataclasses.replace(plan(gone, answer(2, 2), target=1), current_turn=2)
    assert shorten_latest_user(before, RULES).units[0] == gone


# --- the ladder -----------------------------------------------------------------------


def test_a_plan_that_fits_is_left_alone() -> None:
    """No rung is taken."""
    before = plan(user(1, 1), target=100)
    assert descend(before, RULES) is before


def test_the_ladder_stops_at_the_low_mark() -> None:
    """The cheapest loss is enough here."""
    before = plan(
        memory(1, words=60), tools(2, 1, 100), answer(4, 1), user(5, 2), target=150
    )
    assert fates(descend(before, RULES)) == {
        1: "absent",
        2: "whole",
        4: "whole",
        5: "whole",
    }


def test_the_users_words_are_untouched_while_the_request_can_be_sent() -> None:
    """Rungs for what the user waits for are taken over the limit only."""
    before = plan(user(1, 1, 500), target=100, limit=600)
    assert descend(before, RULES).units == before.units


def test_every_rung_costs_less_or_nothing() -> None:
    """No rung makes a plan larger."""
    before = plan(
        memory(1),
        stale(tools(2, 1, 40), 3),
        answer(4, 1, 100, priority=90),
        user(5, 2, 200),
        tools(6, 2, 300),
        tools(8, 2, 300),
        target=50,
    )
    for rung in LADDER:
        after = rung.step(before, RULES)
        assert after.tokens <= before.tokens
        before = after


def test_no_rung_parts_a_call_from_its_results() -> None:
    """At every rung a shown round has all its items."""
    before = plan(
        tools(1, 1, 100, 100),
        user(4, 2),
        tools(5, 2, 100),
        tools(7, 2, 90, 90),
        target=1,
    )
    for rung in LADDER:
        before = rung.step(before, RULES)
        for one in before.units:
            assert len(one.items) in {0, len(one.originals)}


def test_what_matters_less_never_outlives_what_matters_more() -> None:
    """Within one compaction no unit goes while a lesser one of its kind stays whole."""
    notes = [answer(4 + n, 2, 42) for n in range(13)]
    before = plan(
        user(1, 1, 8), answer(2, 1, 8), user(3, 2, 1), *notes, target=390, limit=560
    )
    after = descend(before, RULES)
    gone = [one for one in after.units if not one.is_shown and one.turn == 2]
    kept = [one for one in after.units if one.rendition == "whole" and one.turn == 1]
    assert not (gone and kept)


# --- results that are compared with one another ---------------------------------------


class Letters(WordCounter):
    """Counts four letters as a token: JSON has no words."""

    def count(self, text: str) -> int:
        """Return a quarter of the letters."""
        return (len(text) + 3) // 4


def rooms(hotel: str) -> str:
    """Return what a search finds: twelve rooms, and their number."""
    found = [
        {"id": f"{hotel}-{n}", "price": 100 + n, "note": "quiet, with a garden " * 4}
        for n in range(12)
    ]
    return json.dumps({"hotel": hotel, "rooms": found, "total": 12, "of": hotel * 2})


@pytest.mark.parametrize("max_tokens", [400, 600, 900])
def test_two_results_that_are_compared_are_both_there(max_tokens: int) -> None:
    """In one turn and a small budget: as much of one as of the other, and what is gone.

    They were cut as they came in, one to less than the other: it is the whole that is
    cut again.
    """
    ctx = ContextBuilder(max_tokens=max_tokens, counter=Letters())
    for number in range(3):
        ctx.add_user_message(f"question {number}")
        ctx.add_assistant_message("answer " * 12)
    ctx.add_user_message("Compare the two hotels by price.")
    ctx.add_assistant_message(tool_calls=[tool_call("a"), tool_call("b")])
    ctx.add_tool_result("search", rooms("Alba"), tool_call_id="a")
    ctx.add_tool_result("search", rooms("Brio"), tool_call_id="b")
    said = [json.loads(one["content"]) for one in ctx.build() if one["role"] == "tool"]
    assert [one["of"] for one in said] == ["AlbaAlba", "BrioBrio"]
    kept = [
        [room for room in one["rooms"] if not isinstance(room, str)] for one in said
    ]
    assert len(kept[0]) == len(kept[1]) >= 1
    for one, shown in zip(said, kept, strict=True):
        gone = [room for room in one["rooms"] if isinstance(room, str)]
        assert gone == [f"... {12 - len(shown)} more items ..."]
    assert ctx.explain().tokens <= max_tokens


def test_what_was_cut_is_cut_from_the_whole_the_next_time() -> None:
    """And what stands for a result stays what it is."""
    rows = [{"id": f"row{n}", "note": "so it is"} for n in range(40)]
    whole = tools(1, 1, 1)
    data = whole.items[1].with_content(json.dumps(rows))
    whole = unit(1, (whole.items[0], data), turn=1, kind="tool")
    once = shorten_latest_round(plan(whole, target=60), RULES).units[0]
    cut = shorten_latest_round(plan(whole, target=140), RULES).units[0]
    twice = shorten_latest_round(plan(cut, target=60), RULES).units[0]
    assert whole.tokens > cut.tokens > once.tokens
    assert twice.items == once.items
    stood = cut.items[1].with_content("[Out of date: superseded by a newer one.]" * 9)
    double = dataclasses.replace(
        cut,
        items=(cut.items[0], stood),
        sizes=(cut.sizes[0], Ruler().item(stood)),
        marks=(Mark("i2", "deduplicated", "superseded by i9, same key"),),
    )
    again = shorten_latest_round(plan(double, target=40), RULES).units[0]
    assert "row" not in again.items[1].text
