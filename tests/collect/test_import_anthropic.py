from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import anthropic.types as sdk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from context_builder.collect.imports.anthropic import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.errors import InvalidItemError
from context_builder.messages import FilePart, ImagePart, ReasoningPart, TextPart

THOUGHT = {"type": "thinking", "thinking": "  hm\t", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "cmVk"}
CALL = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "tea"}}
SERVER = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {},
}


def answer(*blocks: Any, stop_reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    """Return a whole answer."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": list(blocks),
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 5, "output_tokens": 7, **usage},
    }


# --- messages ------------------------------------------------------------------------


def test_messages_become_items() -> None:
    """Results, texts and notes each become an item; calls join their results' names."""
    items = read_messages(
        [
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": [THOUGHT, {"type": "text", "text": "Ok."}, CALL],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "3",
                        "is_error": True,
                    },
                    {"type": "text", "text": "And?"},
                ],
            },
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Three."},
        ]
    )
    assert [item.role for item in items] == [
        "user",
        "assistant",
        "tool",
        "user",
        "system",
        "assistant",
    ]
    asked, answered = items[1], items[2]
    assert asked.content == "Ok."
    assert asked.metadata is None
    assert json.loads(asked.tool_calls[0].arguments) == {"q": "tea"}
    assert asked.reasoning[0].data == THOUGHT
    assert asked.reasoning[0].signature == "c2ln"
    assert (answered.tool_name, answered.tool_call_id) == ("search", "t1")
    assert answered.is_error


def test_media_become_parts() -> None:
    """Pictures and documents by data, address and id, and text documents."""
    content = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
        },
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {
            "type": "document",
            "title": "a.txt",
            "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
            "citations": {"enabled": True},
        },
    ]
    (item,) = read_messages([{"role": "user", "content": content}])
    assert item.content == (
        ImagePart(data="AA", media_type="image/png"),
        ImagePart(url="https://a/b.png"),
        ImagePart(file_id="file_1"),
        FilePart(
            text="hello",
            media_type="text/plain",
            filename="a.txt",
            extra={"anthropic": {"citations": {"enabled": True}}},
        ),
    )


def test_the_order_of_an_unusual_turn_is_remembered() -> None:
    """Thoughts between texts; blocks of the vendor's own tools are kept whole."""
    done = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [],
    }
    blocks = [THOUGHT, SERVER, done, HIDDEN, {"type": "text", "text": "Done."}, CALL]
    (item,) = read_messages([{"role": "assistant", "content": blocks}])
    assert item.metadata == {"extra": {"anthropic": {"order": "rccrct"}}}
    assert [part.data for part in item.reasoning] == [THOUGHT, HIDDEN]
    assert isinstance(item.content, tuple)
    kept = [part.extra for part in item.content if part.extra]
    assert kept == [{"anthropic": {"block": SERVER}}, {"anthropic": {"block": done}}]
    assert item.content[0] == TextPart(
        text="[server_tool_use: web_search]", extra={"anthropic": {"block": SERVER}}
    )


def test_neighbours_are_joined_where_a_call_is_open() -> None:
    """The API joins assistant's messages; their results come behind both."""
    items = read_messages(
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [CALL]},
            {"role": "assistant", "content": [{**CALL, "id": "t2"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "1"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": "2"},
                ],
            },
        ]
    )
    assert [item.role for item in items] == ["user", "assistant", "tool", "tool"]
    assert [call.id for call in items[1].tool_calls] == ["t1", "t2"]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("hello", "messages[0]"),
        ({"role": "tool", "content": "a"}, "messages[0].role"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": [7]}, "messages[0].content[0]"),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": "a"}]},
            "messages[0].content[0].tool_use_id",
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "input": {}}],
            },
            "messages[0].content[0].name",
        ),
    ],
)
def test_what_the_api_would_refuse_is_named(message: object, field: str) -> None:
    """The error says where."""
    with pytest.raises(InvalidItemError) as raised:
        read_messages([message])
    assert raised.value.field == field


# --- requests ------------------------------------------------------------------------


