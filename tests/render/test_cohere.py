from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import pytest
from cohere import ClientV2
from cohere.types import ChatMessageV2, ToolV2
from hypothesis import given
from inline_snapshot import snapshot
from pydantic import TypeAdapter

from context_builder import ContextBuilder
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.render.cohere import CohereAdapter
from context_builder.render.validate_cohere import validate_cohere
from tests.render.conversations_chat import (
    EVERYTHING,
    TOOLS,
    assistant,
    closed_chats,
    prompt,
    result,
    user,
)
from tests.render.wire import Wire, broken, lost_on_the_way

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

ANSWER = {
    "id": "1",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
    "usage": {"tokens": {"input_tokens": 3, "output_tokens": 1}},
}
CALL = ToolCall("call_1", "look")
MESSAGES: TypeAdapter[Any] = TypeAdapter(list[ChatMessageV2])


def test_everything() -> None:
    """The whole request, word for word."""
    assert CohereAdapter().render(EVERYTHING).request == snapshot(
        {
            "messages": [
                {"role": "system", "content": "You look."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": "call|1",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": "sea"}'},
                        },
                        {
                            "id": "call:2",
                            "type": "function",
                            "function": {"name": "look_at_EOUPSE1A", "arguments": "{}"},
                        },
                    ],
                    "tool_plan": "Looking.",
                },
                {
                    "role": "tool",
                    "tool_call_id": "call|1",
                    "content": [{"type": "text", "text": "Error: gone"}],
                },
                {
                    "role": "tool",
                    "tool_call_id": "call:2",
                    "content": [{"type": "text", "text": "seen"}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "[returned by look at]"},
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,aW1n"},
                        },
                    ],
                },
                {"role": "user", "content": "<system-note>Be brief.</system-note>"},
                {"role": "user", "content": "<memory>A memory.</memory>"},
                {
                    "role": "user",
                    "content": """\
And this?
[audio not shown: audio/wav, 1 KiB]\
""",
                },
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "description": "Looks.",
                        "parameters": {
                            "type": "object",
                            "properties": {"at": {"type": "string"}},
                        },
                    },
                }
            ],
            "max_tokens": 100,
        }
    )


@given(chat=closed_chats)
def test_the_sdk_takes_and_sends_all_of_it(chat: Prompt) -> None:
    """The request is the arguments of the call, and nothing is lost on the way."""
    request = CohereAdapter().render(dataclasses.replace(chat, model="m")).request
    MESSAGES.validate_python(request["messages"])
    for tool in request["tools"]:
        ToolV2.model_validate(tool)
    wire = Wire(ANSWER)
    client = ClientV2(api_key="k", httpx_client=wire.client())
    client.chat(**request)
    assert list(lost_on_the_way(request, wire.sent)) == []


def test_results_are_objects_or_blocks() -> None:
    """A result that is a JSON object goes as it is; other text becomes a block."""
    other = ToolCall("call_2", "look")
    chat = prompt(
        user("?"),
        assistant("", CALL, other),
        result(CALL, '{"seen": 1}'),
        result(other, '{"seen"'),
    )
    contents = [m["content"] for m in CohereAdapter().render(chat).messages[2:]]
    assert contents == ['{"seen": 1}', [{"type": "text", "text": '{"seen"'}]]


def test_reasoning_goes_back_on_request() -> None:
    """It is not needed; asked for, it stands before the text, byte for byte."""
    own = ReasoningPart("cohere", " so ", data={"type": "thinking", "thinking": " so "})
    foreign = ReasoningPart("anthropic", "foreign", signature="t")
    chat = prompt(
        user("?"),
        assistant("Plan.", CALL, reasoning=(foreign, own)),
        result(CALL, "a"),
        assistant("Done.", reasoning=(own,)),
        user("!"),
    )
    assert "so" not in str(CohereAdapter().render(chat).messages)
    messages = CohereAdapter(replay_reasoning=True).render(chat).messages
    assert messages[1]["content"] == [own.data]
    assert messages[1]["tool_plan"] == "Plan."
    assert messages[3]["content"] == [own.data, {"type": "text", "text": "Done."}]


