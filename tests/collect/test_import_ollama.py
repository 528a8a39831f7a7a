from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from ollama import ChatResponse

from context_builder.collect.content import as_mapping
from context_builder.collect.imports.ollama import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.messages import ImagePart, ReasoningPart, TextPart, ToolCall
from context_builder.render.ollama import OllamaAdapter
from tests.collect.test_import_openai_compatible import essence, pairs
from tests.render.conversations_chat import (
    PIXEL,
    closed_chats,
    plain_chats,
    prompt,
)

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt


@given(chat=plain_chats)
def test_ours_to_theirs_to_ours_loses_nothing(chat: Prompt) -> None:
    """Texts, calls, arguments and pairs come back as they were."""
    imported = read_request(OllamaAdapter().render(chat).request)
    assert imported.lost == ()
    assert imported.system == "You look."
    assert [essence(item) for item in imported.items] == [
        essence(item) for item in chat.items
    ]
    assert pairs(list(imported.items)) == pairs(list(chat.items))


@given(chat=closed_chats)
def test_a_body_read_and_said_again_is_the_same(chat: Prompt) -> None:
    """Reading back and rendering again changes nothing."""
    request = OllamaAdapter().render(chat).request
    imported = read_request(request)
    again = prompt(*imported.items, system=imported.system, tools=imported.tools)
    assert OllamaAdapter().render(again).request == request
    assert imported.lost == ()


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def test_results_without_ids_find_their_calls() -> None:
    """By the name of the tool, and by order where that is the same."""
    calls = [_call("look", at=1), _call("look", at=2), _call("hear")]
    asking, *answers = read_messages(
        [
            {"role": "assistant", "content": "", "thinking": "so", "tool_calls": calls},
            {"role": "tool", "tool_name": "hear", "content": "heard"},
            {"role": "tool", "name": "look", "content": "first"},
            {"role": "tool", "content": "second"},
        ]
    )
    assert asking.reasoning == (ReasoningPart("ollama", "so"),)
    assert asking.tool_calls == (
        ToolCall("call_0_0", "look", '{"at": 1}'),
        ToolCall("call_0_1", "look", '{"at": 2}'),
        ToolCall("call_0_2", "hear", "{}"),
    )
    assert [(item.tool_call_id, item.tool_name) for item in answers] == [
        ("call_0_2", "hear"),
        ("call_0_0", "look"),
        ("call_0_1", "look"),
    ]


def test_pictures_get_their_type_from_their_data() -> None:
    """Ollama says none."""
    images = [PIXEL, "/9j/AAAA"]
    (item,) = read_messages([{"role": "user", "content": "See", "images": images}])
    assert item.content == (
        TextPart(text="See"),
        ImagePart(data=PIXEL, media_type="image/png"),
        ImagePart(data="/9j/AAAA", media_type="image/jpeg"),
    )


def test_what_has_no_place_is_named() -> None:
    """By its path in the request; settings are not lost."""
    request = {
        "model": "m",
        "options": {"num_ctx": 1},
        "logprobs": True,
        "messages": [{"role": "user", "content": "?", "name": "Ann"}],
    }
    assert read_request(request).lost == ("logprobs", "messages[0].name")


# --- answers ------------------------------------------------------------------------


def answered(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an answer, or a chunk of one, as the API gives it."""
    said = {"role": "assistant", "content": "", **message}
    return {"model": "m", "message": said, "done": False, **fields}


END = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3}


def test_an_answer_of_the_sdk_is_read_whole() -> None:
    """Reasoning, text, calls, usage and why it stopped. The SDK knows no ids."""
    message = {
        "content": "a",
        "thinking": "so",
        "tool_calls": [_call("look", at="sea")],
    }
    answer = as_mapping(ChatResponse.model_validate(answered(message, **END)))
    assert answer is not None
    reply = read_response(answer)
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("a", False)
    assert item.reasoning == (ReasoningPart("ollama", "so", model="m"),)
    assert item.tool_calls == (ToolCall("", "look", '{"at": "sea"}'),)
    assert (reply.usage, reply.stop_reason) == (Usage(7, 3), "stop")


def test_a_stream_is_read_whole() -> None:
    """Pieces of reasoning and text are joined; each call comes whole."""
    call = {"id": "call_1", **_call("look")}
    reply = read_response(
        [
            answered({"thinking": "s"}),
            answered({"thinking": "o"}),
            answered({"content": "a"}),
            answered({"tool_calls": [call]}),
            answered({}, **END),
        ]
    )
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("a", False)
    assert item.reasoning[0].text == "so"
    assert item.tool_calls == (ToolCall("call_1", "look", "{}"),)
    assert reply.usage == Usage(7, 3)


def test_what_was_cut_off_is_partial() -> None:
    """A stream that broke off, and an answer that reached its length."""
    cut = read_response([answered({"content": "a"})])
    long = read_response(answered({"content": "a"}, done=True, done_reason="length"))
    assert cut is not None
    assert long is not None
    assert (cut.items[0].partial, cut.stop_reason, cut.usage) == (True, None, None)
    assert (long.items[0].partial, long.stop_reason) == (True, "length")


@pytest.mark.parametrize(
    "answer",
    [{}, [], {"choices": []}, {"message": {}, "finish_reason": "COMPLETE"}, [{}]],
)
def test_other_shapes_are_not_read(answer: Any) -> None:
    """They are somebody else's."""
    assert read_response(answer) is None
