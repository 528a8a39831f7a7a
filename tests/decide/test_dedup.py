"""One key, one item: the newer supersedes, equal content is said once."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from context_builder import BudgetExceededError, ContextBuilder, Settings
from context_builder.testing import WordCounter, tool_call, turns


def builder(max_tokens: int = 100_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), settings=Settings(**settings)
    )


def said(ctx: ContextBuilder) -> str:
    """Return all that is said, as one text."""
    return "\n".join(str(message["content"]) for message in ctx.build())


def fates(ctx: ContextBuilder) -> dict[str, str]:
    """Return what became of each item."""
    return {one.item_id: one.action for one in ctx.explain().outcomes}


def read(ctx: ContextBuilder, call_id: str, text: str, **fields: Any) -> str:
    """Add a turn that reads a file, and return the id of the result."""
    ctx.add_user_message("read it")
    ctx.add_assistant_message("", tool_calls=[tool_call(call_id)])
    return ctx.add_tool_result("search", text, tool_call_id=call_id, **fields).id


def prices(*names: str) -> ContextBuilder:
    """Return a session with one memory after the other under one key."""
    ctx = builder()
    for name in names:
        ctx.add_memory(f"price {name}", cache_key="price")
    ctx.add_user_message("go")
    return ctx


def test_items_without_a_key_are_never_doubles() -> None:
    """Saying the same twice may be meant."""
    ctx = builder()
    ctx.add_memory("tea")
    ctx.add_memory("tea")
    assert said(ctx).count("tea") == 2


def test_only_the_newest_of_a_chain_shows() -> None:
    """A, then B, then C: C is what holds."""
    ctx = prices("A", "B", "C")
    assert "price C" in said(ctx)
    assert fates(ctx) == {
        "i1": "deduplicated",
        "i2": "deduplicated",
        "i3": "kept",
        "i4": "kept",
    }


@pytest.mark.parametrize("order", [("i3", "i2"), ("i3", "i1"), ("i1", "i3")])
def test_taking_back_the_newest_makes_the_one_before_valid(
    order: tuple[str, str],
) -> None:
    """Whatever is taken out, the newest that is left is what holds."""
    ctx = prices("A", "B", "C")
    left = {"i1": "A", "i2": "B", "i3": "C"}
    for item_id in order:
        ctx.remove(item_id)
        del left[item_id]
        assert f"price {left[max(left)]}" in said(ctx)
        assert said(ctx).count("price") == 1


@pytest.mark.parametrize("order", [("i2", "i3"), ("i2", "i1")])
def test_taking_out_the_middle_of_a_chain_brings_nothing_back(
    order: tuple[str, str],
) -> None:
    """A stale item gave way to the newest as well, not only to its follower."""
    ctx = prices("A", "B", "C")
    left = {"i1": "A", "i2": "B", "i3": "C"}
    for item_id in order:
        ctx.remove(item_id)
        del left[item_id]
        assert f"price {left[max(left)]}" in said(ctx)
        assert said(ctx).count("price") == 1


def test_a_superseded_result_keeps_its_pair_and_says_so() -> None:
    """Its call stays answered, by words that name what holds now."""
    ctx = builder()
    older = read(ctx, "a", "version 1", cache_key="file")
    newer = read(ctx, "b", "version 2", cache_key="file")
    assert "version 1" not in said(ctx)
    assert f"superseded by a newer result ({newer})" in said(ctx)
    assert fates(ctx)[older] == "deduplicated"


def test_two_results_of_one_round_may_share_a_key() -> None:
    """The later of them holds."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a"), tool_call("b")])
    ctx.add_tool_result("search", "version 1", tool_call_id="a", cache_key="file")
    ctx.add_tool_result("search", "version 2", tool_call_id="b", cache_key="file")
    assert "version 2" in said(ctx)
    assert "version 1" not in said(ctx)


def test_what_supersedes_inherits_the_pin_and_the_priority() -> None:
    """What was worth keeping stays worth keeping."""
    ctx = builder(300)
    ctx.add_memory("price 3", cache_key="price", pinned=True)
    ctx.add_memory("price 4", cache_key="price")
    ctx.extend(turns(20))
    assert "price 4" in said(ctx)


def test_superseding_is_told_as_a_move_of_the_prefix() -> None:
    """The prompt cache ends where the older stood."""
    ctx = builder()
    ctx.add_memory("price 3", cache_key="price")
    ctx.add_user_message("go")
    moves = len(ctx.explain().prefix_moves)
    ctx.add_memory("price 4", cache_key="price")
    assert ctx.explain().prefix_moves[moves:] == ("i1 was superseded by i3",)


