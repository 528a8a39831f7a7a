from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from context_builder.collect.imports.anthropic import read_request
from context_builder.render.validate_anthropic import validate_anthropic
from tests.render.anthropic_helpers import (
    ADAPTER,
    DATA,
    SYSTEM,
    render,
)
from tests.render.conversations_anthropic import (
    numbered,
)

# --- recorded bodies -----------------------------------------------------------------

RECORDS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def tidy(value: Any) -> Any:
    """Return a body without what makes no difference to the vendor."""
    if isinstance(value, list):
        return [tidy(member) for member in value]
    if not isinstance(value, dict):
        return value
    nothing = {"is_error": False, "citations": [], "caller": {"type": "direct"}}
    return {
        key: tidy(member)
        for key, member in value.items()
        if key != "cache_control" and member is not None and nothing.get(key) != member
    }


def same_blocks(content: Any) -> list[Any]:
    """Return the content of a message as blocks, blank text left out."""
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    kept = []
    for block in tidy(blocks):
        if block["type"] == "text" and not block["text"].strip():
            continue
        if block["type"] == "tool_result":
            inner = same_blocks(block.get("content") or "")
            block["content"] = inner or [{"type": "text", "text": "(no output)"}]
        kept.append(block)
    return kept


def joined(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    """Return the turns of a body, neighbours of one role joined as the server does."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        blocks = same_blocks(message["content"])
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((message["role"], blocks))
    return turns


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"][-12:])
def test_recorded_bodies_come_out_as_they_went_in(record: dict[str, Any]) -> None:
    """A body that the vendor accepted, read and said again, says the same."""
    body = record["request"]
    read = read_request(body)
    system = replace(SYSTEM, content=read.system) if read.system else None
    request = render(
        numbered(*read.items), body["model"], system=system, tools=read.tools
    ).request
    assert validate_anthropic(request) == []
    assert joined(request["messages"]) == joined(body["messages"])
    names = [tool["name"] for tool in body.get("tools") or () if "input_schema" in tool]
    assert [tool["name"] for tool in request.get("tools") or ()] == names


def test_counting_is_close_to_what_was_billed() -> None:
    """Text and tools: the median is within 5 % of the bill."""
    errors = []
    for record in RECORDS:
        if not set(record["features"]) <= {"system", "tools", "cache_control"}:
            continue
        body = {**record["request"], "model": record["model"]}
        usage = record["usage"]
        billed = usage["input_tokens"] + sum(
            usage.get(key) or 0
            for key in ("cache_read_input_tokens", "cache_creation_input_tokens")
        )
        counted = ADAPTER.request_tokens(body, ADAPTER.counter(record["model"]).count)
        errors.append(counted / billed - 1)
    assert len(errors) >= 15
    errors.sort()
    assert abs(errors[len(errors) // 2]) < 0.05
