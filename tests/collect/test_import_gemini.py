from __future__ import annotations

import base64
from typing import Any

import pytest
from google.genai import types

from context_builder.collect.content import as_mapping
from context_builder.collect.imports.gemini import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.errors import InvalidItemError
from context_builder.messages import AudioPart, FilePart, ImagePart, TextPart

SIGNED = base64.b64encode(b"a signature?").decode()
ANSWER: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "Looking."},
                    {
                        "functionCall": {
                            "name": "look",
                            "args": {"atSea": {"someKey": 1}},
                        },
                        "thoughtSignature": SIGNED,
                    },
                    {"functionCall": {"name": "look", "id": "x"}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 20,
        "toolUsePromptTokenCount": 5,
    },
    "modelVersion": "gemini-3-pro-preview",
}


def of_sdk(answer: Any) -> Any:
    """Return an answer as the SDK's own object gives it, bytes and enums included."""
    return as_mapping(types.GenerateContentResponse.model_validate(answer))


@pytest.mark.parametrize("answer", [ANSWER, of_sdk(ANSWER)], ids=["REST", "SDK"])
def test_an_answer_is_one_item(answer: Any) -> None:
    """Both spellings say the same; the tool's own keys stay as they are."""
    reply = read_response(answer)
    assert reply is not None
    (item,) = reply.items
    assert item.content == "Looking."
    assert [call.name for call in item.tool_calls] == ["look", "look"]
    first, second = item.tool_calls
    assert first.id == ""
    assert first.arguments == '{"atSea": {"someKey": 1}}'
    assert first.extra == {
        "gemini": {
            "thought_signature": SIGNED,
            "model": "gemini-3-pro-preview",
            "has_no_id": True,
        }
    }
    assert (second.id, second.arguments, second.extra) == ("x", "{}", None)
    assert item.reasoning[0].data == {"text": "Hm.", "thought": True}
    assert item.reasoning[0].model == "gemini-3-pro-preview"
    assert item.metadata is None
    assert reply.stop_reason == "STOP"
    assert reply.usage == Usage(105, 30, cached_tokens=60, reasoning_tokens=20)


def piece(*parts: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return a piece of a stream."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


STREAM = [
    piece({"text": "Th", "thought": True}),
    piece({"text": "ink.", "thought": True}),
    piece({"text": "Loo"}),
    piece({"text": "king."}),
    piece({"text": "", "thoughtSignature": SIGNED}, finish="STOP"),
    {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2}},
]


def test_a_stream_is_joined() -> None:
    """Text goes on where it stopped; a signed part is never melted into another."""
    reply = read_response(STREAM)
    assert reply is not None
    (item,) = reply.items
    signed = {"gemini": {"thought_signature": SIGNED}}
    assert item.content == (
        TextPart(text="Looking."),
        TextPart(text="", extra=signed),
    )
    assert item.reasoning[0].text == "Think."
    assert not item.partial
    assert reply.usage == Usage(7, 2)


@pytest.mark.parametrize("pieces", range(1, 5))
def test_a_stream_that_broke_off(pieces: int) -> None:
    """What came is kept and marked."""
    reply = read_response(STREAM[:pieces])
    assert reply is not None
    assert reply.stop_reason is None
    assert reply.items[0].partial
    assert reply.items[0].text == {3: "Loo", 4: "Looking."}.get(pieces, "")


def test_an_answer_that_was_cut() -> None:
    """The vendor's reason is told, and the item is marked."""
    reply = read_response(piece({"text": "So"}, finish="MAX_TOKENS"))
    assert reply is not None
    assert reply.items[0].partial
    assert reply.stop_reason == "MAX_TOKENS"


def test_an_answer_that_says_nothing() -> None:
    """A refusal before the first word leaves no item."""
    reply = read_response({"promptFeedback": {"blockReason": "SAFETY"}})
    assert reply is not None
    assert reply.items == ()
    assert reply.stop_reason == "SAFETY"


def test_the_order_of_the_vendors_own_parts_is_kept() -> None:
    """Code stays between the texts that it stood between."""
    reply = read_response(
        piece(
            {"text": "So:"},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
            {"text": "One."},
            finish="STOP",
        )
    )
    assert reply is not None
    (item,) = reply.items
    assert item.metadata == {"extra": {"gemini": {"order": "prrp"}}}
    assert item.reasoning[0].data == {
        "executable_code": {"language": "PYTHON", "code": "1"}
    }


def test_other_shapes_are_not_ours() -> None:
    """Another vendor's answer is left to its own reader."""
    assert read_response({"object": "response", "output": []}) is None
    assert read_response({"choices": [], "usage": {}}) is None
    assert read_response([]) is None


