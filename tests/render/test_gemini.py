from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from context_builder import ContextBuilder
from context_builder.collect.imports.gemini import read_request
from context_builder.errors import AdapterError
from context_builder.items import ContextItem
from context_builder.messages import FilePart, ImagePart, TextPart, ToolCall
from context_builder.render.adapter import Prompt
from context_builder.render.gemini import UNSIGNED, GeminiAdapter
from context_builder.render.validate_gemini import validate_gemini
from tests.render.bodies_gemini import meaning
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
from tests.render.conversations_gemini import TABLE, pieces, replays, steps

ADAPTER = GeminiAdapter()
DATA = Path(__file__).parents[1] / "data" / "gemini_usage.jsonl"
RECORDS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"


def check_types(request: dict[str, Any]) -> None:
    """Hand a request to the SDK's own types."""
    for content in request["contents"]:
        types.Content.model_validate(content)
    types.GenerateContentConfig.model_validate(request.get("config", {}))


def imported(record: dict[str, Any]) -> Prompt:
    """Read a recorded body into a prompt."""
    read = read_request(record["request"])
    system = ContextItem("system", read.system, id="i0") if read.system else None
    return Prompt(
        items=numbered(read.items),
        system=system,
        tools=read.tools,
        model=record["model"],
    )


def count(text: str) -> int:
    """Estimate the tokens of a text."""
    return ADAPTER.counter(None).count(text)


def bound(said: Prompt) -> int:
    """Add up what the pieces of a prompt are thought to cost."""
    return sum(ADAPTER.fixed_tokens(said, count).values()) + sum(
        ADAPTER.item_tokens(item, count, model=said.model) for item in said.items
    )


# --- whole requests -------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("model", [None, NEW, OLD, "gemma-3-27b-it"])
def test_every_conversation_is_accepted(name: str, model: str | None) -> None:
    """The vendor's rules and the SDK's own types are kept."""
    request = ADAPTER.render(replace(TABLE[name], model=model)).request
    assert validate_gemini(request) == []
    json.dumps(request)
    check_types(request)


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        (NEW, {"thinking_budget_tokens": 5}, {"thinking_budget": 5}),
        (
            NEW,
            {"thinking_budget_tokens": 5, "reasoning_effort": "high"},
            {"thinking_level": "HIGH"},
        ),
        (OLD, {"reasoning_effort": "none"}, {"thinking_budget": 0}),
        (
            OLD,
            {"thinking_budget_tokens": 5, "reasoning_effort": "high"},
            {"thinking_budget": 5},
        ),
        (OLD, {}, None),
    ],
)
def test_thinking_is_said_once(model: str, options: Any, expected: Any) -> None:
    """A budget and a level in one request would be refused."""
    request = ADAPTER.render(prompt(user("Hi."), model=model, options=options)).request
    assert request.get("config", {}).get("thinking_config") == expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "look"}}],
                },
            },
            {"mode": "VALIDATED", "allowed_function_names": ["look"]},
        ),
    ],
)
def test_a_choice_of_tools(choice: Any, expected: Any) -> None:
    """Each word has its mode."""
    said = prompt(user("Hi."), tools=TOOLS, options={"tool_choice": choice})
    request = ADAPTER.render(said).request
    assert request["config"]["tool_config"] == {"function_calling_config": expected}
    assert validate_gemini(request) == []


def test_what_is_cached_is_not_said_again() -> None:
    """System prompt and tools are part of the cached content."""
    said = prompt(
        user("Hi."),
        system="Look.",
        tools=TOOLS,
        options={
            "extra": {"cached_content": "cachedContents/1"},
            "tool_choice": "auto",
        },
    )
    request = ADAPTER.render(said).request
    assert request["config"] == {"cached_content": "cachedContents/1"}


def test_the_last_word_is_the_users() -> None:
    """A conversation that ends with the model is refused, and an empty one."""
    with pytest.raises(AdapterError) as error:
        ADAPTER.render(prompt(user("Hi."), assistant("Hello.")))
    assert error.value.item_id == "i2"
    with pytest.raises(AdapterError):
        ADAPTER.render(prompt(system="Alone."))


