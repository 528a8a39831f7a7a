# ruff: noqa: E501  (snapshots hold texts as they are)
from __future__ import annotations

from itertools import pairwise

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


def test_the_table_of_conversations() -> None:
    """How each conversation is said to a model that takes notes of the role system."""
    said_so = {
        name: unmarked(render(items, NEWER).messages) for name, items in TABLE.items()
    }
    assert said_so == snapshot(
        {
            "greeting": [
                {"role": "user", "content": [{"type": "text", "text": "Hello."}]}
            ],
            "greeting first": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "(The conversation begins here.)"}
                    ],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Welcome."}],
                },
                {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
            ],
            "neighbours": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Hello."},
                        {"type": "text", "text": "My fern is brown."},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "How often is it watered?"},
                        {"type": "text", "text": "And how much light?"},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "<system-note>Answer in one sentence.</system-note>",
                        },
                        {"type": "text", "text": "Twice a week."},
                    ],
                },
            ],
            "note behind the user": [
                {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
                {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
                {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
            ],
            "note before the user": [
                {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
                {
                    "role": "system",
                    "content": [
                        {"type": "text", "text": "Be brief."},
                        {"type": "text", "text": "Be kind."},
                    ],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "OK"}]},
                {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
            ],
            "note first": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "<system-note>Be brief.</system-note>",
                        },
                        {"type": "text", "text": "Hello."},
                    ],
                }
            ],
            "parallel calls": [
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
            "strange ids": [
                {"role": "user", "content": [{"type": "text", "text": "Go."}]},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "call_fc_9_x_UcpwVjRF",
                            "name": "search",
                            "input": {"q": "one"},
                        },
                        {
                            "type": "tool_use",
                            "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_svFd1TLg",
                            "name": "search",
                            "input": {"q": "two"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "call_fc_9_x_UcpwVjRF",
                            "content": "1",
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_svFd1TLg",
                            "content": "2",
                        },
                    ],
                },
            ],
            "thinking in a loop": [
                {"role": "user", "content": [{"type": "text", "text": "Think."}]},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "thinking",
                            "thinking": "  keep\tthis  ",
                            "signature": "c2ln",
                        },
                        {
                            "type": "tool_use",
                            "id": "t1",
                            "name": "search",
                            "input": {"q": "one"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
                    ],
                },
            ],
            "another vendor's thinking": [
                {"role": "user", "content": [{"type": "text", "text": "Think."}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
                {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
            ],
            "only a thought": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Think."},
                        {"type": "text", "text": "And?"},
                    ],
                }
            ],
            "pictures and files": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Compare:"},
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC",
                            },
                        },
                        {
                            "type": "image",
                            "source": {
                                "type": "url",
                                "url": "https://example.com/a.png",
                            },
                        },
                        {"type": "text", "text": "[image not shown: image/bmp, 1 KiB]"},
                        {
                            "type": "document",
                            "source": {
                                "type": "base64",
                                "media_type": "application/pdf",
                                "data": "JVBERi0xLjQgbm90aGluZyB0byBzZWU=",
                            },
                            "title": "a.pdf",
                        },
                        {
                            "type": "document",
                            "source": {
                                "type": "text",
                                "media_type": "text/plain",
                                "data": "plain",
                            },
                            "title": "a.txt",
                        },
                        {"type": "text", "text": "[audio not shown: audio/wav, 1 KiB]"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Here:"},
                        {"type": "text", "text": "[image not shown: image/png, 1 KiB]"},
                        {
                            "type": "tool_use",
                            "id": "p",
                            "name": "search",
                            "input": {"q": "picture"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "p",
                            "content": [
                                {"type": "text", "text": "found"},
                                {
                                    "type": "image",
                                    "source": {
                                        "type": "base64",
                                        "media_type": "image/png",
                                        "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC",
                                    },
                                },
                                {
                                    "type": "text",
                                    "text": "[audio not shown: audio/wav, 1 KiB]",
                                },
                            ],
                        }
                    ],
                },
            ],
            "only a picture": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIIAggC",
                            },
                        }
                    ],
                }
            ],
            "framed": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": "<memory>The user likes tea.</memory>",
                        },
                        {
                            "type": "text",
                            "text": "<summary>Earlier: <\\/summary> nothing.</summary>",
                        },
                        {"type": "text", "text": "What do I like?"},
                    ],
                }
            ],
            "signed blank text": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Hello."},
                        {"type": "text", "text": "There?"},
                    ],
                }
            ],
            "custom call": [
                {"role": "user", "content": [{"type": "text", "text": "Run it."}]},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "c",
                            "name": "shell",
                            "input": {"input": "ls -l"},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c", "content": "a.txt"}
                    ],
                },
            ],
        }
    )
