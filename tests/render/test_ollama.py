from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from inline_snapshot import snapshot
from ollama import Client, Tool

from context_builder import ContextBuilder
from context_builder.messages import (
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from context_builder.render.ollama import OllamaAdapter
from context_builder.render.validate_ollama import validate_ollama
from tests.render.conversations_chat import (
    EVERYTHING,
    PIXEL,
    TOOLS,
    assistant,
    closed_chats,
    prompt,
    result,
    user,
)
from tests.render.wire import Wire, broken, lost_on_the_way

if TYPE_CHECKING:
    from context_builder.render.adapter import Prompt

ANSWER = {
    "model": "m",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "Hi."},
    "done": True,
    "done_reason": "stop",
}
CALL = ToolCall("call_1", "look")


def test_everything() -> None:
    """The whole request, word for word."""
    assert OllamaAdapter().render(EVERYTHING).request == snapshot(
        {
            "messages": [
                {"role": "system", "content": "You look."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "thinking": "own",
                    "tool_calls": [
                        {
                            "id": "call|1",
                            "type": "function",
                            "function": {"name": "look", "arguments": {"at": "sea"}},
                        },
                        {
                            "id": "call:2",
                            "type": "function",
                            "function": {"name": "look_at_EOUPSE1A", "arguments": {}},
                        },
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "call|1",
                    "content": "Error: gone",
                    "tool_name": "look",
                },
                {
                    "role": "tool",
                    "tool_call_id": "call:2",
                    "content": "seen",
                    "tool_name": "look_at_EOUPSE1A",
                    "images": ["aW1n"],
                },
                {"role": "user", "content": "<system-note>Be brief.</system-note>"},
                {"role": "user", "content": "<memory>A memory.</memory>"},
                {
                    "role": "user",
                    "content": """\
And this?
[audio not shown: audio/wav, 1 KiB]\
""",
                },
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "description": "Looks.",
                        "parameters": {
                            "type": "object",
                            "properties": {"at": {"type": "string"}},
                        },
                    },
                }
            ],
            "options": {"num_predict": 100, "num_ctx": 4096},
        }
    )


@given(chat=closed_chats)
def test_the_sdk_takes_and_sends_all_of_it(chat: Prompt) -> None:
    """The request is the arguments of the call; only ids are lost on the way.

    The SDK knows no ids of calls: results are paired with them by their order.
    """
    request = OllamaAdapter().render(dataclasses.replace(chat, model="m")).request
    for tool in request["tools"]:
        Tool.model_validate(tool)
    wire = Wire(ANSWER)
    Client(host="http://localhost:1", transport=wire.transport).chat(**request)
    lost = {path.rpartition(".")[2] for path in lost_on_the_way(request, wire.sent)}
    # What is blank it leaves out as well: a message that only calls has no content.
    assert lost <= {"id", "type", "tool_call_id", "content"}


def test_the_window_is_always_sent() -> None:
    """It is the model's, or the caller's, or made for the size of the request."""

    def window(model: str | None, text: str = "?", **extra: Any) -> int:
        chat = prompt(user(text), model=model, options={"extra": extra})
        size = OllamaAdapter().render(chat).request["options"]["num_ctx"]
        assert isinstance(size, int)
        return size

    assert window("llama3.1") == window("llama3.1:8b") == 8_192
    assert window("llama3.1", options={"num_ctx": 32_768}) == 32_768
    assert window("llama3.1", num_ctx=16_384) == 16_384
    assert window("some-model-of-mine") == window(None) == 4_096
    assert window(None, "word " * 20_000) in {32_768, 65_536}


def test_a_window_made_for_the_request_is_reported() -> None:
    """What is not known is not guessed in silence."""
    (mark,) = OllamaAdapter().render(prompt(user("?"))).repairs
    assert mark.item_id == "request"
    assert mark.reason.startswith("num_ctx was chosen by the size of the request")


def test_pictures_are_bare_data_on_the_message() -> None:
    """Of a user and of a result; an address is named in words."""
    parts = (
        TextPart(text="See:"),
        ImagePart(data=PIXEL, media_type="image/png"),
        ImagePart(url="https://a/b.png"),
        FilePart(text="plain"),
    )
    chat = prompt(user(parts), assistant("", CALL), result(CALL, parts[1:2]))
    first, _, last = OllamaAdapter().render(chat).messages
    assert first["content"] == "See:\n[image not shown: https://a/b.png]\nplain"
    assert first["images"] == last["images"] == [PIXEL]
    assert last["content"] == "(no text)"


def test_own_reasoning_stands_beside_the_calls_that_it_led_to() -> None:
    """Elsewhere it is left out, and foreign reasoning always."""
    own, foreign = (
        ReasoningPart("ollama", " so "),
        ReasoningPart("anthropic", "foreign"),
    )
    chat = prompt(
        user("?"),
        assistant("", CALL, reasoning=(foreign, own)),
        result(CALL, "a"),
        assistant("b", reasoning=(own,)),
    )
    thoughts = [m.get("thinking") for m in OllamaAdapter().render(chat).messages]
    assert thoughts == [None, " so ", None, None]


