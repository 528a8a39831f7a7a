from __future__ import annotations

from typing import Any

import pytest

from context_builder.render.validate_gemini import validate_gemini

NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"
SIGNED = "YSBzaWduYXR1cmU="
HI: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi."}]}
CALL = {"function_call": {"name": "f", "args": {}}}
ANSWER = {"function_response": {"name": "f", "response": {}}}
BROKEN: dict[str, dict[str, Any]] = {
    "contents": {"contents": []},
    "contents[0].role": {"contents": [{"role": "tool", "parts": [{"text": "x"}]}]},
    "contents[0].parts": {"contents": [{"role": "user", "parts": []}]},
    "contents[0].parts[0]": {"contents": [{"role": "user", "parts": [{}]}]},
    "contents[0].parts[0].text": {
        "contents": [{"role": "user", "parts": [{"text": ""}]}]
    },
    "contents[0].parts[0].inline_data": {
        "contents": [{"role": "user", "parts": [{"inlineData": {"data": "AAAA"}}]}]
    },
    "contents[0].parts[0].file_data": {
        "contents": [{"role": "user", "parts": [{"file_data": {"mime_type": "x"}}]}]
    },
    "contents[0].parts[0].function_call": {
        "contents": [{"role": "user", "parts": [CALL]}]
    },
    "contents[0]": {"contents": [{"role": "model", "parts": [{"text": "x"}]}, HI]},
    "contents[1]": {"contents": [HI, {"role": "model", "parts": [{"text": "x"}]}]},
    "contents[1].parts[0].function_call.name": {
        "contents": [
            HI,
            {"role": "model", "parts": [{"functionCall": {"name": "1 f"}}]},
            HI,
        ]
    },
    "contents[1].parts[0].function_call.args": {
        "contents": [
            HI,
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "args": "{}"}}],
            },
            HI,
        ]
    },
    "contents[2].parts[0].function_response.response": {
        "contents": [
            HI,
            {"role": "model", "parts": [CALL]},
            {
                "role": "user",
                "parts": [{"function_response": {"name": "f", "response": "x"}}],
            },
        ]
    },
    "contents[2].parts": {
        "contents": [
            HI,
            {"role": "model", "parts": [CALL]},
            {"role": "user", "parts": [ANSWER, {"text": "x"}]},
        ]
    },
    "config.system_instruction": {
        "contents": [HI],
        "model": "gemma-3-27b-it",
        "config": {"system_instruction": "x"},
    },
    "config.tools": {
        "contents": [HI],
        "config": {"cached_content": "c", "tools": [{"google_search": {}}]},
    },
    "config.tools.function_declarations[0]": {
        "contents": [HI],
        "config": {
            "tools": [
                {
                    "function_declarations": [
                        {
                            "name": "f",
                            "parameters": {"properties": {"a": {"$ref": "#"}}},
                        }
                    ]
                }
            ]
        },
    },
    "config.tools.function_declarations[0].name": {
        "contents": [HI],
        "config": {"tools": [{"function_declarations": [{"name": "1"}]}]},
    },
    "config.tool_config.function_calling_config.mode": {
        "contents": [HI],
        "config": {"tool_config": {"function_calling_config": {"mode": "REQUIRED"}}},
    },
    "config.tool_config.function_calling_config.allowed_function_names": {
        "contents": [HI],
        "config": {
            "tool_config": {
                "function_calling_config": {
                    "mode": "AUTO",
                    "allowed_function_names": ["f"],
                }
            }
        },
    },
    "config.thinking_config": {
        "contents": [HI],
        "generationConfig": {
            "thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}
        },
    },
}


@pytest.mark.parametrize("where", BROKEN)
def test_a_broken_rule_is_found(where: str) -> None:
    """The validator names the place, in either spelling."""
    found = validate_gemini(BROKEN[where])
    assert where in [problem.where for problem in found]


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Return a content."""
    return {"role": role, "parts": list(parts)}


@pytest.mark.parametrize(
    ("contents", "rule"),
    [
        ([HI, content("model", CALL), HI], "as many responses"),
        ([HI, content("model", CALL, CALL), content("user", ANSWER)], "as many"),
        ([HI, content("user", ANSWER)], "directly behind the calls"),
        ([HI, HI], "neighbours"),
        (
            [
                HI,
                content("model", {"function_call": {"name": "f", "id": "1"}}),
                content("user", ANSWER),
            ],
            "the id of its call",
        ),
        (
            [
                HI,
                content("model", {"function_call": {"name": "g"}}),
                content("user", ANSWER),
            ],
            "the name of its call",
        ),
        ([HI, content("model", CALL), content("user", ANSWER)], "thought signature"),
        (
            [
                HI,
                content("model", {"text": "a", "thought_signature": SIGNED}),
                HI,
                content("model", {"text": "b", "thought_signature": SIGNED}),
                HI,
            ],
            "stands once",
        ),
        ([content("user", {"text": "a\ud800"})], "well-formed"),
        ([content("user", {"executable_code": {"code": "1"}})], "the model alone"),
    ],
)
def test_a_broken_order_is_found(contents: list[Any], rule: str) -> None:
    """Calls, responses and signatures stand where they belong."""
    found = validate_gemini({"contents": contents, "model": NEW})
    assert any(rule in problem.rule for problem in found)


def test_what_older_models_take() -> None:
    """They need no signature; and responses may be followed by the user's words."""
    contents = [HI, content("model", CALL), content("user", ANSWER), HI]
    assert validate_gemini({"contents": contents, "model": OLD}) == []
    assert validate_gemini({"contents": contents, "model": NEW}) == []
    assert validate_gemini({"contents": contents[:3], "model": NEW}) != []