def test_equal_content_is_referred_to_and_comes_back() -> None:
    """When the older is taken out, the newer is whole again."""
    ctx = builder()
    older = read(ctx, "a", "the text", cache_key="file")
    newer = read(ctx, "b", "the text", cache_key="file")
    assert said(ctx).count("the text") == 1
    ctx.remove(older)
    assert said(ctx).count("the text") == 1
    assert fates(ctx)[newer] == "kept"


def test_equal_content_is_said_again_once_the_older_is_not_whole() -> None:
    """A reference to what nobody can read is worth nothing."""
    ctx = builder(700)
    read(ctx, "a", "alpha " + "row " * 100, cache_key="file")
    ctx.extend(turns(8, words=80))
    newer = read(ctx, "b", "alpha " + "row " * 100, cache_key="file")
    assert fates(ctx)[newer] == "kept"


def test_what_is_referred_to_stays_as_long_as_what_refers_to_it() -> None:
    """A result of the current turn is readable somewhere in the request."""
    ctx = builder(600)
    read(ctx, "a", "alpha " + "row " * 150, cache_key="file")
    read(ctx, "b", "alpha " + "row " * 150, cache_key="file")
    for number in range(3):
        ctx.add_assistant_message("", tool_calls=[tool_call(f"d{number}")])
        ctx.add_tool_result("search", "other " * 120, tool_call_id=f"d{number}")
    assert "alpha" in said(ctx)


def referring(*, refer: int = 2) -> tuple[ContextBuilder, list[str]]:
    """Return a session in which results refer to an older one, and a compaction."""
    ctx = builder(600)
    text = "alpha " + "row " * 150
    ids = [read(ctx, f"r{n}", text, cache_key="file") for n in range(refer + 1)]
    assert said(ctx).count("alpha") == 1
    for number in range(3):
        ctx.add_assistant_message("", tool_calls=[tool_call(f"d{number}")])
        ctx.add_tool_result("search", "other " * 130, tool_call_id=f"d{number}")
    assert ctx.explain().compactions
    return ctx, ids


@pytest.mark.parametrize("refer", [1, 2, 3])
def test_a_compaction_shows_equal_content_where_it_came_in_last(refer: int) -> None:
    """Once, and nothing refers to a place where it is not."""
    ctx, ids = referring(refer=refer)
    assert said(ctx).count("alpha") == 1
    told = {one.item_id: one for one in ctx.explain().outcomes}
    assert told[ids[-1]].action != "deduplicated"
    for item_id in ids[:-1]:
        assert told[item_id].reason == f"the same content as {ids[-1]}"
    assert not any(f"earlier result {item_id}" in said(ctx) for item_id in ids)


def test_what_shows_the_content_now_holds_the_key() -> None:
    """Equal content refers to it, other content supersedes it, and its end is seen."""
    ctx, ids = referring()
    text = "alpha " + "row " * 150
    again = read(ctx, "again", text, cache_key="file")
    if fates(ctx)[again] == "deduplicated":
        assert said(ctx).count("alpha") == 1
    ctx, ids = referring()
    newer = read(ctx, "new", "beta", cache_key="file")
    assert "alpha" not in said(ctx)
    assert fates(ctx)[newer] == "kept"
    ctx, ids = referring()
    ctx.remove(ids[-1])
    assert fates(ctx)[ids[-2]] != "deduplicated"


def test_a_pinned_result_goes_on_showing_what_others_refer_to() -> None:
    """It never leaves, so nothing is handed on."""
    ctx = builder(600)
    text = "alpha " + "row " * 150
    older = read(ctx, "a", text, cache_key="file", pinned=True)
    newer = read(ctx, "b", text, cache_key="file")
    for number in range(3):
        ctx.add_assistant_message("", tool_calls=[tool_call(f"d{number}")])
        ctx.add_tool_result("search", "other " * 130, tool_call_id=f"d{number}")
    assert ctx.explain().compactions
    assert fates(ctx)[older] == "kept"
    assert fates(ctx)[newer] == "deduplicated"
    assert said(ctx).count("alpha") == 1


def test_a_sliding_window_does_not_part_a_reference_from_its_content() -> None:
    """What refers to a result outside of the window shows it."""
    ctx = builder(keep_last_turns=2)
    read(ctx, "a", "alpha is here", cache_key="file")
    read(ctx, "b", "alpha is here", cache_key="file")
    ctx.add_user_message("and now?")
    assert said(ctx).count("alpha is here") == 1
    assert "Unchanged" not in said(ctx)


