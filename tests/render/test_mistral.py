from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from inline_snapshot import snapshot
from mistralai.client import Mistral
from mistralai.client.models import ChatCompletionRequest

from context_builder.messages import (
    FilePart,
    ImagePart,
    ReasoningPart,
    ToolCall,
)
from context_builder.render.mistral import MistralAdapter
from context_builder.render.validate_mistral import validate_mistral
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
    from context_builder.items import ContextItem
    from context_builder.render.adapter import Prompt

ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "model": "mistral-small-latest",
    "created": 1,
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hi."},
        }
    ],
}
CALL = ToolCall("call_1", "look")
THOUGHT = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": " so "}],
    "signature": "s",
    "closed": True,
}


def test_everything() -> None:
    """The whole request, word for word."""
    assert MistralAdapter().render(EVERYTHING).request == snapshot(
        {
            "messages": [
                {"role": "system", "content": "You look."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "aDTFeNhef",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": "sea"}'},
                        },
                        {
                            "id": "uquaoaS0m",
                            "type": "function",
                            "function": {"name": "look_at_EOUPSE1A", "arguments": "{}"},
                        },
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "aDTFeNhef",
                    "content": "Error: gone",
                    "name": "look",
                },
                {
                    "role": "tool",
                    "tool_call_id": "uquaoaS0m",
                    "content": "seen",
                    "name": "look_at_EOUPSE1A",
                },
                {"role": "assistant", "content": "OK"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "[returned by look at]"},
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,aW1n"},
                        },
                        {
                            "type": "text",
                            "text": "<system-note>Be brief.</system-note>",
                        },
                        {"type": "text", "text": "<memory>A memory.</memory>"},
                        {"type": "text", "text": "And this?"},
                        {"type": "input_audio", "input_audio": "AAAA"},
                    ],
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
                        "strict": True,
                    },
                }
            ],
            "tool_choice": "auto",
            "max_tokens": 100,
        }
    )


@given(chat=closed_chats)
def test_the_sdk_takes_and_sends_all_of_it(chat: Prompt) -> None:
    """The request is the arguments of the call, and nothing is lost on the way."""
    request = MistralAdapter().render(dataclasses.replace(chat, model="m")).request
    ChatCompletionRequest.model_validate(request)
    wire = Wire(ANSWER)
    client = Mistral(api_key="k", client=wire.client())
    client.chat.complete(**request)
    assert list(lost_on_the_way(request, wire.sent)) == []


def _thoughtful(author: str | None) -> list[ContextItem]:
    own = ReasoningPart("mistral", " so ", signature="s", model=author, data=THOUGHT)
    foreign = ReasoningPart("anthropic", "foreign", signature="t")
    asking = assistant("Looking.", CALL, reasoning=(foreign, own))
    return [user("?"), asking, result(CALL, "seen")]


@pytest.mark.parametrize(
    ("author", "reader", "is_kept"),
    [
        (None, None, True),
        (None, "mistral-medium-latest", True),
        ("mistral-medium-2601", "mistral-medium-latest", True),
        ("mistral-medium-2601", "mistral-large-latest", False),
        ("mistral-medium-2601", "magistral-medium-latest", True),
        ("magistral-medium-latest", "codestral-latest", False),
        (None, "ministral-8b-latest", False),
    ],
)
def test_own_reasoning_goes_back_to_models_that_reason(
    author: str | None,
    reader: str | None,
    is_kept: bool,
) -> None:
    """It opens the content, byte for byte; foreign reasoning never goes along."""
    message = (
        MistralAdapter().render(prompt(*_thoughtful(author), model=reader)).messages[1]
    )
    text = {"type": "text", "text": "Looking."}
    assert message["content"] == ([THOUGHT, text] if is_kept else "Looking.")


def test_reasoning_of_a_message_that_is_joined_is_left_out() -> None:
    """Only the beginning of a message may hold reasoning."""
    own = ReasoningPart("mistral", "so")
    chat = prompt(
        user("?"), assistant("One."), assistant("Two.", reasoning=(own,)), user("!")
    )
    request = MistralAdapter().render(chat).request
    assert request["messages"][1]["content"] == "One.\n\nTwo."
    assert validate_mistral(request) == []


def test_text_beside_calls_can_be_left_out() -> None:
    """Some models refuse content and calls in one message."""
    adapter = MistralAdapter(drop_text_with_calls=True)
    message = adapter.render(
        prompt(user("?"), assistant("Hm.", CALL), result(CALL, "a"))
    )
    assert message.messages[1]["content"] == ""


