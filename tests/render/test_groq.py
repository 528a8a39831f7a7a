from __future__ import annotations

from inline_snapshot import snapshot

from context_builder.render.groq import GroqAdapter
from tests.render.conversations_chat import EVERYTHING


def test_everything() -> None:
    """The whole request, word for word."""
    assert GroqAdapter().render(EVERYTHING).request == snapshot(
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