def test_a_whole_request() -> None:
    """System, tools and messages, and by its path whatever there is no place for."""
    mark = {"cache_control": {"type": "ephemeral"}}
    imported = read_request(
        {
            "model": "claude-opus-4-8",
            "max_tokens": 9,
            "container": "c",
            "system": [
                {"type": "text", "text": "One.", **mark},
                {"type": "text", "text": "Two."},
            ],
            "tools": [
                {
                    "name": "a",
                    "description": "A.",
                    "input_schema": {"type": "object"},
                    **mark,
                },
                {"name": "b", "input_schema": {}, "strict": True},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi.", **mark}]}
            ],
        }
    )
    assert imported.system == "One.\n\nTwo."
    assert imported.tools == (
        {
            "type": "function",
            "function": {
                "name": "a",
                "description": "A.",
                "parameters": {"type": "object"},
            },
        },
        {
            "type": "function",
            "function": {"name": "b", "parameters": {}, "strict": True},
        },
    )
    assert [item.content for item in imported.items] == ["Hi."]
    assert imported.lost == (
        "container",
        "system[0].cache_control",
        "tools[0].cache_control",
        "tools[2]",
        "messages[0].content[0].cache_control",
    )
    with pytest.raises(InvalidItemError):
        read_request({"messages": "hello"})


# --- answers -------------------------------------------------------------------------


def test_a_whole_answer() -> None:
    """What was said, thought, called and billed; input includes what was cached."""
    reply = read_response(
        answer(
            THOUGHT,
            {"type": "text", "text": "Hi."},
            {**CALL, "caller": {"type": "direct"}},
            stop_reason="tool_use",
            cache_read_input_tokens=100,
            cache_creation_input_tokens=10,
        )
    )
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("Hi.", False)
    assert item.tool_calls[0].extra is None
    assert item.reasoning == (
        ReasoningPart("anthropic", "  hm\t", "c2ln", "claude-opus-5-5", THOUGHT),
    )
    assert (reply.stop_reason, reply.model) == ("tool_use", "claude-opus-5-5")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (115, 7)
    assert (reply.usage.cached_tokens, reply.usage.cache_write_tokens) == (100, 10)


@pytest.mark.parametrize(
    ("stop_reason", "partial"),
    [
        ("end_turn", False),
        ("pause_turn", False),
        ("max_tokens", True),
        ("model_context_window_exceeded", True),
    ],
)
def test_an_answer_that_was_cut(stop_reason: str, partial: bool) -> None:
    """By its limit, or by the end of the window."""
    reply = read_response(
        answer({"type": "text", "text": "Hi"}, stop_reason=stop_reason)
    )
    assert reply is not None
    assert reply.items[0].partial is partial


def test_an_empty_answer() -> None:
    """A model may say nothing."""
    reply = read_response(answer())
    assert reply is not None
    assert reply.items == ()


@pytest.mark.parametrize(
    "foreign",
    [
        {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
        {"output": [{"type": "message"}], "object": "response"},
        {"candidates": []},
        {},
        [],
        [{"type": "response.created"}],
        [{"choices": []}],
        [{"messageStart": {"role": "assistant"}}],
    ],
)
def test_other_vendors_answers_are_left_to_others(foreign: Any) -> None:
    """None, and no error."""
    assert read_response(foreign) is None


# --- streams -------------------------------------------------------------------------

EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            **answer(),
            "stop_reason": None,
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 4,
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "  h"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "m\t"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2ln"},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "text_delta", "text": "Hel"},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "text_delta", "text": "lo."},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {
            "type": "tool_use",
            "id": "t1",
            "name": "search",
            "input": {},
        },
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"q": '},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '"tea"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]


def test_the_events_are_the_sdks_own() -> None:
    """The SDK reads these events, too."""
    adapter: TypeAdapter[Any] = TypeAdapter(sdk.RawMessageStreamEvent)
    for event in EVENTS:
        if event["type"] != "ping":
            adapter.validate_python(event)


def test_a_finished_stream() -> None:
    """The pieces make up the answer that would have come whole."""
    reply = read_response(EVENTS)
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("Hello.", False)
    assert item.reasoning[0].data == THOUGHT
    assert item.tool_calls[0].arguments == '{"q": "tea"}'
    assert reply.stop_reason == "tool_use"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 9)


@given(st.integers(0, len(EVENTS) - 3))
def test_a_broken_stream(length: int) -> None:
    """Wherever it breaks off, what came in is kept and marked as a part."""
    reply = read_response(EVENTS[:length])
    if length == 0:
        assert reply is None
        return
    assert reply is not None
    assert reply.stop_reason is None
    assert all(item.partial for item in reply.items)
    if length > 9:
        assert reply.items[0].content == "Hello."
    if 2 < length < 6:
        assert reply.items[0].reasoning[0].data is None


def test_a_stream_without_its_beginning() -> None:
    """Deltas of a block that was not announced are not an error."""
    for one, other in pairwise(range(len(EVENTS))):
        read_response(EVENTS[one:other])
        read_response(EVENTS[one:])


def test_arguments_that_were_cut_stay_what_they_are() -> None:
    """They are mended where they are said, not where they are read."""
    reply = read_response(EVENTS[:13])
    assert reply is not None
    assert reply.items[0].tool_calls[0].arguments == '{"q": '
