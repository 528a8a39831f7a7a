"""The facade: doors, cache, settings, the log written and read, errors, threads."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    ContextBuilderError,
    ContextItem,
    InvalidItemError,
    ReasoningPart,
    RequestOptions,
    Settings,
    UnknownModelError,
    count_messages,
)
from context_builder.testing import WordCounter, tool_call, turns

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "search", "description": "finds things", "parameters": {}},
}


def builder(max_tokens: int = 100_000, **fields: Any) -> ContextBuilder:
    """Return a builder that counts words and knows no clock."""
    return ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), clock=lambda: 0.0, **fields
    )


def busy() -> ContextBuilder:
    """Return a session in which everything happened that can happen."""
    ctx = builder(900, system_prompt="be brief", tools=[TOOL])
    ctx.add_memory("likes tea", cache_key="drink")
    ctx.extend(turns(12, tools=True))
    ctx.add_memory("likes coffee", cache_key="drink", metadata={"from": ["chat"]})
    ctx.add_user_message(
        [
            {"type": "text", "text": "价格 \ud83d?"},
            {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}},
        ],
        name="ann",
    )
    ctx.add_assistant_message(
        "cut", reasoning=[ReasoningPart(provider="anthropic", text="hm")], partial=True
    )
    ctx.add_tool_result("search", {"a": 1}, is_error=True)
    ctx.edit("i4", content="edited", priority=85)
    ctx.remove("i6")
    ctx.add_system_prompt("be very brief")
    ctx.set_tools([])
    ctx.add_user_message("and then?")
    ctx.add_assistant_message("that was wrong")
    ctx.rewind(ctx.items[-2].id)
    return ctx


# --- what comes in --------------------------------------------------------------------


def test_every_door_gives_the_item_as_logged() -> None:
    """With its id and its time; a blank one gives None."""
    ctx = builder()
    first = ctx.add_user_message("hello")
    assert first is not None
    assert (first.id, first.timestamp) == ("i1", 0.0)
    assert ctx.items == (first,)
    assert ctx.add_user_message(" ") is None


def test_the_general_door_takes_no_results() -> None:
    """A result has a door of its own."""
    with pytest.raises(InvalidItemError, match="add_tool_result"):
        builder().add_message("tool", "x")


def test_what_is_refused_leaves_nothing_behind() -> None:
    """All of a history, or nothing of it."""
    ctx = builder()
    with pytest.raises(InvalidItemError):
        ctx.extend([{"role": "user", "content": "x"}, {"role": "narrator"}])
    assert (ctx.items, ctx.revision, ctx.build()) == ((), 0, [])


def test_the_first_system_message_is_the_prompt_and_later_ones_are_notes() -> None:
    """A note keeps its place."""
    ctx = builder()
    ctx.extend(
        [
            {"role": "system", "content": "prompt"},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "note"},
        ]
    )
    assert [m["role"] for m in ctx.build()] == ["system", "user", "system"]
    ctx.add_system_prompt("other")
    assert [m["content"] for m in ctx.build()] == ["other", "hi", "note"]


def test_a_callable_prompt_is_asked_at_each_user_message() -> None:
    """Its value enters the log; a build asks nobody."""
    asked = iter(["one", "two", "three"])
    ctx = builder(system_prompt=lambda: next(asked))
    ctx.add_user_message("hi")
    ctx.add_assistant_message("hello")
    assert ctx.build()[0]["content"] == ctx.build()[0]["content"] == "two"
    reloaded = ContextBuilder.load(ctx.dump(), max_tokens=1_000)
    assert reloaded.build()[0]["content"] == "two"


def test_the_prompt_can_be_taken_away() -> None:
    """By None, or by removing the item."""
    ctx = builder(system_prompt="be brief")
    ctx.add_user_message("hi")
    ctx.add_system_prompt(None)
    assert [m["role"] for m in ctx.build()] == ["user"]
    item = ctx.add_system_prompt("again")
    assert item is not None
    ctx.remove(item.id)
    assert [m["role"] for m in ctx.build()] == ["user"]


@pytest.mark.parametrize("prompt", [5, b"x", ["be brief"]])
def test_a_prompt_is_text_or_a_callable(prompt: Any) -> None:
    """Anything else is a typed error."""
    with pytest.raises(InvalidItemError):
        builder(system_prompt=prompt)
    with pytest.raises(InvalidItemError):
        builder(system_prompt=lambda: prompt)


def test_an_answer_comes_in_whole() -> None:
    """As the vendor's SDK gives it."""
    message = {"content": "Let me see.", "tool_calls": [tool_call("a")]}
    answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    ctx = builder()
    ctx.add_user_message("go")
    item = ctx.add_response(answer)
    assert item is not None
    assert [call.id for call in item.tool_calls] == ["a"]


