from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from context_builder.errors import AdapterError
from context_builder.messages import ReasoningPart, TextPart
from context_builder.render.validate_anthropic import validate_anthropic
from tests.render.anthropic_helpers import (
    BOUND,
    NEWER,
    OLDER,
    SDK,
    render,
)
from tests.render.conversations_anthropic import (
    TABLE,
    numbered,
    result,
    said,
    thought,
    user,
)
from tests.render.sdk_types import sdk_refusals

# --- thinking ------------------------------------------------------------------------


def test_thinking_goes_back_byte_for_byte() -> None:
    """White space, empty text and unknown fields of a signed block are kept."""
    data = {"type": "thinking", "thinking": "", "signature": "cw==", "later": {"x": 1}}
    hidden = {"type": "redacted_thinking", "data": "cmVk"}
    reasoning = (
        ReasoningPart("anthropic", "", "cw==", OLDER, data),
        ReasoningPart("anthropic", data=hidden),
    )
    items = numbered(
        user("Go."), said("", ("a", "x"), reasoning=reasoning), result("a", "1")
    )
    content = render(items).messages[1]["content"]
    assert content[:2] == [data, hidden]
    assert content[2]["type"] == "tool_use"


@pytest.mark.parametrize(
    ("written_by", "model", "kept"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-6", True),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", True),
        ("claude-opus-5-5", "claude-opus-5-5-20260901", True),
        ("claude-opus-5-5", "claude-sonnet-5-5", False),
        ("claude-sonnet-4-5", "claude-opus-5-5", False),
        ("claude-fable-5-1", "claude-opus-4-6", False),
        ("claude-fable-5-2", "claude-fable-5-1", False),
        ("claude-mythos-5-2", "claude-mythos-5-1", False),
        ("claude-mythos-5-1", "claude-mythos-5", True),
        ("claude-haiku-5-5", "claude-haiku-4-5", False),
        (None, "claude-opus-5-5", True),
    ],
)
def test_bound_thinking_stays_with_its_model(
    written_by: str | None,
    model: str,
    kept: bool,
) -> None:
    """The newest models take only what they wrote; the others take each other's."""
    items = numbered(
        user("Go."), said("Done.", reasoning=(thought(model=written_by),)), user("And?")
    )
    rendering = render(items, model)
    types = [block["type"] for block in rendering.messages[1]["content"]]
    assert types == (["thinking", "text"] if kept else ["text"])
    assert bool(rendering.repairs) is not kept


def test_unsigned_and_foreign_thinking_is_left_out() -> None:
    """It is never forged, and never said as text."""
    reasoning = (
        ReasoningPart("anthropic", "unsigned secret"),
        thought("foreign secret", provider="openai-responses"),
    )
    items = numbered(user("Go."), said("Done.", reasoning=reasoning), user("And?"))
    rendering = render(items)
    assert "secret" not in json.dumps(rendering.request)
    assert [mark.item_id for mark in rendering.repairs] == ["i1"]


def test_a_thought_never_ends_a_turn() -> None:
    """A message of nothing but thoughts is left out, and its neighbours are joined."""
    rendering = render(TABLE["only a thought"])
    assert [message["role"] for message in rendering.messages] == ["user"]
    assert len(rendering.messages[0]["content"]) == 2


def test_thoughts_between_texts_keep_their_places() -> None:
    """The order in which they came is the order in which they go back."""
    item = replace(
        said(
            (TextPart(text="one"), TextPart(text="two")),
            ("a", "x"),
            reasoning=(thought("1"), thought("2")),
        ),
        metadata={"extra": {"anthropic": {"order": "rcrct"}}},
    )
    content = render(numbered(user("Go."), item, result("a", "1"))).messages[1][
        "content"
    ]
    kinds = [block["type"] for block in content]
    assert kinds == ["thinking", "text", "thinking", "text", "tool_use"]
    shortened = replace(item, content="one two")
    content = render(numbered(user("Go."), shortened, result("a", "1"))).messages[1][
        "content"
    ]
    kinds = [block["type"] for block in content]
    assert kinds == ["thinking", "thinking", "text", "tool_use"]


def test_thinking_is_left_out_where_the_running_calls_were_made_without() -> None:
    """The API wants a thought before the calls that are running."""
    items = numbered(user("Go."), said("", ("a", "x")), result("a", "1"))
    rendering = render(items, thinking_budget_tokens=2_000)
    assert "thinking" not in rendering.request
    assert [mark.item_id for mark in rendering.repairs] == ["request"]
    going_on = numbered(*items, user("And now?"))
    assert render(going_on, thinking_budget_tokens=2_000).request["thinking"] == {
        "type": "enabled",
        "budget_tokens": 2_000,
    }


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        (OLDER, {"thinking_budget_tokens": 500}, ("enabled", 1_024, None)),
        (OLDER, {"reasoning_effort": "low"}, ("enabled", 2_048, None)),
        ("claude-opus-4-5", {"reasoning_effort": "max"}, ("enabled", 32_768, "high")),
        ("claude-opus-4-6", {"reasoning_effort": "xhigh"}, ("adaptive", None, "max")),
        (
            "claude-opus-4-6",
            {"thinking_budget_tokens": 3_000},
            ("enabled", 3_000, None),
        ),
        (NEWER, {"thinking_budget_tokens": 3_000}, ("adaptive", None, None)),
        (BOUND, {"reasoning_effort": "minimal"}, ("adaptive", None, "low")),
        ("claude-sonnet-5", {"reasoning_effort": "none"}, ("disabled", None, None)),
        (BOUND, {"reasoning_effort": "none"}, None),
        (OLDER, {"reasoning_effort": "none"}, None),
        ("claude-3-5-haiku-20241022", {"reasoning_effort": "high"}, None),
        (OLDER, {}, None),
    ],
)
def test_thinking_as_each_model_takes_it(
    model: str,
    options: dict[str, Any],
    expected: tuple[str, int | None, str | None] | None,
) -> None:
    """A number, a word, or the model's own choice."""
    request = render(TABLE["greeting"], model, **options).request
    thinking = request.get("thinking")
    effort = request.get("output_config", {}).get("effort")
    found = (
        (thinking["type"], thinking.get("budget_tokens"), effort) if thinking else None
    )
    assert found == expected
    assert validate_anthropic(request) == []
    SDK.validate_python(request)


