from __future__ import annotations

from inline_snapshot import snapshot

from context_builder.render.gemini import GeminiAdapter
from tests.render.conversations_gemini import TABLE
from tests.render.test_gemini_requests import short

NEW = "gemini-3-pro-preview"
ADAPTER = GeminiAdapter()


def test_the_table_of_conversations() -> None:
    """What each conversation becomes."""
    said = {
        name: [
            (content["role"], *content["parts"])
            for content in ADAPTER.render(TABLE[name]).messages
        ]
        for name in TABLE
        if name != "everything"
    }
    assert short(said) == snapshot(
        {
            "own signatures": [
                ["user", {"text": "Look."}],
                [
                    "model",
                    {"text": "Hm.", "thought": True},
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "sea"},
                            "id": "1",
                        },
                        "thought_signature": "YSBzaWduYXR1cmU=",
                    },
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "land"},
                            "id": "2",
                        }
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"output": "wet"},
                            "id": "1",
                        }
                    },
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"output": "dry"},
                            "id": "2",
                        }
                    },
                ],
                ["user", {"text": "Thanks."}],
                ["model", {"text": "", "thought_signature": "YWdhaW4="}],
                ["user", {"text": "And?"}],
            ],
            "another vendor's calls": [
                ["user", {"text": "Look."}],
                [
                    "model",
                    {"text": "On it."},
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "land"},
                            "id": "2",
                        },
                        "thought_signature": "UNSIGNED",
                    },
                    {"function_call": {"name": "look", "args": {}}},
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"is": "dry"},
                            "id": "2",
                        }
                    },
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"error": '{"is":"dry"}'},
                        }
                    },
                ],
                [
                    "model",
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "land"},
                            "id": "2",
                        },
                        "thought_signature": "UNSIGNED",
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"output": '{"error": "gone"}'},
                            "id": "2",
                        }
                    },
                ],
            ],
            "an older model": [
                ["user", {"text": "Look."}],
                [
                    "model",
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "land"},
                            "id": "2",
                        }
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"output": "see"},
                            "id": "2",
                        }
                    },
                ],
                [
                    "user",
                    {"text": "[returned by look]"},
                    {"inline_data": {"mime_type": "image/png", "data": "PIXEL"}},
                    {"text": "What is it?"},
                ],
            ],
            "the signature of another generation": [
                ["user", {"text": "Look."}],
                [
                    "model",
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "sea"},
                            "id": "1",
                        },
                        "thought_signature": "UNSIGNED",
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {"output": "wet"},
                            "id": "1",
                        }
                    },
                ],
            ],
            "the vendor's own parts": [
                ["user", {"text": "Count."}],
                [
                    "model",
                    {"text": "So:"},
                    {"executable_code": {"language": "PYTHON", "code": "1 + 1"}},
                    {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2"}},
                    {"text": "Two."},
                ],
                ["user", {"text": "Thanks."}],
            ],
            "media": [
                [
                    "user",
                    {"inline_data": {"mime_type": "image/png", "data": "PIXEL"}},
                    {
                        "file_data": {
                            "file_uri": "https://example.com/a.png",
                            "mime_type": "image/png",
                        }
                    },
                    {"text": "[image not shown: image/gif, 1 KiB]"},
                    {"text": "[image not shown: file-1]"},
                    {"text": "[a.pdf]"},
                    {"inline_data": {"mime_type": "application/pdf", "data": "AAAA"}},
                    {"text": '<file name="a.txt">plain</file>'},
                    {
                        "file_data": {
                            "file_uri": "https://youtu.be/x",
                            "mime_type": "video/mp4",
                        },
                        "video_metadata": {"fps": 1},
                    },
                ],
                [
                    "model",
                    {
                        "function_call": {
                            "name": "look",
                            "args": {"at": "sea"},
                            "id": "1",
                        },
                        "thought_signature": "YSBzaWduYXR1cmU=",
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "look",
                            "response": {},
                            "parts": [
                                {
                                    "inline_data": {
                                        "mime_type": "image/png",
                                        "data": "PIXEL",
                                    }
                                }
                            ],
                            "id": "1",
                        }
                    },
                ],
                [
                    "user",
                    {"text": "[returned by look]"},
                    {"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}},
                ],
            ],
            "only a picture": [
                [
                    "user",
                    {"text": "[attached: image/png]"},
                    {"inline_data": {"mime_type": "image/png", "data": "PIXEL"}},
                    {"text": "What is it?"},
                ]
            ],
            "assistant first": [
                ["user", {"text": "(the conversation goes on)"}],
                ["model", {"text": "Welcome."}],
                [
                    "user",
                    {"text": "<system-note>Be brief.</system-note>"},
                    {"text": "Hi."},
                ],
            ],
            "neighbours": [
                ["user", {"text": "One."}, {"text": "Two."}],
                ["model", {"text": "Three."}, {"text": "Four."}],
                ["user", {"text": "Five."}],
            ],
            "gemma": [["user", {"text": "You look."}, {"text": "Hi."}]],
            "gemma, assistant first": [
                ["user", {"text": "You look."}],
                ["model", {"text": "Welcome."}],
                ["user", {"text": "Hi."}],
            ],
            "custom call": [
                ["user", {"text": "Patch."}],
                [
                    "model",
                    {
                        "function_call": {
                            "name": "patch",
                            "args": {"input": "*** Begin\n"},
                            "id": "c",
                        },
                        "thought_signature": "UNSIGNED",
                    },
                ],
                [
                    "user",
                    {
                        "function_response": {
                            "name": "patch",
                            "response": {"output": "(no output)"},
                            "id": "c",
                        }
                    },
                ],
            ],
        }
    )
