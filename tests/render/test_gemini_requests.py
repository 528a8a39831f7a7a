from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot

from context_builder.render.gemini import UNSIGNED, GeminiAdapter
from tests.render.conversations_chat import PIXEL, TOOLS, prompt, user
from tests.render.conversations_gemini import TABLE

NEW = "gemini-3-pro-preview"
ADAPTER = GeminiAdapter()


def short(value: Any) -> Any:
    """Return a request with names in place of what is long."""
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [short(inner) for inner in value]
    if isinstance(value, str):
        value = value.replace(PIXEL, "PIXEL").replace(UNSIGNED, "UNSIGNED")
    return value


def test_one_of_everything() -> None:
    """The whole request, word for word."""
    assert short(ADAPTER.render(TABLE["everything"]).request) == snapshot(
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Look."}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "Looking."},
                        {
                            "function_call": {
                                "name": "look",
                                "args": {"at": "sea"},
                                "id": "call|1",
                            },
                            "thought_signature": "UNSIGNED",
                        },
                        {
                            "function_call": {
                                "name": "look_at_EOUPSE1A",
                                "args": {},
                                "id": "call:2",
                            }
                        },
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "function_response": {
                                "name": "look",
                                "response": {"error": "gone"},
                                "id": "call|1",
                            }
                        },
                        {
                            "function_response": {
                                "name": "look_at_EOUPSE1A",
                                "response": {"output": "seen"},
                                "parts": [
                                    {
                                        "inline_data": {
                                            "mime_type": "image/png",
                                            "data": "aW1n",
                                        }
                                    }
                                ],
                                "id": "call:2",
                            }
                        },
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"text": "<system-note>Be brief.</system-note>"},
                        {"text": "<memory>A memory.</memory>"},
                        {"text": "And this?"},
                        {"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}},
                    ],
                },
            ],
            "config": {
                "system_instruction": "You look.",
                "tools": [
                    {
                        "function_declarations": [
                            {
                                "name": "look",
                                "description": "Looks.",
                                "parameters_json_schema": {
                                    "type": "object",
                                    "properties": {"at": {"type": "string"}},
                                },
                            }
                        ]
                    }
                ],
                "tool_config": {"function_calling_config": {"mode": "AUTO"}},
                "max_output_tokens": 100,
            },
        }
    )


def test_what_was_done_for_the_vendor_is_reported() -> None:
    """Nothing disappears, and nothing is put in, without a mark."""
    marks = {
        name: [(mark.item_id, mark.reason) for mark in found]
        for name in TABLE
        if (found := ADAPTER.render(TABLE[name]).repairs)
    }
    assert marks == snapshot(
        {
            "everything": [
                ("i2", "reasoning of another model left out"),
                ("i1", "the participant's name was left out: there is no place for it"),
            ],
            "the signature of another generation": [
                ("i2", "reasoning of another model left out")
            ],
            "media": [
                ("i1", "[image not shown: image/gif, 1 KiB]: Gemini does not take it"),
                ("i1", "[image not shown: file-1]: Gemini does not take it"),
            ],
            "only a picture": [("i1", "a word put before media that stood alone")],
            "assistant first": [("i1", "a user's placeholder stands before it")],
        }
    )


OPTIONS: dict[str, Any] = {
    "max_output_tokens": 99,
    "tool_choice": {"type": "function", "function": {"name": "look"}},
    "reasoning_effort": "low",
    "temperature": 0.5,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object"}},
    },
    "extra": {"config": {"seed": 1}, "top_p": 0.9},
}


def test_the_settings_have_the_vendors_names() -> None:
    """Each option goes where the client has it."""
    said = prompt(user("Hi."), tools=TOOLS, model=NEW, options=OPTIONS, system="Look.")
    request = ADAPTER.render(said).request
    del request["contents"]
    assert request == snapshot(
        {
            "model": "gemini-3-pro-preview",
            "config": {
                "system_instruction": "Look.",
                "tools": [
                    {
                        "function_declarations": [
                            {
                                "name": "look",
                                "description": "Looks.",
                                "parameters_json_schema": {
                                    "type": "object",
                                    "properties": {"at": {"type": "string"}},
                                },
                            }
                        ]
                    }
                ],
                "tool_config": {
                    "function_calling_config": {
                        "mode": "ANY",
                        "allowed_function_names": ["look"],
                    }
                },
                "max_output_tokens": 99,
                "temperature": 0.5,
                "thinking_config": {"thinking_level": "LOW"},
                "response_mime_type": "application/json",
                "response_json_schema": {"type": "object"},
                "seed": 1,
                "top_p": 0.9,
            },
        }
    )
