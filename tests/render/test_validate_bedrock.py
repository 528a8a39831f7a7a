from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.render.validate_bedrock import validate_bedrock
from tests.render.conversations_anthropic import PNG

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
NEWEST = "anthropic.claude-opus-5-5-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
TEXT = {"text": "Hello."}
CALL = {"toolUse": {"toolUseId": "a", "name": "s", "input": {}}}
ANSWER = {"toolResult": {"toolUseId": "a", "content": [{"text": "1"}]}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "x", "signature": "c"}}}
POINT = {"cachePoint": {"type": "default"}}
SPEC = {"toolSpec": {"name": "s", "inputSchema": {"json": {"type": "object"}}}}
TOOLS = {"tools": [SPEC]}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


def picture(**changes: Any) -> dict[str, Any]:
    """Return an image block."""
    source = {"bytes": base64.b64decode(PNG)}
    return {"image": {"format": "png", "source": source, **changes}}


def document(name: str = "a", **changes: Any) -> dict[str, Any]:
    """Return a document block."""
    source = {"bytes": b"%PDF"}
    return {"document": {"format": "pdf", "name": name, "source": source, **changes}}


def answer(**changes: Any) -> dict[str, Any]:
    """Return a result with some fields changed."""
    return {"toolResult": {**ANSWER["toolResult"], **changes}}


def call(**changes: Any) -> dict[str, Any]:
    """Return a call with some fields changed."""
    return {"toolUse": {**CALL["toolUse"], **changes}}


def body(*messages: tuple[str, list[Any]], **fields: Any) -> dict[str, Any]:
    """Return a request."""
    said = [{"role": role, "content": content} for role, content in messages]
    default = [{"role": "user", "content": [TEXT]}]
    return {"modelId": CLAUDE, "messages": said or default, **fields}


LOOP = (("user", [TEXT]), ("assistant", [CALL]), ("user", [ANSWER]))

