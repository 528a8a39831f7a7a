from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.collect.imports.anthropic import read_request
from context_builder.errors import AdapterError
from context_builder.messages import TextPart, ToolCall
from context_builder.render.adapter import Prompt
from context_builder.render.claude import claude_of, same_model
from context_builder.render.validate_anthropic import validate_anthropic
from context_builder.settings import RequestOptions
from tests.render.anthropic_helpers import (
    ADAPTER,
    BOUND,
    LONG,
    MODELS,
    NEWER,
    OLDER,
    SDK,
    SYSTEM,
    marks_of,
    parts_of,
    render,
)
from tests.render.conversations_anthropic import (
    PICTURE,
    TABLE,
    TOOLS,
    conversations,
    note,
    numbered,
    result,
    said,
    thought,
    user,
)

if TYPE_CHECKING:
    from context_builder.items import ContextItem

# --- roles and notes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-opus-4-8", True),
        ("claude-opus-5", True),
        ("claude-opus-5-5-20260901", True),
        ("claude-sonnet-5-5", True),
        ("claude-haiku-5-5", True),
        ("claude-fable-5", True),
        ("claude-fable-5-1", True),
        ("claude-mythos-5", True),
        ("claude-sonnet-5", False),
        ("claude-opus-4-7", False),
        ("claude-sonnet-4-5", False),
        ("some-model", False),
    ],
)
def test_which_models_take_a_note(model: str, takes: bool) -> None:
    """A note has the role system only where the model honours it."""
    messages = render(TABLE["note behind the user"], model).messages
    assert ("system" in [message["role"] for message in messages]) is takes
    text = json.dumps(messages)
    assert ("<system-note>" in text) is not takes


def test_a_note_behind_results_stands_behind_all_of_them() -> None:
    """Nothing comes between calls and results; the note follows them."""
    items = numbered(
        user("Go."),
        said("", ("a", "x"), ("b", "y")),
        result("a", "1"),
        result("b", "2"),
    )
    items = numbered(*items, note("Be brief."))
    older, newer = render(items).messages[-1], render(items, NEWER).messages[-1]
    assert [block["type"] for block in older["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert newer == {
        "role": "system",
        "content": [{"type": "text", "text": "Be brief."}],
    }


def test_the_user_begins_and_it_is_reported() -> None:
    """An assistant's first message gets a user's turn before it."""
    rendering = render(TABLE["greeting first"])
    assert rendering.messages[0]["role"] == "user"
    assert [(mark.item_id, mark.action) for mark in rendering.repairs] == [
        ("i0", "repaired")
    ]


@pytest.mark.parametrize(
    "model", [None, "claude-opus-4-6", "claude-sonnet-5", "new-one"]
)
def test_the_assistant_may_not_have_the_last_word(model: str | None) -> None:
    """Models from 4.6 on do not continue their own message."""
    items = numbered(user("Hello."), said("Hi"))
    with pytest.raises(AdapterError) as raised:
        render(items, model)
    assert (raised.value.adapter, raised.value.item_id) == ("anthropic", "i1")


def test_older_models_continue_their_own_message() -> None:
    """A prefill ends without white space, and without thoughts where they are off."""
    items = numbered(user("Hello."), said("Hi \n", reasoning=(thought(),)))
    request = render(items, "claude-haiku-4-5").request
    assert request["messages"][-1]["content"] == [{"type": "text", "text": "Hi"}]
    assert validate_anthropic(request) == []


def test_an_empty_conversation_is_refused() -> None:
    """There has to be something to answer."""
    with pytest.raises(AdapterError):
        render(())
    with pytest.raises(AdapterError):
        render(numbered(user((TextPart(text="", extra={"gemini": {}}),))))


# --- calls ---------------------------------------------------------------------------


def test_ids_are_unique_and_always_the_same() -> None:
    """A repeated id is renamed on both sides, the same way in every request."""
    items = TABLE["parallel calls"]
    first, again = render(items), render(items)
    assert first.request == again.request
    calls = [b for m in first.messages for b in m["content"] if b["type"] == "tool_use"]
    answers = [
        b for m in first.messages for b in m["content"] if b["type"] == "tool_result"
    ]
    ids = [call["id"] for call in calls]
    assert ids[:2] == ["a", "b"]
    assert len(set(ids)) == 3
    assert [answer["tool_use_id"] for answer in answers] == ids


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("[1]", {"_raw": "[1]"}),
        ("{oops", {"_raw": "{oops"}),
        ('{"a":1}', {"a": 1}),
    ],
)
def test_arguments_are_an_object(arguments: str, expected: dict[str, Any]) -> None:
    """Whatever they came as."""
    call = ToolCall(id="a", name="search", arguments=arguments)
    items = numbered(user("Go."), said("", call), result("a", "1"))
    assert render(items).messages[1]["content"][0]["input"] == expected


def test_unfinished_server_tools_are_named() -> None:
    """A call of the vendor's own tool without its result stays only at the end."""
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web", "input": {}}
    paused = said((TextPart(text="[web]", extra={"anthropic": {"block": block}}),))
    assert render(numbered(user("Go."), paused), BOUND).messages[-1]["content"] == [
        block
    ]
    messages = render(numbered(user("Go."), paused, user("Stop.")), BOUND).messages
    assert messages[1]["content"] == [{"type": "text", "text": "[web: not finished]"}]


# --- cache marks ---------------------------------------------------------------------


