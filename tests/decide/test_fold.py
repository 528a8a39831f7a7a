"""The fold: what the log says, decided entry by entry, whenever somebody asks."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from context_builder import BudgetExceededError, ContextBuilder, Settings
from context_builder.testing import WordCounter, tool_call, turns


def builder(max_tokens: int = 100_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), settings=Settings(**settings)
    )


def compacted() -> ContextBuilder:
    """Return a session of which the beginning was left out."""
    ctx = builder(300)
    ctx.extend(turns(20))
    ctx.add_user_message("last")
    assert ctx.explain().compactions
    return ctx


def said(ctx: ContextBuilder) -> str:
    """Return all that is said, as one text."""
    return "\n".join(str(message["content"]) for message in ctx.build())


def fate(ctx: ContextBuilder, item_id: str) -> str:
    """Return what became of an item."""
    return next(one.action for one in ctx.explain().outcomes if one.item_id == item_id)


def test_when_somebody_asks_changes_nothing() -> None:
    """Building after every entry gives what building once gives."""
    often, once = builder(400), builder(400)
    for message in turns(20, tools=True):
        often.extend([message])
        once.extend([message])
        if message["role"] != "assistant" or message["content"]:
            often.build()
    assert often.build() == once.build()
    assert often.explain() == once.explain()


def test_requests_extend_each_other_between_two_compactions() -> None:
    """A request begins with the one before unless a move is reported."""
    ctx = builder(600, recall_share=0)
    before: list[dict[str, Any]] = []
    moves = 0
    for message in turns(40):
        ctx.extend([message])
        now, report = ctx.build(), ctx.explain()
        if len(report.prefix_moves) == moves:
            assert now[: len(before)] == before
        before, moves = now, len(report.prefix_moves)
    assert 0 < moves < 20


def test_a_compaction_goes_down_to_the_low_mark() -> None:
    """So that the next is far away."""
    ctx = builder(1_000, recall_share=0)
    compactions = 0
    for message in turns(60):
        ctx.extend([message])
        report = ctx.explain()
        if report.compactions > compactions:
            assert report.tokens <= 650
        compactions = report.compactions
    assert compactions <= 12


@pytest.mark.parametrize("budget", [1_000, 2_000])
def test_a_compaction_is_rare_by_default(budget: int) -> None:
    """Never one for every question: the prompt cache has to survive some of them."""
    ctx = builder(budget)
    for message in turns(100, words=40):
        ctx.extend([message])
        ctx.build()
    assert len(ctx.explain().prefix_moves) <= 40


def test_a_question_costs_no_more_in_a_long_session() -> None:
    """Work for an appended message does not grow with what came before."""

    def calls(count: int) -> int:
        ctx = builder(1_000)
        ctx.extend(turns(count))
        ctx.add_user_message("why")  # the first question indexes what left
        ctx.build()
        ctx.add_user_message("why because answer question")
        seen = 0

        def watch(frame: object, event: str, arg: object) -> None:
            nonlocal seen
            del frame, arg
            seen += event in {"call", "c_call"}

        sys.setprofile(watch)
        try:
            ctx.build()
        finally:
            sys.setprofile(None)
        return seen

    assert calls(1_000) < 2 * calls(100)


def test_a_message_that_is_appended_is_counted_alone() -> None:
    """Nothing old is counted again, compaction or not."""

    class Counting(WordCounter):
        """Remembers what it was asked."""

        texts: list[str] = []  # noqa: RUF012  one test, one list

        def count(self, text: str) -> int:
            self.texts.append(text)
            return super().count(text)

    ctx = ContextBuilder(max_tokens=100_000, counter=Counting())
    ctx.extend(turns(200))
    ctx.build()
    Counting.texts.clear()
    ctx.add_user_message("one more")
    ctx.build()
    assert Counting.texts == ["one more"]


def test_what_does_not_fit_is_an_error_and_changes_nothing() -> None:
    """Once the obstacle is gone, everything is as if it had not been there."""
    ctx = builder(200)
    ctx.extend(turns(2))
    before = ctx.build()
    huge = ctx.add_message("user", "word " * 900, pinned=True, source="event")
    assert huge is not None
    with pytest.raises(BudgetExceededError) as error:
        ctx.build()
    assert error.value.needed_tokens > error.value.limit_tokens == 200
    assert sum(error.value.parts.values()) == error.value.needed_tokens
    ctx.remove(huge.id)
    assert ctx.build() == before


def test_a_pending_call_holds_its_place_and_is_told() -> None:
    """A stand-in stands where the result will be."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a"), tool_call("b")])
    ctx.add_tool_result("search", "one", tool_call_id="b")
    assert ctx.explain().pending_calls == 1
    assert [message["role"] for message in ctx.build()] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]


