from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.validate import ParamValidator  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from context_builder.collect.imports.bedrock import read_request
from context_builder.messages import ReasoningPart, TextPart
from context_builder.render.adapter import Prompt
from context_builder.render.validate_bedrock import validate_bedrock
from tests.render.bedrock_helpers import (
    ADAPTER,
    CLAUDE,
    LLAMA,
    MODELS,
    NEWEST,
    NOVA,
    OTHER,
    SHAPE,
    SYSTEM,
    parts_of,
    render,
    require_accepted,
    thought,
)
from tests.render.conversations_anthropic import (
    TABLE,
    TOOLS,
    conversations,
    numbered,
    result,
    said,
    user,
)

if TYPE_CHECKING:
    from context_builder.items import ContextItem

# --- reasoning -----------------------------------------------------------------------


def test_reasoning_goes_back_byte_for_byte() -> None:
    """Signed text and redacted bytes, before text and calls."""
    hidden = ReasoningPart(
        "bedrock", data={"redactedContent": base64.b64encode(b"\x00\xff").decode()}
    )
    items = numbered(
        user("Go."),
        said("Text.", ("a", "x"), reasoning=(thought(), hidden)),
        result("a", "1"),
    )
    content = render(items).messages[1]["content"]
    assert content[0] == {
        "reasoningContent": {
            "reasoningText": {"text": " as\tit is ", "signature": "c2ln"}
        }
    }
    assert content[1] == {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    assert list(content[2]) == ["text"]


@pytest.mark.parametrize(
    ("part", "model", "kept"),
    [
        (thought(), CLAUDE, True),
        (thought(), NEWEST, True),
        (thought(model=CLAUDE), NEWEST, False),
        (thought(model=NEWEST), NEWEST, True),
        (thought(model=CLAUDE), NOVA, False),
        (thought(), LLAMA, False),
        (thought(signature=None), CLAUDE, False),
        (replace(thought(), provider="anthropic"), CLAUDE, False),
        (ReasoningPart("bedrock", "x", "c2ln"), CLAUDE, True),
        (ReasoningPart("bedrock", "x"), CLAUDE, False),
    ],
)
def test_only_a_models_own_reasoning_goes_back(
    part: ReasoningPart,
    model: str,
    kept: bool,
) -> None:
    """Foreign, unsigned and bound reasoning is left out, and it is reported."""
    items = numbered(user("Go."), said("Done.", reasoning=(part,)), user("And?"))
    rendering = render(items, model)
    has = any("reasoningContent" in b for b in rendering.messages[1]["content"])
    assert has is kept
    assert bool(rendering.repairs) is not kept


def test_thinking_settings() -> None:
    """Claude's thinking travels in the fields of the model; others have their own."""
    greeting = TABLE["greeting"]
    request = render(greeting, thinking_budget_tokens=2_000).request
    assert request["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2_000}
    }
    assert request["inferenceConfig"]["maxTokens"] > 2_000
    require_accepted(request)
    newest = render(greeting, NEWEST, reasoning_effort="high", temperature=0.3)
    assert newest.request["outputConfig"] == {"effort": "high"}
    assert newest.repairs
    require_accepted(newest.request)
    nova = render(greeting, "amazon.nova-2-lite-v1:0", reasoning_effort="xhigh").request
    assert nova["additionalModelRequestFields"]["reasoningConfig"] == {
        "type": "enabled",
        "maxReasoningEffort": "high",
    }
    oss = render(greeting, "openai.gpt-oss-120b-1:0", reasoning_effort="low").request
    assert oss["additionalModelRequestFields"] == {"reasoning_effort": "low"}
    assert "additionalModelRequestFields" not in render(greeting, LLAMA).request


def test_thinking_waits_for_the_running_calls() -> None:
    """Calls that were made without it are answered without it."""
    items = numbered(user("Go."), said("", ("a", "x")), result("a", "1"))
    rendering = render(items, thinking_budget_tokens=2_000)
    assert "additionalModelRequestFields" not in rendering.request
    assert [mark.item_id for mark in rendering.repairs] == ["request"]
    forced = render(
        TABLE["greeting"], thinking_budget_tokens=2_000, tool_choice="required"
    )
    assert "additionalModelRequestFields" not in forced.request
    require_accepted(forced.request)


# --- settings ------------------------------------------------------------------------


def test_tool_choice() -> None:
    """`none` does not exist: the tools stay, and the model is told."""
    greeting = TABLE["greeting"]
    request = render(greeting, tool_choice="none").request
    assert "toolChoice" not in request["toolConfig"]
    assert request["system"][-1] == {"text": "Do not call any tool. Answer in text."}
    forced = render(greeting, tool_choice="required").request
    assert forced["toolConfig"]["toolChoice"] == {"any": {}}
    named = {"type": "function", "function": {"name": "now"}}
    request = render(greeting, tool_choice=named).request
    assert request["toolConfig"]["toolChoice"] == {"tool": {"name": "now"}}
    require_accepted(request)
    newest = render(greeting, NEWEST, tool_choice=named, parallel_tool_calls=False)
    assert "toolChoice" not in newest.request["toolConfig"]
    assert len(newest.repairs) == 2


def test_an_answer_schema() -> None:
    """It is sent as text; JSON without a schema cannot be asked for."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    request = render(TABLE["greeting"], response_format=wanted).request
    said_so = request["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(said_so["schema"])["additionalProperties"] is False
    require_accepted(request)
    assert render(TABLE["greeting"], response_format={"type": "json_object"}).repairs


def test_extra_arguments_win() -> None:
    """What the caller hands over for the vendor is merged last."""
    extra = {"inferenceConfig": {"topP": 0.5}}
    request = render(TABLE["greeting"], max_output_tokens=9, extra=extra).request
    assert request["inferenceConfig"] == {"topP": 0.5}
    clamped = render(TABLE["greeting"], temperature=1.5).request
    assert clamped["inferenceConfig"]["temperature"] == 1


# --- cache points --------------------------------------------------------------------

LONG = "many words here " * 400


def test_the_four_cache_points() -> None:
    """Behind the tools, the system, the stable items and the last turn."""
    items = numbered(user(LONG), said("One."), user(LONG), said("Two."), user("Three?"))
    tool = {"type": "function", "function": {"name": "s", "description": LONG}}
    system = replace(SYSTEM, content=LONG)
    for model, in_tools in ((CLAUDE, True), (NOVA, False)):
        request = render(items, model, stable=3, system=system, tools=(tool,)).request
        require_accepted(request)
        has = ["cachePoint" in block for block in request["toolConfig"]["tools"]]
        assert has == ([False, True] if in_tools else [False])
        assert "cachePoint" in request["system"][1]
        marked = [
            number
            for number, message in enumerate(request["messages"])
            if any("cachePoint" in block for block in message["content"])
        ]
        assert marked == [2, 4]
    assert "cachePoint" not in json.dumps(render(items, LLAMA, stable=3).request)
    assert "cachePoint" not in json.dumps(render(TABLE["parallel calls"]).request)


# --- properties ----------------------------------------------------------------------


@given(
    items=conversations(),
    model=st.sampled_from(MODELS),
    stable=st.integers(0, 9),
    tools=st.sampled_from([TOOLS, ()]),
)
def test_every_request_is_valid(
    items: tuple[ContextItem, ...], model: str, stable: int, tools: tuple[Any, ...]
) -> None:
    """Whatever came in, the vendor takes what goes out."""
    rendering = render(items, model, stable=stable, tools=tools)
    problems = validate_bedrock(rendering.request)
    assert [p for p in problems if "at most 20 pictures" not in p.rule] == []
    report = ParamValidator().validate(rendering.request, SHAPE)
    assert not report.has_errors(), report.generate_report()
    shown = {item_id for item_id, _ in rendering.spans}
    left_out = {mark.item_id for mark in rendering.repairs}
    assert {item.id for item in items} <= shown | left_out


@given(
    items=conversations(),
    more=conversations(),
    model=st.sampled_from(MODELS),
    tools=st.sampled_from([TOOLS, ()]),
)
def test_a_longer_conversation_begins_with_the_shorter(
    items: tuple[ContextItem, ...],
    more: tuple[ContextItem, ...],
    model: str,
    tools: tuple[Any, ...],
) -> None:
    """What is said for the first items does not depend on the items behind them."""
    shorter = parts_of(render(items, model, tools=tools).request)
    longer = parts_of(render(numbered(*items, *more), model, tools=tools).request)
    assert longer[: len(shorter)] == shorter


@given(
    items=conversations(),
    model=st.sampled_from(MODELS),
    tools=st.sampled_from([TOOLS, ()]),
)
def test_the_sum_of_the_items_holds(
    items: tuple[ContextItem, ...], model: str, tools: tuple[Any, ...]
) -> None:
    """Fixed costs and items are never less than the request, and not much more."""
    prompt = Prompt(items=items, system=SYSTEM, tools=tools, model=model)
    count = ADAPTER.counter(model).count
    fixed = ADAPTER.fixed_tokens(replace(prompt, items=()), count)
    total = sum(fixed.values()) + sum(
        ADAPTER.item_tokens(item, count, model=model) for item in items
    )
    exact = ADAPTER.request_tokens(ADAPTER.render(prompt).request, count)
    assert exact <= total
    if tools and model in {CLAUDE, NEWEST, NOVA}:
        slack = 24 * sum(1 + len(item.tool_calls) for item in items)
        assert total - exact <= 60 + slack


@given(items=conversations(), model=st.sampled_from([CLAUDE, NOVA, OTHER]))
def test_ours_to_theirs_and_back(items: tuple[ContextItem, ...], model: str) -> None:
    """What is read back is said in the same words again."""
    request = render(items, model).request
    back = read_request(request)
    assert back.system == SYSTEM.text
    assert [tool["function"]["name"] for tool in back.tools] == ["search", "now"]
    again = render(numbered(*back.items), model, tools=back.tools).request
    assert parts_of(again) == parts_of(request)


def test_empty_parts_are_left_out() -> None:
    """Blank text is refused everywhere."""
    items = numbered(user((TextPart(text=" "),)), user("Hello."))
    rendering = render(items)
    assert rendering.messages == [{"role": "user", "content": [{"text": "Hello."}]}]
    assert [mark.item_id for mark in rendering.repairs] == ["i0"]


def test_counters() -> None:
    """Each hosted model is counted by what is known of its tokenizer."""
    assert ADAPTER.counter(CLAUDE).name == "estimate:claude"
    assert ADAPTER.counter(NEWEST).name == "estimate:claude-new"
    assert ADAPTER.counter("openai.gpt-oss-120b-1:0").is_exact
    assert ADAPTER.counter(NOVA).name == "estimate:generic"
    assert ADAPTER.counter("never.heard-of-it").name == "estimate:generic"
