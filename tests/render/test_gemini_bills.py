"""What each piece of a request costs with Gemini, generation by generation.

Text is counted by its characters here, so that every figure is a sum that can be read.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

import pytest

from context_builder.render.gemini_tokens import (
    body_tokens,
    fixed_tokens,
    parts_tokens,
)
from tests.render.conversations_chat import PIXEL

NEW, OLD, OLDEST = "gemini-3.5-flash", "gemini-2.5-flash", "gemini-2.0-flash"
ARGS = {"at": "sea", "n": [1, None]}
JSON, WORDS = len(json.dumps(ARGS)), len("at sea n 1 ")
MINUTE = 18_000


def _one(part: dict[str, Any], model: str | None) -> int:
    """Count a part; what stands around its content is left out."""
    return parts_tokens([part], len, model) - parts_tokens([], len, model)


@pytest.mark.parametrize(
    ("model", "around_content", "around_call"),
    [
        ("gemini-3-pro-preview", 1, 5),
        ("gemini-3.5-flash", 1, 5),
        ("models/gemini-4-argon", 1, 5),
        ("gemini-10-pro", 1, 5),
        ("gemini-20-pro", 1, 5),
        ("gemini-25", 1, 5),
        (None, 1, 5),
        ("gemini-2.5-pro", 0, 5),
        ("Gemini-2.5-Flash-lite", 0, 5),
        ("gemini-2", 0, 5),
        ("gemma-3-27b-it", 0, 5),
        ("models/Gemma-4-31b-it", 0, 5),
        ("gemini-2.0-flash", 0, 0),
        ("gemini-2-0-flash", 0, 0),
        ("gemini-1.5-pro", 0, 0),
        ("gemini-1", 0, 0),
    ],
)
def test_what_stands_around_contents_and_calls(
    model: str | None, around_content: int, around_call: int
) -> None:
    """By the generation; the first ones are shown words alone."""
    assert parts_tokens([], len, model) == around_content
    call = {"function_call": {"name": "look", "args": ARGS}}
    said = JSON if around_call else WORDS
    assert _one(call, model) == around_call + len("look") + said
    result = {"function_response": {"name": "look", "response": ARGS}}
    assert _one(result, model) == around_call + len("look") + said


def test_other_parts() -> None:
    """Text by itself; what only the vendor writes as JSON; a mark alone is free."""
    assert _one({"text": "four"}, NEW) == 4
    assert _one({"text": "four", "thought": True}, NEW) == 4
    code = {"executable_code": {"code": "1"}}
    assert _one(code, NEW) == 8 + len(json.dumps(code))
    assert _one({**code, "thought_signature": ""}, NEW) == 8 + len(json.dumps(code))
    assert _one({"thought": True}, NEW) == 0
    assert parts_tokens([{"text": "a"}, {"text": "bc"}], len, OLD) == 3


@pytest.mark.parametrize(
    ("model", "chars", "tokens"),
    [
        (NEW, 160, 0), (NEW, 161, 1), (NEW, 164, 1), (NEW, 165, 2), (NEW, 1_160, 210),
        (OLD, 0, 0), (OLD, 1, 1), (OLD, 20, 1), (OLD, 21, 2), (OLDEST, 1_000, 50),
    ],
)  # fmt: skip
def test_a_signature_costs_what_stands_behind_it(
    model: str, chars: int, tokens: int
) -> None:
    """Newer models read the thoughts again; nothing is due once the turn is over."""
    part = {"text": "a", "thought_signature": "x" * chars}
    around = parts_tokens([], len, model)
    assert parts_tokens([part], len, model) == around + 1 + tokens
    assert parts_tokens([part], len, model, is_over=True) == around + 1


def _said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [*parts]}


def test_only_the_current_turn_pays_for_signatures() -> None:
    """It begins with the user's last own words; responses are none."""
    signed = _said("model", {"text": "", "thought_signature": "x" * 1_160})
    asked = _said("user", {"text": "a"})
    response = {"name": "f", "response": {}}
    answered = _said("user", {"function_response": response})
    beside = _said("user", {"function_response": response}, {"text": "a"})
    paid = 210

    def due(*contents: dict[str, Any]) -> int:
        free = [
            {**one, "parts": [{**p, "thought_signature": ""} for p in one["parts"]]}
            for one in contents
        ]
        bills = [
            body_tokens({"model": NEW, "contents": said}, len)
            for said in (contents, free)
        ]
        return bills[0] - bills[1]

    assert due(asked, signed, answered) == paid
    assert due(asked, signed, answered, signed, answered) == 2 * paid
    assert due(asked, signed, asked) == 0
    assert due(asked, signed, asked, signed, answered) == paid
    assert due(asked, signed, beside) == 0
    assert due(asked, signed, answered, asked) == 0
    assert due(signed, answered) == paid
    assert due(signed, _said("user"), signed) == 2 * paid