def test_tools_and_prompt_count_and_move_the_prefix() -> None:
    """They stand in front of everything."""
    ctx = builder()
    ctx.add_user_message("go")
    tokens = ctx.explain().tokens
    ctx.set_tools([{"name": "search", "description": "finds things"}])
    ctx.add_system_prompt("be brief")
    report = ctx.explain()
    assert report.tokens > tokens
    assert report.prefix_moves == ("new tools", "a new system prompt")


def test_a_build_while_a_call_waits_leaves_no_trace() -> None:
    """When somebody asks changes nothing, in between call and result either."""

    def session(*, asks: bool) -> ContextBuilder:
        ctx = builder(200)
        ctx.add_assistant_message("one w0")
        call = tool_call("a", arguments=json.dumps({"q": "z " * 20}))
        ctx.add_assistant_message("", tool_calls=[call, call])
        ctx.edit("i1", content="one " + " ".join(f"w{n % 7}" for n in range(60)))
        if asks:
            ctx.build()
        ctx.add_user_message("two w0")
        ctx.add_assistant_message("three w0")
        return ctx

    assert session(asks=True).build() == session(asks=False).build()


# --- edits, removals, rewinds ---------------------------------------------------------


def test_an_edit_shows_and_is_told() -> None:
    """The new text stands in the old place."""
    ctx = builder()
    ctx.extend(turns(3))
    ctx.edit("i3", content="changed")
    assert ctx.build()[2]["content"] == "changed"
    assert ctx.explain().prefix_moves == ("i3 was edited",)


def test_an_item_that_is_pinned_later_comes_back() -> None:
    """Pinned items are always there."""
    ctx = compacted()
    assert fate(ctx, "i1") == "evicted"
    ctx.edit("i1", pinned=True)
    assert "question 0" in said(ctx)


def test_a_pin_can_be_taken_off() -> None:
    """Then the unit yields like any other."""
    ctx = builder(300)
    ctx.add_user_message("go")
    calls = [tool_call("a"), tool_call("b")]
    ctx.add_assistant_message("", tool_calls=calls, pinned=True)
    ctx.add_tool_result("search", "old", tool_call_id="a", cache_key="k")
    ctx.add_tool_result("search", "new", tool_call_id="b", cache_key="k")
    ctx.edit("i2", pinned=False)
    ctx.extend(turns(20))
    assert fate(ctx, "i2") == "evicted"


def test_an_item_that_is_made_optional_is_the_first_to_go() -> None:
    """As if it had come in as background."""
    ctx = builder(320)
    ctx.add_user_message("a " * 60)
    ctx.add_assistant_message("b " * 60)
    ctx.edit("i2", optional=True)
    ctx.add_user_message("c " * 60)
    ctx.add_user_message("d " * 160)
    reasons = {one.item_id: one.reason for one in ctx.explain().outcomes}
    assert "optional background" in reasons["i2"]
    assert "optional background" not in reasons["i1"]


@pytest.mark.parametrize("act", ["rewind", "remove"])
def test_the_question_that_becomes_the_latest_is_there(act: str) -> None:
    """The latest user message is never missing, however it became the latest."""
    ctx = builder(300)
    ctx.add_user_message("the question " + "what " * 40)
    ctx.add_assistant_message("so " * 60)
    ctx.add_user_message("why " * 230)
    assert fate(ctx, "i1") == "evicted"
    if act == "rewind":
        ctx.rewind("i1")
    else:
        ctx.remove("i3")
    assert "the question" in said(ctx)


@pytest.mark.parametrize("act", ["clear", "rewind"])
def test_the_notice_goes_with_what_it_speaks_of(act: str) -> None:
    """Where nothing is left out, nothing says so."""
    ctx = compacted()
    if act == "clear":
        ctx.clear()
        assert ctx.build() == []
    else:
        ctx.add_message("user", "kept", pinned=True)
        for number in range(1, 42):
            ctx.remove(f"i{number}")
        assert [message["content"] for message in ctx.build()] == ["kept"]


def test_the_stable_part_shrinks_with_what_is_taken_out_of_it() -> None:
    """Cache marks stand where the last compaction ended."""
    ctx = compacted()
    ctx.extend(turns(1))
    ctx.build()
    fold = next(iter(ctx._targets.values()))._fold
    stable = [one.id for one in fold.shown.live[: fold.stable_units]]
    ctx.remove(f"i{stable[0]}")
    ctx.build()
    assert [one.id for one in fold.shown.live[: fold.stable_units]] == stable[1:]


