from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.collect.imports import openai_compatible as reader
from context_builder.errors import AdapterError
from context_builder.render.openai_compatible import CompatAdapter
from tests.render.conversations_chat import prompt
from tests.render.test_openai_compatible import EVERY, by_name

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt


@pytest.mark.parametrize("adapter", EVERY, ids=by_name)
def test_recorded_bodies_keep_the_rules(adapter: CompatAdapter) -> None:
    """What OpenAI accepted is said so that each vendor's rules hold."""
    for request in _recorded():
        chat = _imported(request)
        if (
            chat.items[-1].role == "assistant"
            and not adapter.capabilities.assistant_last
        ):
            with pytest.raises(AdapterError):
                adapter.render(chat)
            continue
        assert list(adapter.validate(adapter.render(chat).request)) == []


def test_recorded_bodies_stay_equivalent() -> None:
    """Texts, calls and results of recorded bodies are said again as they were."""
    for request in _recorded():
        said = CompatAdapter().render(_imported(request)).messages
        system = "\n\n".join(
            _text(message) for message in said if message["role"] == "system"
        )
        asked = [_essence(message) for message in request["messages"]]
        leading = [text for role, text, _ in asked if role in {"system", "developer"}]
        assert system == "\n\n".join(leading)
        others = [each for each in asked if each[0] not in {"system", "developer"}]
        assert [_essence(m) for m in said if m["role"] != "system"] == others


def _recorded() -> list[dict[str, Any]]:
    path = Path(__file__).parents[1] / "data" / "openai_usage.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        record["request"]
        for record in records
        if not {"part_file", "part_input_audio"} & set(record["features"])
        and _is_current(record["request"])
    ]


def _is_current(request: dict[str, Any]) -> bool:
    """Leave out what only OpenAI takes: notes in between, blank texts, old fields."""
    roles = [message["role"] for message in request["messages"]]
    spoken = [role for role in roles if role not in {"system", "developer"}]
    return (
        spoken[:1] == ["user"]
        and not {"function", "system", "developer"}
        & set(roles[len(roles) - len(spoken) :])
        and all(_text(m).strip() or m.get("tool_calls") for m in request["messages"])
    )


def _imported(request: dict[str, Any]) -> Prompt:
    imported = reader.READERS["openai-compatible"].read_request(request)
    return prompt(*imported.items, system=imported.system, tools=imported.tools)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _essence(message: dict[str, Any]) -> tuple[str, str, list[Any]]:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    said = [(call["name"], json.loads(call["arguments"])) for call in calls]
    return message["role"], _text(message), said