ACCEPTED = {
    "plain": body(system=[{"text": "Terse."}]),
    "calls": body(*LOOP, toolConfig=TOOLS),
    "text behind results": body(*LOOP[:2], ("user", [ANSWER, TEXT]), toolConfig=TOOLS),
    "results alone": body(*LOOP, toolConfig=TOOLS, modelId=LLAMA),
    "note": body(("user", [TEXT]), ("system", [TEXT]), modelId=NEWEST),
    "prefill": body(("user", [TEXT]), ("assistant", [TEXT])),
    "media": body(("user", [TEXT, picture(), document()])),
    "points": body(("user", [TEXT, POINT]), system=[TEXT, POINT]),
    "thinking": body(
        ("user", [TEXT]),
        ("assistant", [THOUGHT, CALL]),
        ("user", [ANSWER]),
        toolConfig=TOOLS,
        additionalModelRequestFields=THINKING,
        inferenceConfig={"maxTokens": 2_000},
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_vendor_accepts_is_accepted(name: str) -> None:
    """No rule is made up."""
    assert validate_bedrock(ACCEPTED[name]) == []


def spec(**changes: Any) -> dict[str, Any]:
    """Return a tool configuration with one tool."""
    return {"tools": [{"toolSpec": {**SPEC["toolSpec"], **changes}}]}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no messages": ({"modelId": CLAUDE, "messages": []}, "at least one"),
    "unknown parameter": (body(model="x"), "no such parameter"),
    "no model": (body(modelId=""), "required"),
    "blank system": (body(system=[{"text": " "}]), "blank"),
    "temperature": (body(inferenceConfig={"temperature": 2}), "between 0 and 1"),
    "no room": (body(inferenceConfig={"maxTokens": 0}), "at least 1"),
    "assistant first": (
        body(("assistant", [TEXT]), ("user", [TEXT])),
        "start with a user",
    ),
    "assistant last": (
        body(("user", [TEXT]), ("assistant", [TEXT]), modelId=NEWEST),
        "end with a user",
    ),
    "prefill with a space": (
        body(("user", [TEXT]), ("assistant", [{"text": "a "}])),
        "whitespace",
    ),
    "neighbours": (body(("user", [TEXT]), ("user", [TEXT])), "alternate"),
    "unknown role": (body(("user", [TEXT]), ("tool", [TEXT])), "user or assistant"),
    "note on an older model": (
        body(("user", [TEXT]), ("system", [TEXT])),
        "not supported",
    ),
    "note before a user": (
        body(("user", [TEXT]), ("system", [TEXT]), ("user", [TEXT]), modelId=NEWEST),
        "stands between",
    ),
    "empty content": (body(("user", [])), "not empty"),
    "blank text": (body(("user", [{"text": "\n"}])), "is blank"),
    "two kinds in a block": (body(("user", [{**TEXT, **POINT}])), "exactly one kind"),
    "picture of the assistant's": (
        body(("user", [TEXT]), ("assistant", [picture()]), ("user", [TEXT])),
        "a user's turn",
    ),
    "thought of the user's": (body(("user", [THOUGHT])), "an assistant's turn"),
    "unsigned thought": (
        body(
            ("user", [TEXT]),
            (
                "assistant",
                [{"reasoningContent": {"reasoningText": {"text": "a"}}}, TEXT],
            ),
            ("user", [TEXT]),
        ),
        "signature",
    ),
    "hidden thought without bytes": (
        body(
            ("user", [TEXT]),
            ("assistant", [{"reasoningContent": {"redactedContent": b""}}, TEXT]),
            ("user", [TEXT]),
        ),
        "redacted",
    ),
    "bad id": (
        body(("user", [TEXT]), ("assistant", [call(toolUseId="a b")])),
        "an id matches",
    ),
    "bad name": (
        body(("user", [TEXT]), ("assistant", [call(name="a b")])),
        "a name matches",
    ),
    "arguments as text": (
        body(("user", [TEXT]), ("assistant", [call(input="{}")])),
        "object",
    ),
    "bad id of a result": (body(("user", [answer(toolUseId="")])), "an id matches"),
    "status where it is not taken": (
        body(
            *LOOP[:2],
            ("user", [answer(status="error")]),
            toolConfig=TOOLS,
            modelId=LLAMA,
        ),
        "no status",
    ),
    "empty error": (
        body(
            *LOOP[:2], ("user", [answer(status="error", content=[])]), toolConfig=TOOLS
        ),
        "cannot be empty",
    ),
    "list as JSON": (
        body(*LOOP[:2], ("user", [answer(content=[{"json": [1]}])]), toolConfig=TOOLS),
        "json is an object",
    ),
    "call in a result": (
        body(*LOOP[:2], ("user", [answer(content=[CALL])]), toolConfig=TOOLS),
        "may not stand",
    ),
    "picture in a result": (
        body(
            *LOOP[:2],
            ("user", [answer(content=[picture()])]),
            toolConfig=TOOLS,
            modelId=LLAMA,
        ),
        "no media",
    ),
    "no result": (
        body(*LOOP[:2], ("user", [TEXT]), toolConfig=TOOLS),
        "expected toolResult",
    ),
    "no result at the end": (body(*LOOP[:2], toolConfig=TOOLS), "expected toolResult"),
    "orphan result": (body(("user", [ANSWER]), toolConfig=TOOLS), "exceed"),
    "two results": (
        body(*LOOP[:2], ("user", [ANSWER, ANSWER]), toolConfig=TOOLS),
        "exceed",
    ),
    "repeated id": (body(*LOOP, *LOOP[1:], toolConfig=TOOLS), "two calls"),
    "text beside results": (
        body(*LOOP[:2], ("user", [ANSWER, TEXT]), toolConfig=TOOLS, modelId=LLAMA),
        "one turn",
    ),
    "no tools": (body(*LOOP), "toolConfig must be defined"),
    "tool name": (body(toolConfig=spec(name="a b")), "a name matches"),
    "two tools of one name": (body(toolConfig={"tools": [SPEC, SPEC]}), "unique"),
    "blank description": (body(toolConfig=spec(description=" ")), "not blank"),
    "schema of no object": (
        body(toolConfig=spec(inputSchema={"json": {}})),
        "type object",
    ),
    "choice of none": (
        body(toolConfig={**TOOLS, "toolChoice": {"none": {}}}),
        "auto, any",
    ),
    "choice of a stranger": (
        body(toolConfig={**TOOLS, "toolChoice": {"tool": {"name": "x"}}}),
        "no tool of that name",
    ),
    "forced choice": (
        body(toolConfig={**TOOLS, "toolChoice": {"any": {}}}, modelId=NEWEST),
        "forced",
    ),
    "loop without a thought": (
        body(*LOOP, toolConfig=TOOLS, additionalModelRequestFields=THINKING),
        "start with a thinking block",
    ),
    "budget on a newer model": (
        body(modelId=NEWEST, additionalModelRequestFields=THINKING),
        "not supported",
    ),
    "large budget": (
        body(additionalModelRequestFields=THINKING, inferenceConfig={"maxTokens": 9}),
        "less than maxTokens",
    ),
    "small budget": (
        body(additionalModelRequestFields={"thinking": {"type": "enabled"}}),
        "at least 1,024",
    ),
    "temperature with thinking": (
        body(
            additionalModelRequestFields=THINKING, inferenceConfig={"temperature": 0.5}
        ),
        "only be 1",
    ),
    "forced with thinking": (
        body(
            additionalModelRequestFields=THINKING,
            toolConfig={**TOOLS, "toolChoice": {"any": {}}},
        ),
        "forces tool use",
    ),
    "adaptive on an older model": (
        body(additionalModelRequestFields={"thinking": {"type": "adaptive"}}),
        "adaptive thinking is not",
    ),
    "sampling on a newer model": (
        body(modelId=NEWEST, inferenceConfig={"topP": 0.5}),
        "no sampling",
    ),
    "document alone": (body(("user", [document()])), "text block must"),
    "two documents of one name": (
        body(("user", [TEXT, document(), document()])),
        "duplicate",
    ),
    "document name": (body(("user", [TEXT, document("a  b")])), "single spaces"),
    "document of a strange kind": (
        body(("user", [TEXT, document(format="ppt")])),
        "format",
    ),
    "picture of a strange kind": (body(("user", [picture(format="bmp")])), "format"),
    "picture as base64": (
        body(("user", [picture(source={"bytes": PNG})])),
        "raw bytes",
    ),
    "heavy picture": (
        body(("user", [picture(source={"bytes": b"\x89PNG" * 1_000_000})])),
        "3,750,000",
    ),
    "many pictures": (body(("user", [picture()] * 21)), "20 pictures"),
    "many documents": (
        body(("user", [TEXT, *(document(str(number)) for number in range(6))])),
        "5 documents",
    ),
    "point first": (body(("user", [POINT, TEXT])), "never first"),
    "points where nothing is cached": (
        body(("user", [TEXT, POINT]), modelId=LLAMA),
        "caches",
    ),
    "five points": (body(("user", [TEXT, *[POINT] * 5])), "at most 4"),
    "surrogate": (body(("user", [{"text": "a\ud800"}])), "unicode"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_broken_rule_is_found(name: str) -> None:
    """The place, the rule and what to do about it."""
    request, words = REFUSED[name]
    problems = validate_bedrock(request)
    assert any(words in problem.rule for problem in problems), problems
    assert all(problem.where and problem.fix for problem in problems)


def test_a_wide_picture() -> None:
    """The header alone tells the size."""
    head = base64.b64decode(PNG)
    wide = head[:16] + (9_000).to_bytes(4, "big") + head[20:]
    rules = [
        p.rule
        for p in validate_bedrock(body(("user", [picture(source={"bytes": wide})])))
    ]
    assert any("8,000" in rule for rule in rules)


ODD = st.sampled_from([None, 7, "x", [], {}, [7], {"type": "text"}, b"x", True])


@given(name=st.sampled_from(sorted(ACCEPTED)), odd=ODD, data=st.data())
def test_a_misshapen_request_is_no_error(
    name: str, odd: Any, data: st.DataObject
) -> None:
    """Whatever stands at any place of it, a list of problems comes back."""
    request = copy.deepcopy(ACCEPTED[name])
    place: Any = request
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = odd
            break
        place = place[key]
    assert isinstance(validate_bedrock(request), list)
