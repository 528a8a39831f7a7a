"""What Gemini bills: signatures, films and calls, by the model's generation."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from context_builder.collect import read_request
from context_builder.items import ContextItem
from context_builder.render import Prompt, adapter_for

ADAPTER = adapter_for("gemini")
DATA = Path(__file__).parents[1] / "data" / "gemini_usage.jsonl"
NEWEST, OLDER, OLDEST = "gemini-3.5-flash", "gemini-2.5-flash", "gemini-2.0-flash"


def tokens(model: str, *parts: dict[str, Any], **config: Any) -> int:
    """Count a request with one content."""
    contents = [{"role": "user", "parts": list(parts)}]
    request = {"model": model, "contents": contents, "config": config}
    return ADAPTER.request_tokens(request, ADAPTER.counter(model).count)


def film(seconds: int, *, long_times: bool = False, padding: int = 0) -> str:
    """Return the header of an MP4 that says how long it is."""
    if long_times:
        times = b"\x01\0\0\0" + struct.pack(">QQIQ", 0, 0, 600, 600 * seconds)
    else:
        times = b"\0\0\0\0" + struct.pack(">IIII", 0, 0, 1_000, 1_000 * seconds)
    return base64.b64encode(b"\0" * padding + b"mvhd" + times).decode()


def shown(data: str) -> dict[str, Any]:
    """Return a part with a film."""
    return {"inline_data": {"mime_type": "video/mp4", "data": data}}


@pytest.mark.parametrize("padding", [0, 1, 2, 500_000])
@pytest.mark.parametrize("long_times", [False, True])
def test_a_film_costs_by_its_length(padding: int, *, long_times: bool) -> None:
    """As its header says, wherever that stands; not by its bytes."""
    data = film(5, long_times=long_times, padding=padding)
    assert tokens(OLDER, shown(data)) == 5 * 295
    assert tokens(NEWEST, shown(data)) == 5 * 102 + 1
    assert tokens(OLDER, shown(data.replace("+", "-").replace("/", "_"))) == 5 * 295


@pytest.mark.parametrize(
    "data",
    ["", "!", "AAAA" * 4_000, base64.b64encode(b"mvhd").decode(), film(0)[:20]],
)
def test_a_film_without_a_header_costs_by_its_size(data: str) -> None:
    """A broken or another format is no error."""
    assert tokens(OLDER, shown(data)) <= len(data)


def test_the_wrapping_of_a_signature_is_free() -> None:
    """What is longer than that stands for thoughts; older models read few of them."""
    call = {"function_call": {"name": "look", "args": {}}}

    def extra(model: str, chars: int) -> int:
        signed = {**call, "thought_signature": "x" * chars}
        return tokens(model, signed) - tokens(model, call)

    assert [extra(NEWEST, chars) for chars in (0, 44, 160, 1_160)] == [0, 0, 0, 210]
    assert [extra(OLDER, chars) for chars in (0, 1_000)] == [0, 50]


def test_the_oldest_models_are_shown_no_json() -> None:
    """Names, keys, values and descriptions are all that calls and tools cost."""
    count = ADAPTER.counter(OLDEST).count
    call = {"function_call": {"name": "look", "args": {"at": "sea", "far": [True]}}}
    result = {"function_response": {"name": "look", "response": {"output": "calm"}}}
    said = count("look") + count("at sea far True")
    assert tokens(OLDEST, call) == said < tokens(OLDER, call)
    said = count("look") + count("output calm")
    assert tokens(OLDEST, result) == said < tokens(OLDER, result)
    schema = {"type": "object", "properties": {"at": {"type": "string"}}}
    tool = {"name": "look", "description": "Looks.", "parameters_json_schema": schema}
    tools = [{"function_declarations": [tool]}]
    said = count("look") + count("Looks.") + count("at")
    assert tokens(OLDEST, tools=tools) == said < tokens(OLDER, tools=tools)


def test_recorded_calls_and_tools_are_near_their_bills() -> None:
    """Half of the requests with tools are within a tenth of what was billed."""
    errors = []
    for line in DATA.read_text("utf-8").splitlines():
        record = json.loads(line)
        read = read_request(record["request"], format="gemini")
        if not read.tools:
            continue
        system = read.system and ContextItem(role="system", content=read.system)
        model = record["model"]
        prompt = Prompt(read.items, system or None, read.tools, model)
        request = ADAPTER.render(prompt).request
        ours = ADAPTER.request_tokens(request, ADAPTER.counter(model).count)
        usage = record["usage"]
        billed = usage.get("promptTokenCount") or usage["totalTokens"]
        errors.append(abs(ours - billed) / billed)
    assert len(errors) > 5
    assert sorted(errors)[len(errors) // 2] < 0.10
