"""Losses that are small, and told of all the same."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from context_builder import ContextBuilder
from context_builder.decide.clear import to_reference
from context_builder.decide.current import cut_content
from context_builder.decide.facts import _SCAN_CHARS, _VALUE_CHARS, _parsed, facts
from context_builder.decide.outcomes import _covered, _left_out
from context_builder.decide.passing import drop_passing, shown_excerpts
from context_builder.decide.rules import Rules
from context_builder.items import ContextItem, Mark, Plan, Unit
from context_builder.messages import ImagePart, TextPart
from context_builder.passing import RECALLED, Excerpt
from context_builder.settings import Settings
from context_builder.testing import FakeSummarizer, WordCounter, turns
from tests.decide.test_rungs import RULES, Ruler, answer, tools


def recalled(number: int, turn: int, *frames: str) -> Unit:
    """Return a round in which the recall tool said these frames."""
    unit = tools(number, turn, 3)
    item = dataclasses.replace(
        unit.items[1],
        content="\n".join(f"<{RECALLED} {frame}>\n{'words ' * 20}" for frame in frames),
        tool_name="recall",
    )
    items = (unit.items[0], item)
    sizes = tuple(map(Ruler().item, items))
    return dataclasses.replace(
        unit, items=items, originals=items, sizes=sizes, whole_sizes=sizes
    )


FIRST = 'handle="i3" chars="0-9"'
SECOND = 'handle="i3" chars="20-40"'
OTHER = 'handle="i5" chars="1-2"'


def test_what_was_recalled_in_earlier_rounds_goes_first() -> None:
    """The newest round of the current turn alone keeps it."""
    old, now, newest = (
        recalled(0, 2, FIRST),
        recalled(2, 3, FIRST),
        recalled(4, 3, FIRST),
    )
    plan = Plan((old, now, newest), 0, 999, 999, current_turn=3)
    result = drop_passing(plan, RULES)
    left = "[What was recalled here was left out again.]"
    assert [unit.items[1].text == left for unit in result.units] == [True, True, False]
    assert result.units[0].marks[0].reason == (
        "recalled text goes first: it stands in the session, and can be recalled again"
    )
    over = dataclasses.replace(plan, current_turn=4)
    assert all(unit.items[1].text == left for unit in drop_passing(over, RULES).units)


def test_all_that_recalled_text_says_is_known_by_its_handle() -> None:
    """From every answer that stands whole; a reference says nothing."""
    units = (
        recalled(0, 2, FIRST, OTHER),
        recalled(2, 3, SECOND),
        answer(4, 3),
        tools(5, 3, 9),
    )
    said = {"i3": (Excerpt("i3", 0, 9), Excerpt("i3", 20, 40))}
    other = {"i5": (Excerpt("i5", 1, 2),)}
    assert shown_excerpts(units) == said | other
    cut = dataclasses.replace(
        units[1], items=(units[1].items[0], units[1].items[1].with_content("x"))
    )
    assert shown_excerpts((units[0], cut)) == {"i3": said["i3"][:1]} | other


def test_a_reference_of_a_cut_result_is_not_larger_than_what_was_shown() -> None:
    """Its facts take six tenths of what is shown at most."""
    rules = Rules(Ruler(), Settings(), facts=lambda _: [("f " * 30, 2.0), ("g", 1.0)])
    unit = tools(0, 1, 400)
    assert "f f f" in to_reference(unit, rules).items[1].text
    short = unit.items[1].with_content("w " * 49)
    cut = dataclasses.replace(
        unit, items=(unit.items[0], short), sizes=(unit.sizes[0], 50)
    )
    rules = Rules(Ruler(), Settings(), facts=lambda _: [("f " * 30, 2.0), ("g", 1.0)])
    said = to_reference(cut, rules).items[1].text
    assert said.endswith("In it: g]")


def test_the_longest_text_among_parts_is_cut() -> None:
    """Pictures and short texts stay as they are."""
    parts = (
        TextPart(text="a " * 30),
        ImagePart(url="https://a.test/b.png"),
        TextPart(text="b " * 200),
    )
    item = ContextItem(role="tool", content=parts, id="i1")
    cut = cut_content(item, 150, 231, RULES).content
    assert isinstance(cut, tuple)
    assert cut[:2] == parts[:2]
    assert len(getattr(cut[2], "text", "").split()) <= 120


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('He said "well done."', "well done"),
        ('She wrote "ring at 10:30;" and left', "ring at 10:30"),
    ],
)
def test_a_quoted_fact_stands_without_its_last_sign(text: str, found: str) -> None:
    """As it is listed among others."""
    assert found in [fact for fact, _ in facts(text)]


def test_what_a_summary_tells_of_is_summarized() -> None:
    """Only where it left, and the summary that is shown tells of it."""
    ctx = ContextBuilder(max_tokens=300, counter=WordCounter())
    ctx.extend(turns(20))
    ctx.add_user_message("last")
    gone = next(one for one in ctx.explain().outcomes if one.action == "evicted")
    unit = answer(1, 1).leave_out("why")
    summary = SimpleNamespace(item=ContextItem(role="user", content="s", id="s1"))

    def fate(unit: Unit, told: set[float], current: Any = summary) -> tuple[str, str]:
        fold: Any = SimpleNamespace(
            summaries=SimpleNamespace(current=current, told=told)
        )
        outcome = _covered(gone, unit, fold)
        return outcome.action, outcome.reason

    kept = (gone.action, gone.reason)
    assert fate(unit, {1.0}) == ("summarized", "summary s1 tells of it")
    assert fate(unit, {2.0}) == kept
    assert fate(unit, {1.0}, None) == kept
    assert fate(answer(1, 1), {1.0}) == kept


def test_an_item_that_was_left_out_at_once_is_told_of() -> None:
    """By what it would have taken, as history."""
    item = ContextItem(role="tool", content="a b c", id="i1", priority=4)
    outcome = _left_out(item, Mark("i1", "repaired", "no call"), RULES)
    assert (outcome.context_class, outcome.action) == ("history", "repaired")
    assert (outcome.tokens_before, outcome.tokens_after) == (4, 0)
    assert (outcome.reason, outcome.priority) == ("no call", 4)


def test_why_the_prefix_moved_when_words_were_taken_back() -> None:
    """What had left as well: the notice is worded anew."""
    ctx = ContextBuilder(max_tokens=300, counter=WordCounter())
    ctx.extend(turns(20))
    ctx.add_user_message("last")
    report = ctx.explain()
    gone = [one.item_id for one in report.outcomes if one.action == "evicted"]
    for name in gone:
        ctx.remove(name)
    moves = ctx.explain().prefix_moves
    assert "what was left out was taken back" in moves


def test_values_of_data_are_facts_as_they_are_up_to_a_length() -> None:
    """Longer ones, and those of several lines, are looked through."""
    value = "a b " * (_VALUE_CHARS // 4)
    for text, is_whole in ((value[:-1] + "c", True), (value + "c", False)):
        found = [fact for fact, _ in facts(f'{{"a": "{text}"}}')]
        assert (text in found) is is_whole
    assert "a\nb" not in [fact for fact, _ in facts('{"a": "a\\nb"}')]


def test_data_is_looked_at_whole_up_to_a_size() -> None:
    """Larger data are text."""
    most = 4 * _SCAN_CHARS
    assert _parsed("[1]".ljust(most)) == [1]
    assert _parsed("[1]".ljust(most + 1)) is None
    assert _parsed("x") is None
    assert _parsed("[") is None


def test_why_the_prefix_moved_when_a_summary_was_spoiled() -> None:
    """By a change of what it tells of."""
    ctx = ContextBuilder(
        max_tokens=300,
        counter=WordCounter(),
        summarizer=FakeSummarizer(returns="They talked."),
    )
    ctx.extend(turns(20))
    ctx.add_user_message("last")
    ctx.compact()
    told = [one for one in ctx.explain().outcomes if one.action == "summarized"]
    ctx.edit(told[0].item_id, content="never mind")
    moves = ctx.explain().prefix_moves
    assert "a summary told of what was changed or taken out" in moves


def test_the_system_prompt_is_told_of_with_its_priority() -> None:
    """It is kept, whatever happens."""
    ctx = ContextBuilder(max_tokens=300, counter=WordCounter(), system_prompt="Look.")
    ctx.add_user_message("?")
    first = ctx.explain().outcomes[0]
    assert (first.role, first.context_class, first.action) == ("system",) * 2 + (
        "kept",
    )
    assert first.tokens_before == first.tokens_after > 0