def test_only_the_first_unsigned_call_of_a_step_is_excused() -> None:
    """The newer models want a signature on the first call of each step."""
    calls = [ToolCall("a", "look"), ToolCall("b", "look")]
    said = [user("Go."), assistant("", *calls), *(result(call, "1") for call in calls)]
    for model, expected in {NEW: [UNSIGNED, None], OLD: [None, None]}.items():
        contents = ADAPTER.render(prompt(*said, model=model)).messages
        signatures = [part.get("thought_signature") for part in contents[1]["parts"]]
        assert signatures == expected
    assert base64.b64decode(UNSIGNED) == b"skip_thought_signature_validator"


def test_a_signature_stays_where_it_was() -> None:
    """It goes back on the very part, and the SDK reads the same bytes."""
    contents = ADAPTER.render(TABLE["own signatures"]).messages
    call = types.Content.model_validate(contents[1]).parts
    assert call is not None
    assert [part.thought_signature for part in call] == [None, b"a signature", None]
    assert contents[4]["parts"] == [{"text": "", "thought_signature": "YWdhaW4="}]


def test_names_begin_with_a_letter() -> None:
    """Others are renamed, the same way in tools, calls and results."""
    names = ["1st", "a b", "server.tool", "-x", "x" * 70]
    calls = [ToolCall(str(number), name) for number, name in enumerate(names)]
    tools = tuple({"type": "function", "function": {"name": name}} for name in names)
    said = prompt(
        user("Go."),
        assistant("", *calls),
        *(result(call, "1") for call in calls),
        tools=tools,
    )
    request = ADAPTER.render(said).request
    assert validate_gemini(request) == []
    declared = [
        tool["name"] for tool in request["config"]["tools"][0]["function_declarations"]
    ]
    called = [p["function_call"]["name"] for p in request["contents"][1]["parts"]]
    assert declared == called
    assert declared[2] == "server.tool"
    assert len(set(declared)) == len(names)


@pytest.mark.parametrize(
    ("text", "is_error", "expected"),
    [
        ("fine", False, {"output": "fine"}),
        ("gone", True, {"error": "gone"}),
        ('{"a": 1}', False, {"a": 1}),
        ('{"a":1}', False, {"output": '{"a":1}'}),
        ('{"output": "x"}', False, {"output": '{"output": "x"}'}),
        ('{"error": "x"}', False, {"output": '{"error": "x"}'}),
        ('{"error": {"a": 1}}', True, {"error": {"a": 1}}),
        ("[1]", False, {"output": "[1]"}),
        ('{"a": NaN}', False, {"output": '{"a": NaN}'}),
        ("", True, {"error": "(no output)"}),
    ],
)
def test_a_result_is_an_object(text: str, *, is_error: bool, expected: Any) -> None:
    """Its own where that loses nothing, else one around its text."""
    call = ToolCall("a", "look")
    said = prompt(
        user("Go."), assistant("", call), result(call, text, is_error=is_error)
    )
    part = ADAPTER.render(said).messages[2]["parts"][0]
    assert part["function_response"]["response"] == expected


def test_the_result_is_the_callers() -> None:
    """Changing it changes neither the prompt nor the next rendering."""
    said = replace(TABLE["the vendor's own parts"], tools=TOOLS)
    before = copy.deepcopy(ADAPTER.render(said).request)
    request = ADAPTER.render(said).request
    request["contents"][1]["parts"][1]["executable_code"]["code"] = "forged"
    tool = request["config"]["tools"][0]["function_declarations"][0]
    tool["parameters_json_schema"].clear()
    assert ADAPTER.render(said).request == before


def test_media_cost_what_the_vendor_says() -> None:
    """The newer models have one price for a picture, the older count tiles."""
    picture = ImagePart(data=TABLE["media"].items[0].content[0].data)  # type: ignore[union-attr]
    pages = FilePart(data="A" * 400_000, media_type="application/pdf")
    item = user((TextPart(text="x"), picture))
    new = ADAPTER.item_tokens(item, count, model=NEW)
    old = ADAPTER.item_tokens(item, count, model=OLD)
    assert 1_120 < new < 1_130
    assert 258 < old < 270
    assert ADAPTER.item_tokens(user((pages,)), count, model=NEW) > 6 * 560


