"""What each piece of a request costs with Anthropic, and with Bedrock's Converse.

Text is counted by its characters here, so that every figure is a sum that can be read.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from context_builder.render import adapter_for
from context_builder.render.anthropic_tokens import (
    block_tokens,
    format_tokens,
    request_tokens,
    system_tokens,
    thinking_tokens,
    tools_tokens,
)
from context_builder.render.bedrock_tokens import blocks_tokens, config_tokens
from context_builder.render.bedrock_tokens import format_tokens as converse_format
from context_builder.render.bedrock_tokens import request_tokens as converse_tokens
from context_builder.render.bedrock_tokens import thinking_tokens as converse_thinking
from tests.render.conversations_chat import PIXEL, TOOLS, prompt, user

OLDER, FINER = "claude-sonnet-4-5", "claude-opus-5-5"
HOSTED, NOVA = "anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0"
SCHEMA = {"type": "object"}


def _json(value: object) -> int:
    return len(json.dumps(value))


def _source(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": kind, **fields}}


IMAGE = {"type": "image", "source": {"type": "base64", "data": PIXEL}}
AWAY = {"type": "image", "source": {"type": "url", "url": "https://a.test/b"}}
PLAIN = _source("text", data="12345")


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "text", "text": "four"}, 4),
        ({"type": "thinking", "thinking": "1234567", "signature": "x" * 12}, 7),
        ({"type": "thinking", "thinking": "1", "signature": "x" * 12}, 2),
        ({"type": "thinking", "thinking": "", "signature": "x" * 17}, 2),
        ({"type": "redacted_thinking", "data": "x" * 17}, 2),
        (
            {"type": "tool_use", "id": "a", "name": "look", "input": {"a": 1}},
            24 + 4 + len('{"a": 1}'),
        ),
        ({"type": "tool_result", "content": "four"}, 22 + 4),
        ({"type": "tool_result"}, 22),
        ({"type": "tool_result", "content": [{"type": "text", "text": "ab"}]}, 24),
        ({"type": "tool_result", "content": [IMAGE]}, 22 + 4 + 1),
        (IMAGE, 4 + 1),
        (AWAY, 4 + 1_600),
        (PLAIN, 4 + 5),
        ({**PLAIN, "title": "ab", "context": "cde"}, 4 + 5 + 2 + 3),
        ({**PLAIN, "citations": {"enabled": True}}, 4 + 5 + 580),
        ({**PLAIN, "citations": {"enabled": False}}, 4 + 5),
        (_source("content", content="1234"), 4 + 4),
        (_source("content", content=[{"type": "text", "text": "ab"}]), 4 + 2),
        (_source("url", url="https://a.test/b"), 2_400),
        (_source("base64", data="AAAA" * 16_666), 2_400),
        (_source("base64", data="AAAA" * 16_667), 4_800),
        ({**_source("file", file_id="f"), "title": "ab"}, 2_402),
        ({"type": "search_result"}, _json({"type": "search_result"})),
        (
            {"type": "search_result", "cache_control": {"type": "ephemeral"}},
            _json({"type": "search_result"}),
        ),
    ],
)
def test_blocks_of_anthropic(block: dict[str, Any], tokens: int) -> None:
    """Texts by their words, media by their size, signatures by their length."""
    assert block_tokens(block, len, OLDER) == tokens


def test_a_picture_costs_more_with_sharper_models() -> None:
    """Where its size is not known."""
    assert block_tokens(AWAY, len, FINER) == 4 + 4_784
    assert block_tokens({"type": "tool_result", "content": [AWAY]}, len, FINER) == (
        22 + 4 + 4_784
    )


def test_what_settings_cost() -> None:
    """Each once a request; nothing where it is not asked for."""
    assert thinking_tokens({"type": "enabled", "budget_tokens": 1_024}) == 30
    assert thinking_tokens({"type": "adaptive"}) == 18
    assert thinking_tokens({"type": "disabled"}) == thinking_tokens(None) == 0
    wanted = {"type": "json_schema", "schema": SCHEMA}
    assert format_tokens({"format": wanted}, len) == 135 + _json(SCHEMA)
    assert format_tokens({"effort": "low"}, len) == format_tokens(None, len) == 0
    assert system_tokens("1234", len, OLDER) == 1 + 4
    assert system_tokens([{"type": "text", "text": "ab"}], len, OLDER) == 1 + 2
    assert system_tokens("", len, OLDER) == system_tokens(None, len, OLDER) == 0


@pytest.mark.parametrize(
    ("model", "usual", "forced"),
    [
        ("claude-3-5-sonnet-20241022", 340, 340),
        ("claude-3-7-sonnet", 340, 340),
        ("claude-opus-4-1", 300, 300),
        ("claude-opus-4-5", 488, 590),
        ("claude-sonnet-4-6", 488, 590),
        ("some-model", 488, 590),
        (None, 488, 590),
        ("claude-opus-4-7", 385, 470),
        ("claude-sonnet-5", 385, 470),
    ],
)
def test_instructions_about_tools(model: str | None, usual: int, forced: int) -> None:
    """By the model's age, and more where a tool has to be called."""
    tool = {"name": "s", "input_schema": SCHEMA}
    said = 8 + _json(tool)
    assert tools_tokens([tool], len, model) == usual + said
    assert tools_tokens([tool, tool], len, model, {}) == usual + 2 * said
    assert tools_tokens([tool], len, model, {"type": "tool"}) == forced + said
    deferred = {**tool, "defer_loading": True}
    assert tools_tokens([tool, deferred], len, model) == usual + said
    assert tools_tokens([deferred], len, model) == 0