def test_the_four_marks() -> None:
    """The end of the tools, the system, the stable items and the last turn."""
    long_system = replace(SYSTEM, content=LONG)
    tool = {
        "type": "function",
        "function": {"name": "search", "description": LONG, "parameters": {}},
    }
    items = numbered(user(LONG), said("One."), user(LONG), said("Two."), user("Three?"))
    request = render(items, stable=3, system=long_system, tools=(tool,)).request
    assert marks_of(request) == [
        "tools[0]",
        "system[0]",
        "messages[2][0]",
        "messages[4][0]",
    ]
    assert validate_anthropic(request) == []


def test_short_prefixes_get_no_mark() -> None:
    """The model's minimum decides; a useless mark would only take a slot."""
    assert marks_of(render(TABLE["parallel calls"], stable=2).request) == []
    items = numbered(user("one two three four " * 120))
    assert marks_of(render(items, "claude-opus-5", tools=()).request) == [
        "messages[0][0]"
    ]
    assert marks_of(render(items, "claude-opus-4-6", tools=()).request) == []


def test_a_wide_turn_gets_a_mark_before_it() -> None:
    """The look-back is 20 blocks: a turn with more needs the former end marked."""
    calls = [(f"c{number}", "x") for number in range(15)]
    items = numbered(
        user(LONG),
        said("", *calls),
        *(result(call_id, "1") for call_id, _ in calls),
    )
    request = render(items, system=replace(SYSTEM, content=LONG)).request
    assert marks_of(request)[-2:] == ["messages[0][0]", "messages[2][14]"]
    assert len(marks_of(request)) <= 4


def test_an_automatic_mark_takes_a_slot() -> None:
    """With the top-level mark there are three places left."""
    items = numbered(user(LONG), said("One."), user(LONG), said("Two."), user("Three?"))
    tool = {"type": "function", "function": {"name": "s", "description": LONG}}
    request = render(
        items,
        stable=3,
        system=replace(SYSTEM, content=LONG),
        tools=(tool,),
        extra={"cache_control": {"type": "ephemeral"}},
    ).request
    assert len(marks_of(request)) == 3
    assert validate_anthropic(request) == []


# --- properties ----------------------------------------------------------------------


@given(items=conversations(), model=MODELS, stable=st.integers(0, 9))
def test_every_request_is_valid(
    items: tuple[ContextItem, ...], model: str | None, stable: int
) -> None:
    """Whatever came in, the vendor takes what goes out."""
    rendering = render(items, model, stable=stable)
    request = {"model": OLDER, **rendering.request}
    assert validate_anthropic(request) == []
    SDK.validate_python(request)
    shown = {item_id for item_id, _ in rendering.spans}
    left_out = {mark.item_id for mark in rendering.repairs}
    assert {item.id for item in items} <= shown | left_out


@given(items=conversations(), more=conversations(), model=MODELS)
def test_a_longer_conversation_begins_with_the_shorter(
    items: tuple[ContextItem, ...], more: tuple[ContextItem, ...], model: str | None
) -> None:
    """What is said for the first items does not depend on the items behind them."""
    shorter = parts_of(render(items, model).request)
    longer = parts_of(render(numbered(*items, *more), model).request)
    assert longer[: len(shorter)] == shorter


@given(items=conversations(), model=MODELS, budget=st.none() | st.just(2_000))
def test_the_sum_of_the_items_holds(
    items: tuple[ContextItem, ...], model: str | None, budget: int | None
) -> None:
    """Fixed costs and items are never less than the request, and not much more."""
    prompt = Prompt(
        items=items,
        system=SYSTEM,
        tools=TOOLS,
        model=model,
        options=RequestOptions(thinking_budget_tokens=budget),
    )
    count = ADAPTER.counter(model).count
    fixed = ADAPTER.fixed_tokens(replace(prompt, items=()), count)
    total = sum(fixed.values()) + sum(
        ADAPTER.item_tokens(item, count, model=model) for item in items
    )
    exact = ADAPTER.request_tokens(ADAPTER.render(prompt).request, count)
    assert exact <= total
    assert total - exact <= 60 + 12 * len(items)


@given(items=conversations(), model=st.sampled_from([OLDER, NEWER]))
def test_ours_to_theirs_and_back(items: tuple[ContextItem, ...], model: str) -> None:
    """What is read back is said in the same words again."""
    request = render(items, model).request
    back = read_request(request)
    assert back.system == SYSTEM.text
    again = render(numbered(*back.items), model).request
    assert parts_of(again) == parts_of(request)


# --- names ---------------------------------------------------------------------------


def test_names_of_models() -> None:
    """Family and version are read from every host's way to write them."""
    assert claude_of("us.anthropic.claude-opus-4-6-v1").key == ("opus", 4, 6)
    assert claude_of("claude-3-5-haiku-20241022").key == ("haiku", 3, 5)
    assert claude_of("claude-2.1").key == ("", 2, 1)
    assert claude_of("claude-opus-4-20250514").key == ("opus", 4, 0)
    assert claude_of("anthropic/claude-sonnet-4.5").key == ("sonnet", 4, 5)
    assert not claude_of("gpt-4o").is_known
    assert same_model("claude-opus-5-5", "anthropic.claude-opus-5-5-v1:0")
    assert same_model("x", "x")
    assert not same_model("x", "y")


def test_pictures_keep_their_data() -> None:
    """The first bytes win over a wrong label."""
    wrong = PICTURE.model_copy(update={"media_type": "image/jpeg"})
    source = render(numbered(user((wrong,)))).messages[0]["content"][0]["source"]
    assert source == {"type": "base64", "media_type": "image/png", "data": PICTURE.data}
