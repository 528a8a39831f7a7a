# ruff: noqa: E501  (snapshots hold texts as they are)
from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from inline_snapshot import snapshot

from context_builder.render.validate_anthropic import validate_anthropic
from tests.render.anthropic_helpers import (
    BOUND,
    NEWER,
    OLDER,
    SDK,
    render,
    unmarked,
)
from tests.render.conversations_anthropic import (
    TABLE,
)

# --- whole requests ------------------------------------------------------------------


def test_a_whole_request() -> None:
    """The keyword arguments of the SDK's call, word for word."""
    rendering = render(TABLE["parallel calls"], tool_choice="auto")
    assert rendering.repairs == ()
    assert rendering.request == snapshot(
        {
            "model": "claude-sonnet-4-5",
            "system": [{"type": "text", "text": "You are terse."}],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "Look up tea and rope."}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Looking."},
                        {
                            "type": "tool_use",
                            "id": "a",
                            "name": "search",
                            "input": {"q": "tea"},
                        },
                        {
                            "type": "tool_use",
                            "id": "b",
                            "name": "search",
                            "input": {"q": "rope"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": "tea: 3",
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "b",
                            "content": "rope: 8",
                            "is_error": True,
                        },
                        {"type": "text", "text": "Thanks. And lamps?"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "a_Mff0EKC5",
                            "name": "search",
                            "input": {"q": "lamps"},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a_Mff0EKC5",
                            "content": "(no output)",
                        }
                    ],
                },
            ],
            "max_tokens": 8192,
            "tools": [
                {
                    "name": "search",
                    "description": "Finds things.",
                    "input_schema": {
                        "type": "object",
                        "properties": {"q": {"type": "string"}},
                        "required": ["q"],
                    },
                },
                {"name": "now", "input_schema": {"properties": {}, "type": "object"}},
            ],
            "tool_choice": {"type": "auto"},
        }
    )


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("model", [None, OLDER, NEWER, BOUND])
def test_every_conversation_is_accepted(name: str, model: str | None) -> None:
    """Whatever the conversation and the model, the vendor's rules are kept."""
    request = render(TABLE[name], model).request
    request.setdefault("model", OLDER)
    assert validate_anthropic(request) == []
    SDK.validate_python(request)
    roles = [message["role"] for message in request["messages"]]
    assert all(one != other for one, other in pairwise(roles))


def in_short(messages: list[dict[str, Any]]) -> list[list[str]]:
    """Return each message as its role and its blocks, one line a block, all of it."""
    return [
        [message["role"], *map(line_of, message["content"])]
        for message in unmarked(messages)
    ]


def line_of(block: dict[str, Any]) -> str:
    """Return a block as its type and the rest of it."""
    rest = {key: value for key, value in block.items() if key != "type"}
    said = rest["text"] if list(rest) == ["text"] else json.dumps(rest)
    return f"{block['type']}: {said}"


