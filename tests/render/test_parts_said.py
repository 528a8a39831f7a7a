"""How single parts and settings are said, vendor by vendor, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder.messages import ImagePart, Part, TextPart
from context_builder.render import adapter_for
from context_builder.render.anthropic_blocks import said_parts as anthropic_parts
from context_builder.render.bedrock_tokens import blocks_tokens
from context_builder.render.described import described_part
from context_builder.render.frames import note_text
from context_builder.render.openai_chat_parts import say_part
from context_builder.render.openai_responses_tokens import said_tokens
from context_builder.render.validate_bedrock import validate_bedrock
from context_builder.render.validate_gemini import validate_gemini
from context_builder.render.validate_ollama import validate_ollama
from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)
from tests.render.conversations_chat import (
    PIXEL,
    TOOLS,
    assistant,
    note,
    prompt,
    user,
)
from tests.render.test_ollama import GOOD as OLLAMA

OWN = {"type": "container_upload", "file_id": "file_1"}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            ImagePart(url="https://a.test/b.png", detail="low"),
            {"url": "https://a.test/b.png", "detail": "low"},
        ),
        (ImagePart(url="https://a.test/b.png"), {"url": "https://a.test/b.png"}),
        (
            ImagePart(data=PIXEL, media_type="image/png", detail="high"),
            {"url": f"data:image/png;base64,{PIXEL}", "detail": "high"},
        ),
    ],
)
def test_openai_is_told_how_closely_to_look(
    part: ImagePart, said: dict[str, Any]
) -> None:
    """As it decides the price; nothing is said where nothing was asked."""
    assert say_part(part) == {"type": "image_url", "image_url": said}


@pytest.mark.parametrize(
    ("part", "place", "said"),
    [
        (
            ImagePart(file_id="file_011CNha8iCJcU1wXNR6q4V8w"),
            "user",
            {
                "type": "image",
                "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"},
            },
        ),
        (
            ImagePart(file_id="file-abc"),  # OpenAI's
            "user",
            {"type": "text", "text": described_part(ImagePart(file_id="file-abc"))},
        ),
        (
            ImagePart(url="https://a.test/b.png"),
            "user",
            {"type": "image", "source": {"type": "url", "url": "https://a.test/b.png"}},
        ),
        (
            ImagePart(data=PIXEL, media_type="image/gif"),
            "user",
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
            },
        ),
        (TextPart(text="x", extra={"anthropic": {"block": OWN}}), "user", OWN),
        (
            TextPart(text="said", extra={"anthropic": {"block": {"type": "thinking"}}}),
            "result",
            {"type": "text", "text": "said"},
        ),
        (
            ImagePart(
                file_id="f", extra={"anthropic": {"block": {"type": "thinking"}}}
            ),
            "result",
            None,
        ),
    ],
)
def test_anthropic_gets_its_own_blocks_where_they_may_stand(
    part: Part, place: str, said: dict[str, Any] | None
) -> None:
    """Elsewhere their text, where they have one."""
    assert anthropic_parts((part,), place=place) == ([] if said is None else [said])


def test_what_is_opaque_is_counted_by_its_length() -> None:
    """Reasoning that nobody can read: four bytes a token."""
    block = {"reasoningContent": {"redactedContent": b"x" * 400}}
    assert blocks_tokens([block], len, None) == 100
    empty = {"reasoningContent": {"redactedContent": None}}
    assert blocks_tokens([empty], len, None) == 0


def test_a_call_in_responses_is_counted_with_its_name_and_input() -> None:
    """Function calls by their arguments, custom ones by their input."""

    def tokens(**fields: Any) -> int:
        kind = "custom_tool_call" if "input" in fields else "function_call"
        call = {"type": kind, "call_id": "a", "name": "f", **fields}
        return said_tokens([call], len, "gpt-4o")

    longer = '{"a":"' + "x" * 30 + '"}'
    assert tokens(arguments=longer) == tokens(arguments='{"a":""}') + 30
    assert tokens(input="x" * 30) == tokens(input="") + 30
    assert tokens(arguments="{}", name="f" * 11) >= tokens(arguments="{}") + 10


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {"type": "function", "function": {"name": "look"}},
            {"mode": "ANY", "allowed_function_names": ["look"]},
        ),
        *[
            (
                {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": mode,
                        "tools": [{"type": "function", "function": {"name": "look"}}],
                    },
                },
                {"mode": said, "allowed_function_names": ["look"]},
            )
            for mode, said in (("required", "ANY"), ("auto", "VALIDATED"))
        ],
    ],
)
def test_gemini_is_told_which_tools_to_choose(
    choice: Any, said: dict[str, Any]
) -> None:
    """AUTO takes no names: VALIDATED is AUTO with some."""
    asked = prompt(user("?"), tools=TOOLS, options={"tool_choice": choice})
    request = adapter_for("gemini").render(asked).request
    config = request["config"]["tool_config"]
    assert config == {"function_calling_config": said}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"type": "text"}, {}),
        ({"type": "json_object"}, {"response_mime_type": "application/json"}),
        (
            {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": {"type": "object"}},
            },
            {
                "response_mime_type": "application/json",
                "response_json_schema": {"type": "object"},
            },
        ),
    ],
)
def test_gemini_is_told_the_shape_of_the_answer(
    asked: dict[str, Any], said: dict[str, Any]
) -> None:
    """Text is what it gives anyway."""
    options = {"response_format": asked}
    request = adapter_for("gemini").render(prompt(user("?"), options=options)).request
    config = request.get("config", {})
    assert {k: v for k, v in config.items() if k.startswith("response")} == said


def test_a_temperature_does_not_go_with_thinking() -> None:
    """It is left out, and that is reported; above 1 it becomes 1."""

    def sent(**options: Any) -> tuple[Any, list[str]]:
        asked = prompt(user("?"), model="claude-sonnet-4-5", options=options)
        rendering = adapter_for("anthropic").render(asked)
        body = rendering.request.get("extra_body", {})
        return body.get("temperature"), [mark.reason for mark in rendering.repairs]

    assert sent(temperature=0.3) == (0.3, [])
    given, told = sent(temperature=0.3, thinking_budget_tokens=2_000)
    assert given is None
    assert "temperature was left out: it does not go with thinking" in told
    given, told = sent(temperature=1.5)
    assert given == 1
    assert "temperature became 1, the most that is taken" in told


HI: dict[str, Any] = {"role": "user", "content": "Hi."}


def test_what_vendors_take_without_it_is_accepted() -> None:
    """Content beside calls; the type of a schema; the wrapping of a count."""
    calling = {k: v for k, v in OLLAMA["messages"][2].items() if k != "content"}
    messages = [*OLLAMA["messages"][:2], calling, *OLLAMA["messages"][3:]]
    assert validate_ollama({**OLLAMA, "messages": messages}) == []
    tool = {"type": "function", "name": "f", "parameters": {"properties": {}}}
    assert validate_openai_responses({"input": [HI], "tools": [tool]}) == []
    wrapped = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
    for name in ("generate_content_request", "generateContentRequest"):
        assert validate_gemini({name: wrapped}) == []
        assert validate_gemini({name: {"contents": []}}) != []


@pytest.mark.parametrize("messages", [None, [], "text", 7])
def test_a_request_without_messages_is_refused(messages: Any) -> None:
    """Whatever stands in their place."""
    found = validate_bedrock({"modelId": "m", "messages": messages})
    assert [problem.where for problem in found] == ["messages"]


def test_a_note_is_said_as_one_where_there_are_none() -> None:
    """On Bedrock in the user's turn, marked."""
    asked = prompt(user("?"), assistant("Yes."), note("Be brief."), user("And?"))
    last = adapter_for("bedrock").render(asked).messages[-1]
    assert last["content"] == [{"text": note_text("Be brief.")}, {"text": "And?"}]


def test_a_name_of_a_person_has_no_signs_that_openai_refuses() -> None:
    """Each becomes one `_`."""
    asked = prompt(user("?", name="Ann <B>|c/d\\e"))
    said = adapter_for("openai").render(asked).messages[0]["name"]
    assert said == "Ann__B__c_d_e"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_responses_take_pictures_by_address(scheme: str) -> None:
    """Plain or not."""
    part = ImagePart(url=f"{scheme}://a.test/b.png")
    said = adapter_for("openai-responses").render(prompt(user((part,)))).messages[0]
    assert said["content"][0]["type"] == "input_image"
    assert said["content"][0]["image_url"] == f"{scheme}://a.test/b.png"


def test_responses_take_custom_tools_flat() -> None:
    """Chat has them nested."""
    tool = {"type": "custom", "custom": {"name": "sql", "description": "Asks."}}
    asked = prompt(user("?"), tools=(tool,))
    said = adapter_for("openai-responses").render(asked).request["tools"]
    assert said == [{"type": "custom", "name": "sql", "description": "Asks."}]