def test_bridges_and_placeholders_are_reported() -> None:
    """What the vendor demands between messages is said, and named."""
    chat = prompt(assistant("", CALL), result(CALL, "seen"), user("And?"))
    rendering = MistralAdapter().render(chat)
    assert [message["role"] for message in rendering.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert [(mark.item_id, mark.reason) for mark in rendering.repairs] == snapshot(
        [
            ("i1", "a placeholder before it: the user has to be first"),
            ("i3", "an assistant's 'OK' before it: results need one"),
        ]
    )


def test_pictures_and_documents_by_every_way_are_taken() -> None:
    """By address, as data, by file id, and as text."""
    parts = (
        ImagePart(url="https://a/b.png", detail="original"),
        ImagePart(file_id="f1"),
        FilePart(url="https://a/b.pdf", filename="b.pdf"),
        FilePart(data="AAAA"),
        FilePart(file_id="f2"),
        FilePart(text="plain"),
    )
    (message,) = MistralAdapter().render(prompt(user(parts))).messages
    assert message["content"] == snapshot(
        [
            {
                "type": "image_url",
                "image_url": {"url": "https://a/b.png", "detail": "high"},
            },
            {"type": "file", "file_id": "f1"},
            {
                "type": "document_url",
                "document_url": "https://a/b.pdf",
                "document_name": "b.pdf",
            },
            {
                "type": "document_url",
                "document_url": "data:application/pdf;base64,AAAA",
            },
            {"type": "file", "file_id": "f2"},
            {"type": "text", "text": "plain"},
        ]
    )


def test_arguments_of_the_request() -> None:
    """They go by Mistral's own names; a key that is not ASCII is left out."""
    options = {
        "max_output_tokens": 5,
        "temperature": 0.1,
        "parallel_tool_calls": False,
        "reasoning_effort": "high",
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "prompt_cache_key": "k",
        "extra": {"safe_prompt": True},
    }
    request = (
        MistralAdapter()
        .render(
            prompt(
                user("?"),
                tools=({"type": "function", "function": {"name": "look"}},),
                options=options,
                model="m",
            )
        )
        .request
    )
    assert request == snapshot(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "?"}],
            "reasoning_effort": "high",
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "parameters": {"type": "object", "properties": {}},
                    },
                }
            ],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "parallel_tool_calls": False,
            "max_tokens": 5,
            "temperature": 0.1,
            "safe_prompt": True,
            "prompt_cache_key": "k",
        }
    )
    foreign = prompt(user("?"), options={"prompt_cache_key": "\u00e9"})
    assert "prompt_cache_key" not in MistralAdapter().render(foreign).request


# --- the validator --------------------------------------------------------------------

GOOD: dict[str, Any] = (
    MistralAdapter()
    .render(
        prompt(
            user("?"),
            assistant("", CALL),
            result(CALL, "a"),
            assistant("b"),
            user("c"),
            system="s",
            tools=TOOLS,
        )
    )
    .request
)


def _broken(path: str, value: object) -> dict[str, Any]:
    return broken(GOOD, path, value)


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("messages", [], "at least one message"),
        ("messages.0.role", "developer", "a role is one of"),
        ("messages.1.name", "Ann", "no such field"),
        ("messages.2.tool_calls.0.id", "call_1", "nine letters or digits"),
        ("messages.2.tool_calls", None, "answers an open call"),
        ("messages.2.tool_calls", [], "not empty"),
        ("messages.2.tool_calls.0.function.arguments", "[]", "JSON object"),
        ("messages.2.tool_calls.0.function.arguments", 3, "JSON text"),
        ("messages.2.tool_calls.0.function.name", "a b", "1 to 64 letters"),
        ("messages.3.role", "user", "is answered before"),
        ("messages.3.name", "", "names its tool"),
        ("messages.3.content", " ", "not blank"),
        ("messages.4.role", "user", "another result or the assistant"),
        ("messages.4.role", "system", "one system message, at the front"),
        ("messages.4.content", "", "content or calls"),
        ("messages.5.role", "assistant", "alternate"),
        ("messages.5.role", "assistant", "the last message"),
        ("messages.4.prefix", True, "may be a prefix"),
        ("messages.5.content", [{"type": "video"}], "no chunk of type"),
        ("messages.5.content", [{"type": "image_url"}], "a chunk has"),
        ("messages.4.content", [{"type": "text", "text": "a"}, THOUGHT], "opens"),
        ("messages.1.role", "assistant", "is the user's"),
        ("tools.0.function.parameters", None, "says its parameters"),
        ("tools.0.type", "custom", "every tool is a function"),
        ("tool_choice", "some", "a choice is one of"),
        ("prompt_cache_key", "\u00e9", "ASCII"),
        ("max_completion_tokens", 5, "no such argument"),
    ],
)
def test_the_validator_finds_each_rule(path: str, value: object, rule: str) -> None:
    """A body that breaks one rule is found out by it."""
    assert validate_mistral(GOOD) == []
    found = [problem.rule for problem in validate_mistral(_broken(path, value))]
    assert any(re.search(rule, each) for each in found), found
