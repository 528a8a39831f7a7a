from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from context_builder.collect.imports.openai_compatible import (
    READERS,
    family_of,
    read_response,
)
from context_builder.collect.imports.reading import Usage
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.render.deepseek import DeepSeekAdapter
from context_builder.render.glm import GlmAdapter
from context_builder.render.groq import GroqAdapter
from context_builder.render.kimi import KimiAdapter
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.qwen import QwenAdapter
from context_builder.render.strict import StrictAdapter
from context_builder.render.xai import XaiAdapter
from tests.render.conversations_chat import arguments_of, plain_chats

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.render.adapter import Prompt

ADAPTERS = [
    CompatAdapter(),
    DeepSeekAdapter(),
    GlmAdapter(),
    GroqAdapter(),
    KimiAdapter(),
    QwenAdapter(),
    StrictAdapter(),
    XaiAdapter(),
]


def essence(item: ContextItem) -> tuple[Any, ...]:
    """Return what every vendor can carry of an item."""
    calls = [arguments_of(call) for call in item.tool_calls]
    text = item.text.removeprefix("Error: ") if item.role == "tool" else item.text
    return item.role, text, calls


def pairs(items: list[ContextItem]) -> list[list[int]]:
    """Return, for each message that calls, which results answer which of its calls."""
    found = []
    for number, item in enumerate(items):
        ids = [call.id for call in item.tool_calls]
        answers = items[number + 1 : number + 1 + len(ids)]
        found.append([ids.index(answer.tool_call_id or "") for answer in answers])
    return found


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
@given(chat=plain_chats)
def test_ours_to_theirs_to_ours_loses_nothing(
    adapter: CompatAdapter, chat: Prompt
) -> None:
    """Texts, calls, arguments and pairs come back as they were."""
    imported = READERS[adapter.name].read_request(adapter.render(chat).request)
    assert imported.lost == ()
    assert imported.system == "You look."
    assert [essence(item) for item in imported.items] == [
        essence(item) for item in chat.items
    ]
    assert pairs(list(imported.items)) == pairs(list(chat.items))
    assert [tool["function"]["name"] for tool in imported.tools] == ["look"]


def test_reasoning_belongs_to_the_family() -> None:
    """Under either of its names."""
    call = {"id": "a", "function": {"name": "look", "arguments": "{}"}}
    for key in ("reasoning_content", "reasoning"):
        message = {"role": "assistant", "content": "", key: "so", "tool_calls": [call]}
        (item,) = READERS["kimi"].read_messages([message])
        assert item.reasoning == (ReasoningPart("kimi", "so"),)
        assert item.tool_calls == (ToolCall("a", "look", "{}"),)


def test_what_has_no_place_is_named() -> None:
    """By its path in the request; settings of ours are not lost."""
    request = {
        "model": "m",
        "temperature": 0.5,
        "seed": 1,
        "stop": None,
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "?",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
            {"role": "assistant", "content": "a", "prefix": True, "annotations": []},
        ],
    }
    assert READERS["qwen"].read_request(request).lost == (
        "seed",
        "messages[0].content[0].cache_control",
        "messages[1].prefix",
    )


# --- answers ------------------------------------------------------------------------


def completion(model: str, message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an answer as the APIs give it."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"model": model, "choices": [choice | fields.pop("choice", {})], **fields}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("deepseek-v4-pro", "deepseek"),
        ("deepseek-ai/DeepSeek-V4", "deepseek"),
        ("qwen3-max", "qwen"),
        ("kimi-k3", "kimi"),
        ("glm-5.3", "glm"),
        ("grok-4.7", "xai"),
        ("gpt-4o", None),
        ("mistral-large-latest", None),
    ],
)
def test_the_model_tells_whose_answer_it_is(model: str, family: str | None) -> None:
    """Its reasoning is that family's; others are left to their own readers."""
    answer = completion(model, {"content": "a", "reasoning_content": "so"})
    assert family_of(answer) == family
    reply = read_response(answer)
    if family is None:
        assert reply is None
        return
    assert reply is not None
    assert reply.items[0].reasoning == (ReasoningPart(family, "so", model=model),)
    assert not reply.items[0].partial


def test_figures_of_usage_by_every_name() -> None:
    """Input includes what was cached, output what was thought."""

    def usage(model: str, figures: dict[str, Any], **fields: Any) -> Usage | None:
        answer = completion(model, {"content": "a"}, usage=figures, **fields)
        reply = read_response(answer)
        return reply.usage if reply else None

    base = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    assert usage("deepseek-v4", base | {"prompt_cache_hit_tokens": 64}) == Usage(
        100, 10, cached_tokens=64
    )
    assert usage("kimi-k3", base | {"cached_tokens": 32}) == Usage(
        100, 10, cached_tokens=32
    )
    beside = {
        "total_tokens": 160,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 50},
    }
    assert usage("grok-4", base | beside) == Usage(
        100, 60, cached_tokens=8, reasoning_tokens=50
    )
    assert usage("m", base | {"prompt_cache_hit_tokens": 0}) == Usage(100, 10)


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> Any:
    """Return a chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "object": "chat.completion.chunk",
        "model": "kimi-k3",
        "choices": [choice | fields.pop("choice", {})],
        **fields,
    }


def test_a_stream_is_read_whole() -> None:
    """Reasoning, text, calls, and figures that stand in the last choice."""
    piece = {"index": 0, "id": "functions.look:0", "function": {"name": "look"}}
    figures = {"prompt_tokens": 5, "completion_tokens": 2}
    reply = read_response(
        [
            chunk({"reasoning_content": "s"}),
            chunk({"reasoning_content": "o"}),
            chunk({"content": "a"}),
            chunk({"tool_calls": [piece]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
            chunk({}, "tool_calls", choice={"usage": figures}),
        ]
    )
    assert reply is not None
    (item,) = reply.items
    assert item.content == "a"
    assert item.reasoning == (ReasoningPart("kimi", "so", model="kimi-k3"),)
    assert item.tool_calls == (ToolCall("functions.look:0", "look", "{}"),)
    assert (reply.usage, reply.stop_reason) == (Usage(5, 2), "tool_calls")
    assert not item.partial


def test_a_stream_that_broke_off_is_partial() -> None:
    """As is an answer that filled the window."""
    reply = read_response([chunk({"content": "a"})])
    assert reply is not None
    assert reply.items[0].partial
    assert reply.stop_reason is None
    full = {"finish_reason": "model_context_window_exceeded"}
    reply = read_response(completion("glm-5.3", {"content": "a"}, choice=full))
    assert reply is not None
    assert reply.items[0].partial


def test_groq_is_known_by_a_field_of_its_own() -> None:
    """Whatever the model is called; the figures of its streams stand there."""
    figures = {"prompt_tokens": 5, "completion_tokens": 2}
    reply = read_response(
        [
            chunk({"reasoning": "so"}, x_groq={"id": "1"}),
            chunk({"content": "a"}, "stop", x_groq={"id": "1", "usage": figures}),
        ]
    )
    assert reply is not None
    assert reply.items[0].reasoning[0].provider == "groq"
    assert reply.usage == Usage(5, 2)


@pytest.mark.parametrize(
    "answer", [{}, [], {"message": {}}, [{"type": "message-start"}], {"choices": []}]
)
def test_other_shapes_are_not_read(answer: Any) -> None:
    """They are somebody else's."""
    assert read_response(answer) is None
