"""What each piece of a request costs with the vendors whose messages are like OpenAI's.

Text is counted by its characters here, so that every figure is a sum that can be read.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_builder.items import ContextItem
from context_builder.render import adapter_for
from context_builder.render.chat_turns import FIRST_USER
from context_builder.render.estimated_tokens import (
    ChatFraming,
    json_tokens,
    message_tokens,
    tools_tokens,
)
from tests.render.conversations_chat import PIXEL, TOOLS, prompt, user

FRAMING = ChatFraming(request=1, message=2, call=30, result=400, tool=5)
URL = f"data:image/png;base64,{PIXEL}"


def _tokens(framing: ChatFraming = FRAMING, **message: Any) -> int:
    return message_tokens({"role": "user", **message}, len, framing, "m")


def _part(kind: str, value: Any = None, family: str = "") -> int:
    part = {"type": kind} if value is None else {"type": kind, kind: value}
    return _tokens(ChatFraming(message=0, image_family=family), content=[part])


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"content": "four"}, 2 + 4),
        ({"content": None}, 2),
        ({}, 2),
        ({"content": [{"type": "text", "text": "ab"}] * 2}, 2 + 4),
        ({"role": "tool", "content": "ab"}, 2 + 2 + 400),
        ({"content": "", "name": "Ann"}, 2 + 3),
        ({"content": "", "reasoning_content": "ab"}, 2 + 2),
        ({"content": "", "reasoning": "ab"}, 2 + 2),
        ({"content": "", "thinking": "ab"}, 2 + 2),
        ({"content": "", "tool_plan": "ab"}, 2 + 2),
        ({"content": "", "tool_plan": None, "name": ["x"]}, 2),
        ({"content": "", "images": [PIXEL, PIXEL]}, 2 + 2 * 1_600),
    ],
)
def test_pieces_of_a_message(message: dict[str, Any], tokens: int) -> None:
    """All that is said in words, wherever it stands; a result costs its own."""
    assert _tokens(**message) == tokens


def test_calls() -> None:
    """Name and arguments, as text or written out."""
    call = {"function": {"name": "look", "arguments": '{"a": 1}'}}
    parsed = {"function": {"name": "look", "arguments": {"a": "é"}}}
    assert _tokens(content="", tool_calls=[call]) == 2 + 30 + 4 + 8
    assert _tokens(content="ab", tool_calls=[call, parsed]) == (
        2 + 2 + 2 * (30 + 4) + 8 + len('{"a": "é"}')
    )


@pytest.mark.parametrize(
    ("kind", "value", "family", "tokens"),
    [
        ("thinking", "four", "", 4),
        ("thinking", [{"text": "ab"}, {"text": None}, {"text": "c"}], "", 3),
        ("document", {"a": "é"}, "", len('{"a": "é"}')),
        ("image_url", URL, "", 1_600),
        ("image_url", {"url": URL}, "mistral", 2),
        ("image_url", URL, "qwen", 3),
        ("image_url", {"url": "https://a.test/b"}, "qwen", 1_600),
        ("image_url", {"url": "https://a.test/b"}, "mistral", 55 * 55 + 55),
        ("input_audio", "AAAA", "", 3_000),
        ("document_url", "https://a.test/b", "", 3_000),
        ("file", None, "", 3_000),
    ],
)
def test_parts(kind: str, value: Any, family: str, tokens: int) -> None:
    """Pictures by the family's formula; what cannot be measured costs 3,000."""
    assert _part(kind, value, family) == tokens


def test_tools_and_data() -> None:
    """As the JSON that is sent; nothing for none."""
    tool = {"name": "é"}
    assert tools_tokens([tool, tool], len, FRAMING) == 2 * (5 + len('{"name": "é"}'))
    assert json_tokens({"a": "é"}, len) == len('{"a": "é"}')
    assert json_tokens(None, len) == json_tokens({}, len) == 0