def test_results_find_their_calls() -> None:
    """By id, else by name, in order; parallel calls may be answered apart."""
    call = {"functionCall": {"name": "look", "args": {}}}
    items = read_messages(
        [
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [call, call]},
            {"role": "model", "parts": [{"function_call": {"name": "see", "id": "s"}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "look", "response": {"output": "1"}}},
                    {
                        "functionResponse": {
                            "name": "see",
                            "id": "s",
                            "response": {"error": "no"},
                        }
                    },
                ],
            },
            {
                "role": "function",
                "parts": {"functionResponse": {"name": "look", "response": {"a": [2]}}},
            },
            {"role": "user", "parts": [{"text": "So?"}]},
        ]
    )
    asked = items[1]
    assert [call.id for call in asked.tool_calls] == ["call_2_0", "call_2_1", "s"]
    answers = [(item.tool_call_id, item.text, item.is_error) for item in items[2:5]]
    assert answers == [
        ("call_2_0", "1", False),
        ("s", "no", True),
        ("call_2_1", '{"a": [2]}', False),
    ]
    assert items[5].text == "So?"


def test_media_of_all_kinds() -> None:
    """Pictures, sound and documents are told apart by their type."""
    (item,) = read_messages(
        [
            {
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": b"\x00\x00\x00"}},
                    {"inline_data": {"mime_type": "audio/mp3", "data": "AAAA"}},
                    {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
                    {"fileData": {"fileUri": "gs://a/b.png", "mimeType": "image/png"}},
                    {
                        "fileData": {"file_uri": "https://youtu.be/x"},
                        "videoMetadata": {"fps": 1},
                    },
                    {"text": " "},
                ]
            }
        ]
    )
    assert item.content == (
        ImagePart(data="AAAA", media_type="image/png"),
        AudioPart(data="AAAA", media_type="audio/mp3"),
        FilePart(data="AAAA", media_type="application/pdf"),
        ImagePart(url="gs://a/b.png", media_type="image/png"),
        FilePart(
            url="https://youtu.be/x", extra={"gemini": {"video_metadata": {"fps": 1}}}
        ),
    )


TOOL = {
    "name": "look",
    "description": "Looks.",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "at": {"type": "STRING", "nullable": True},
            "any_of": {"anyOf": [{"type": "INTEGER"}]},
        },
        "propertyOrdering": ["at"],
        "minProperties": "1",
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "at": {"type": ["string", "null"]},
        "any_of": {"anyOf": [{"type": "integer"}]},
    },
    "minProperties": "1",
}


@pytest.mark.parametrize(
    "request_body",
    [
        {
            "contents": [{"parts": [{"text": "Hi."}]}],
            "systemInstruction": {"role": "user", "parts": [{"text": "Look."}]},
            "tools": [{"functionDeclarations": [TOOL]}, {"googleSearch": {}}],
            "cachedContent": "c",
        },
        {
            "model": "gemini-3-pro-preview",
            "contents": "Hi.",
            "config": {
                "system_instruction": "Look.",
                "tools": [{"function_declarations": [TOOL]}, {"google_search": {}}],
                "cached_content": "c",
            },
        },
        {
            "generateContentRequest": {
                "contents": ["Hi."],
                "systemInstruction": {"parts": {"text": "Look."}},
                "tools": [{"function_declarations": [TOOL]}, {"googleSearch": {}}],
                "cachedContent": "c",
            }
        },
    ],
    ids=["REST", "SDK", "count"],
)
def test_a_whole_request(request_body: Any) -> None:
    """Bodies and the arguments of the client say the same."""
    read = read_request(request_body)
    assert [item.text for item in read.items] == ["Hi."]
    assert read.system == "Look."
    assert read.tools == (
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": SCHEMA,
            },
        },
    )
    assert read.lost == ("tools[1].google_search", "cached_content")


def test_json_schema_stays_as_it_is() -> None:
    """Only the vendor's own dialect is translated."""
    schema = {"type": "object", "properties": {"fooBar": {"const": "A"}}}
    tool = {"name": "f", "parametersJsonSchema": schema}
    read = read_request({"contents": "Hi.", "tools": {"functionDeclarations": [tool]}})
    assert read.tools[0]["function"]["parameters"] == schema


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (3, "contents[0]"),
        ({"role": "assistant", "parts": []}, "contents[0].role"),
        ({"role": "user", "parts": [3]}, "contents[0].parts[0]"),
        (
            {"role": "model", "parts": [{"functionCall": {"args": {}}}]},
            "contents[0].parts[0].function_call.name",
        ),
    ],
)
def test_a_mistake_is_named_by_its_path(message: Any, field: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidItemError) as error:
        read_messages([message])
    assert error.value.field == field


def test_a_part_that_holds_several_things_is_taken_apart() -> None:
    """The API knows none such; nothing of it is lost, and a signature is the call's."""
    part = {
        "text": "I look.",
        "thought": True,
        "functionCall": {"name": "look", "args": {}},
        "inlineData": {"mimeType": "image/png", "data": "QQ=="},
        "thoughtSignature": "c2ln",
        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
    }
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [part]},
    ]
    answer = {"candidates": [{"content": contents[1], "finishReason": "STOP"}]}
    reply = read_response(answer)
    assert reply is not None
    for item in (read_messages(contents)[1], *reply.items):
        (thought,), (call,) = item.reasoning, item.tool_calls
        (picture,) = list(item.content)
        assert thought.data == {"text": "I look.", "thought": True}
        assert isinstance(picture, ImagePart)
        assert picture.extra == {
            "gemini": {"media_resolution": part["mediaResolution"]}
        }
        assert call.extra is not None
        assert call.extra["gemini"]["thought_signature"] == "c2ln"
