from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from mistralai.client.models import ChatCompletionResponse, CompletionEvent

from context_builder.collect.content import as_mapping
from context_builder.collect.imports.mistral import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.errors import InvalidItemError
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from context_builder.render.mistral import MistralAdapter
from tests.collect.test_import_openai_compatible import essence, pairs
from tests.render.conversations_chat import closed_chats, plain_chats, prompt

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

THOUGHT = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": " so "}],
    "signature": "s",
    "closed": True,
}
OWN = ReasoningPart("mistral", " so ", signature="s", data=THOUGHT)
MODEL = "magistral-medium-latest"


@given(chat=plain_chats)
def test_ours_to_theirs_to_ours_loses_nothing(chat: Prompt) -> None:
    """Texts, calls, arguments and pairs come back as they were."""
    imported = read_request(MistralAdapter().render(chat).request)
    assert imported.lost == ()
    assert imported.system == "You look."
    assert [essence(item) for item in imported.items] == [
        essence(item) for item in chat.items
    ]
    assert pairs(list(imported.items)) == pairs(list(chat.items))
    assert imported.tools == chat.tools


@given(chat=closed_chats)
def test_a_body_read_and_said_again_is_the_same(chat: Prompt) -> None:
    """Reading back and rendering again changes nothing."""
    request = MistralAdapter().render(chat).request
    imported = read_request(request)
    again = prompt(*imported.items, system=imported.system, tools=imported.tools)
    assert MistralAdapter().render(again).request == request
    assert imported.lost == ()


def test_chunks_are_read_into_parts() -> None:
    """Pictures, documents, sound, and reasoning word for word."""
    content = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": "https://a/b.png"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {
            "type": "document_url",
            "document_url": "https://a/b.pdf",
            "document_name": "b",
        },
        {"type": "document_url", "document_url": "data:application/pdf;base64,AAAA"},
        {"type": "file", "file_id": "f"},
        {"type": "input_audio", "input_audio": "AAAA"},
        {"type": "input_audio", "input_audio": "data:audio/mp3;base64,AAAA"},
    ]
    asked, said = read_messages(
        [
            {"role": "user", "content": content},
            {
                "role": "assistant",
                "content": [THOUGHT, {"type": "text", "text": "Done."}],
            },
        ]
    )
    assert asked.content == (
        TextPart(text="See"),
        ImagePart(url="https://a/b.png"),
        ImagePart(data="AAAA", media_type="image/png"),
        FilePart(url="https://a/b.pdf", filename="b"),
        FilePart(data="AAAA", media_type="application/pdf"),
        FilePart(file_id="f"),
        AudioPart(data="AAAA"),
        AudioPart(data="AAAA", media_type="audio/mp3"),
    )
    assert (said.content, said.reasoning) == ("Done.", (OWN,))


def test_results_name_their_tool_and_arguments_may_be_objects() -> None:
    """Both as the API has them."""
    function = {"name": "look", "arguments": {"at": "sea"}}
    asking, answer = read_messages(
        [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "abcdefghi", "function": function}],
            },
            {
                "role": "tool",
                "name": "look",
                "tool_call_id": "abcdefghi",
                "content": [{"type": "text", "text": "seen"}],
            },
        ]
    )
    assert asking.tool_calls == (ToolCall("abcdefghi", "look", '{"at": "sea"}'),)
    assert (answer.content, answer.tool_name) == ("seen", "look")


def test_what_has_no_place_is_named() -> None:
    """By its path in the request."""
    reference = {"type": "reference", "reference_ids": [1]}
    text = {"type": "text", "text": "a"}
    request = {
        "safe_prompt": True,
        "prompt_mode": "reasoning",
        "messages": [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": [text, reference], "prefix": True},
        ],
    }
    assert read_request(request).lost == (
        "safe_prompt",
        "messages[1].prefix",
        "messages[1].content[1]",
    )


def test_what_is_not_understood_is_refused_by_its_path() -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidItemError) as caught:
        read_messages([{"role": "user", "content": [{"type": "video"}]}])
    assert caught.value.field == "messages[0].content[0].type"
    with pytest.raises(InvalidItemError, match="messages must be a list"):
        read_request({"messages": "?"})


# --- answers ------------------------------------------------------------------------


def completion(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    """Return an answer as the API gives it."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }


def event(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> Any:
    """Return an event of a stream, as the SDK wraps it."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"data": {"id": "1", "model": MODEL, "choices": [choice], **fields}}


def test_an_answer_of_the_sdk_is_read_whole() -> None:
    """Reasoning with its signature, text, calls, usage and why it stopped."""
    call = {"id": "abcdefghi", "function": {"name": "look", "arguments": "{}"}}
    message = {
        "role": "assistant",
        "content": [THOUGHT, {"type": "text", "text": "a"}],
        "tool_calls": [call],
    }
    answer = as_mapping(
        ChatCompletionResponse.model_validate(completion(message, "tool_calls"))
    )
    assert answer is not None
    reply = read_response(answer)
    assert reply is not None
    (item,) = reply.items
    assert item.content == "a"
    assert item.reasoning == (
        ReasoningPart("mistral", " so ", signature="s", model=MODEL, data=THOUGHT),
    )
    assert item.tool_calls == (ToolCall("abcdefghi", "look", "{}"),)
    assert (reply.usage, reply.stop_reason) == (Usage(7, 3), "tool_calls")
    assert reply.model == MODEL


def test_a_stream_is_read_whole() -> None:
    """Pieces of reasoning and text are joined, calls come whole."""
    pieces = [
        event({"role": "assistant", "content": ""}),
        event({"content": [_thought(" s")]}),
        event({"content": [_thought("o ") | {"signature": "s"}]}),
        event({"content": [{"type": "text", "text": "a"}]}),
        event({"content": "b"}),
        event({"tool_calls": [_call("abcdefghi"), _call("abcdefghj")]}),
        event({}, "tool_calls", usage={"prompt_tokens": 7, "completion_tokens": 3}),
    ]
    for piece in pieces:
        CompletionEvent.model_validate(piece)
    reply = read_response(pieces)
    assert reply is not None
    (item,) = reply.items
    assert item.content == "ab"
    assert [(part.text, part.signature) for part in item.reasoning] == [(" so ", "s")]
    assert [call.id for call in item.tool_calls] == ["abcdefghi", "abcdefghj"]
    assert (reply.usage, item.partial) == (Usage(7, 3), False)


def _thought(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _call(call_id: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    return {"id": call_id, "type": "function", "index": 0, "function": function}


def test_what_was_cut_off_is_partial() -> None:
    """A stream that broke off, and an answer that reached its length."""
    cut = read_response([event({"content": "a"})])
    long = read_response(completion({"content": "a"}, "length"))
    assert cut is not None
    assert long is not None
    assert cut.items[0].partial
    assert long.items[0].partial


def test_an_empty_answer_has_no_item() -> None:
    """The model said nothing."""
    reply = read_response(completion({"content": ""}))
    assert reply is not None
    assert reply.items == ()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"message": {}, "done": True},
        {"model": "gpt-4o", "choices": [{"message": {"content": "a"}}]},
        {"choices": [{"message": {"content": "a"}}]},
        [{"type": "message-start"}],
    ],
)
def test_other_shapes_are_not_read(answer: Any) -> None:
    """They are somebody else's."""
    assert read_response(answer) is None