def test_a_body_is_the_sum_of_its_pieces() -> None:
    """Contents, the system prompt and the tools."""
    contents = [_said("user", {"text": "abc"})]
    assert body_tokens({"model": NEW, "contents": contents}, len) == 1 + 3
    assert body_tokens({"model": OLD, "contents": contents}, len) == 3
    config = {"system_instruction": "12345", "tools": [{"google_search": {}}]}
    asked = {"model": NEW, "contents": contents, "config": config}
    assert body_tokens(asked, len) == 1 + 3 + 1 + 5
    assert body_tokens({**asked, "model": OLD}, len) == 3 + 5
    assert body_tokens({"contents": None}, len) == 0


SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "12",
    "properties": {
        "at": {"type": "string", "description": "123", "enum": ["ab", 7]},
        "to": {"anyOf": [{"description": "1234"}, {"properties": {"x": {}}}]},
        "description": {"type": "string"},
    },
}
NAMES = len("at") + len("to") + len("x") + len("description")
SAID = 2 + 3 + 4 + len("ab") + len("7")


def _tools(model: str, *tools: dict[str, Any]) -> int:
    config = {"tools": [{"function_declarations": [*tools]}]}
    return body_tokens({"model": model, "contents": [], "config": config}, len)


@pytest.mark.parametrize("model", [NEW, OLD])
@pytest.mark.parametrize("field", ["parameters_json_schema", "parameters"])
def test_a_tool_costs_half_way_between_its_words_and_its_json(
    model: str, field: str
) -> None:
    """Twelve around it, eight around each argument, however deep it stands."""
    tool = {"name": "look", "description": "Looks.", field: SCHEMA}
    words = 4 * 8 + NAMES + SAID
    schema = (len(json.dumps(SCHEMA)) + words) // 2
    assert _tools(model, tool) == 12 + len("look") + len("Looks.") + schema
    assert _tools(model, tool, tool) == 2 * _tools(model, tool)
    assert _tools(model, {"name": "look"}) == 12 + len("look")
    assert _tools(model, {"name": "look", field: {}}) == 12 + len("look")


def test_the_oldest_are_shown_the_words_of_a_tool() -> None:
    """Nothing stands around them."""
    tool = {"name": "look", "description": "Looks.", "parameters": SCHEMA}
    assert _tools(OLDEST, tool) == len("look") + len("Looks.") + NAMES + SAID
    assert _tools(OLDEST, {"name": "look"}) == len("look")


def test_what_a_request_costs_without_a_conversation() -> None:
    """The system prompt at its place or among the contents, tools, the beginning."""
    config = {
        "system_instruction": "12345",
        "tools": [{"function_declarations": [{"name": "look"}]}],
    }
    asked = {"model": NEW, "config": config}
    fixed = fixed_tokens(asked, [], "Go.", len)
    assert fixed == {"system": 6, "tools": 12 + 4, "overhead": 3 + 1}
    folded = [{"text": "1234567"}]
    fixed = fixed_tokens({"model": NEW}, folded, "", len)
    assert fixed == {"system": 1 + 7, "tools": 0, "overhead": 1}
    fixed = fixed_tokens({"model": OLD, "config": config}, [], "", len)
    assert fixed == {"system": 5, "tools": 12 + 4, "overhead": 1}


# --- media ----------------------------------------------------------------------------


def _data(kind: str, data: str, **marks: Any) -> dict[str, Any]:
    return {"inline_data": {"mime_type": kind, "data": data}, **marks}


def _address(kind: str | None, **marks: Any) -> dict[str, Any]:
    named = {"mime_type": kind} if kind else {}
    return {"file_data": {"file_uri": "https://a.test/b", **named}, **marks}


