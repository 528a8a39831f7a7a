from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from context_builder.messages import ToolCall
from context_builder.render.deepseek import DeepSeekAdapter
from context_builder.render.glm import GlmAdapter
from context_builder.render.groq import GroqAdapter
from context_builder.render.kimi import KimiAdapter
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.qwen import QwenAdapter
from context_builder.render.strict import StrictAdapter, strict_dialect
from context_builder.render.xai import XaiAdapter
from tests.render.conversations_chat import TOOLS, assistant, prompt, result, user
from tests.render.wire import broken

ONE, TWO = ToolCall("call_1", "look"), ToolCall("call_2", "look")
CHAT = prompt(
    user("?"),
    assistant("", ONE, TWO),
    result(ONE, "a"),
    result(TWO, "b"),
    assistant("c"),
    user("d"),
    system="s",
    tools=TOOLS,
)
SINGLE = StrictAdapter(strict_dialect(parallel_calls=False))
NINE = StrictAdapter(strict_dialect(nine_char_ids=True, bridge="OK"))
NO_SYSTEM = StrictAdapter(strict_dialect(system_role="fold_into_user"))
NO_TOOLS = StrictAdapter(strict_dialect(tool_role=False))
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
PICTURE = [{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]


@pytest.mark.parametrize(
    ("adapter", "path", "value", "rule"),
    [
        (CompatAdapter(), "messages", [], "at least one message"),
        (CompatAdapter(), "messages.0.role", "developer", "a role is one of"),
        (CompatAdapter(), "messages.5.role", "system", "at the front"),
        (CompatAdapter(), "messages.1.name", "Ann", "no such field"),
        (CompatAdapter(), "messages.2.reasoning_content", "so", "no such field"),
        (CompatAdapter(), "messages.1.role", "assistant", "is the user's"),
        (CompatAdapter(), "messages.2.tool_calls.0.id", "a|b", "1 to 40 letters"),
        (CompatAdapter(), "messages.2.tool_calls.0.id", "call_2", "ids of the calls"),
        (CompatAdapter(), "messages.2.tool_calls", [], "is not empty"),
        (CompatAdapter(), "messages.2.content", None, "content is text"),
        (CompatAdapter(), "messages.3", None, "is answered before"),
        (CompatAdapter(), "messages.3.tool_call_id", "other", "answers an open call"),
        (CompatAdapter(), "messages.3.content", " ", "not blank"),
        (CompatAdapter(), "messages.5.content", "", "has text or calls"),
        (CompatAdapter(), "messages.5.content", PICTURE, "only a user message"),
        (
            CompatAdapter(),
            "messages.6.content",
            [{"type": "text", "text": "d"}],
            "alone",
        ),
        (CompatAdapter(), "messages.6.content", [{"type": "file"}], "is not known"),
        (CompatAdapter(), "tools.0.function.strict", True, "has no such field"),
        (CompatAdapter(), "tools.0.function.name", "a b", "1 to 64 letters"),
        (CompatAdapter(), "tool_choice", "any", "is not a choice here"),
        (CompatAdapter(), "max_completion_tokens", 5, "refused or not known"),
        (
            DeepSeekAdapter(),
            "messages.2.reasoning_content",
            "",
            "carries its reasoning",
        ),
        (DeepSeekAdapter(), "model", "deepseek-reasoner", "takes no reasoning back"),
        (DeepSeekAdapter(), "messages.6.content", PICTURE, "is not known"),
        (DeepSeekAdapter(), "response_format", SCHEMA, "held to a schema"),
        (KimiAdapter(), "messages.2.reasoning_content", None, "carries its reasoning"),
        (KimiAdapter(), "tool_choice", "required", "is not a choice here"),
        (KimiAdapter(), "temperature", 0.5, "refused or not known"),
        (GlmAdapter(), "parallel_tool_calls", True, "refused or not known"),
        (QwenAdapter(), "messages.1.role", "assistant", "is the user's"),
        (XaiAdapter(), "messages.5.name", "Ann", "no such field"),
        (XaiAdapter(), "messages.3.tool_call_id", "call_2", "order of the calls"),
        (GroqAdapter(), "messages.2.refusal", "no", "no such field"),
        (StrictAdapter(), "messages.6.role", "assistant", "alternate"),
        (SINGLE, "messages.2.tool_calls.0.id", "call_9", "answers an open call"),
        (NINE, "messages.2.tool_calls.0.id", "call_1", "nine letters or digits"),
        (NINE, "messages.5.role", "user", "another result or the assistant"),
        (NO_SYSTEM, "messages.0.role", "system", "there is no system role"),
        (NO_TOOLS, "messages.3.role", "tool", "a role is one of"),
    ],
)
def test_the_validator_finds_each_rule(
    adapter: CompatAdapter, path: str, value: object, rule: str
) -> None:
    """A body that breaks one rule of its vendor is found out by it."""
    good: dict[str, Any] = adapter.render(CHAT).request
    assert list(adapter.validate(good)) == []
    found = [problem.rule for problem in adapter.validate(broken(good, path, value))]
    assert any(re.search(rule, each) for each in found), found


def test_several_calls_in_one_message_are_found_where_one_is_the_limit() -> None:
    """As some templates take single calls only."""
    request = StrictAdapter().render(CHAT).request
    found = [problem.rule for problem in SINGLE.validate(request)]
    assert found == ["a message makes one call at most"]


def test_groq_takes_no_nulls() -> None:
    """Others want text, be it empty."""
    request = GroqAdapter().render(CHAT).request
    request["messages"][2]["content"] = None
    assert [problem.rule for problem in GroqAdapter().validate(request)] == [
        "it is not null"
    ]


def test_a_choice_needs_tools() -> None:
    """There is nothing to choose from without them."""
    chat = dataclasses.replace(CHAT, items=CHAT.items[:1], tools=())
    request = {**CompatAdapter().render(chat).request, "tool_choice": "auto"}
    assert [problem.where for problem in CompatAdapter().validate(request)] == [
        "tool_choice (without tools)"
    ]