def test_a_result_gets_the_name_of_its_call() -> None:
    """An imported history may not say which tool answered."""
    nameless = dataclasses.replace(result(CALL, "a"), tool_name=None)
    chat = prompt(user("?"), assistant("", CALL), nameless)
    assert OllamaAdapter().render(chat).messages[-1]["tool_name"] == "look"


def _asked(**options: Any) -> dict[str, Any]:
    chat = prompt(user("?"), model="llama3.1", options=options, tools=TOOLS)
    request = OllamaAdapter().render(chat).request
    return {key: request.get(key) for key in ("think", "format", "options")}


def test_arguments_of_the_request() -> None:
    """They go by Ollama's own names, some of them as options of the model."""
    assert _asked(max_output_tokens=5, temperature=0.1)["options"] == {
        "num_ctx": 8_192,
        "num_predict": 5,
        "temperature": 0.1,
    }
    efforts = ("none", "minimal", "medium", "max", None)
    assert [_asked(reasoning_effort=effort)["think"] for effort in efforts] == [
        False,
        "low",
        "medium",
        "high",
        None,
    ]
    assert _asked(thinking_budget_tokens=9)["think"] is True
    wanted = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    assert _asked(response_format=wanted)["format"] == {"type": "object"}
    assert _asked(response_format={"type": "json_object"})["format"] == "json"


def test_a_choice_of_tools_is_made_by_their_presence() -> None:
    """No tool may be called: none is sent. Any other choice is the model's."""

    def sent(choice: str) -> tuple[bool, list[str]]:
        chat = prompt(
            user("?"), model="llama3.1", tools=TOOLS, options={"tool_choice": choice}
        )
        rendering = OllamaAdapter().render(chat)
        return "tools" in rendering.request, [mark.reason for mark in rendering.repairs]

    assert sent("auto") == (True, [])
    assert sent("none") == (False, ["tool_choice 'none': the tools are left out"])
    assert sent("required") == (
        True,
        ["tool_choice is not known here: the model chooses"],
    )


# --- the validator --------------------------------------------------------------------

GOOD: dict[str, Any] = (
    OllamaAdapter()
    .render(
        prompt(
            user((TextPart(text="?"), ImagePart(data=PIXEL))),
            assistant("", CALL),
            result(CALL, "a"),
            user("c"),
            system="s",
            tools=TOOLS,
        )
    )
    .request
)


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("messages", [], "at least one message"),
        ("messages.0.role", "developer", "a role is one of"),
        ("messages.4.role", "system", "one system message"),
        ("messages.1.name", "Ann", "no such field"),
        ("messages.1.content", None, "content is text"),
        ("messages.1.images.0", f"data:image/png;base64,{PIXEL}", "bare base64"),
        ("messages.2.tool_calls", None, "says something"),
        ("messages.2.tool_calls", None, "order of the calls"),
        ("messages.2.tool_calls.0.function.arguments", "{}", "they are an object"),
        ("messages.3.tool_name", "other", "order of the calls"),
        ("messages.3", None, "is answered first"),
        ("messages.3.role", "user", "is answered first"),
        ("options.num_ctx", None, "num_ctx is sent"),
        ("think", "very", "it is a truth value"),
        ("format", "xml", "a JSON schema"),
        ("tool_choice", "auto", "no such argument"),
    ],
)
def test_the_validator_finds_each_rule(path: str, value: object, rule: str) -> None:
    """A body that breaks one rule is found out by it."""
    assert validate_ollama(GOOD) == []
    found = [problem.rule for problem in validate_ollama(broken(GOOD, path, value))]
    assert any(re.search(rule, each) for each in found), found


def test_a_call_at_the_end_needs_its_result() -> None:
    """Also where nothing follows."""
    body = {**GOOD, "messages": GOOD["messages"][:3]}
    assert [problem.where for problem in validate_ollama(body)] == ["messages"]


@pytest.mark.parametrize("arguments", ["nonsense", "[1]", "[" * 100_000])
def test_broken_arguments_of_what_was_left_out_are_counted(arguments: str) -> None:
    """A broken answer that is not said has an outcome all the same."""
    ctx = ContextBuilder(max_tokens=900)
    ctx.add_user_message("Look.")
    function = {"name": "look", "arguments": arguments}
    call = {"id": "c", "type": "function", "function": function}
    item = ctx.add_assistant_message("", tool_calls=[call], partial=True)
    assert item is not None
    outcome = ctx.explain("ollama", item_id=item.id)
    assert (outcome.action, outcome.tokens_after) == ("repaired", 0)
