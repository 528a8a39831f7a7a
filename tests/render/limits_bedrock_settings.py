"""Limits of tools, thinking and points with Converse: on both sides of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.render.limits_bedrock import NOVA, Body, called, says
from tests.render.test_validate_bedrock import (
    ANSWER,
    CALL,
    LLAMA,
    LOOP,
    POINT,
    SPEC,
    TEXT,
    THINKING,
    THOUGHT,
    TOOLS,
    body,
    spec,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

BUDGET: Mapping[str, Any] = {
    "additionalModelRequestFields": THINKING,
    "inferenceConfig": {"maxTokens": 1_025},
}


def _chooses(choice: Any, **fields: Any) -> Body:
    return body(toolConfig={**TOOLS, "toolChoice": choice}, **fields)


def _thinks(budget: Any, most: int, **fields: Any) -> Body:
    said = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    config = {"maxTokens": most, **fields}
    return body(additionalModelRequestFields=said, inferenceConfig=config)


def _adaptive(model: str) -> Body:
    said = {"thinking": {"type": "adaptive"}}
    return body(modelId=model, additionalModelRequestFields=said)


def _loop(*blocks: Any) -> Body:
    said = (LOOP[0], ("assistant", [*blocks]), LOOP[2])
    return body(*said, toolConfig=TOOLS, **BUDGET)


SETTINGS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    "the tools": (
        body(*LOOP, toolConfig={"tools": []}),
        body(LOOP[0], ("assistant", [CALL])),
    ),
    "the tools of results": (None, body(("user", [ANSWER]))),
    "chars of a tool's name": (
        body(toolConfig=spec(name="f" * 64)),
        body(toolConfig=spec(name="f" * 65)),
    ),
    "no tool's name": (None, body(toolConfig=spec(name=None))),
    "a description": (
        body(toolConfig=spec(description="")),
        body(toolConfig=spec(description="\n")),
    ),
    "a schema": (
        body(toolConfig=spec(inputSchema={"json": {"type": "object"}})),
        body(toolConfig=spec(inputSchema={"json": {"type": "array"}})),
    ),
    "no schema": (None, body(toolConfig=spec(inputSchema=None))),
    "a point among tools": (
        body(toolConfig={"tools": [SPEC, POINT]}),
        body(toolConfig={"tools": [POINT, SPEC]}),
    ),
    "the second tool": (None, body(toolConfig={"tools": [SPEC, POINT, SPEC]})),
    **{
        f"the choice {kind}": (
            _chooses({kind: {"name": "s"}}),
            _chooses({f"{kind}X": {"name": "s"}}),
        )
        for kind in ("auto", "any", "tool")
    },
    "a choice of nobody": (None, _chooses({"tool": {}})),
    **{
        f"the forced choice {kind}": (
            _chooses({kind: {"name": "s"}}, modelId="anthropic.claude-opus-5"),
            _chooses({kind: {"name": "s"}}, modelId="anthropic.claude-fable-5-1"),
        )
        for kind in ("any", "tool")
    },
    "the budget": (_thinks(1_024, 1_025), _thinks(1_023, 2_000)),
    "the budget and the answer": (_thinks(2_000, 2_001), _thinks(2_000, 2_000)),
    "no limit of the answer": (body(additionalModelRequestFields=THINKING), None),
    "a temperature beside thinking": (
        _thinks(1_024, 1_025, temperature=1),
        _thinks(1_024, 1_025, temperature=0),
    ),
    "a choice beside thinking": (
        _chooses({"auto": {}}, **BUDGET),
        _chooses({"tool": {"name": "s"}}, **BUDGET),
    ),
    "to decide itself": (
        _adaptive("anthropic.claude-sonnet-4-6"),
        _adaptive("anthropic.claude-opus-4-5"),
    ),
    **{
        f"sampling by {name}": (
            body(modelId="anthropic.claude-opus-4-6", inferenceConfig={name: 0.5}),
            body(modelId="anthropic.claude-opus-4-7", inferenceConfig={name: 0.5}),
        )
        for name in ("temperature", "topP")
    },
    "sampling of others": (body(modelId=NOVA, inferenceConfig={"topP": 0.5}), None),
    "a loop begins with a thought": (_loop(THOUGHT, CALL), _loop(TEXT, THOUGHT, CALL)),
    "a loop with a point": (
        body(
            LOOP[0],
            ("assistant", [THOUGHT, CALL]),
            ("user", [ANSWER, POINT]),
            toolConfig=TOOLS,
            **BUDGET,
        ),
        body(*LOOP[:2], ("user", [ANSWER, POINT]), toolConfig=TOOLS, **BUDGET),
    ),
    "a loop that is over": (
        body(*LOOP[:2], ("user", [ANSWER, TEXT]), toolConfig=TOOLS, **BUDGET),
        None,
    ),
    "points": (
        body(
            ("user", [TEXT, POINT, TEXT, POINT]),
            system=[TEXT, POINT],
            toolConfig={"tools": [SPEC, POINT]},
        ),
        body(
            ("user", [TEXT, POINT, TEXT, POINT]),
            system=[TEXT, POINT, POINT],
            toolConfig={"tools": [SPEC, POINT]},
        ),
    ),
    "a point behind a message": (
        says(TEXT, POINT),
        says(POINT, TEXT),
    ),
    "a point in the system's": (
        body(system=[TEXT, POINT], modelId=NOVA),
        body(system=[POINT]),
    ),
    "points where nothing is cached": (None, body(system=[TEXT, POINT], modelId=LLAMA)),
    "NUL": (called(input={"a": ["b"]}), called(input={"a": ["b\0"]})),
}
