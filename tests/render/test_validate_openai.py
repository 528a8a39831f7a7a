from __future__ import annotations

import copy
import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from context_builder.render import validate
from context_builder.render.validate_openai import validate_openai

DATA = Path(__file__).parents[1] / "data"
RECORDED = [
    json.loads(line)
    for line in (DATA / "openai_usage.jsonl").read_text("utf-8").splitlines()
]

Request = dict[str, Any]


def sound() -> Request:
    """Return a request that uses everything the rules speak of, and breaks none."""
    return {
        "model": "gpt-4o",
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {
                "role": "user",
                "name": "ann",
                "content": [
                    {"type": "text", "text": "Look and listen."},
                    {
                        "type": "image_url",
                        "image_url": {
                            "url": "data:image/png;base64,iVBORw0KGgo=",
                            "detail": "low",
                        },
                    },
                    {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}},
                    {
                        "type": "input_audio",
                        "input_audio": {"data": "UklGRg==", "format": "wav"},
                    },
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {
                        "type": "file",
                        "file": {
                            "file_data": "data:application/pdf;base64,JVBERi0=",
                            "filename": "a.pdf",
                        },
                    },
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "find", "arguments": '{"q": "é"}'},
                    },
                    {
                        "id": "call_2",
                        "type": "custom",
                        "custom": {"name": "sql", "input": "select 1"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "call_2", "content": "1"},
            {
                "role": "tool",
                "tool_call_id": "call_1",
                "content": [{"type": "text", "text": "é found"}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Found."},
                    {"type": "refusal", "refusal": "No more."},
                ],
                "refusal": None,
                "annotations": [],
            },
            {"role": "system", "content": "Answer in French."},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "find",
                    "description": "Finds.",
                    "strict": True,
                    "parameters": {
                        "type": "object",
                        "properties": {"q": {"type": "string"}},
                        "required": ["q"],
                        "additionalProperties": False,
                    },
                },
            },
            {"type": "custom", "custom": {"name": "sql"}},
            {"type": "function", "function": {"name": "now"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "find"}},
        "parallel_tool_calls": True,
        "max_completion_tokens": 100,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer"}},
    }


def named(name: str) -> Request:
    """Return a tool of that name."""
    return {"type": "function", "function": {"name": name}}


# --- What is broken: where, by which value, where it is reported, and as what.


@dataclasses.dataclass(frozen=True)
class Put:
    """A message that is put in before the one that stands there."""

    message: Request


GONE = object()
"""Stands for taking away what is at a place."""
SAME = ""
"""The problem is reported where the request was broken."""
CONTENT = [f"messages[{number}].content" for number in range(8)]
TYPE = [f"{content}[0].type" for content in CONTENT]
PARTS = [f"{CONTENT[1]}[{number}]" for number in range(6)]
IMAGE_URL = f"{PARTS[1]}.image_url.url"
SOUND = f"{PARTS[3]}.input_audio"
FILE = f"{PARTS[5]}.file"
CALLS = [f"messages[2].tool_calls[{number}]" for number in range(2)]
ARGUMENTS = f"{CALLS[0]}.function.arguments"
SCHEMA = "tools[0].function.parameters"
FORMAT = "response_format.json_schema"
PICTURE = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}
REFUSAL = {"type": "refusal", "refusal": "No."}
JSON = {"type": "json_object"}
NOTE: Request = {"role": "system", "content": "Wait."}
RESULT: Request = {"role": "tool", "tool_call_id": "call_1", "content": "again"}
ASKING: Request = {
    **sound()["messages"][2],
    "tool_calls": [sound()["messages"][2]["tool_calls"][0]],
}
ASKED = "messages[8].tool_calls"