def test_items_of_ones_own_come_in_as_one_entry() -> None:
    """And only items do."""
    ctx = builder()
    ctx.add_turn([ContextItem(role="user", content="x"), ContextItem(role="assistant")])
    assert len(ctx.log) == 1
    with pytest.raises(InvalidItemError) as error:
        ctx.add_turn([{"role": "user"}])  # type: ignore[list-item]
    assert error.value.field == "items[0]"


def test_a_prompt_without_text_is_ignored() -> None:
    """A picture alone is no system prompt."""
    ctx = builder()
    picture = [{"type": "image_url", "image_url": {"url": "https://a.org/b.png"}}]
    assert ctx.add_message("system", picture) is None


@pytest.mark.parametrize(
    "fields", [{"content": 5}, {"content": None}, {"content": [5]}, {"name": 5}]
)
def test_an_item_of_ones_own_is_checked_at_the_door(fields: dict[str, Any]) -> None:
    """Otherwise every build raises, and nothing can be done about it."""
    ctx = builder()
    with pytest.raises(InvalidItemError):
        ctx.add_turn([ContextItem(role="user", **fields)])
    ctx.build()


@pytest.mark.parametrize(
    "act",
    [
        lambda ctx: ctx.extend(None),
        lambda ctx: ctx.extend(5),
        lambda ctx: ctx.extend([], format=["openai"]),
        lambda ctx: ctx.add_turn(5),
        lambda ctx: ctx.set_tools(None),
        lambda ctx: ctx.edit(5, content="x"),
        lambda ctx: ctx.edit("i1", priority="high"),
        lambda ctx: ctx.remove(None),
        lambda ctx: ctx.rewind(5),
        lambda ctx: ctx.build(["openai"]),
        lambda ctx: ctx.build(model=5),
        lambda ctx: ctx.build(max_tokens="many"),
        lambda ctx: ctx.configure(max_tokens="many"),
        lambda ctx: ctx.configure(options={"temperature": 1}),
        lambda _: ContextBuilder(model=5),  # type: ignore[arg-type]
        lambda _: ContextBuilder(max_tokens=9, options={"temperature": 1}),  # type: ignore[arg-type]
        lambda _: ContextBuilder.load(None),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_a_typed_error_at_every_door(act: Any) -> None:
    """One class catches every error of the library."""
    ctx = builder()
    ctx.add_user_message("hi")
    with pytest.raises(ContextBuilderError):
        act(ctx)


@pytest.mark.parametrize(
    "options",
    [
        {"max_output_tokens": -5},
        {"max_output_tokens": "many"},
        {"thinking_budget_tokens": 0},
        {"response_format": "json"},
        {"tool_choice": 5},
    ],
)
def test_named_options_are_checked_like_options(options: dict[str, Any]) -> None:
    """What no vendor takes is refused at once."""
    with pytest.raises(InvalidItemError):
        builder(**options)


def test_a_budget_of_nothing_is_refused_for_one_build_as_well() -> None:
    """As it is for the session."""
    with pytest.raises(InvalidItemError):
        builder().build(max_tokens=0)


def test_a_memory_that_was_rated_stays_as_long_as_that_says() -> None:
    """Only what is optional, or was not rated, is the first to go."""
    ctx = builder(300)
    memory = ctx.add_memory("mem " * 60, optional=False, priority=95)
    assert memory is not None
    ctx.add_user_message("question " * 60)
    ctx.add_assistant_message("answer " * 60)
    ctx.add_user_message("again " * 100)
    fates = {one.item_id: one.action for one in ctx.explain().outcomes}
    assert fates[memory.id] == "kept"


# --- what is taken back ---------------------------------------------------------------


@pytest.mark.parametrize("act", ["edit", "remove", "rewind"])
def test_an_unknown_item_is_an_error(act: str) -> None:
    """And changes nothing."""
    ctx = builder()
    ctx.add_user_message("hi")
    with pytest.raises(InvalidItemError, match="no item 'i9'"):
        getattr(ctx, act)("i9")
    assert ctx.revision == 1


def test_the_prompt_can_be_edited() -> None:
    """It is an item like others."""
    ctx = builder(system_prompt="be brief")
    ctx.edit("i1", content="be long")
    ctx.add_system_prompt("be long")
    assert ctx.build() == [{"role": "system", "content": "be long"}]
    assert ctx.revision == 2


def test_a_rewind_keeps_prompt_and_tools_as_they_are_now() -> None:
    """They stand outside of the conversation."""
    ctx = builder()
    ctx.add_user_message("hi")
    ctx.add_assistant_message("hello")
    ctx.add_system_prompt("be brief")
    ctx.set_tools([TOOL])
    ctx.rewind("i1")
    request = ctx.request(model="gpt-4o")
    assert [m["role"] for m in request["messages"]] == ["system", "user"]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["search"]


@pytest.mark.parametrize(
    "act",
    [
        lambda ctx: ctx.rewind("i4"),
        lambda ctx: ctx.remove("i3"),
        lambda ctx: ctx.edit("i3", content="other"),
    ],
)
def test_a_change_that_changes_nothing_is_no_event(act: Any) -> None:
    """Rewinding to the end, or touching what was taken out."""
    ctx = builder()
    ctx.extend(turns(2))
    ctx.remove("i3")
    ctx.build()
    act(ctx)
    assert not ctx.is_dirty


# --- what goes out --------------------------------------------------------------------


def test_what_is_handed_out_belongs_to_the_caller() -> None:
    """Changing it changes no later build."""
    ctx = busy()
    before = ctx.request(model="gpt-4o")
    kept = json.dumps(before)
    spoilt = ctx.request(model="gpt-4o")
    for message in spoilt["messages"]:
        message["content"] = [{"text": "spoilt"}]
    spoilt["messages"].clear()
    ctx.build().clear()
    assert json.dumps(ctx.request(model="gpt-4o")) == kept


def test_what_was_handed_in_belongs_to_the_session() -> None:
    """Changing it afterwards changes no later build, and not the log."""
    format_: dict[str, Any] = {"type": "json_object"}
    metadata: dict[str, Any] = {"tags": ["a"]}
    ctx = builder(response_format=format_)
    ctx.add_user_message("hi", metadata=metadata)
    dumped = ctx.dump()
    metadata["tags"].append("b")
    format_["type"] = "text"
    assert ctx.dump() == dumped
    assert ctx.request(model="gpt-4o")["response_format"] == {"type": "json_object"}


def test_a_request_names_its_model_and_is_never_empty() -> None:
    """Both are errors that say so."""
    with pytest.raises(AdapterError, match="model="):
        builder().request()
    with pytest.raises(AdapterError, match="nothing to send"):
        builder().request(model="gpt-4o")


def test_options_are_sent_under_the_vendors_names() -> None:
    """Named arguments win over the options."""
    ctx = builder(
        max_output_tokens=50,
        tool_choice="auto",
        tools=[TOOL],
        options=RequestOptions(
            max_output_tokens=5, temperature=0.5, extra={"user": "u"}
        ),
    )
    ctx.add_user_message("hi")
    request = ctx.request(model="gpt-4o")
    assert request["max_completion_tokens"] == 50
    assert (request["temperature"], request["tool_choice"]) == (0.5, "auto")
    assert request["user"] == "u"


def test_a_build_for_another_budget_leaves_the_session_alone() -> None:
    """Each target has its own decision."""
    ctx = builder(900)
    ctx.extend(turns(20))
    before = ctx.build()
    assert len(ctx.build(max_tokens=200)) < len(before)
    assert ctx.build() == before


def test_more_targets_than_are_kept_are_worked_out_again() -> None:
    """What was let go comes back equal."""
    ctx = busy()
    first = ctx.build(max_tokens=500)
    for tokens in range(600, 1_800, 100):
        ctx.build(max_tokens=tokens)
    assert ctx.build(max_tokens=500) == first


def test_dirty_is_what_changed_since_the_last_build() -> None:
    """Each real change makes it so, each build ends it."""
    ctx = builder()
    seen = [ctx.is_dirty]
    ctx.add_user_message("hi")
    ctx.build()
    seen.append(ctx.is_dirty)
    ctx.set_tools([TOOL])
    seen.append(ctx.is_dirty)
    assert seen == [True, False, True]


def test_a_budget_too_small_is_an_error_until_it_is_raised() -> None:
    """The session itself is unharmed."""
    ctx = builder(20, system_prompt="word " * 40)
    ctx.add_user_message("hi")
    for _ in range(2):
        with pytest.raises(BudgetExceededError) as error:
            ctx.build()
    assert error.value.parts["system"] >= 40
    ctx.configure(max_tokens=100)
    assert len(ctx.build()) == 2


@pytest.mark.parametrize("max_tokens", [1, 2, 5, 10, 20, 40, 80])
def test_small_budgets_are_kept_or_refused(max_tokens: int) -> None:
    """Down to one token."""
    ctx = builder(max_tokens)
    ctx.extend(turns(5, tools=True))
    try:
        assert ctx.explain().tokens <= max_tokens
    except BudgetExceededError as error:
        assert error.needed_tokens > max_tokens  # noqa: PT017  it may, or may not, fit


def test_a_conversation_counts_as_much_as_its_request() -> None:
    """`count_messages` agrees with what a build of the same messages takes."""
    ctx = ContextBuilder(model="gpt-4o", system_prompt="be brief", tools=[TOOL])
    ctx.extend(turns(2))
    request = ctx.request()
    counted = count_messages(
        request["messages"], model="gpt-4o", tools=request["tools"]
    )
    assert counted == ctx.explain().tokens


# --- settings -------------------------------------------------------------------------


def test_settings_change_the_decision_from_the_log_on() -> None:
    """As if they had been so from the beginning."""
    ctx, other = builder(900), builder(900, settings=Settings(keep_last_turns=2))
    for one in (ctx, other):
        one.extend(turns(9))
    ctx.build()
    ctx.configure(settings=Settings(keep_last_turns=2))
    assert ctx.build() == other.build()
    ctx.configure(model="gpt-4o", max_tokens=None)
    assert ctx.budget_tokens == 89_600


def test_a_change_that_leaves_no_budget_is_undone() -> None:
    """The former settings stay."""
    ctx = builder(900)
    with pytest.raises(UnknownModelError):
        ctx.configure(model="no-such-model", max_tokens=None)
    with pytest.raises(InvalidItemError):
        ctx.configure(colour="red")
    assert (ctx.model, ctx.budget_tokens) == (None, 900)


def test_options_of_requests_change_by_their_names() -> None:
    """Beside those that stay; None takes one away, and the output's room with it."""
    ctx = ContextBuilder(context_window=10_000, options=RequestOptions(temperature=0.5))
    ctx.add_user_message("hi")
    free = ctx.budget_tokens
    ctx.configure(max_output_tokens=6_000)
    request = ctx.request(model="gpt-4o")
    assert (request["max_completion_tokens"], request["temperature"]) == (6_000, 0.5)
    assert ctx.budget_tokens == 4_000
    ctx.configure(max_output_tokens=None)
    assert "max_completion_tokens" not in ctx.request(model="gpt-4o")
    assert ctx.budget_tokens == free


@pytest.mark.parametrize(
    "change",
    [
        {"max_output_tokens": -1},
        {"summarizer": "gpt-4o"},
        {"summary_policy": {"min_tokens": 1}},
        {"hooks": print},
        {"max_tokens": 50, "hooks": print},
        {"tools": []},
    ],
)
def test_a_setting_that_is_none_changes_nothing(change: dict[str, Any]) -> None:
    """All of a change is made, or none of it."""
    ctx = builder(900)
    with pytest.raises(InvalidItemError):
        ctx.configure(**change)
    assert ctx.budget_tokens == 900


@pytest.mark.parametrize(
    "settings",
    [
        {"low_water": 1.0},
        {"low_water": 0.01, "room_share": 0.01},
        {"min_gain_share": 0.99},
        {"min_gain_share": 0},
        {"decay_per_turn": 100, "history_floor": 0},
        {"truncate_at": 0},
        {"truncate_at": 100},
        {"keep_recent_rounds": 10**6, "min_shortened_tokens": 10**6},
        {"tool_result_max_chars": 0},
        {"keep_last_turns": 1},
        {"recall_share": 1},
        {"digest_share": 1},
        {"recall_share": 0, "digest_share": 0, "reference_facts_tokens": 0},
    ],
)
def test_extreme_settings_keep_the_budget(settings: dict[str, Any]) -> None:
    """Whatever is asked for, fitting wins."""
    ctx = builder(400, settings=Settings(**settings))
    for message in turns(15, tools=True):
        ctx.extend([message])
        assert ctx.explain().tokens <= 400
    assert "question 14" in str(ctx.build())


# --- the log written and read ---------------------------------------------------------


def test_a_session_read_again_is_the_same() -> None:
    """Items, requests, reports, and the log itself."""
    ctx = busy()
    dumped = json.loads(json.dumps(ctx.dump()))
    other = ContextBuilder.load(
        dumped, max_tokens=900, counter=WordCounter(), clock=lambda: 0.0
    )
    assert other.items == ctx.items
    assert other.build() == ctx.build()
    assert other.explain() == ctx.explain()
    assert other.dump() == ctx.dump()
    for one in (ctx, other):
        one.add_user_message("more")
    assert other.dump() == ctx.dump()


@pytest.mark.parametrize(
    "entries",
    [
        [],
        "text",
        [5],
        [{"schema": "another"}],
        [{"schema": "context_builder.log"}],
        [{"schema": "context_builder.log", "version": 99}],
        [{"schema": "context_builder.log", "version": 1}, {"entry": "dance"}],
        [{"schema": "context_builder.log", "version": 1}, None],
    ],
)
def test_what_is_no_log_is_refused(entries: Any) -> None:
    """With a typed error that says what is wrong."""
    with pytest.raises(InvalidItemError):
        ContextBuilder.load(entries, max_tokens=900)


def test_a_session_read_with_a_prompt_keeps_its_ids() -> None:
    """The prompt given is set after what was logged."""
    ctx = builder()
    ctx.add_user_message("hi")
    other = ContextBuilder.load(ctx.dump(), max_tokens=900, system_prompt="be brief")
    assert other.log.find("i1").content == "hi"
    assert len({item.id for item in other.items}) == len(other.items)


def test_metadata_is_json_or_refused() -> None:
    """What is dumped is ready for JSON."""
    ctx = builder()
    with pytest.raises(InvalidItemError):
        ctx.add_user_message("hi", metadata={"a": object()})
    json.dumps(ctx.dump())


# --- errors and threads ---------------------------------------------------------------


@pytest.mark.parametrize("target", ["morse", "", "OpenAI"])
def test_an_unknown_target_is_an_error_with_the_known_ones(target: str) -> None:
    """The error names what there is."""
    with pytest.raises(AdapterError, match="openai"):
        builder().build(target)


def test_a_session_needs_a_budget_from_somewhere() -> None:
    """At once, not at the first build."""
    with pytest.raises(InvalidItemError):
        ContextBuilder()
    with pytest.raises(UnknownModelError):
        ContextBuilder(model="no-such-model")


def test_several_threads_may_use_one_session() -> None:
    """Nothing is lost, no id is given twice, every build is whole."""
    ctx = builder(2_000)
    failed: list[Exception] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for round_ in range(25):
            try:
                ctx.extend(turns(1, words=3))
                ctx.add_memory(f"{number} {round_}")
                roles = [message["role"] for message in ctx.build()]
                assert roles
                ctx.explain()
            except Exception as error:  # the test looks at it
                failed.append(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert failed == []
    assert [item.id for item in ctx.items] == [f"i{n}" for n in range(1, 301)]


def test_sessions_share_nothing() -> None:
    """What one is told, the other does not know."""
    one, other = builder(900), builder(900)
    one.add_user_message("my secret", cache_key="k")
    other.add_user_message("hello", cache_key="k")
    assert other.build() == [{"role": "user", "content": "hello"}]
    assert one.build() == [{"role": "user", "content": "my secret"}]


def test_arguments_in_the_wrong_order_print_no_content() -> None:
    """No message of an error holds what the user said."""
    with pytest.raises(InvalidItemError) as error:
        builder().add_message("my secret words", "user")
    assert "secret" not in str(error.value)