def test_a_request_to_anthropic_is_the_sum_of_its_pieces() -> None:
    """Five once, two a message."""
    tool = {"name": "s", "input_schema": SCHEMA}
    asked: dict[str, Any] = {
        "model": FINER,
        "messages": [
            {"role": "user", "content": "abc"},
            {"role": "assistant", "content": [{"type": "text", "text": "ab"}]},
        ],
    }
    bare = 5 + 2 + 3 + 2 + 2
    assert request_tokens(asked, len) == bare
    more = {
        "system": "1234",
        "tools": [tool],
        "tool_choice": {"type": "any"},
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"schema": SCHEMA}},
    }
    assert request_tokens({**asked, **more}, len) == (
        bare + 5 + 470 + 8 + _json(tool) + 18 + 135 + _json(SCHEMA)
    )
    older = {**asked, "output_format": {"schema": SCHEMA}}
    assert request_tokens(older, len) == bare + 135 + _json(SCHEMA)


# --- Bedrock --------------------------------------------------------------------------


def _document(kind: str, data: bytes | None) -> dict[str, Any]:
    source: dict[str, Any] = {"s3Location": {}} if data is None else {"bytes": data}
    return {"document": {"format": kind, "name": "ab", "source": source}}


def _picture(data: bytes | None) -> dict[str, Any]:
    source: dict[str, Any] = {"s3Location": {}} if data is None else {"bytes": data}
    return {"image": {"format": "png", "source": source}}


def _thought(text: str, signature: str | None) -> dict[str, Any]:
    said = {"text": text, "signature": signature}
    return {"reasoningContent": {"reasoningText": said}}


SPEC = {"name": "s", "inputSchema": {"json": SCHEMA}}


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"text": "four"}, 4),
        ({"json": {"a": 1}}, len('{"a": 1}')),
        ({"toolUse": {"name": "look", "input": {}}}, 24 + 4 + 2),
        ({"toolResult": {"content": [{"text": "ab"}, {"json": {}}]}}, 22 + 2 + 2),
        ({"toolResult": {"content": [_picture(base64.b64decode(PIXEL))]}}, 22 + 4 + 1),
        (_thought("1234567", "x" * 12), 7),
        (_thought("1", "x" * 12), 2),
        (_thought("", "x" * 17), 2),
        (_thought("", None), 0),
        ({"reasoningContent": {"redactedContent": b"x" * 11}}, 2),
        (_picture(base64.b64decode(PIXEL)), 4 + 1),
        (_picture(b""), 4 + 1_600),
        (_picture(None), 4 + 1_600),
        (_document("txt", b"12345"), 4 + 2 + 5),
        (_document("md", b"12\xff"), 4 + 2 + 3),
        (_document("csv", b"12"), 4 + 2 + 2),
        (_document("html", b"12"), 4 + 2 + 2),
        (_document("txt", None), 4 + 2),
        (_document("pdf", b"x" * 49_999), 4 + 2 + 2_400),
        (_document("pdf", b"x" * 50_000), 4 + 2 + 4_800),
        (_document("docx", None), 4 + 2 + 2_400),
        ({"cachePoint": {"type": "default"}}, 0),
        ({"video": {}}, 5_000),
    ],
)
def test_blocks_of_converse(block: dict[str, Any], tokens: int) -> None:
    """As with the model that is hosted; what cannot be measured costs 5,000."""
    assert blocks_tokens([block], len, HOSTED) == tokens
    assert blocks_tokens([block, {"text": "a"}], len, HOSTED) == tokens + 1
    assert blocks_tokens(None, len, HOSTED) == 0


