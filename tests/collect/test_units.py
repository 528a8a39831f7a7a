"""Units: calls with their results, and the repair of broken histories."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from context_builder import ContextBuilder, ContextItem, Report
from context_builder.collect import Grouper
from context_builder.items import ItemRemoved
from context_builder.testing import WordCounter, tool_call


def builder() -> ContextBuilder:
    """Return a builder with room for everything."""
    return ContextBuilder(max_tokens=100_000, counter=WordCounter())


def said(ctx: ContextBuilder) -> list[tuple[str, Any]]:
    """Return role and text (or the ids of the calls) of every message."""
    return [
        (
            message["role"],
            [call["id"] for call in message["tool_calls"]]
            if message.get("tool_calls")
            else message["content"],
        )
        for message in ctx.build()
    ]


def fate(report: Report, item_id: str) -> tuple[str, str]:
    """Return what became of an item, and why."""
    outcome = next(one for one in report.outcomes if one.item_id == item_id)
    return outcome.action, outcome.reason


def call(*ids: str) -> dict[str, Any]:
    """Return a message that makes calls."""
    calls = [tool_call(call_id) for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str) -> dict[str, Any]:
    """Return a message that answers a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


ASK: dict[str, Any] = {"role": "user", "content": "go"}


def test_results_stand_behind_their_call_in_call_order() -> None:
    """Parallel results that come in another order are put in the order of the calls."""
    ctx = builder()
    ctx.extend([ASK, call("a", "b"), result("b", "two"), result("a", "one")])
    assert said(ctx)[1:] == [
        ("assistant", ["a", "b"]),
        ("tool", "one"),
        ("tool", "two"),
    ]


def test_an_orphan_result_is_left_out_and_reported() -> None:
    """A result whose call never came is not sent, and the report says so."""
    ctx = builder()
    ctx.extend([result("gone", "text"), ASK])
    assert said(ctx) == [("user", "go")]
    assert fate(ctx.explain(), "i1") == (
        "repaired",
        "left out: there is no call that it answers",
    )


def test_a_result_before_its_call_is_put_behind_it() -> None:
    """Wrong order is made right when the call comes."""
    ctx = builder()
    ctx.extend([ASK, result("a", "early"), call("a")])
    assert said(ctx) == [("user", "go"), ("assistant", ["a"]), ("tool", "early")]
    assert fate(ctx.explain(), "i2") == ("repaired", "put behind its call")


def test_an_unanswered_call_gets_a_stand_in_that_does_not_read_like_success() -> None:
    """A call that never finished is answered by words that say so."""
    ctx = builder()
    ctx.extend([ASK, call("a"), {"role": "user", "content": "stop"}])
    assert said(ctx)[2] == ("tool", "[no result: this call did not finish]")
    assert fate(ctx.explain(), "i2")[0] == "repaired"


def test_a_late_result_replaces_its_stand_in_and_the_prefix_move_is_told() -> None:
    """A result that comes after its turn goes where it belongs, once."""
    ctx = builder()
    ctx.extend([ASK, call("a"), {"role": "user", "content": "stop"}])
    moves = len(ctx.explain().prefix_moves)
    ctx.add_tool_result("search", "late", tool_call_id="a")
    assert said(ctx)[1:3] == [("assistant", ["a"]), ("tool", "late")]
    assert len(ctx.explain().prefix_moves) == moves + 1


def test_the_same_result_twice_shows_once() -> None:
    """An equal second answer is ignored, and reported as a duplicate."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one"), result("a", "one")])
    assert [text for role, text in said(ctx) if role == "tool"] == ["one"]
    assert fate(ctx.explain(), "i4")[0] == "deduplicated"


def test_another_answer_to_the_same_call_replaces_in_place() -> None:
    """The newer of two different answers is the one that shows."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one"), result("a", "two")])
    assert [text for role, text in said(ctx) if role == "tool"] == ["two"]
    assert fate(ctx.explain(), "i3")[0] == "deduplicated"