BROKEN: dict[str, tuple[str, object, str, str]] = {
    "no messages": ("messages", GONE, SAME, "at least one message"),
    "empty messages": ("messages", [], SAME, "at least one message"),
    "message is text": ("messages[7]", "hi", "messages[7].role", "whose role is"),
    "unknown role": ("messages[7].role", "human", SAME, "whose role is"),
    "function role": ("messages[7].role", "function", SAME, "whose role is"),
    "role is no text": ("messages[7].role", ["user"], SAME, "whose role is"),
    "unknown field": ("messages[7].cache_control", {}, SAME, "no such field"),
    "others' field": ("messages[5].reasoning_content", "hm", SAME, "no such field"),
    "calls of a user": ("messages[7].tool_calls", [], SAME, "no such field"),
    "id on a user message": ("messages[7].tool_call_id", "x", SAME, "no such field"),
    "null name": ("messages[7].name", None, SAME, "not null"),
    "null calls": ("messages[5].tool_calls", None, SAME, "not null"),
    "name with a space": ("messages[7].name", "ann b", SAME, "a name has"),
    "long name": ("messages[7].name", "a" * 65, SAME, "a name has"),
    "null user content": ("messages[7].content", None, SAME, "not null"),
    "null system content": ("messages[6].content", None, SAME, "not null"),
    "null tool content": ("messages[4].content", None, SAME, "not null"),
    "no user content": ("messages[7].content", GONE, SAME, "not null"),
    "assistant says nothing": ("messages[5].content", None, SAME, "not null"),
    "content is an object": ("messages[7].content", {"text": "hi"}, SAME, "one part"),
    "no parts": ("messages[7].content", [], SAME, "at least one part"),
    "blank user": ("messages[7].content", " \n", SAME, "not blank"),
    "empty user": ("messages[7].content", "", SAME, "not blank"),
    "blank result": ("messages[4].content", "\t", SAME, "not blank"),
    "blank result part": ("messages[4].content[0].text", " ", CONTENT[4], "not blank"),
    "part without type": ("messages[1].content[0].type", GONE, PARTS[0], "with a type"),
    "part is text": ("messages[1].content[0]", "hi", SAME, "with a type"),
    "picture in a result": (
        "messages[4].content",
        [PICTURE],
        TYPE[4],
        "no part of type",
    ),
    "picture of a system": (
        "messages[6].content",
        [PICTURE],
        TYPE[6],
        "no part of type",
    ),
    "picture of a model": (
        "messages[5].content",
        [PICTURE],
        TYPE[5],
        "no part of type",
    ),
    "refusal of a user": ("messages[7].content", [REFUSAL], TYPE[7], "no part of type"),
    "others' part": (
        "messages[1].content[0].type",
        "input_text",
        SAME,
        "no part of type",
    ),
    "text is a number": ("messages[1].content[0].text", 7, SAME, "a string"),
    "refusal is null": ("messages[5].content[1].refusal", None, SAME, "a string"),
    "picture as a file": (IMAGE_URL, "file:///a.png", SAME, "a picture is"),
    "picture of another kind": (
        IMAGE_URL,
        "data:image/tiff;base64,A",
        SAME,
        "picture is",
    ),
    "address alone": (PARTS[1] + ".image_url", "https://a.test/b.png", IMAGE_URL, "is"),
    "unknown detail": (
        PARTS[1] + ".image_url.detail",
        "sharp",
        SAME,
        "auto, low, high",
    ),
    "sound of another kind": (SOUND + ".format", "ogg", SOUND, "wav or mp3"),
    "no sound": (SOUND + ".data", GONE, SOUND, "base64"),
    "two files in one": (FILE + ".file_id", "file-2", FILE, "either a file_id"),
    "no file": (FILE + ".file_data", GONE, FILE, "either a file_id"),
    "file without media type": (FILE + ".file_data", "JVBERi0=", FILE, "data: address"),
    "empty calls": ("messages[5].tool_calls", [], SAME, "at least one call"),
    "calls are an object": ("messages[2].tool_calls", {}, SAME, "at least one call"),
    "call without type": (CALLS[0] + ".type", GONE, SAME, "a call has a type"),
    "call of nothing": (CALLS[0] + ".function", GONE, CALLS[0] + ".type", "a call has"),
    "two calls, one id": (
        CALLS[1] + ".id",
        "call_1",
        "messages[2].tool_calls",
        "one call",
    ),
    "long id": (CALLS[0] + ".id", "c" * 41, SAME, "1 to 40 characters"),
    "empty id": (CALLS[0] + ".id", "", SAME, "1 to 40 characters"),
    "long id of a result": ("messages[4].tool_call_id", "c" * 41, SAME, "1 to 40"),
    "result without id": ("messages[4].tool_call_id", GONE, SAME, "1 to 40 characters"),
    "name with a dot": (
        CALLS[0] + ".function.name",
        "os.find",
        SAME,
        "a name is 1 to 64",
    ),
    "custom name with a dot": (
        CALLS[1] + ".custom.name",
        "a.b",
        SAME,
        "a name is 1 to 64",
    ),
    "long tool name": (
        CALLS[0] + ".function.name",
        "f" * 65,
        SAME,
        "a name is 1 to 64",
    ),
    "arguments cut off": (ARGUMENTS, '{"q": "é', SAME, "JSON text of an object"),
    "empty arguments": (ARGUMENTS, "", SAME, "JSON text of an object"),
    "arguments are a list": (ARGUMENTS, "[1]", SAME, "JSON text of an object"),
    "arguments not written out": (ARGUMENTS, {"q": 1}, SAME, "JSON text of an object"),
    "hidden half": (
        ARGUMENTS,
        '{"q": "\\ud83d"}',
        ARGUMENTS + ".q",
        "half a surrogate",
    ),
    "input is an object": (CALLS[1] + ".custom.input", {}, SAME, "a string"),
    "unanswered call": ("messages[4]", GONE, "messages[2].tool_calls", "1 are not"),
    "talk before a result": (
        "messages[3]",
        Put(NOTE),
        "messages[2].tool_calls",
        "2 are",
    ),
    "note between results": ("messages[4]", Put(NOTE), "messages[5]", "an open call"),
    "result without call": ("messages[1]", Put(RESULT), SAME, "answers an open call"),
    "answered twice": ("messages[5]", Put(RESULT), SAME, "answers an open call"),
    "answer to an older call": ("messages[6]", Put(RESULT), SAME, "an open call"),
    "unanswered at the end": ("messages[8]", Put(ASKING), ASKED, "1 are not"),
    "no tools": ("tools", [], SAME, "1 to 128 tools"),
    "too many tools": ("tools", [named(f"t{n}") for n in range(129)], SAME, "1 to 128"),
    "tools are an object": ("tools", {"find": {}}, SAME, "1 to 128 tools"),
    "bare function": ("tools[0]", {"name": "find"}, SAME, "a tool has a type"),
    "name of a tool": ("tools[2].function.name", "what?", SAME, "a name is 1 to 64"),
    "two tools, one name": ("tools[2].function.name", "sql", "tools", "one tool"),
    "null description": ("tools[0].function.description", None, SAME, "a string"),
    "parameters no object": (SCHEMA, {"type": "array"}, SAME, "of type object"),
    "properties are a list": (SCHEMA + ".properties", ["q"], SCHEMA, "its properties"),
    "strict, but optional": (SCHEMA + ".required", [], SCHEMA, "a strict schema"),
    "strict, but open": (
        SCHEMA + ".additionalProperties",
        GONE,
        SCHEMA,
        "strict schema",
    ),
    "choice without tools": ("tools", GONE, "tool_choice", "needs tools"),
    "parallel without tools": ("tools", GONE, "parallel_tool_calls", "needs tools"),
    "unknown choice": ("tool_choice", "any", SAME, "none, auto or required"),
    "choice of no tool": ("tool_choice.function.name", "lose", "tool_choice", "one of"),
    "blank model": ("model", "", SAME, "is named"),
    "no output": ("max_completion_tokens", 0, SAME, "at least 1 token"),
    "unknown format": ("response_format.type", "yaml", SAME, "json_schema"),
    "schema without a name": (FORMAT + ".name", GONE, SAME, "a name is 1 to 64"),
    "JSON not spoken of": ("response_format", JSON, SAME, "the word JSON"),
    "half a pair": ("messages[7].content", "a \ud83d", SAME, "half a surrogate pair"),
    "NUL": ("messages[4].content", "a\0b", SAME, "neither NUL"),
    "half a pair in a key": (SCHEMA + ".\ude00", 1, SAME, "half a surrogate pair"),
    "not a number": ("temperature", math.nan, SAME, "finite"),
    "no JSON": ("metadata", Path(), SAME, "is JSON"),
}


