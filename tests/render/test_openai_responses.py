from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
)
from pydantic import TypeAdapter

from context_builder.collect.imports.openai_responses import read_request
from context_builder.errors import AdapterError
from context_builder.items import ContextItem
from context_builder.messages import ToolCall
from context_builder.render.adapter import Prompt
from context_builder.render.openai_responses import OpenAIResponsesAdapter
from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)
from context_builder.settings import RequestOptions
from tests.render.bodies_openai_responses import meaning
from tests.render.conversations_chat import (
    TOOLS,
    assistant,
    chats,
    closed_chats,
    numbered,
    prompt,
    result,
    user,
)
from tests.render.conversations_openai_responses import (
    TABLE,
    answers,
    block,
    pieces,
    replays,
)

ADAPTER = OpenAIResponsesAdapter()
SDK: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
DATA = Path(__file__).parents[1] / "data" / "openai_responses_usage.jsonl"
RECORDS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def imported(record: dict[str, Any]) -> Prompt:
    """Read a recorded body into a prompt."""
    read = read_request(record["request"])
    system = ContextItem("system", read.system, id="i0") if read.system else None
    return Prompt(
        items=numbered(read.items),
        system=system,
        tools=read.tools,
        model=record["request"]["model"],
    )


def count(text: str) -> int:
    """Count the tokens of a text."""
    return ADAPTER.counter("gpt-5.4").count(text)


def bound(said: Prompt) -> int:
    """Add up what the pieces of a prompt are thought to cost."""
    return sum(ADAPTER.fixed_tokens(said, count).values()) + sum(
        ADAPTER.item_tokens(item, count, model=said.model) for item in said.items
    )


# --- whole requests -------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_every_conversation_is_accepted(name: str) -> None:
    """The vendor's rules and the SDK's own types are kept."""
    request = ADAPTER.render(TABLE[name]).request
    assert validate_openai_responses(request) == []
    json.dumps(request)
    if name != "reasoning without the ids of what followed":
        # The API takes reasoning without an id; the SDK's type of it does not say so.
        SDK.validate_python(request)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("required", "required"),
        (
            {"type": "custom", "custom": {"name": "patch"}},
            {"type": "custom", "name": "patch"},
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "look"}}],
                },
            },
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "look"}],
            },
        ),
        ({"type": "web_search"}, {"type": "web_search"}),
    ],
)
def test_a_choice_of_tools_is_flat(choice: Any, expected: Any) -> None:
    """The name stands beside the type."""
    said = prompt(user("Hi."), tools=TOOLS, options={"tool_choice": choice})
    assert ADAPTER.render(said).request["tool_choice"] == expected


@pytest.mark.parametrize(
    ("model", "is_asked"),
    [
        (None, True),
        ("gpt-5.4-mini", True),
        ("gpt-6-sol", True),
        ("o4-mini", True),
        ("gpt-4o", False),
        ("gpt-4.1-2025-04-14", False),
        ("gpt-5-chat-latest", False),
    ],
)
def test_only_reasoning_models_are_asked_for_reasoning(
    model: str | None, *, is_asked: bool
) -> None:
    """Others refuse a request that asks for it."""
    request = ADAPTER.render(prompt(user("Hi."), model=model)).request
    assert ("include" in request) is is_asked
    assert request["store"] is False


def test_an_empty_conversation_is_refused() -> None:
    """There is nothing to send."""
    with pytest.raises(AdapterError):
        ADAPTER.render(prompt(system="Alone."))
    with pytest.raises(AdapterError):
        ADAPTER.render(prompt(assistant("", reasoning=(block(),))))


def test_an_alias_is_the_model_itself() -> None:
    """A dated name, or the full name of an alias, may read its own reasoning."""
    said = assistant("Hi.", reasoning=(block(model="gpt-5.6-sol"),))
    for model, is_kept in {"gpt-5.6": True, "gpt-5.6-luna": False}.items():
        rendering = ADAPTER.render(prompt(user("Hi."), said, model=model))
        kinds = [item.get("type") for item in rendering.messages]
        assert ("reasoning" in kinds) is is_kept
        assert bool(rendering.repairs) is not is_kept


def test_long_ids_are_mapped_on_both_sides() -> None:
    """Two ids that are too long stay different, and one of 64 characters stays."""
    calls = [ToolCall(call_id, "look") for call_id in ("x" * 64, "x" * 65, "x" * 66)]
    said = prompt(
        user("Go."), assistant("", *calls), *(result(call, "1") for call in calls)
    )
    ids = [item["call_id"] for item in ADAPTER.render(said).messages[1:]]
    assert ids[:3] == ids[3:]
    assert ids[0] == "x" * 64
    assert len(set(ids)) == 3
    assert all(len(call_id) <= 64 for call_id in ids)