def test_an_id_used_again_later_is_a_new_call() -> None:
    """Vendors reuse ids: an answered id names a new call when it comes again."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one"), ASK, call("a"), result("a", "two")])
    assert [text for role, text in said(ctx) if role == "tool"] == ["one", "two"]


def test_two_calls_of_one_message_with_one_id_get_different_ids() -> None:
    """Each call of a message has an id of its own, and each result finds its call."""
    ctx = builder()
    ctx.extend([ASK, call("a", "a"), result("a", "one"), result("a", "two")])
    messages = ctx.build()
    ids = [one["id"] for one in messages[1]["tool_calls"]]
    assert len(set(ids)) == 2
    answers = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    assert [answers[call_id] for call_id in ids] == ["one", "two"]


def test_a_result_without_id_answers_the_newest_open_call_of_its_tool() -> None:
    """The simple door needs no id."""
    ctx = builder()
    ctx.extend([ASK, call("a"), {"role": "user", "content": "again"}, call("b")])
    ctx.add_tool_result("search", "for b")
    assert said(ctx)[-1] == ("tool", "for b")
    assert ctx.build()[-1]["tool_call_id"] == "b"


def test_a_result_nobody_asked_for_gets_a_call_of_its_own() -> None:
    """A result alone is shown as an answered call, so that a vendor takes it."""
    ctx = builder()
    ctx.add_user_message("go")
    item = ctx.add_tool_result("search", "found")
    messages = ctx.build()
    assert messages[1]["tool_calls"][0]["function"]["name"] == "search"
    assert messages[2]["content"] == "found"
    assert fate(ctx.explain(), item.id)[0] == "repaired"


def test_an_empty_result_keeps_its_place_with_words() -> None:
    """A tool that returned nothing still answers its call."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", " \n")])
    assert said(ctx)[-1] == ("tool", "(no output)")


def test_a_call_cut_off_inside_its_arguments_is_taken_out() -> None:
    """Half a call is never sent; the text beside it stays and says that it was cut."""
    ctx = builder()
    ctx.add_user_message("go")
    half = tool_call("a", arguments='{"path": "isl')
    ctx.add_assistant_message("Saving.", tool_calls=[half], partial=True)
    assert said(ctx)[-1] == (
        "assistant",
        "Saving.\n[cut off here: the answer was interrupted]",
    )


def test_arguments_that_are_no_object_are_wrapped() -> None:
    """What a model wrote instead of JSON is kept, inside an object."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a", arguments="not json")])
    arguments = ctx.build()[1]["tool_calls"][0]["function"]["arguments"]
    assert arguments == '{"_raw": "not json"}'


@pytest.mark.parametrize(
    "arguments", ['{"a": "\\ud83d"}', '{"a": "x\\u0000y"}', '{"a": "\ud83d"}']
)
def test_arguments_hide_no_unpaired_surrogate_and_no_nul(arguments: str) -> None:
    """An escape in the arguments is no back door for what vendors refuse."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a", arguments=arguments)])
    sent = ctx.build()[1]["tool_calls"][0]["function"]["arguments"]
    value = json.loads(sent)["a"]
    assert "\0" not in value
    value.encode("utf-8")


def test_unpaired_surrogates_are_replaced_on_the_way_out_only() -> None:
    """The log keeps what came in; the request is well-formed."""
    ctx = builder()
    item = ctx.add_user_message("bad \ud83d and \0 end")
    assert item is not None
    assert ctx.build()[0]["content"] == "bad \ufffd and  end"
    assert ctx.items[0].content == "bad \ud83d and \0 end"
    assert fate(ctx.explain(), item.id)[0] == "repaired"


def test_removing_a_call_leaves_its_results_out() -> None:
    """A result does not outlive its call."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one")])
    ctx.remove("i2")
    assert said(ctx) == [("user", "go")]
    assert fate(ctx.explain(), "i3")[0] == "repaired"


def test_removing_a_result_opens_its_call_again() -> None:
    """The call stays, answered by a stand-in, and can be answered anew."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one")])
    ctx.remove("i3")
    assert said(ctx)[-1] == ("tool", "[no result: this call did not finish]")
    ctx.add_tool_result("search", "again", tool_call_id="a")
    assert said(ctx)[-1] == ("tool", "again")


