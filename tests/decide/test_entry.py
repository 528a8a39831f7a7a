"""On entry a tool's result is cut to what is left, or to its share of the budget."""

from __future__ import annotations

import dataclasses
from typing import Any

from context_builder.decide.entry import cap_results
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Unit
from context_builder.messages import ImagePart, TextPart, ToolCall
from context_builder.settings import Settings, Shares
from tests.decide.test_rungs import Ruler as Words


class Ruler(Words):
    """Counts words; a call has one token more."""

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return the words of an item, and one for itself."""
        del calls
        return 1 + self.text(item.text) + len(item.tool_calls)


def unit(*results: Any, **fields: Any) -> Unit:
    """Return a round of calls with these results."""
    calls = tuple(ToolCall(id=f"c{n}", name="f") for n in range(len(results)))
    items = (
        ContextItem(role="assistant", id="i1", tool_calls=calls),
        *(
            ContextItem(role="tool", content=content, id=f"i{n}", tool_call_id=f"c{n}")
            for n, content in enumerate(results, start=2)
        ),
    )
    sizes = tuple(map(Ruler().item, items))
    made = Unit(1, items, items, "tool", 1, sizes=sizes, whole_sizes=sizes)
    return dataclasses.replace(made, **fields)


def capped(before: Unit, others: int = 0, limit: int = 1_000, **settings: Any) -> Unit:
    """Return the unit as it enters a request that takes `others` tokens already."""
    known = settings.pop("known", ())
    return cap_results(
        before,
        Rules(Ruler(), Settings(**settings)),
        known=known,
        others_tokens=others,
        limit_tokens=limit,
    )


def test_what_fits_enters_whole() -> None:
    """The same unit comes back."""
    before = unit("word " * 100)
    assert capped(before, others=800) is before


def test_a_result_is_cut_to_what_is_left() -> None:
    """It may take all the room there is, and no more."""
    after = capped(unit("word " * 900), others=600)
    assert after.tokens <= 400
    assert after.rendition == "shortened"
    assert after.marks[-1].action == "shortened"
    assert after.originals[1].text == "word " * 900


def test_a_result_is_not_cut_below_the_share_of_its_turn() -> None:
    """The rest has to yield to it, up to a quarter of the budget."""
    after = capped(unit("word " * 900), others=1_000)
    assert 150 <= after.tokens <= 260


def test_each_result_of_a_round_is_capped() -> None:
    """The whole round is within the room that is left."""
    after = capped(unit("word " * 900, "word " * 900), others=400)
    assert all(size < 900 for size in after.sizes)


def test_what_was_there_before_stays_as_it_is() -> None:
    """Only new results are cut: the others are in the prefix already."""
    before = unit("word " * 900, "word " * 900)
    after = capped(before, others=600, known=before.originals[:2])
    assert after.items[1] is before.items[1]
    assert after.sizes[2] < 900


def test_pinned_results_and_stand_ins_are_not_cut() -> None:
    """Pinned is never shortened."""
    before = unit("word " * 900, pinned=True)
    assert capped(before, others=600) is before


def test_a_limit_in_characters_wins() -> None:
    """The classic cut: head and tail, and the number left out."""
    after = capped(unit("a" * 50 + "b" * 50), tool_result_max_chars=10)
    assert after.items[1].text.startswith("aaaaa")
    assert after.items[1].text.endswith("bbbbb")
    assert "90" in after.items[1].text


def test_a_limit_in_characters_holds_for_text_among_parts() -> None:
    """A picture beside it does not let a long text through."""
    content = (TextPart(text="a" * 500), ImagePart(url="https://a.org/b.png"))
    after = capped(unit(content), tool_result_max_chars=10)
    assert len(after.items[1].text) < 100


def test_no_room_and_no_share_still_leaves_a_marker() -> None:
    """The result does not vanish: its call needs an answer."""
    shares = Shares(
        system=0.4, latest_turn=0, tool_results=0.3, history=0.2, background=0.1
    )
    after = capped(unit("word " * 900), others=2_000, shares=shares)
    assert 0 < after.sizes[1] < 40
