from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from context_builder.collect import Imported, import_formats, read_request
from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.render import Prompt, adapter_for, adapter_names
from context_builder.render.ids import clean_name
from tests.render.conversations_chat import (
    TOOLS,
    assistant,
    closed_chats,
    plain_chats,
    prompt,
    result,
    user,
)
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


every = pytest.mark.parametrize("target", adapter_names())
reporting = every


def said(chat: Prompt, target: str) -> Any:
    """Say a conversation to a vendor, for one of its models."""
    return adapter_for(target).render(dataclasses.replace(chat, model=MODELS[target]))


def again(read: Imported, chat: Prompt) -> Prompt:
    """Return what was read, to be said again."""
    system = read.system and ContextItem(role="system", content=read.system, id="i0")
    return dataclasses.replace(
        chat,
        items=tuple(
            dataclasses.replace(item, id=f"i{number}")
            for number, item in enumerate(read.items, start=1)
        ),
        system=system or None,
        tools=read.tools,
    )


def essence(items: Iterable[ContextItem]) -> list[tuple[Any, ...]]:
    """Return what every vendor carries: who said what, called what, got what."""
    found: list[tuple[Any, ...]] = []
    places: dict[str, int] = {}
    made = 0
    for item in items:
        calls = []
        for call in item.tool_calls:
            places[call.id] = made = made + 1
            calls.append((clean_name(call.name), json.loads(call.arguments)))
        answers = places.get(item.tool_call_id or "") if item.role == "tool" else None
        text = item.text.removeprefix("Error: ") if item.role == "tool" else item.text
        found.append((item.role, text, calls, answers))
    return found


def test_every_vendor_can_be_read_and_said() -> None:
    """The formats and the targets are the same ones."""
    assert set(import_formats()) == set(adapter_names())


@every
@given(chat=plain_chats)
def test_text_calls_and_results_survive(target: str, chat: Prompt) -> None:
    """Said and read back, a conversation is the same one, with its system and tools."""
    read = read_request(said(chat, target).request, format=target)
    assert read.lost == ()
    system = chat.system.text if chat.system is not None else None
    if adapter_for(target).capabilities.system != "fold_into_user":
        assert read.system == system
        assert essence(_merged(read.items)) == essence(_merged(chat.items))
    names = [tool["function"]["name"] for tool in read.tools]
    assert names == [tool["function"]["name"] for tool in chat.tools]
    schemas = [tool["function"]["parameters"] for tool in read.tools]
    for schema, tool in zip(schemas, chat.tools, strict=True):
        expected = tool["function"]["parameters"]["properties"]
        assert schema["properties"] == expected


def _merged(items: Iterable[ContextItem]) -> list[ContextItem]:
    """Leave out bridges, and split no hairs about what vendors join."""
    return [item for item in items if item.text not in {"OK", "."} or item.tool_calls]


@every
@given(chat=closed_chats)
def test_said_twice_is_said_the_same(target: str, chat: Prompt) -> None:
    """What was read back is said in the same words: nothing more is lost."""
    # Before the first message, a note cannot be told from a system prompt.
    opened = (dataclasses.replace(user("Hello."), id="i00"), *chat.items)
    chat = dataclasses.replace(chat, items=opened)
    first = said(chat, target)
    read = read_request(first.request, format=target)
    second = said(again(read, chat), target)
    assert _bare(second.messages) == _bare(first.messages)


def _bare(value: Any) -> Any:
    """Return messages without the marks that steer a cache; a lone text is a text."""
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if key != "cache_control"}
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict) and "text" in value[0]:
            return value[0]["text"]
        return [
            _bare(one) for one in value if one != {"cachePoint": {"type": "default"}}
        ]
    return value


# --- reasoning, names and flags -------------------------------------------------------

CALL = ToolCall("call00001", "look", '{"at": "sea"}')
SIGNED: Mapping[str, ReasoningPart] = {
    "anthropic": ReasoningPart("anthropic", "so", signature="c2ln", model=None),
    "bedrock": ReasoningPart("bedrock", "so", signature="c2ln"),
    "ollama": ReasoningPart("ollama", "so"),
    "mistral": ReasoningPart(
        "mistral",
        "so",
        data={"type": "thinking", "thinking": [{"type": "text", "text": "so"}]},
    ),
}


def thoughtful(part: ReasoningPart) -> Prompt:
    """Return a running loop in which the assistant thought before it called."""
    return prompt(
        user("Look.", name="Ann"),
        assistant("", CALL, reasoning=(dataclasses.replace(part, model=None),)),
        result(CALL, "gone", is_error=True),
        tools=TOOLS,
    )


@reporting
def test_own_reasoning_survives_or_is_reported(target: str) -> None:
    """It comes back as it was, or a repair says that it was left out."""
    own = adapter_for(target).capabilities.reasoning or target
    part = SIGNED.get(own, ReasoningPart(own, "so"))
    rendering = said(thoughtful(part), target)
    read = read_request(rendering.request, format=target)
    kept = [each.text for item in read.items for each in item.reasoning]
    kept = [text for text in kept if text.strip()]
    told = [mark for mark in rendering.repairs if "reasoning" in mark.reason]
    assert (kept == ["so"]) != bool(told)


@reporting
def test_foreign_reasoning_is_left_out_and_reported(target: str) -> None:
    """Another vendor's reasoning goes nowhere, and the report says so."""
    rendering = said(thoughtful(ReasoningPart("nobody", "a secret thought")), target)
    assert "a secret thought" not in str(rendering.request)
    assert any("reasoning" in mark.reason for mark in rendering.repairs)


@every
def test_names_survive_or_are_reported(target: str) -> None:
    """A participant's name comes back, or a repair says that it was left out."""
    rendering = said(thoughtful(ReasoningPart("nobody", "")), target)
    read = read_request(rendering.request, format=target)
    kept = [item.name for item in read.items if item.name is not None]
    told = [mark for mark in rendering.repairs if "name" in mark.reason]
    assert (kept == ["Ann"]) != bool(told)


@every
def test_an_error_is_flagged_or_said(target: str) -> None:
    """Where there is no flag, the text says what failed."""
    rendering = said(thoughtful(ReasoningPart("nobody", "")), target)
    read = read_request(rendering.request, format=target)
    if target == "strict":
        assert "Error: gone" in str(rendering.request)
        return
    (found,) = [item for item in read.items if item.role == "tool"]
    if adapter_for(target).capabilities.error_flag:
        assert (found.is_error, found.text) == (True, "gone")
    else:
        assert found.is_error or found.text == "Error: gone"
