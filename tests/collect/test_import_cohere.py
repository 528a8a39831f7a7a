from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cohere import V2ChatResponse
from cohere.v2.types import V2ChatStreamResponse
from hypothesis import given
from pydantic import TypeAdapter

from context_builder.collect.content import as_mapping
from context_builder.collect.imports.cohere import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.render.cohere import CohereAdapter
from tests.collect.test_import_openai_compatible import essence, pairs
from tests.render.conversations_chat import closed_chats, plain_chats, prompt

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

THOUGHT = {"type": "thinking", "thinking": " so "}
TEXT = {"type": "text", "text": "a"}
EVENT: TypeAdapter[Any] = TypeAdapter(V2ChatStreamResponse)


@given(chat=plain_chats)
def test_ours_to_theirs_to_ours_loses_nothing(chat: Prompt) -> None:
    """Texts, calls, arguments and pairs come back as they were."""
    imported = read_request(CohereAdapter().render(chat).request)
    assert imported.lost == ()
    assert imported.system == "You look."
    assert [essence(item) for item in imported.items] == [
        essence(item) for item in chat.items
    ]
    assert pairs(list(imported.items)) == pairs(list(chat.items))


@given(chat=closed_chats)
def test_a_body_read_and_said_again_is_the_same(chat: Prompt) -> None:
    """Reading back and rendering again changes nothing, reasoning included."""
    adapter = CohereAdapter(replay_reasoning=True)
    request = adapter.render(chat).request
    imported = read_request(request)
    again = prompt(*imported.items, system=imported.system, tools=imported.tools)
    said = adapter.render(again).request
    # Leading notes become part of the system prompt: there they are one message.
    assert _without_systems(said) == _without_systems(request)
    assert imported.lost == ()


def _without_systems(request: dict[str, Any]) -> dict[str, Any]:
    said = [m for m in request["messages"] if m["role"] != "system"]
    return {**request, "messages": said}


def test_the_plan_is_text_beside_calls_and_documents_are_json() -> None:
    """As the model reads them."""
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    asking, answer = read_messages(
        [
            {
                "role": "assistant",
                "content": [THOUGHT],
                "tool_plan": "Plan.",
                "tool_calls": [call],
            },
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": [{"type": "document", "document": {"data": {"seen": 1}}}],
            },
        ]
    )
    assert asking.content == "Plan."
    assert asking.reasoning == (ReasoningPart("cohere", " so ", data=THOUGHT),)
    assert asking.tool_calls == (ToolCall("a", "look", "{}"),)
    assert answer.content == '{"seen": 1}'


def test_what_has_no_place_is_named() -> None:
    """By its path in the request."""
    request = {
        "documents": ["d"],
        "thinking": {"type": "disabled"},
        "messages": [
            {"role": "assistant", "content": "a", "citations": [{"start": 0}]}
        ],
    }
    assert read_request(request).lost == ("documents", "messages[0].citations")


# --- answers ------------------------------------------------------------------------


def answered(message: dict[str, Any], finish: str = "COMPLETE") -> dict[str, Any]:
    """Return an answer as the API gives it."""
    return {
        "id": "1",
        "finish_reason": finish,
        "message": {"role": "assistant", **message},
        "usage": {
            "billed_units": {"input_tokens": 2, "output_tokens": 1},
            "tokens": {"input_tokens": 70, "output_tokens": 3},
            "cached_tokens": 16,
        },
    }


def event(kind: str, index: int = 0, **delta: Any) -> dict[str, Any]:
    """Return an event of a stream."""
    return {"type": kind, "index": index, "delta": delta}


def test_an_answer_of_the_sdk_is_read_whole() -> None:
    """Reasoning, text and usage; what is billed apart is not what was read."""
    answer = as_mapping(
        V2ChatResponse.model_validate(answered({"content": [THOUGHT, TEXT]}))
    )
    assert answer is not None
    reply = read_response(answer)
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("a", False)
    assert item.reasoning == (ReasoningPart("cohere", " so ", data=THOUGHT),)
    assert reply.usage == Usage(70, 3, cached_tokens=16)
    assert reply.stop_reason == "COMPLETE"


def _said(**message: Any) -> dict[str, Any]:
    return {"message": message}


def test_a_stream_is_read_whole() -> None:
    """Plan, reasoning, text and calls from their pieces."""
    events = [
        {"type": "message-start", "id": "1", "delta": _said(role="assistant")},
        event("content-start", **_said(content={"type": "thinking", "thinking": " "})),
        event("content-delta", **_said(content={"thinking": "so "})),
        event("content-end"),
        event("tool-plan-delta", **_said(tool_plan="Pl")),
        event("tool-plan-delta", **_said(tool_plan="an.")),
        event("tool-call-start", **_said(tool_calls=_start("a"))),
        event("tool-call-delta", **_said(tool_calls={"function": {"arguments": "{}"}})),
        event("tool-call-end"),
        event("tool-call-start", 1, **_said(tool_calls=_start("b"))),
        event(
            "tool-call-delta", 1, **_said(tool_calls={"function": {"arguments": "{}"}})
        ),
        event(
            "message-end",
            finish_reason="TOOL_CALL",
            usage={"tokens": {"input_tokens": 5.0, "output_tokens": 2.0}},
        ),
    ]
    for each in events:
        EVENT.validate_python(each)
    reply = read_response(events)
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("Plan.", False)
    assert item.reasoning[0].data == THOUGHT
    assert [(call.id, call.arguments) for call in item.tool_calls] == [
        ("a", "{}"),
        ("b", "{}"),
    ]
    assert (reply.usage, reply.stop_reason) == (Usage(5, 2), "TOOL_CALL")


def _start(call_id: str) -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "look", "arguments": ""},
    }


def test_what_was_cut_off_is_partial() -> None:
    """A stream that broke off, and an answer that reached its length."""
    cut = read_response([event("content-delta", **_said(content={"text": "a"}))])
    long = read_response(answered({"content": [TEXT]}, "MAX_TOKENS"))
    assert cut is not None
    assert long is not None
    assert (cut.items[0].content, cut.items[0].partial) == ("a", True)
    assert long.items[0].partial


def test_an_empty_answer_has_no_item() -> None:
    """The model said nothing, and nobody counted."""
    reply = read_response({"finish_reason": "COMPLETE", "message": {}})
    assert reply is not None
    assert (reply.items, reply.usage) == ((), None)


@pytest.mark.parametrize(
    "answer",
    [{}, [], {"choices": []}, {"message": {}, "done": True}, [{"type": "ping"}]],
)
def test_other_shapes_are_not_read(answer: Any) -> None:
    """They are somebody else's."""
    assert read_response(answer) is None