def test_rewinding_into_a_round_opens_the_calls_answered_later() -> None:
    """After a rewind only what came before it is there."""
    ctx = builder()
    ctx.extend([ASK, call("a", "b"), result("a", "one"), result("b", "two")])
    ctx.rewind("i3")
    assert [text for role, text in said(ctx) if role == "tool"] == [
        "one",
        "[no result: this call did not finish]",
    ]


def test_rewind_and_build_regenerates() -> None:
    """Rewinding to the question takes its answer out, and the log keeps it."""
    ctx = builder()
    question = ctx.add_user_message("go")
    ctx.add_assistant_message("bad answer")
    assert question is not None
    ctx.rewind(question.id)
    assert said(ctx) == [("user", "go")]
    ctx.add_assistant_message("good answer")
    assert said(ctx) == [("user", "go"), ("assistant", "good answer")]
    assert [item.text for item in ctx.items] == ["go", "bad answer", "good answer"]


def test_an_id_that_a_repair_would_take_stays_with_its_own_call() -> None:
    """Each result answers the call that asked for it under this very id."""
    ctx = builder()
    ctx.extend([ASK, call("a", "a", "a_2")])
    ctx.extend([result("a", "one"), result("a", "two"), result("a_2", "three")])
    messages = ctx.build()
    ids = [one["id"] for one in messages[1]["tool_calls"]]
    assert (len(set(ids)), ids[2]) == (3, "a_2")
    assert [m["content"] for m in messages[2:]] == ["one", "two", "three"]


def test_the_same_answer_twice_survives_the_removal_of_one() -> None:
    """The equal second answer takes the place of the first."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one"), result("a", "one")])
    ctx.remove("i3")
    assert said(ctx)[-1] == ("tool", "one")
    assert [one.item_id for one in ctx.explain().outcomes] == ["i1", "i2", "i4"]


def test_an_edit_of_the_answer_that_shows_is_not_undone_by_its_double() -> None:
    """What was edited stays as it was edited."""
    ctx = builder()
    ctx.extend([ASK, call("a"), result("a", "one"), result("a", "one")])
    ctx.edit("i3", content="edited")
    assert said(ctx)[-1] == ("tool", "edited")


def test_a_mended_question_comes_in_at_its_place_and_opens_a_turn() -> None:
    """What came later stays behind it, and the move of the prefix is told."""
    ctx = builder()
    ctx.extend([ASK, {"role": "user", "content": "\0"}, call("a"), result("a", "one")])
    moves = len(ctx.explain().prefix_moves)
    ctx.edit("i2", content="mended")
    assert [text for _, text in said(ctx)] == ["go", "mended", ["a"], "one"]
    assert len(ctx.explain().prefix_moves) == moves + 1


@pytest.mark.parametrize("depth", [600, 5_000])
@pytest.mark.parametrize("target", ["openai", "anthropic", "gemini"])
def test_arguments_without_a_bottom_are_wrapped(target: str, depth: int) -> None:
    """They are kept as text, inside an object."""
    ctx = builder()
    deep = '{"a": ' + "[" * depth + '"\\ud83d"' + "]" * depth + "}"
    ctx.extend([ASK])
    ctx.add_assistant_message("", tool_calls=[tool_call("a", arguments=deep)])
    ctx.add_tool_result("search", "x", tool_call_id="a")
    assert "_raw" in str(ctx.build(target))


def test_a_removal_costs_no_more_in_a_long_session() -> None:
    """Taking back is work for what is taken back."""
    grouper = Grouper()
    for number in range(1, 4_001):
        grouper.feed(ContextItem(role="user", content="x", id=f"i{number}"))
    started = time.process_time()
    for number in range(1, 4_001):
        grouper.feed(ItemRemoved(f"i{number}"))
    assert time.process_time() - started < 1
