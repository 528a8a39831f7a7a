from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
)
from pydantic import TypeAdapter

from context_builder.collect.imports import openai_compatible as reader
from context_builder.errors import AdapterError
from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.render.adapter import Prompt
from context_builder.render.cohere import CohereAdapter
from context_builder.render.deepseek import DeepSeekAdapter
from context_builder.render.glm import GlmAdapter
from context_builder.render.groq import GROQ, GroqAdapter
from context_builder.render.kimi import KimiAdapter
from context_builder.render.mistral import MistralAdapter
from context_builder.render.ollama import OllamaAdapter
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.qwen import QwenAdapter
from context_builder.render.strict import StrictAdapter, strict_dialect
from context_builder.render.xai import XaiAdapter
from tests.render.conversations_chat import (
    EVERYTHING,
    TOOLS,
    assistant,
    chats,
    closed_chats,
    prompt,
    result,
    user,
)

FAMILIES: list[CompatAdapter] = [
    CompatAdapter(),
    DeepSeekAdapter(),
    GlmAdapter(),
    GroqAdapter(),
    KimiAdapter(),
    QwenAdapter(),
    XaiAdapter(),
    StrictAdapter(),
    StrictAdapter(strict_dialect(system_role="fold_into_user", name="gemma")),
    StrictAdapter(strict_dialect(tool_role=False, name="no-tools")),
    StrictAdapter(
        strict_dialect(
            parallel_calls=False, nine_char_ids=True, bridge="OK", name="split"
        )
    ),
]
EVERY: list[CompatAdapter] = [
    *FAMILIES,
    MistralAdapter(),
    CohereAdapter(),
    CohereAdapter(replay_reasoning=True),
    OllamaAdapter(),
]
SDK = TypeAdapter(CompletionCreateParamsNonStreaming)


def by_name(adapter: CompatAdapter) -> str:
    """Return the name under which pytest reports the adapter."""
    return adapter.name


every = pytest.mark.parametrize("adapter", EVERY, ids=by_name)
families = pytest.mark.parametrize("adapter", FAMILIES, ids=by_name)


# --- what holds for every vendor whose messages look like OpenAI's --------------------


@every
@given(chat=closed_chats)
def test_every_conversation_keeps_the_rules(
    adapter: CompatAdapter, chat: Prompt
) -> None:
    """Whatever came before, the request breaks no rule of the vendor."""
    assert list(adapter.validate(adapter.render(chat).request)) == []


@every
@given(chat=closed_chats)
def test_the_items_never_cost_less_than_the_request(
    adapter: CompatAdapter, chat: Prompt
) -> None:
    """The sum over the items is an upper bound of the request, and a close one."""
    count = adapter.counter(None).count
    rendering = adapter.render(chat)
    total = sum(adapter.item_tokens(item, count, model=None) for item in chat.items)
    total += sum(adapter.fixed_tokens(chat, count).values())
    real = adapter.request_tokens(rendering.request, count)
    assert real <= total <= real + 40 + 30 * len(chat.items)


@every
@given(units=chats, cut=st.integers(0, 6))
def test_a_longer_conversation_begins_with_the_shorter(
    adapter: CompatAdapter, units: list[list[ContextItem]], cut: int
) -> None:
    """What is said does not depend on what follows, but for the message at the cut."""

    def said(part: list[list[ContextItem]]) -> list[dict[str, Any]]:
        # The user's last word keeps vendors content that refuse an assistant's.
        items = [item for unit in part for item in unit]
        return adapter.render(prompt(user("Go."), *items, user("?"))).messages

    short, long = said(units[:cut]), said(units)
    settled = max(0, len(short) - 2)
    assert long[:settled] == short[:settled]


@every
@given(chat=closed_chats)
def test_every_item_is_in_a_message_or_in_the_repairs(
    adapter: CompatAdapter, chat: Prompt
) -> None:
    """Nothing leaves a request without a reason."""
    rendering = adapter.render(chat)
    told = {item_id for item_id, _ in rendering.spans}
    told |= {mark.item_id for mark in rendering.repairs}
    assert {item.id for item in chat.items} <= told
    assert all(0 <= index < len(rendering.messages) for _, index in rendering.spans)


