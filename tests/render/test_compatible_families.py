"""What the families that speak Chat Completions say otherwise than any such server."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from context_builder.render import adapter_for, validate
from tests.render.conversations_chat import EVERYTHING

FAMILIES = ("deepseek", "glm", "groq", "kimi", "qwen", "xai")

Json = dict[str, Any]


def said_by(target: str) -> Json:
    """Return the whole request of one conversation that has everything."""
    return adapter_for(target).render(EVERYTHING).request


def test_everything() -> None:
    """The whole request, word for word, to a server of no known family."""
    assert said_by("openai-compatible") == snapshot(
        {
            "messages": [
                {"role": "system", "content": "You look."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "call_1_aDTFeNhe",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": "sea"}'},
                        },
                        {
                            "id": "call_2_uquaoaS0",
                            "type": "function",
                            "function": {"name": "look_at_EOUPSE1A", "arguments": "{}"},
                        },
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "call_1_aDTFeNhe",
                    "content": "Error: gone",
                },
                {"role": "tool", "tool_call_id": "call_2_uquaoaS0", "content": "seen"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "[returned by look at]"},
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,aW1n"},
                        },
                    ],
                },
                {"role": "user", "content": "<system-note>Be brief.</system-note>"},
                {"role": "user", "content": "<memory>A memory.</memory>"},
                {
                    "role": "user",
                    "content": """\
And this?
[audio not shown: audio/wav, 1 KiB]\
""",
                },
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "description": "Looks.",
                        "parameters": {
                            "type": "object",
                            "properties": {"at": {"type": "string"}},
                        },
                    },
                }
            ],
            "tool_choice": "auto",
            "max_tokens": 100,
        }
    )


def otherwise(target: str) -> Json:
    """Return what a family says otherwise: messages left out and put in, arguments."""
    usual, own = said_by("openai-compatible"), said_by(target)
    messages, others = own.pop("messages"), usual.pop("messages")
    return {
        "not": [one["content"] for one in others if one not in messages],
        "but": [one for one in messages if one not in others],
        **{
            key: own.get(key)
            for key in (*own, *usual)
            if own.get(key) != usual.get(key)
        },
    }


def test_what_each_family_says_otherwise() -> None:
    """Reasoning, ids, names and pictures; all the rest is the same."""
    assert {name: otherwise(name) for name in FAMILIES} == snapshot(
        {
            "deepseek": {
                "not": [
                    "Looking.",
                    "seen",
                    [
                        {"type": "text", "text": "[returned by look at]"},
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,aW1n"},
                        },
                    ],
                ],
                "but": [
                    {
                        "role": "assistant",
                        "content": "Looking.",
                        "reasoning_content": "own",
                        "tool_calls": [
                            {
                                "id": "call_1_aDTFeNhe",
                                "type": "function",
                                "function": {
                                    "name": "look",
                                    "arguments": '{"at": "sea"}',
                                },
                            },
                            {
                                "id": "call_2_uquaoaS0",
                                "type": "function",
                                "function": {
                                    "name": "look_at_EOUPSE1A",
                                    "arguments": "{}",
                                },
                            },
                        ],
                    },
                    {
                        "role": "tool",
                        "tool_call_id": "call_2_uquaoaS0",
                        "content": """\
seen
[image not shown: 1 KiB]\
""",
                    },
                ],
            },
            "glm": {
                "not": ["Looking."],
                "but": [
                    {
                        "role": "assistant",
                        "content": "Looking.",
                        "reasoning_content": "own",
                        "tool_calls": [
                            {
                                "id": "call_1_aDTFeNhe",
                                "type": "function",
                                "function": {
                                    "name": "look",
                                    "arguments": '{"at": "sea"}',
                                },
                            },
                            {
                                "id": "call_2_uquaoaS0",
                                "type": "function",
                                "function": {
                                    "name": "look_at_EOUPSE1A",
                                    "arguments": "{}",
                                },
                            },
                        ],
                    }
                ],
            },
            "groq": {"not": [], "but": []},
            "kimi": {
                "not": ["Looking.", "seen"],
                "but": [
                    {
                        "role": "assistant",
                        "content": "Looking.",
                        "reasoning_content": "own",
                        "tool_calls": [
                            {
                                "id": "call_1_aDTFeNhe",
                                "type": "function",
                                "function": {
                                    "name": "look",
                                    "arguments": '{"at": "sea"}',
                                },
                            },
                            {
                                "id": "call:2",
                                "type": "function",
                                "function": {
                                    "name": "look_at_EOUPSE1A",
                                    "arguments": "{}",
                                },
                            },
                        ],
                    },
                    {"role": "tool", "tool_call_id": "call:2", "content": "seen"},
                ],
            },
            "qwen": {"not": [], "but": []},
            "xai": {
                "not": ["Look."],
                "but": [{"role": "user", "content": "Look.", "name": "Ann_B"}],
            },
        }
    )


@pytest.mark.parametrize("target", FAMILIES)
def test_each_family_accepts_everything(target: str) -> None:
    """Its own validator, written apart from the adapter, finds nothing."""
    assert validate({"model": "some-model", **said_by(target)}, target) == []