def _bytes(size: int) -> str:
    """Return base64 of so many bytes: a multiple of three."""
    return "AAAA" * (size // 3)


def _at(level: str) -> dict[str, Any]:
    return {"media_resolution": {"level": f"MEDIA_RESOLUTION_{level}"}}


@pytest.mark.parametrize(
    ("part", "new", "old"),
    [
        (_data("image/png", PIXEL), 1_120, 258),
        (_data("image/heic", PIXEL), 1_120, 258),
        (_data("image/png", ""), 1_120, 1_600),
        (_address("image/png"), 1_120, 1_600),
        (_data("image/png", PIXEL, **_at("LOW")), 280, 258),
        (_data("image/png", PIXEL, **_at("MEDIUM")), 1_120, 258),
        (_data("image/png", PIXEL, **_at("HIGH")), 1_120, 258),
        (_data("image/png", PIXEL, **_at("ULTRA_HIGH")), 2_240, 258),
        (
            _data("image/png", PIXEL, media_resolution="MEDIA_RESOLUTION_LOW"),
            280,
            258,
        ),
        (_data("audio/wav", _bytes(48_000)), 96, 96),
        (_data("audio/wav", _bytes(48_003)), 97, 97),
        (_data("audio/mp3", _bytes(48_000)), 192, 192),
        (_data("audio/ogg", _bytes(48_003)), 193, 193),
        (_address("audio/wav"), MINUTE, MINUTE),
        (_data("video/webm", _bytes(48_000)), 120, 120),
        (_data("video/mp4", _bytes(48_003)), 121, 121),
        (_address("video/mp4"), MINUTE, MINUTE),
        (_data("text/plain", "A" * 400), 100, 100),
        (_data("text/csv", "A" * 401), 101, 101),
        (_address("text/plain"), 5_600, 2_580),
        (_data("application/pdf", _bytes(49_998)), 560, 258),
        (_data("application/pdf", _bytes(50_001)), 1_120, 516),
        (_data("application/pdf", ""), 560, 258),
        (_data("application/pdf", _bytes(3), **_at("LOW")), 280, 258),
        (_data("application/pdf", _bytes(3), **_at("MEDIUM")), 560, 258),
        (_data("application/pdf", _bytes(3), **_at("HIGH")), 1_120, 258),
        (_data("application/pdf", _bytes(3), **_at("ULTRA_HIGH")), 1_120, 258),
        (_address("application/pdf"), 5_600, 2_580),
        (_address("application/pdf", **_at("LOW")), 2_800, 2_580),
        (_address(None), 5_600, 2_580),
    ],
)
def test_media_by_kind_and_place(part: dict[str, Any], new: int, old: int) -> None:
    """A second of sound is 32 tokens, one of film 300, a page 560 or 258."""
    assert _one(part, NEW) == new
    assert _one(part, OLD) == _one(part, OLDEST) == old


def test_media_in_a_result_are_added_to_it() -> None:
    """As they cost elsewhere."""
    response = {"name": "f", "response": {}}
    parts = [_data("image/png", PIXEL), _data("audio/wav", _bytes(48_000))]
    result = {"function_response": {**response, "parts": parts}}
    assert _one(result, NEW) == 5 + len("f") + len("{}") + 1_120 + 96
    assert _one(result, OLDEST) == len("f") + 258 + 96


def _film(
    units: int, per_second: int, *, version: int = 0, before: int = 0, after: int = 0
) -> str:
    """Return a film whose header says how long it is."""
    layout = ">QQIQ" if version else ">IIII"
    times = bytes([version, 0, 0, 0]) + struct.pack(layout, 1, 1, per_second, units)
    return base64.b64encode(b"\0" * before + b"mvhd" + times + b"\0" * after).decode()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("before", "after"),
    [(0, 0), (1, 2), (49_000, 0), (0, 200_000), (200_000, 0), (150_000, 30_000)],
)
def test_a_film_says_how_long_it_is(version: int, before: int, after: int) -> None:
    """At its beginning or at its end, in short or in long times."""
    data = _film(2_500, 1_000, version=version, before=before, after=after)
    assert _one(_data("video/mp4", data), NEW) == math.ceil(2.5 * 102)
    assert _one(_data("video/mp4", data), OLD) == math.ceil(2.5 * 295)
    bare = data.rstrip("=")
    assert _one(_data("video/mp4", bare), NEW) == math.ceil(2.5 * 102)


@pytest.mark.parametrize(
    "data",
    [
        _film(5, 0),
        _film(5, 1, before=100_000, after=100_000),
        _film(5, 1, version=1)[:40],
        base64.b64encode(base64.b64decode(_film(5, 1))[:-1]).decode(),
        "AAA*",
        "AAAAA",
    ],
)
def test_a_film_that_does_not_say_costs_by_its_size(data: str) -> None:
    """No length, one in the middle, half a header, no base64."""
    assert _one(_data("video/mp4", data), NEW) == math.ceil(len(data) * 3 / 4 / 400)