def broken(place: str, value: object) -> Request:
    """Return the sound request with another value, or none, in one place."""
    request = sound()
    steps = [
        int(step) if step.isdigit() else step
        for step in re.findall(r"[^.\[\]]+", place)
    ]
    target: Any = request
    for step in steps[:-1]:
        target = target[step]
    if isinstance(value, Put):
        target.insert(steps[-1], value.message)
    elif value is GONE:
        del target[steps[-1]]
    else:
        target[steps[-1]] = value
    return request


def test_a_sound_request_passes() -> None:
    """A request that keeps every rule has no problem."""
    assert validate_openai(sound()) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found(name: str) -> None:
    """Each rule has a body that breaks it; the problem says where, what and how."""
    place, value, where, rule = BROKEN[name]
    problems = validate_openai(broken(place, value))
    found = [problem for problem in problems if problem.where == (where or place)]
    assert any(rule in problem.rule for problem in found), problems
    assert all(problem.fix for problem in problems)


def test_the_request_is_only_read() -> None:
    """Checking changes nothing in the request."""
    request = sound()
    before = copy.deepcopy(request)
    validate_openai(request)
    assert request == before


@pytest.mark.parametrize("record", RECORDED, ids=[record["id"] for record in RECORDED])
def test_what_was_accepted_passes(record: dict[str, Any]) -> None:
    """No rule refuses a body that the vendor answered with success."""
    assert validate_openai(record["request"]) == []


def test_the_door_of_the_tier_is_the_same() -> None:
    """`validate` asks the validator of the target."""
    assert validate(sound(), "openai") == []
    assert validate({"messages": []}, "openai")