def _asked(**options: Any) -> dict[str, Any]:
    tools = TOOLS if options.pop("tools", True) else ()
    request = CohereAdapter().render(prompt(user("?"), tools=tools, options=options))
    return {
        key: value
        for key, value in request.request.items()
        if key not in {"messages", "tools"}
    }


def test_arguments_of_the_request() -> None:
    """They go by Cohere's own names; what it does not take is left out and named."""
    assert _asked(tool_choice="auto") == {}
    assert _asked(tool_choice="none") == {"tool_choice": "NONE"}
    named = {"type": "function", "function": {"name": "look"}}
    assert _asked(tool_choice=named) == {"tool_choice": "REQUIRED"}
    assert _asked(reasoning_effort="none") == {"thinking": {"type": "disabled"}}
    assert _asked(thinking_budget_tokens=9, max_output_tokens=5, temperature=0.1) == {
        "thinking": {"type": "enabled", "token_budget": 9},
        "max_tokens": 5,
        "temperature": 0.1,
    }
    assert _asked(extra={"safety_mode": "NONE"}) == {"safety_mode": "NONE"}


def test_a_schema_is_not_taken_beside_tools() -> None:
    """Then the answer's shape is left out, and said to be."""
    schema = {"type": "object", "properties": {}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    assert _asked(response_format=wanted) == {}
    assert _asked(response_format=wanted, tools=False) == {
        "response_format": {"type": "json_object", "json_schema": schema}
    }
    chat = prompt(user("?"), tools=TOOLS, options={"response_format": wanted})
    (mark,) = CohereAdapter().render(chat).repairs
    assert (mark.item_id, mark.reason) == snapshot(
        ("request", "response_format is left out: it is not taken beside tools")
    )


# --- the validator --------------------------------------------------------------------

GOOD: dict[str, Any] = (
    CohereAdapter()
    .render(
        prompt(
            user("?"),
            assistant("Plan.", CALL),
            result(CALL, "a"),
            assistant("b"),
            user("c"),
            system="s",
            tools=TOOLS,
        )
    )
    .request
)


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("messages", [], "at least one message"),
        ("messages.0.role", "developer", "a role is one of"),
        ("messages.1.name", "Ann", "no such field"),
        ("messages.2.tool_calls.0.id", "", "have an id"),
        ("messages.2.tool_calls", None, "answers an open call"),
        ("messages.2.tool_calls", None, "tool_plan is text beside calls"),
        ("messages.2.content", "text", "is the tool_plan"),
        ("messages.2.content", [{"type": "text", "text": "a"}], "is the tool_plan"),
        ("messages.2.tool_calls.0.function.arguments", {}, "JSON text"),
        ("messages.3.role", "user", "is answered before"),
        ("messages.3.content", "", "not blank"),
        ("messages.3.content", [{"type": "image_url"}], "no block of type"),
        ("messages.3.content", [{"type": "document"}], "a block has"),
        ("messages.4.content", "", "content or calls"),
        ("messages.5.role", "assistant", "the last message"),
        ("tools.0.function.parameters", None, "says its parameters"),
        ("tool_choice", "AUTO", "REQUIRED or NONE"),
        ("response_format", {"type": "json_object"}, "beside tools"),
        ("response_format", {"type": "json_schema"}, "text or json_object"),
        ("parallel_tool_calls", True, "no such argument"),
    ],
)
def test_the_validator_finds_each_rule(path: str, value: object, rule: str) -> None:
    """A body that breaks one rule is found out by it."""
    assert validate_cohere(GOOD) == []
    found = [problem.rule for problem in validate_cohere(broken(GOOD, path, value))]
    assert any(re.search(rule, each) for each in found), found


def test_a_note_may_stand_last() -> None:
    """The last message is never a system message, which the API refuses."""
    ctx = ContextBuilder(max_tokens=900)
    ctx.add_user_message("Hello.")
    ctx.add_message("system", "Be brief.")
    request = ctx.request("cohere", model="command-a-03-2025")
    assert [message["role"] for message in request["messages"]] == ["user", "user"]
    assert not validate_cohere(request)
