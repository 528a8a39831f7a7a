from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import Response

from context_builder.collect.content import as_mapping
from context_builder.collect.imports.openai_responses import (
    read_messages,
    read_request,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.errors import InvalidItemError
from context_builder.messages import FilePart, ImagePart, TextPart

NAME = "openai-responses"
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "secret",
}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [
        {"type": "output_text", "text": "Look", "annotations": []},
        {"type": "output_text", "text": "ing.", "annotations": []},
    ],
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"at":"sea"}',
    "status": "completed",
}
ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.4-2026-03-05",
    "status": "completed",
    "output": [REASONING, MESSAGE, CALL],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 130,
    },
}


def event(kind: str, **data: Any) -> dict[str, Any]:
    """Return an event of a stream."""
    return {"type": f"response.{kind}", **data}


STREAM: list[dict[str, Any]] = [
    event("created", response={**ANSWER, "output": [], "status": "in_progress"}),
    event(
        "output_item.added",
        output_index=0,
        item={**REASONING, "encrypted_content": "not whole"},
    ),
    event("output_item.done", output_index=0, item=REASONING),
    event("output_item.added", output_index=1, item={**MESSAGE, "content": []}),
    event("output_text.delta", output_index=1, content_index=0, delta="Look"),
    event("output_text.delta", output_index=1, content_index=1, delta="ing."),
    event("output_item.done", output_index=1, item=MESSAGE),
    event("output_item.added", output_index=2, item={**CALL, "arguments": ""}),
    event("function_call_arguments.delta", output_index=2, delta='{"at":'),
    event("function_call_arguments.delta", output_index=2, delta='"sea"}'),
    event("output_item.done", output_index=2, item=CALL),
    event("completed", response=ANSWER),
]


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        as_mapping(Response.model_validate(ANSWER)),
        STREAM,
        [*STREAM[:-1], event("completed", response={**ANSWER, "output": []})],
    ],
    ids=["plain", "of the SDK", "stream", "stream that ends bare"],
)
def test_an_answer_is_one_item(answer: Any) -> None:
    """Reasoning, text and calls of one answer stay together."""
    reply = read_response(answer)
    assert reply is not None
    (item,) = reply.items
    assert item.content == "Looking."
    assert item.metadata == {"extra": {NAME: {"id": "msg_1", "phase": "commentary"}}}
    (call,) = item.tool_calls
    assert (call.id, call.name, call.arguments) == ("call_1", "look", '{"at":"sea"}')
    (thought,) = item.reasoning
    assert thought.provider == NAME
    assert thought.text == "Hm."
    assert thought.model == "gpt-5.4-2026-03-05"
    assert thought.data is not None
    assert thought.data["encrypted_content"] == "secret"
    assert not item.partial
    assert reply.stop_reason == "completed"
    assert reply.usage == Usage(100, 30, cached_tokens=60, reasoning_tokens=20)


@pytest.mark.parametrize("pieces", range(1, len(STREAM)))
def test_a_stream_that_broke_off(pieces: int) -> None:
    """What came is kept and marked; reasoning only once it is whole."""
    reply = read_response(STREAM[:pieces])
    assert reply is not None
    assert reply.stop_reason is None
    assert all(item.partial for item in reply.items[-1:])
    blocks = [part.data for item in reply.items for part in item.reasoning]
    assert blocks == ([REASONING] if pieces > 2 else [])
    text = "".join(item.text for item in reply.items)
    assert text == {5: "Look"}.get(pieces, "Looking." if pieces > 5 else "")


