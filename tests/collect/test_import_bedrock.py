from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.collect.imports.bedrock import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.errors import InvalidItemError
from context_builder.messages import FilePart, ImagePart, ReasoningPart

CALL = {"toolUse": {"toolUseId": "t:1", "name": "search", "input": {"q": "tea"}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": " hm ", "signature": "c2ln"}}}
HIDDEN = {"reasoningContent": {"redactedContent": b"\x00\xff"}}


def test_messages_become_items() -> None:
    """Results, texts and reasoning; bytes are kept as base64."""
    items = read_messages(
        [
            {
                "role": "user",
                "content": [
                    {"text": "Look."},
                    {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
                    {
                        "document": {
                            "format": "pdf",
                            "name": "a",
                            "source": {
                                "s3Location": {"uri": "s3://b/a", "bucketOwner": "1"}
                            },
                        }
                    },
                    {"video": {"format": "mp4", "source": {"bytes": b"\x00"}}},
                ],
            },
            {"role": "assistant", "content": [THOUGHT, HIDDEN, {"text": "Ok."}, CALL]},
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "t:1",
                            "status": "error",
                            "content": [{"json": {"a": 1}}, {"text": "x"}],
                        }
                    },
                    {"cachePoint": {"type": "default"}},
                    {"text": "And?"},
                ],
            },
        ]
    )
    assert [item.role for item in items] == ["user", "assistant", "tool", "user"]
    content = items[0].content
    assert isinstance(content, tuple)
    data = base64.b64encode(b"\x89PNG").decode()
    assert content[1] == ImagePart(data=data, media_type="image/png")
    assert content[2] == FilePart(
        url="s3://b/a",
        filename="a.pdf",
        media_type="application/pdf",
        extra={"bedrock": {"s3Location": {"bucketOwner": "1"}}},
    )
    assert json.dumps(content[3].extra)
    assert [part.data for part in items[1].reasoning] == [
        {"reasoningText": {"text": " hm ", "signature": "c2ln"}},
        {"redactedContent": base64.b64encode(b"\x00\xff").decode()},
    ]
    assert items[1].tool_calls[0].arguments == '{"q": "tea"}'
    assert items[2].text == '{"a": 1}\nx'
    assert (items[2].tool_name, items[2].is_error) == ("search", True)


def test_a_whole_request() -> None:
    """System, tools and messages, and by its path whatever there is no place for."""
    imported = read_request(
        {
            "modelId": "m",
            "guardrailConfig": {},
            "system": [
                {"text": "One."},
                {"cachePoint": {"type": "default"}},
                {"text": "Two."},
            ],
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "a",
                            "description": "A.",
                            "inputSchema": {"json": {"type": "object"}},
                        }
                    },
                    {"cachePoint": {"type": "default"}},
                ]
            },
            "messages": [{"role": "user", "content": [{"text": "Hi."}]}],
        }
    )
    assert imported.system == "One.\n\nTwo."
    assert imported.tools[0]["function"]["description"] == "A."
    assert [item.content for item in imported.items] == ["Hi."]
    assert imported.lost == ("guardrailConfig", "system[1]", "toolConfig.tools[1]")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (7, "messages[0]"),
        ({"role": "tool", "content": []}, "messages[0].role"),
        ({"role": "user", "content": "text"}, "messages[0].content"),
        (
            {"role": "user", "content": [{"toolResult": {}}]},
            "messages[0].content[0].toolUseId",
        ),
        (
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a"}}]},
            "messages[0].content[0].name",
        ),
    ],
)
def test_what_the_api_would_refuse_is_named(message: object, field: str) -> None:
    """The error says where."""
    with pytest.raises(InvalidItemError) as raised:
        read_messages([message])
    assert raised.value.field == field
    with pytest.raises(InvalidItemError):
        read_request({"messages": None})


# --- answers -------------------------------------------------------------------------


def test_a_whole_answer() -> None:
    """What was said, thought, called and billed; input includes what was cached."""
    reply = read_response(
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [THOUGHT, {"text": "Hi."}, CALL],
                }
            },
            "stopReason": "tool_use",
            "usage": {
                "inputTokens": 5,
                "outputTokens": 7,
                "totalTokens": 122,
                "cacheReadInputTokens": 100,
                "cacheWriteInputTokens": 10,
            },
        }
    )
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("Hi.", False)
    assert item.reasoning == (
        ReasoningPart(
            "bedrock",
            " hm ",
            "c2ln",
            data={"reasoningText": {"text": " hm ", "signature": "c2ln"}},
        ),
    )
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (115, 100)
    assert reply.stop_reason == "tool_use"


@pytest.mark.parametrize(
    "foreign",
    [
        {"choices": []},
        {"type": "message", "role": "assistant", "content": []},
        {"output": [{"type": "message"}]},
        {},
        [],
        [{"type": "message_start"}],
        [{"choices": []}],
    ],
)
def test_other_vendors_answers_are_left_to_others(foreign: Any) -> None:
    """None, and no error."""
    assert read_response(foreign) is None


EVENTS: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    {
        "contentBlockDelta": {
            "contentBlockIndex": 0,
            "delta": {"reasoningContent": {"text": " h"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 0,
            "delta": {"reasoningContent": {"text": "m "}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 0,
            "delta": {"reasoningContent": {"signature": "c2ln"}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Hel"}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "lo."}}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 2,
            "start": {"toolUse": {"toolUseId": "t1", "name": "search"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {"toolUse": {"input": '{"q": '}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {"toolUse": {"input": '"tea"}'}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 9, "totalTokens": 12}}},
]


def test_a_finished_stream() -> None:
    """The pieces make up the answer that would have come whole."""
    reply = read_response(EVENTS)
    assert reply is not None
    (item,) = reply.items
    assert (item.content, item.partial) == ("Hello.", False)
    assert item.reasoning[0].data == {
        "reasoningText": {"text": " hm ", "signature": "c2ln"}
    }
    assert item.tool_calls[0].arguments == '{"q": "tea"}'
    assert reply.usage is not None
    assert reply.usage.input_tokens == 3


@given(st.integers(1, len(EVENTS) - 3))
def test_a_broken_stream(length: int) -> None:
    """Wherever it breaks off, what came in is kept and marked as a part."""
    reply = read_response(EVENTS[:length])
    assert reply is not None
    assert reply.stop_reason is None
    assert all(item.partial for item in reply.items)


def test_hidden_reasoning_in_a_stream() -> None:
    """Redacted bytes are joined."""
    pieces = [
        {
            "contentBlockDelta": {
                "delta": {"reasoningContent": {"redactedContent": piece}}
            }
        }
        for piece in (b"\x00", b"\xff")
    ]
    reply = read_response([EVENTS[0], *pieces, EVENTS[-2]])
    assert reply is not None
    hidden = base64.b64encode(b"\x00\xff").decode()
    assert reply.items[0].reasoning[0].data == {"redactedContent": hidden}