@every
def test_an_empty_conversation_is_refused(adapter: CompatAdapter) -> None:
    """There has to be a message besides the system prompt."""
    with pytest.raises(AdapterError, match="no message"):
        adapter.render(prompt(system="You look."))


@every
def test_the_assistants_last_word_is_refused_where_the_vendor_does(
    adapter: CompatAdapter,
) -> None:
    """Mistral and Cohere answer a user or a result only."""
    chat = prompt(user("Hi."), assistant("Hello."))
    if adapter.capabilities.assistant_last:
        assert adapter.render(chat).messages[-1]["role"] == "assistant"
        return
    with pytest.raises(AdapterError) as caught:
        adapter.render(chat)
    assert (caught.value.adapter, caught.value.item_id) == (adapter.name, "i2")


@every
def test_two_long_ids_stay_two(adapter: CompatAdapter) -> None:
    """Ids that are cut are told apart, and each result has the id of its call."""
    calls = [ToolCall("x" * 70 + end, "look") for end in "ab"]
    results = [result(call, "seen") for call in calls]
    request = adapter.render(prompt(user("?"), assistant("", *calls), *results)).request
    assert list(adapter.validate(request)) == []


# --- the families that OpenAI's SDK speaks to -----------------------------------------


@families
@given(chat=closed_chats)
def test_the_sdk_knows_every_argument(adapter: CompatAdapter, chat: Prompt) -> None:
    """The request is exactly arguments of the SDK's call; the rest is extra_body."""
    named = dataclasses.replace(chat, model="some-model")
    request = adapter.render(named).request
    request.pop("extra_body", None)
    known = CompletionCreateParamsNonStreaming.__annotations__
    assert set(request) <= set(known) | {"messages", "model"}
    SDK.validate_python(request)


@families
@given(chat=closed_chats)
def test_a_body_read_and_said_again_is_the_same(
    adapter: CompatAdapter, chat: Prompt
) -> None:
    """Reading back and rendering again changes nothing."""
    request = adapter.render(chat).request
    family = adapter.name if adapter.name in reader.READERS else "strict"
    imported = reader.READERS[family].read_request(request)
    again = adapter.render(
        Prompt(
            items=tuple(
                dataclasses.replace(item, id=f"j{number}")
                for number, item in enumerate(imported.items)
            ),
            system=ContextItem("system", imported.system, id="j")
            if imported.system
            else None,
            tools=imported.tools,
        )
    )
    assert again.request == request
    assert imported.lost == ()


# --- reasoning ------------------------------------------------------------------------


def _with_reasoning(provider: str) -> Prompt:
    call = ToolCall("a", "look")
    thought = ReasoningPart(provider, " as it was\n")
    return prompt(
        user("?"),
        assistant("", call, reasoning=(thought,)),
        result(call, "seen"),
        assistant("Done.", reasoning=(thought,)),
        user("!"),
    )


@pytest.mark.parametrize("adapter", [DeepSeekAdapter(), KimiAdapter()], ids=by_name)
def test_calls_carry_their_own_reasoning(adapter: CompatAdapter) -> None:
    """It goes back byte for byte; foreign reasoning is replaced by a blank."""
    for provider, said in (
        (adapter.name, " as it was\n"),
        ("openai-compatible", " as it was\n"),
        ("anthropic", " "),
    ):
        messages = adapter.render(_with_reasoning(provider)).messages
        assert messages[1]["reasoning_content"] == said
        assert "reasoning_content" not in messages[3]


def test_the_first_deepseek_reasoner_gets_no_reasoning() -> None:
    """It refuses what the later models demand."""
    chat = dataclasses.replace(_with_reasoning("deepseek"), model="deepseek-reasoner")
    assert "reasoning_content" not in DeepSeekAdapter().render(chat).messages[1]


@pytest.mark.parametrize(
    "adapter",
    [CompatAdapter(), QwenAdapter(), XaiAdapter(), GroqAdapter()],
    ids=by_name,
)
def test_other_families_get_no_reasoning(adapter: CompatAdapter) -> None:
    """By default it is left out, as an unknown field is an error with some."""
    said = json.dumps(adapter.render(_with_reasoning(adapter.name)).request)
    assert "as it was" not in said