def test_the_result_is_the_callers() -> None:
    """Changing it changes neither the prompt nor the next rendering."""
    said = TABLE["reasoning in a loop"]
    before = copy.deepcopy(ADAPTER.render(said).request)
    request = ADAPTER.render(said).request
    request["tools"][0]["parameters"]["properties"].clear()
    request["input"][1]["summary"].append("forged")
    assert ADAPTER.render(said).request == before


# --- whatever the conversation --------------------------------------------------------


@given(said=closed_chats)
def test_generated_conversations_are_accepted(said: Prompt) -> None:
    """Rules, types and the promise of the count hold for any conversation."""
    request = ADAPTER.render(replace(said, model="gpt-5.4")).request
    assert validate_openai_responses(request) == []
    SDK.validate_python(request)
    spent = ADAPTER.request_tokens(request, count)
    assert spent <= bound(replace(said, model="gpt-5.4"))


@given(units=st.lists(answers() | chats.map(lambda units: units[0]), min_size=1))
def test_a_conversation_only_grows(units: list[list[ContextItem]]) -> None:
    """What is said for the first items does not depend on those that follow."""
    items = numbered(
        [user("Go."), *(item for unit in units for item in unit), user("End.")]
    )
    whole = ADAPTER.render(Prompt(items=items)).messages
    start = 1
    for unit in units:
        said = ADAPTER.render(Prompt(items=items[:start])).messages
        assert whole[: len(said)] == said
        start += len(unit)


@given(said=replays())
def test_what_comes_back_is_what_went_out(said: Prompt) -> None:
    """Ours, the vendor's, ours again: nothing is lost, and nothing is changed."""
    read = read_request(ADAPTER.render(said).request)
    assert pieces(read.items) == pieces(said.items)
    assert read.system == (said.system.text if said.system else None)
    assert [tool["function"]["name"] for tool in read.tools] == ["look"]
    assert read.lost == ()


@given(said=replays())
def test_a_replay_is_accepted_and_counted(said: Prompt) -> None:
    """Own reasoning keeps the rules, and the count its promise."""
    request = ADAPTER.render(said).request
    assert validate_openai_responses(request) == []
    SDK.validate_python(request)
    assert ADAPTER.request_tokens(request, count) <= bound(said)


# --- what was recorded ----------------------------------------------------------------


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"][-12:])
def test_recorded_bodies_stay_equivalent(record: dict[str, Any]) -> None:
    """A body that was accepted, read and said again, says the same."""
    request = record["request"]
    if not any(part.strip() for part in _texts(request["input"])):
        with pytest.raises(AdapterError):
            ADAPTER.render(imported(record))
        return
    rendering = ADAPTER.render(imported(record))
    assert meaning(rendering.request) == meaning(request)
    assert validate_openai_responses(rendering.request) == []
    assert validate_openai_responses(request) == []


def _texts(said: Any) -> list[str]:
    if isinstance(said, str):
        return [said]
    texts = []
    for item in said:
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        texts += [part.get("text") or "x" for part in parts if part.get("text") != ""]
        texts += ["x"] if "role" not in item else []
    return [text for text in texts if text != "x" or len(texts) > 1]


OUTSIDE = frozenset({"server_tools", "part_input_image", "part_input_file"})
BILLED = [
    record
    for record in RECORDS
    if OUTSIDE.isdisjoint(record["features"])
    and not any(name.startswith("item_tool_search") for name in record["features"])
]


@pytest.mark.parametrize("has_tools", [False, True])
def test_the_count_is_what_was_billed(*, has_tools: bool) -> None:
    """Nearly every recorded request is counted to the token; no count is far below."""
    errors = []
    for record in BILLED:
        features = record["features"]
        is_plain = not {"tools", "item_reasoning"} & set(features)
        if "item_reasoning" in features or is_plain is has_tools:
            continue
        billed = record["usage"]["input_tokens"]
        counted = ADAPTER.request_tokens(record["request"], count)
        errors.append(abs(counted - billed) / billed)
        assert counted >= billed - max(1, 0.02 * billed), record["id"]
    assert len(errors) > 20
    assert sorted(errors)[len(errors) // 2] <= 0.01


def test_old_reasoning_is_free_with_older_models() -> None:
    """They read the reasoning of the current turn only."""
    said = [
        user("Hi."),
        assistant("Hello.", reasoning=(block(encrypted_content="x" * 5_000),)),
        user("And?"),
    ]
    for model, is_read in {
        "gpt-5.4": False,
        "gpt-5.6": True,
        "gpt-6-sol": True,
    }.items():
        request = ADAPTER.render(prompt(*said, model=model)).request
        assert (ADAPTER.request_tokens(request, count) > 500) is is_read


def test_settings_take_options() -> None:
    """A prompt without options asks for nothing but what the library needs."""
    request = ADAPTER.render(Prompt(items=numbered([user("Hi.")]))).request
    assert sorted(request) == ["include", "input", "store"]
    assert RequestOptions().extra is None