@pytest.mark.parametrize(
    ("target", "request_", "call", "result"),
    [
        ("openai-compatible", 20, 8, 0),
        ("deepseek", 76, 8, 0),
        ("glm", 20, 8, 0),
        ("groq", 20, 8, 0),
        ("kimi", 64, 8, 0),
        ("qwen", 20, 8, 0),
        ("xai", 185, 8, 0),
        ("strict", 20, 8, 0),
        ("mistral", 20, 18, 10),
        ("cohere", 20, 8, 0),
        ("ollama", 20, 8, 0),
    ],
)
def test_the_framing_of_each_vendor(
    target: str, request_: int, call: int, result: int
) -> None:
    """What stands around a request, a call and a result; four around each message."""
    adapter = adapter_for(target)
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "abc"}]}
    bare = request_ + 4 + 3
    assert adapter.request_tokens(asked, len) == bare
    calls = [{"function": {"name": "f", "arguments": "{}"}}]
    said = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "ab"},
    ]
    loop = {"messages": [*asked["messages"], *said]}
    assert adapter.request_tokens(loop, len) == bare + 4 + call + 3 + 4 + 2 + result
    tool = {"type": "function", "function": {"name": "f"}}
    with_tool = {**asked, "tools": [tool]}
    assert adapter.request_tokens(with_tool, len) == bare + 8 + len(json.dumps(tool))
    key = "format" if target == "ollama" else "response_format"
    wanted = {"type": "json_object"}
    assert adapter.request_tokens({**asked, key: wanted}, len) == (
        bare + len(json.dumps(wanted))
    )


FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "a", "schema": {"type": "object"}},
}


@pytest.mark.parametrize(
    "target",
    [
        "openai-compatible", "deepseek", "glm", "groq", "kimi", "qwen", "xai", "strict",
        "mistral", "cohere", "ollama",
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"response_format": FORMAT}], ids=["", "json"])
def test_the_parts_of_a_bill_add_up(target: str, options: dict[str, Any]) -> None:
    """The system prompt, an item, the tools or the format, and what a beginning costs.

    Whoever wants the user first keeps room for a message that may have to be put there.
    """
    adapter = adapter_for(target)
    tools = () if options else TOOLS
    asked = prompt(user("abc"), system="12345", tools=tools, options=options)
    fixed = adapter.fixed_tokens(asked, len)
    own = adapter.item_tokens(asked.items[0], len, model=None)
    whole = adapter.request_tokens(adapter.render(asked).request, len)
    assert fixed["system"] == 4 + 5
    assert own == 4 + 3
    room = sum(fixed.values()) + own - whole
    first = 4 + len(FIRST_USER) if adapter.capabilities.user_first else 0
    assert room == first
    bare = adapter.fixed_tokens(prompt(user("abc")), len)
    assert bare["system"] == bare["tools"] == 0


# --- OpenAI itself --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "begin", "spoken", "around_call"),
    [
        ("gpt-4o", 3, 4, 9), (None, 3, 4, 9), ("o3", 2, 4, 9), ("gpt-5", 2, 6, 15),
    ],
)  # fmt: skip
def test_openai_by_the_family_of_the_model(
    model: str | None, begin: int, spoken: int, around_call: int
) -> None:
    """A request, a message, what the assistant says, and a call with its result."""
    adapter = adapter_for("openai")
    named = {"model": model} if model else {}
    asked = {"role": "user", "content": "abc"}
    said = {"role": "assistant", "content": "ab"}

    def bill(*messages: Any, **fields: Any) -> int:
        request = {**named, "messages": [*messages], **fields}
        return adapter.request_tokens(request, len)

    assert bill(asked) == begin + 4 + 3
    assert bill(asked, said) == begin + 4 + 3 + spoken + 2
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]
    called = {"role": "assistant", "content": None, "tool_calls": calls}
    answer = {"role": "tool", "tool_call_id": "a", "content": "ab"}
    around = around_call + len("f") + len("functions.f") + len("{}")
    assert bill(asked, called, answer) == begin + 4 + 3 + around + 3 + 2
    item = ContextItem("user", "abc", source="user")
    assert adapter.item_tokens(item, len, model=model) == 4 + 3
    fixed = adapter.fixed_tokens(prompt(user("abc"), system="12", model=model), len)
    assert fixed == {"system": 4 + 2, "tools": 0, "overhead": begin}