def test_groq_can_be_told_to_take_reasoning() -> None:
    """Its reasoning models take the field `reasoning`."""
    dialect = dataclasses.replace(GROQ, reasoning_field="reasoning", reasoning_on="all")
    messages = CompatAdapter(dialect).render(_with_reasoning("groq")).messages
    assert [message.get("reasoning") for message in messages[1:4:2]] == [
        " as it was\n",
        " as it was\n",
    ]


# --- arguments of the request ---------------------------------------------------------


def _asked(adapter: CompatAdapter, **options: Any) -> dict[str, Any]:
    request = adapter.render(prompt(user("?"), tools=TOOLS, options=options)).request
    return {
        key: value for key, value in request.items() if key not in {"messages", "tools"}
    }


def test_settings_of_reasoning_are_said_as_each_family_takes_them() -> None:
    """An effort, a switch, or a number of tokens."""
    asked = {"reasoning_effort": "low", "thinking_budget_tokens": 500}
    assert _asked(DeepSeekAdapter(), **asked) == {
        "reasoning_effort": "low",
        "extra_body": {"thinking": {"type": "enabled"}},
    }
    assert _asked(GlmAdapter(), reasoning_effort="none") == {
        "extra_body": {"thinking": {"type": "disabled"}}
    }
    assert _asked(QwenAdapter(), **asked) == {
        "extra_body": {"enable_thinking": True, "thinking_budget": 500}
    }
    assert _asked(QwenAdapter()) == {}
    assert _asked(XaiAdapter(), reasoning_effort="low") == {"reasoning_effort": "low"}


def test_what_a_family_does_not_take_is_left_out_and_named() -> None:
    """Kimi chooses by itself and has its own temperature."""
    chat = prompt(
        user("?"),
        tools=TOOLS,
        options={
            "tool_choice": "required",
            "temperature": 0.2,
            "parallel_tool_calls": True,
        },
    )
    rendering = KimiAdapter().render(chat)
    assert rendering.request["tool_choice"] == "auto"
    assert "temperature" not in rendering.request
    assert [mark.reason for mark in rendering.repairs] == [
        "tool_choice 'required' is not known here: the model chooses",
        "temperature is fixed here",
    ]


def test_a_schema_becomes_plain_json_where_none_is_known() -> None:
    """DeepSeek can be held to JSON, not to a schema."""
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    asked = _asked(DeepSeekAdapter(), response_format=wanted)
    assert asked == {"response_format": {"type": "json_object"}}
    assert _asked(XaiAdapter(), response_format=wanted) == {"response_format": wanted}


def test_extra_arguments_are_merged_last() -> None:
    """What the caller says stands, also inside extra_body."""
    asked = _asked(
        GlmAdapter(),
        reasoning_effort="low",
        max_output_tokens=9,
        extra={"max_tokens": 7, "seed": 1, "extra_body": {"do_sample": False}},
    )
    assert asked == {
        "max_tokens": 7,
        "seed": 1,
        "extra_body": {"thinking": {"type": "enabled"}, "do_sample": False},
    }


def test_a_named_tool_and_a_custom_tool_are_said_as_functions() -> None:
    """Free text becomes the one argument of a function."""
    call = ToolCall("a", "write it", "free text", type="custom")
    chat = prompt(
        user("?"),
        assistant("", call),
        result(call, "ok"),
        tools=({"type": "custom", "custom": {"name": "write it"}},),
        options={"tool_choice": {"type": "custom", "custom": {"name": "write it"}}},
    )
    request = XaiAdapter().render(chat).request
    function = request["messages"][1]["tool_calls"][0]["function"]
    assert function["arguments"] == '{"input": "free text"}'
    assert (
        function["name"]
        == request["tools"][0]["function"]["name"]
        == request["tool_choice"]["function"]["name"]
    )
    assert list(XaiAdapter().validate(request)) == []


def test_names_of_people_are_sent_where_they_are_taken() -> None:
    """Grok takes them for users; elsewhere they are an unknown field."""
    assert XaiAdapter().render(EVERYTHING).messages[1]["name"] == "Ann_B"
    assert "name" not in QwenAdapter().render(EVERYTHING).messages[1]