def test_what_a_vendor_cannot_say_does_not_break_the_session() -> None:
    """Once it is taken out, the vendor is served again."""
    ctx = builder()
    odd = ctx.add_user_message([{"type": "file", "url": "https://a.org/b.pdf"}])
    assert odd is not None
    (part,) = ctx.build()[0]["content"]
    assert part["type"] == "text"  # described, and told in the report
    assert "address" in ctx.explain().repairs[0]
    ctx.remove(odd.id)
    ctx.add_user_message("go")
    assert ctx.build() == [{"role": "user", "content": "go"}]


@pytest.mark.parametrize("act", ["clear", "remove", "edit"])
def test_what_was_taken_back_is_said_nowhere(act: str) -> None:
    """Not in the digest of what left, and not as a recalled passage either."""
    ctx = builder(600)
    ctx.add_user_message("The door code of Zanzibar is 4711.")
    ctx.extend(turns(20))
    assert fate(ctx, "i1") == "evicted"
    if act == "clear":
        ctx.clear()
    elif act == "remove":
        ctx.remove("i1")
    else:
        ctx.edit("i1", content="The door code of Zanzibar is not yours to know.")
    ctx.add_user_message("What is the door code of Zanzibar?")
    assert "4711" not in said(ctx)


# --- units that are put together again ------------------------------------------------


@pytest.mark.parametrize("act", ["rewind", "remove"])
def test_taking_back_a_second_answer_makes_the_first_valid(act: str) -> None:
    """A call that was answered does not become unanswered."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    ctx.add_tool_result("search", "first", tool_call_id="a")
    ctx.add_tool_result("search", "second", tool_call_id="a")
    if act == "rewind":
        ctx.rewind("i3")
    else:
        ctx.remove("i4")
    assert "first" in said(ctx)


def test_an_early_result_waits_again_when_its_call_is_taken_back() -> None:
    """What came before the point of a rewind is still there."""
    ctx = builder()
    ctx.add_tool_result("search", "early", tool_call_id="a")
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    ctx.rewind("i2")
    assert [one.item_id for one in ctx.explain().outcomes] == ["i1", "i2"]
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    assert "early" in said(ctx)


def test_an_early_result_can_be_edited() -> None:
    """The newest version is what its call gets."""
    ctx = builder()
    ctx.add_user_message("go")
    early = ctx.add_tool_result("search", "early", tool_call_id="a")
    ctx.edit(early.id, content="changed")
    ctx.add_assistant_message("", tool_calls=[tool_call("a")])
    assert "changed" in said(ctx)


def test_an_item_left_out_as_broken_comes_in_when_it_is_mended() -> None:
    """An edit that says something is shown."""
    ctx = builder()
    ctx.add_user_message("go")
    half = tool_call("a", arguments='{"path": "isl')
    broken = ctx.add_assistant_message("", tool_calls=[half], partial=True)
    assert broken is not None
    ctx.edit(broken.id, content="mended")
    assert "mended" in said(ctx)


def test_calls_of_one_id_find_their_results_after_a_removal() -> None:
    """A repair of ids is remembered."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_assistant_message("", tool_calls=[tool_call("a"), tool_call("a")])
    other = ctx.add_user_message("other")
    assert other is not None
    ctx.remove(other.id)
    ctx.add_tool_result("search", "first", tool_call_id="a")
    ctx.add_tool_result("search", "second", tool_call_id="a")
    assert "first" in said(ctx)
    assert "second" in said(ctx)


# --- what goes out is well-formed -----------------------------------------------------


def test_a_part_of_nothing_but_nuls_is_left_out() -> None:
    """No empty text reaches a vendor."""
    ctx = builder()
    ctx.add_user_message(
        [{"type": "text", "text": "\0"}, {"type": "text", "text": "hi"}]
    )
    assert ctx.build()[0]["content"] in ("hi", [{"type": "text", "text": "hi"}])


def test_a_note_without_text_is_not_sent_empty() -> None:
    """A picture in a system message leaves no empty message behind."""
    ctx = builder()
    ctx.add_user_message("go")
    ctx.add_message("system", [{"type": "image", "url": "https://a.org/b.png"}])
    assert all(message["content"] for message in ctx.build())


@pytest.mark.parametrize("where", ["name", "source", "call id", "file", "tools"])
def test_half_a_surrogate_pair_never_goes_out(where: str) -> None:
    """Every text of a request can be encoded."""
    bad = "x\ud83d"
    ctx = builder()
    if where == "name":
        ctx.add_user_message("go", name=bad)
    elif where == "source":
        ctx.add_message("user", "go", source=bad)
    elif where == "call id":
        ctx.add_assistant_message("", tool_calls=[tool_call(bad)])
    elif where == "file":
        ctx.add_user_message([{"type": "file", "text": bad}])
    else:
        ctx.add_user_message("go")
        ctx.set_tools([{"name": "f", "description": bad}])
    json.dumps(ctx.request(model="gpt-4o"), ensure_ascii=False).encode()