@pytest.mark.parametrize("kind", ["memory", "assistant", "result"])
def test_the_latest_user_message_is_not_superseded_by_what_nobody_said(
    kind: str,
) -> None:
    """The question stays, whatever shares its key."""
    ctx = builder()
    ctx.add_user_message("the question", cache_key="k")
    if kind == "memory":
        ctx.add_memory("other", cache_key="k")
    elif kind == "assistant":
        ctx.add_assistant_message("other", cache_key="k")
    else:
        ctx.add_tool_result("search", "other", cache_key="k")
    assert "the question" in said(ctx)


def test_a_superseded_question_does_not_break_the_session() -> None:
    """A build gives a request, or says what is too large."""
    ctx = builder(60)
    picture = {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}}
    ctx.add_user_message([{"type": "text", "text": "see"}, picture], pinned=True)
    ctx.add_assistant_message("so")
    ctx.add_user_message("one")
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    ctx.add_tool_result("search", "found", tool_call_id="a")
    ctx.add_user_message("two", cache_key="k")
    ctx.add_assistant_message("three", cache_key="k")
    with contextlib.suppress(BudgetExceededError):
        ctx.build()


def test_a_double_that_is_edited_is_no_double_any_more() -> None:
    """Other content under the key supersedes, however it came to be."""
    ctx = builder()
    ctx.add_memory("price 3", cache_key="price")
    ctx.add_memory("price 3", cache_key="price")
    ctx.add_user_message("go")
    ctx.edit("i2", content="price 4")
    assert "price 4" in said(ctx)
    assert "price 3" not in said(ctx)


@pytest.mark.parametrize("change", [{"metadata": {"a": 1}}, {"priority": 60}])
def test_an_edit_of_a_stale_result_does_not_make_it_valid(
    change: dict[str, Any],
) -> None:
    """The newer result is what holds."""
    ctx = builder()
    older = read(ctx, "a", "version 1", cache_key="file")
    read(ctx, "b", "version 2", cache_key="file")
    ctx.edit(older, **change)
    assert "version 2" in said(ctx)
    assert "version 1" not in said(ctx)


def test_calls_of_one_key_are_not_equal_because_neither_says_a_word() -> None:
    """What the assistant asked for is part of what it said."""
    ctx = builder()
    for number in range(2):
        ctx.add_user_message("go")
        call = tool_call(f"c{number}", arguments=f'{{"page": {number}}}')
        ctx.add_assistant_message("", tool_calls=[call], cache_key="k")
        ctx.add_tool_result("search", f"r{number}", tool_call_id=f"c{number}")
    assert "Unchanged" not in said(ctx)


def chain(*contents: str) -> ContextBuilder:
    """Return a session in which one file was read again and again."""
    ctx = builder()
    for number, text in enumerate(contents):
        read(ctx, f"c{number}", text * 12, cache_key="file")
    return ctx


def results(ctx: ContextBuilder) -> list[str]:
    """Return the beginnings of what the results say."""
    texts = (str(one["content"]) for one in ctx.build() if one["role"] == "tool")
    return [text.split("(")[0].split(":")[0].strip()[:24] for text in texts]


STALE = "[Out of date"


def test_what_refers_to_a_stale_result_is_stale_itself() -> None:
    """A, again A, then B: the second must not say that it is as the first was."""
    ctx = chain("alpha ", "alpha ", "beta ")
    assert results(ctx)[:2] == [STALE, STALE]
    assert "Unchanged" not in said(ctx)
    reasons = {one.item_id: one.reason for one in ctx.explain().removed}
    assert reasons["i3"] == reasons["i6"] == "superseded by i9, same key"


def test_of_equal_results_the_newest_comes_back() -> None:
    """When what superseded them is taken out; the others then refer to it."""
    ctx = chain("alpha ", "alpha ", "alpha ", "beta ")
    ctx.remove("i12")
    text = said(ctx)
    assert text.count("alpha " * 12) == 1
    assert text.count("[The same content as the newer result i9.]") == 2
    assert STALE not in text
    ctx.remove("i9")
    text = said(ctx)
    assert text.count("alpha " * 12) == 1
    assert text.count("[The same content as the newer result i6.]") == 1


def test_what_comes_back_after_a_detour_is_whole() -> None:
    """A, A, B, A: neither B nor the first two hold any more."""
    ctx = chain("alpha ", "alpha ", "beta ", "alpha ")
    assert results(ctx)[:3] == [STALE] * 3
    assert said(ctx).count("alpha " * 12) == 1


def test_equal_memories_leave_with_the_one_they_repeat() -> None:
    """And the newest of them comes back."""
    ctx = prices("A", "A", "B")
    assert said(ctx).count("price") == 1
    reasons = {one.item_id: one.reason for one in ctx.explain().removed}
    assert reasons == dict.fromkeys(["i1", "i2"], "superseded by i3, same key")
    ctx.remove("i3")
    assert said(ctx).count("price A") == 1