def test_a_budget_needs_room_in_the_output() -> None:
    """Where it cannot be had, the caller is told what to change."""
    with pytest.raises(AdapterError, match="max_output_tokens"):
        render(TABLE["greeting"], thinking_budget_tokens=2_000, max_output_tokens=800)


# --- settings ------------------------------------------------------------------------


def test_what_a_model_refuses_is_left_out_and_reported() -> None:
    """Temperature, forced tools and bare JSON mode are not taken everywhere."""
    rendering = render(
        TABLE["greeting"],
        BOUND,
        temperature=0.5,
        tool_choice="required",
        response_format={"type": "json_object"},
    )
    assert "temperature" not in rendering.request
    assert rendering.request["tool_choice"] == {"type": "auto"}
    assert "output_config" not in rendering.request
    assert [mark.item_id for mark in rendering.repairs] == ["request"] * 3
    assert validate_anthropic(rendering.request) == []
    most = render(TABLE["greeting"], temperature=1.5).request
    assert most["extra_body"] == {"temperature": 1}


def test_a_temperature_is_no_argument_of_newer_sdks() -> None:
    """It goes in the body, beside what the caller puts there, and is checked there."""
    extra = {"extra_body": {"top_p": 0.9}}
    request = render(TABLE["greeting"], temperature=0.2, extra=extra).request
    assert request["extra_body"] == {"temperature": 0.2, "top_p": 0.9}
    assert not sdk_refusals("anthropic", request)
    assert validate_anthropic(request) == []
    hot = {**request, "extra_body": {"temperature": 1.5}}
    assert [problem.where for problem in validate_anthropic(hot)] == ["temperature"]


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({}, None),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "now"}}},
            {"type": "tool", "name": "now"},
        ),
        (
            {"parallel_tool_calls": False},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
    ],
)
def test_tool_choice(options: dict[str, Any], choice: dict[str, Any] | None) -> None:
    """OpenAI's words for it become Anthropic's."""
    request = render(TABLE["greeting"], **options).request
    assert request.get("tool_choice") == choice
    assert "tool_choice" not in render(TABLE["greeting"], tools=(), **options).request


def test_the_output_limit_is_always_set() -> None:
    """The API wants one: the caller's, or a usual one within the model's."""
    assert render(TABLE["greeting"], max_output_tokens=7).request["max_tokens"] == 7
    assert render(TABLE["greeting"]).request["max_tokens"] == 8_192
    assert render(TABLE["greeting"], None).request["max_tokens"] == 8_192
    assert (
        render(TABLE["greeting"], thinking_budget_tokens=4_000).request["max_tokens"]
        == 12_192
    )


def test_tool_schemas_have_an_object_at_their_root() -> None:
    """References and alternatives at the root are resolved; the rest is kept."""
    odd = {
        "$ref": "#/$defs/Query",
        "$defs": {
            "Query": {
                "anyOf": [
                    {"type": "object", "properties": {"a": {}}, "required": ["a"]},
                    {"$ref": "#/$defs/Other"},
                ]
            },
            "Other": {"properties": {"a": {}, "b": {}}, "required": ["b", "a"]},
        },
    }
    tools = (
        {"type": "function", "function": {"name": "odd name", "parameters": odd}},
        {"type": "custom", "custom": {"name": "shell", "description": "Runs."}},
        {"type": "function", "function": {"name": "s", "strict": True}},
    )
    request = render(TABLE["greeting"], tools=tools).request
    schema = request["tools"][0]["input_schema"]
    assert (schema["type"], sorted(schema["properties"])) == ("object", ["a", "b"])
    assert schema["required"] == ["a"]
    assert request["tools"][1]["input_schema"]["required"] == ["input"]
    assert request["tools"][2]["strict"] is True
    assert validate_anthropic(request) == []


def test_an_answer_schema_is_closed() -> None:
    """Objects take no further properties, and limits that are refused are left out."""
    schema = {
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "minimum": 1},
            "x": {"enum": [1]},
        },
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    config = render(TABLE["greeting"], response_format=wanted).request["output_config"]
    assert config["format"]["schema"] == {
        "type": "object",
        "properties": {"minimum": {"type": "integer"}, "x": {"enum": [1]}},
        "additionalProperties": False,
    }


def test_extra_arguments_win() -> None:
    """What the caller hands over for the vendor is merged last."""
    extra = {"top_k": 5, "max_tokens": 3, "cache_control": {"type": "ephemeral"}}
    request = render(TABLE["greeting"], extra=extra).request
    assert (request["top_k"], request["max_tokens"]) == (5, 3)
