from __future__ import annotations

from typing import Any

import pytest

from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)

REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "1"}
HI = {"role": "user", "content": "Hi."}
TOOL = {
    "type": "function",
    "name": "f",
    "parameters": {"type": "object"},
    "strict": None,
}
BROKEN: dict[str, dict[str, Any]] = {
    "input": {"input": []},
    "input[0].role": {"input": [{"role": "tool", "content": "x"}]},
    "input[0]": {"input": [{"content": "x"}]},
    "input[0].content[0].type": {
        "input": [
            {"role": "assistant", "content": [{"type": "input_text", "text": ""}]}
        ]
    },
    "input[0].content[0]": {
        "input": [{"role": "user", "content": [{"type": "input_image"}]}]
    },
    "input[0].content[0].image_url": {
        "input": [
            {"role": "user", "content": [{"type": "input_image", "image_url": "a.png"}]}
        ]
    },
    "input[0].content[0].filename": {
        "input": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_file",
                        "file_data": "data:application/pdf;base64,AAAA",
                    }
                ],
            }
        ]
    },
    "input[0].name": {"input": [{**HI, "name": "Ann"}]},
    "input[0].phase": {"input": [{"role": "assistant", "content": "x", "phase": "y"}]},
    "input[1]": {"input": [HI, CALL]},
    "input[1].id": {"input": [HI, {**CALL, "id": "call_a"}, OUTPUT]},
    "input[1].call_id": {"input": [HI, {**CALL, "call_id": "x" * 65}, OUTPUT]},
    "input[1].name": {"input": [HI, {**CALL, "name": "f g"}, OUTPUT]},
    "input[1].arguments": {"input": [HI, {**CALL, "arguments": "[]"}, OUTPUT]},
    "input[1].summary": {
        "input": [HI, {"type": "reasoning", "encrypted_content": "x"}, CALL, OUTPUT]
    },
    "previous_response_id": {
        "input": [HI],
        "previous_response_id": "r",
        "conversation": "c",
    },
    "messages": {"input": [HI], "messages": []},
    "max_output_tokens": {"input": [HI], "max_output_tokens": 3},
    "metadata": {"input": [HI], "metadata": {str(n): "x" for n in range(17)}},
    "text.format": {
        "input": [HI],
        "text": {"format": {"type": "json_schema", "json_schema": {}}},
    },
    "tools": {"input": [HI], "tools": [TOOL, TOOL]},
    "tools[0].function": {
        "input": [HI],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    },
    "tools[0].name": {"input": [HI], "tools": [{**TOOL, "name": "f g"}]},
    "tools[0].parameters": {"input": [HI], "tools": [{**TOOL, "parameters": None}]},
    "tools[0].parameters.required": {
        "input": [HI],
        "tools": [
            {
                **TOOL,
                "strict": True,
                "parameters": {"type": "object", "properties": {"a": {}}},
            }
        ],
    },
    "tool_choice.name": {
        "input": [HI],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "name": "g"},
    },
    "tool_choice": {"input": [HI], "tools": [TOOL], "tool_choice": "any"},
}


@pytest.mark.parametrize("where", BROKEN)
def test_a_broken_rule_is_found(where: str) -> None:
    """The validator names the place."""
    found = validate_openai_responses(BROKEN[where])
    assert where in [problem.where for problem in found]


@pytest.mark.parametrize(
    "items",
    [
        [HI, OUTPUT],
        [HI, CALL, OUTPUT, OUTPUT],
        [HI, REASONING, HI],
        [HI, REASONING],
        [HI, {**REASONING, "id": "rs_1"}, CALL, OUTPUT],
        [{"type": "compaction_trigger"}, HI],
        [HI, {"type": "custom_tool_call", "call_id": "a", "name": "f"}, OUTPUT],
        [HI, {"role": "user", "content": "\ud800"}],
    ],
)
def test_a_broken_order_is_found(items: list[Any]) -> None:
    """Pairs and groups stay whole."""
    assert validate_openai_responses({"input": items}) != []


@pytest.mark.parametrize(
    "item", [{**REASONING, "encrypted_content": None}, {"type": "item_reference"}]
)
def test_nothing_may_lean_on_the_store(item: dict[str, Any]) -> None:
    """With `store: false` everything has to be in the request."""
    said = {"input": [HI, item, {"role": "assistant", "content": "x"}], "store": False}
    assert len(validate_openai_responses(said)) == 1
    assert validate_openai_responses({**said, "store": True}) == []