# --- whatever the conversation --------------------------------------------------------


@given(said=closed_chats, model=st.sampled_from([None, NEW, OLD, "gemma-3-27b-it"]))
def test_generated_conversations_are_accepted(said: Prompt, model: str | None) -> None:
    """Rules, types and the promise of the count hold for any conversation."""
    said = replace(said, model=model)
    request = ADAPTER.render(said).request
    assert validate_gemini(request) == []
    check_types(request)
    assert ADAPTER.request_tokens(request, count) <= bound(said)


def parts_of(contents: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return what contents say, part by part."""
    return [
        (content["role"], part) for content in contents for part in content["parts"]
    ]


@given(units=st.lists(steps() | chats.map(lambda units: units[0]), min_size=1))
def test_a_conversation_only_grows(units: list[list[ContextItem]]) -> None:
    """What is said for the first items does not depend on those that follow."""
    items = numbered(
        [user("Go."), *(item for unit in units for item in unit), user("End.")]
    )
    whole = parts_of(ADAPTER.render(Prompt(items=items, model=OLD)).messages)
    start = 1
    for unit in units:
        start += len(unit)
        end = user("Stop.")
        cut = Prompt(items=(*items[:start], replace(end, id="end")), model=OLD)
        said = parts_of(ADAPTER.render(cut).messages)[:-1]
        assert whole[: len(said)] == said


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
    """Own signatures keep the rules, and the count its promise."""
    request = ADAPTER.render(said).request
    assert validate_gemini(request) == []
    check_types(request)
    assert ADAPTER.request_tokens(request, count) <= bound(said)


# --- what was recorded ----------------------------------------------------------------


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"][-12:])
def test_recorded_bodies_stay_equivalent(record: dict[str, Any]) -> None:
    """A body that was accepted, read and said again, says the same."""
    rendering = ADAPTER.render(imported(record))
    assert meaning(rendering.request) == meaning(record["request"])
    assert validate_gemini(rendering.request) == []
    check_types(rendering.request)


def test_the_count_of_texts_is_close() -> None:
    """Texts are estimated within five percent, by the median."""
    errors = []
    for record in RECORDS:
        if set(record["features"]) <= {"system"}:
            usage = record["usage"]
            billed = usage.get("promptTokenCount") or usage["totalTokens"]
            request = ADAPTER.render(imported(record)).request
            counted = ADAPTER.request_tokens(request, count)
            errors.append(abs(counted - billed) / billed)
    assert len(errors) > 20
    assert sorted(errors)[len(errors) // 2] <= 0.05


@pytest.mark.parametrize(
    ("part", "goes_back"),
    [
        ({"executable_code": {"language": "PYTHON", "code": "1"}}, True),
        ({"tool_call": {"id": "1"}, "part_metadata": {"a": 1}}, True),
        ({"text": "", "thought": True, "thought_signature": "c2ln"}, True),
        ({"thought_signature": "c2ln"}, True),
        ({"text": "so", "thought": True}, True),
        ({"dream": {"of": "sheep"}}, False),
        ({"executable_code": "1 + 1"}, False),
        ({"thought": True}, False),
        ({"text": " ", "thought": True}, False),
    ],
)
def test_the_vendors_own_parts_go_back_if_it_takes_them(
    part: dict[str, Any], *, goes_back: bool
) -> None:
    """A part of no known kind would be refused: it is left out, and that is told."""
    ctx = ContextBuilder(max_tokens=9_000)
    ctx.extend(
        [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [part, {"text": "Done."}]},
            {"role": "user", "parts": [{"text": "on"}]},
        ],
        format="gemini",
    )
    request = ctx.request("gemini", model="gemini-3.5-flash")
    said = request["contents"][1]["parts"]
    assert said == ([part, {"text": "Done."}] if goes_back else [{"text": "Done."}])
    assert validate_gemini(request) == []
    repairs = ctx.explain("gemini", model="gemini-3.5-flash").repairs
    assert any("not known here" in one for one in repairs) is not goes_back