def test_the_table_of_conversations() -> None:
    """How each conversation is said to a model that takes notes of the role system."""
    said_so = {
        name: in_short(render(items, NEWER).messages) for name, items in TABLE.items()
    }
    assert said_so == snapshot(
        {
            "greeting": [["user", "text: Hello."]],
            "greeting first": [
                ["user", "text: (The conversation begins here.)"],
                ["assistant", "text: Welcome."],
                ["user", "text: Hello."],
            ],
            "neighbours": [
                ["user", "text: Hello.", "text: My fern is brown."],
                [
                    "assistant",
                    "text: How often is it watered?",
                    "text: And how much light?",
                ],
                [
                    "user",
                    "text: <system-note>Answer in one sentence.</system-note>",
                    "text: Twice a week.",
                ],
            ],
            "note behind the user": [
                ["user", "text: Hello."],
                ["system", "text: Be brief."],
                ["assistant", "text: Hi."],
                ["user", "text: Go on."],
            ],
            "note before the user": [
                ["user", "text: Hello."],
                ["system", "text: Be brief.", "text: Be kind."],
                ["assistant", "text: OK"],
                ["user", "text: Go on."],
            ],
            "note first": [
                ["user", "text: <system-note>Be brief.</system-note>", "text: Hello."]
            ],
            "parallel calls": [
                ["user", "text: Look up tea and rope."],
                [
                    "assistant",
                    "text: Looking.",
                    'tool_use: {"id": "a", "name": "search", "input": {"q": "tea"}}',
                    'tool_use: {"id": "b", "name": "search", "input": {"q": "rope"}}',
                ],
                [
                    "user",
                    'tool_result: {"tool_use_id": "a", "content": "tea: 3"}',
                    'tool_result: {"tool_use_id": "b", "content": "rope: 8", "is_error": true}',
                    "text: Thanks. And lamps?",
                ],
                [
                    "assistant",
                    'tool_use: {"id": "a_Mff0EKC5", "name": "search", "input": {"q": "lamps"}}',
                ],
                [
                    "user",
                    'tool_result: {"tool_use_id": "a_Mff0EKC5", "content": "(no output)"}',
                ],
            ],
            "strange ids": [
                ["user", "text: Go."],
                [
                    "assistant",
                    'tool_use: {"id": "call_fc_9_x_UcpwVjRF", "name": "search", "input": {"q": "one"}}',
                    'tool_use: {"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_svFd1TLg", "name": "search", "input": {"q": "two"}}',
                ],
                [
                    "user",
                    'tool_result: {"tool_use_id": "call_fc_9_x_UcpwVjRF", "content": "1"}',
                    'tool_result: {"tool_use_id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_svFd1TLg", "content": "2"}',
                ],
            ],
            "thinking in a loop": [
                ["user", "text: Think."],
                [
                    "assistant",
                    'thinking: {"thinking": "  keep\\tthis  ", "signature": "c2ln"}',
                    'tool_use: {"id": "t1", "name": "search", "input": {"q": "one"}}',
                ],
                ["user", 'tool_result: {"tool_use_id": "t1", "content": "1"}'],
            ],
            "another vendor's thinking": [
                ["user", "text: Think."],
                ["assistant", "text: Done."],
                ["user", "text: Go on."],
            ],
            "only a thought": [["user", "text: Think.", "text: And?"]],
            "pictures and files": [
                [
                    "user",
                    "text: Compare:",
                    'image: {"source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC"}}',
                    'image: {"source": {"type": "url", "url": "https://example.com/a.png"}}',
                    "text: [image not shown: image/bmp, 1 KiB]",
                    'document: {"source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQgbm90aGluZyB0byBzZWU="}, "title": "a.pdf"}',
                    'document: {"source": {"type": "text", "media_type": "text/plain", "data": "plain"}, "title": "a.txt"}',
                    "text: [audio not shown: audio/wav, 1 KiB]",
                ],
                [
                    "assistant",
                    "text: Here:",
                    "text: [image not shown: image/png, 1 KiB]",
                    'tool_use: {"id": "p", "name": "search", "input": {"q": "picture"}}',
                ],
                [
                    "user",
                    'tool_result: {"tool_use_id": "p", "content": [{"type": "text", "text": "found"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC"}}, {"type": "text", "text": "[audio not shown: audio/wav, 1 KiB]"}]}',
                ],
            ],
            "only a picture": [
                [
                    "user",
                    'image: {"source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC"}}',
                ]
            ],
            "framed": [
                [
                    "user",
                    "text: <memory>The user likes tea.</memory>",
                    "text: <summary>Earlier: <\\/summary> nothing.</summary>",
                    "text: What do I like?",
                ]
            ],
            "signed blank text": [["user", "text: Hello.", "text: There?"]],
            "custom call": [
                ["user", "text: Run it."],
                [
                    "assistant",
                    'tool_use: {"id": "c", "name": "shell", "input": {"input": "ls -l"}}',
                ],
                ["user", 'tool_result: {"tool_use_id": "c", "content": "a.txt"}'],
            ],
        }
    )