def test_an_answer_that_was_cut() -> None:
    """The vendor's reason is told, and the item is marked."""
    cut = {
        **ANSWER,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    reply = read_response(cut)
    assert reply is not None
    assert reply.stop_reason == "max_output_tokens"
    assert reply.items[0].partial


def test_other_shapes_are_not_ours() -> None:
    """Another vendor's answer is left to its own reader."""
    assert read_response({"choices": [], "object": "chat.completion"}) is None
    assert read_response({"type": "message", "content": []}) is None
    assert read_response([]) is None
    assert read_response([{"type": "message_start"}]) is None


def test_pieces_are_grouped_by_what_they_led_to() -> None:
    """Reasoning stays with the piece behind it, whatever came before."""
    said = [
        {"role": "user", "content": "Go."},
        REASONING,
        {**MESSAGE, "phase": None},
        REASONING,
        CALL,
        REASONING,
        {**CALL, "call_id": "call_2"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "function_call_output", "call_id": "call_2", "output": "2"},
        REASONING,
        MESSAGE,
        MESSAGE,
    ]
    shapes = [
        (
            item.role,
            len(item.reasoning),
            item.text,
            [
                (call.extra or {})[NAME].get("reasoning_before")
                for call in item.tool_calls
            ],
        )
        for item in read_messages(said)
    ]
    assert shapes == [
        ("user", 0, "Go.", []),
        ("assistant", 1, "Looking.", []),
        ("assistant", 2, "", [None, 1]),
        ("tool", 0, "1", []),
        ("tool", 0, "2", []),
        ("assistant", 1, "Looking.", []),
        ("assistant", 0, "Looking.", []),
    ]


def test_a_whole_request() -> None:
    """System prompt, tools and media are found; what has no place is listed."""
    read = read_request(
        {
            "model": "gpt-5.4",
            "input": [
                {"role": "developer", "content": "Look."},
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "See:"},
                        {
                            "type": "input_image",
                            "image_url": "data:image/png;base64,AAAA",
                            "detail": "auto",
                        },
                        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
                    ],
                },
                {**CALL, "call_id": "call_1|fc_1"},
                {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": "Error: gone",
                },
                {
                    "type": "custom_tool_call",
                    "call_id": "c",
                    "name": "patch",
                    "input": "+",
                },
                {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
                {"type": "item_reference", "id": "msg_9"},
            ],
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "description": None,
                    "parameters": {"type": "object"},
                    "strict": False,
                },
                {
                    "type": "custom",
                    "name": "patch",
                    "format": {"type": "grammar", "syntax": "lark", "definition": "x"},
                },
                {"type": "web_search"},
            ],
            "previous_response_id": "resp_0",
        }
    )
    assert read.system == "Look."
    assert read.items[0].content == (
        TextPart(text="See:"),
        ImagePart(data="AAAA", media_type="image/png"),
        FilePart(url="https://example.com/a.pdf"),
    )
    assert read.items[1].tool_calls[0].id == "call_1"
    assert read.items[2].is_error
    assert read.items[3].tool_calls[0].type == "custom"
    assert read.tools == (
        {
            "type": "function",
            "function": {
                "name": "look",
                "parameters": {"type": "object"},
                "strict": False,
            },
        },
        {
            "type": "custom",
            "custom": {
                "name": "patch",
                "format": {
                    "type": "grammar",
                    "grammar": {"syntax": "lark", "definition": "x"},
                },
            },
        },
    )
    assert read.lost == ("previous_response_id", "tools[2]", "input[6].id")


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ("x", "input[0]"),
        ({"content": "x"}, "input[0].role"),
        ({"role": "tool", "content": "x"}, "input[0].role"),
        ({"role": "user", "content": [{"type": "x"}]}, "input[0].content[0].type"),
        ({"type": "function_call", "name": ""}, "input[0].name"),
        ({"type": "function_call", "name": "f"}, "input[0].call_id"),
        ({"type": "function_call_output"}, "input[0].output"),
        ({"role": "assistant", "content": 3}, "input[0].content"),
    ],
)
def test_a_mistake_is_named_by_its_path(item: Any, field: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidItemError) as error:
        read_messages([item])
    assert error.value.field.startswith("input[0]")
    assert error.value.field == field or field.endswith("output")


def test_the_number_of_a_part_makes_no_parts() -> None:
    """A stream that broke off may name any number; the text stays together."""
    said = {"type": "response.output_text.delta", "output_index": 0}
    numbers = (0, 10**15, 0, 10**15)
    events = [
        {**said, "content_index": number, "delta": f"{place}"}
        for place, number in enumerate(numbers)
    ]
    reply = read_response(events)
    assert reply is not None
    (item,) = reply.items
    assert item.partial
    assert "".join(item.text.split()) == "0213"