def test_pictures_cost_what_the_hosted_model_asks() -> None:
    """Nova's are dearer than an unknown model's."""
    pixel = base64.b64decode(PIXEL)
    assert blocks_tokens([_picture(pixel)], len, NOVA) == 4 + 1_700
    assert blocks_tokens([_picture(pixel)], len, "cohere.command-r-v1:0") == 4 + 1_600
    inside = {"toolResult": {"content": [_picture(pixel)]}}
    assert blocks_tokens([inside], len, NOVA) == 22 + 4 + 1_700


def test_tools_of_converse() -> None:
    """Claude's instructions with Claude; with others a figure of their own."""
    config: dict[str, Any] = {"tools": [{"toolSpec": SPEC}, {"cachePoint": {}}]}
    said = {**SPEC, "input_schema": SCHEMA, "inputSchema": None}
    with_claude = 488 + 8 + _json(said)
    assert config_tokens(config, len, HOSTED) == with_claude
    assert config_tokens(config, len, None) == with_claude
    forced = {**config, "toolChoice": {"any": {}}}
    assert config_tokens(forced, len, HOSTED) == with_claude - 488 + 590
    free = {**config, "toolChoice": {"auto": {}}}
    assert config_tokens(free, len, HOSTED) == with_claude
    assert config_tokens(config, len, NOVA) == 120 + 12 + _json(SPEC)
    both = {"tools": config["tools"] * 2}
    assert config_tokens(both, len, NOVA) == 120 + 2 * (12 + _json(SPEC))
    assert config_tokens({}, len, NOVA) == config_tokens(None, len, HOSTED) == 0


def test_a_request_to_converse_is_the_sum_of_its_pieces() -> None:
    """Five once, two a message; tools as with the model."""
    asked: dict[str, Any] = {
        "modelId": NOVA,
        "messages": [{"role": "user", "content": [{"text": "abc"}]}],
    }
    assert converse_tokens(asked, len) == 5 + 2 + 3
    schema = json.dumps(SCHEMA)
    form = {"textFormat": {"structure": {"jsonSchema": {"schema": schema}}}}
    more = {
        "system": [{"text": "1234"}],
        "toolConfig": {"tools": [{"toolSpec": SPEC}]},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        "outputConfig": form,
    }
    assert converse_tokens({**asked, **more}, len) == (
        5 + 2 + 3 + 4 + 120 + 12 + _json(SPEC) + 30 + 135 + len(schema)
    )
    assert converse_format(form, len) == 135 + len(schema)
    assert converse_format({}, len) == converse_format(None, len) == 0
    for kind, tokens in (("enabled", 30), ("adaptive", 30), ("disabled", 0)):
        assert converse_thinking({"thinking": {"type": kind}}) == tokens
    assert converse_thinking({}) == converse_thinking(None) == 0


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("anthropic", OLDER),
        ("anthropic", FINER),
        ("bedrock", HOSTED),
        ("bedrock", NOVA),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thinking_budget_tokens": 2_000, "max_output_tokens": 3_000},
        {"reasoning_effort": "high"},
        {"tool_choice": "required"},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": {"type": "object"}},
            }
        },
    ],
    ids=lambda options: next(iter(options), "none"),
)
def test_the_parts_of_a_bill_add_up(
    target: str, model: str, options: dict[str, Any]
) -> None:
    """Fixed costs and an item's own are what the finished request is counted as."""
    adapter = adapter_for(target)
    asked = prompt(
        user("abc"), system="1234", tools=TOOLS, model=model, options=options
    )
    fixed = adapter.fixed_tokens(asked, len)
    own = adapter.item_tokens(asked.items[0], len, model=model)
    request = adapter.render(asked).request
    whole = adapter.request_tokens(request, len)
    assert whole <= sum(fixed.values()) + own <= whole + 40
