"""What single settings and blocks add to a bill, and how they are sent."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from context_builder.messages import FilePart, ImagePart, TextPart
from context_builder.render import adapter_for
from context_builder.render.anthropic_tokens import (
    request_tokens as anthropic_tokens,
)
from context_builder.render.anthropic_tokens import tools_tokens
from context_builder.render.bedrock_blocks import Names, said_parts
from context_builder.render.bedrock_tokens import blocks_tokens, config_tokens
from context_builder.render.estimated_tokens import ChatFraming, message_tokens
from context_builder.render.openai_chat_parts import say_part
from context_builder.render.validate_anthropic import validate_anthropic
from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)
from tests.render.bodies_anthropic import ASKED, HUGE, TOOL, body, picture
from tests.render.conversations_chat import PIXEL, prompt, user

SCHEMA = {"type": "json_schema", "schema": {"type": "object"}}
CLAUDE = "claude-sonnet-4-5"
NOVA = "amazon.nova-pro-v1:0"


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_the_shape_of_the_answer_is_billed(field: str) -> None:
    """In its older and in its newer place, alike."""
    said = SCHEMA if field == "output_format" else {"format": SCHEMA}
    more = anthropic_tokens(body(**{field: said}), len) - anthropic_tokens(body(), len)
    newer = anthropic_tokens(body(output_config={"format": SCHEMA}), len)
    assert more == newer - anthropic_tokens(body(), len) > 0


@pytest.mark.parametrize(
    ("model", "usual", "forced"),
    [
        ("claude-3-5-haiku-20241022", 340, None),
        ("claude-sonnet-4-20250514", 300, None),
        ("claude-sonnet-4-5", 488, 590),
        ("claude-opus-5-5", 385, 470),
    ],
)
def test_instructions_about_tools_are_billed_once(
    model: str, usual: int, forced: int | None
) -> None:
    """More of them where a tool has to be called."""

    def tokens(*tools: Any, choice: Any = None) -> int:
        return tools_tokens(tools, len, model, choice)

    one, two = tokens(TOOL), tokens(TOOL, TOOL)
    assert one - (two - one) == usual
    assert tokens() == tokens({**TOOL, "defer_loading": True}) == 0
    for kind in ("any", "tool"):
        assert tokens(TOOL, choice={"type": kind}) - one == (forced or usual) - usual
    assert tokens(TOOL, choice={"type": "auto"}) == one
    marked = {**TOOL, "cache_control": {"type": "ephemeral"}}
    assert tokens(marked) == one


def test_thoughts_that_are_over_are_billed_by_newer_models_alone() -> None:
    """Older ones forget them with the next message of the user's own."""
    thought = {"type": "thinking", "thinking": "x" * 100, "signature": ""}
    said = [{"type": "text", "text": "b"}]

    def more(model: str, *after: tuple[str, Any]) -> int:
        bills = [
            anthropic_tokens(
                body(("user", "a"), ("assistant", answer), *after, model=model), len
            )
            for answer in ([thought, *said], said)
        ]
        return bills[0] - bills[1]

    assert more("claude-sonnet-4-5", ("user", "c")) == 0
    assert more("claude-sonnet-4-5") >= 100
    assert more("claude-opus-5-5", ("user", "c")) >= 100


def test_tools_of_other_hosts_on_bedrock_are_billed() -> None:
    """By their whole specification."""
    spec = {"name": "s", "inputSchema": {"json": {"type": "object"}}}
    one = config_tokens({"tools": [{"toolSpec": spec}]}, len, NOVA)
    longer = {**spec, "description": "x" * 30}
    more = config_tokens({"tools": [{"toolSpec": longer}]}, len, NOVA)
    assert more == one + 30 + len(', "description": ""')
    assert config_tokens(None, len, NOVA) == 0


def test_a_picture_on_bedrock_is_billed_by_its_size() -> None:
    """Which its first bytes tell; a small one costs less than an unknown one."""

    def tokens(data: bytes | None) -> int:
        image = {"image": {"format": "png", "source": {"bytes": data}}}
        return blocks_tokens([image], len, f"anthropic.{CLAUDE}-20250929-v1:0")

    small = tokens(base64.b64decode(PIXEL))
    assert small < tokens(None) == tokens(b"nothing known")
    assert small < tokens(base64.b64decode(HUGE))


def test_bedrock_gets_its_own_blocks_back() -> None:
    """Bytes as bytes; in a result only what may stand there."""
    kept = {"guardContent": {"text": {"text": "x"}, "raw": {"$base64": "YWJj"}}}
    part = TextPart(text="said", extra={"bedrock": {"block": kept}})
    said = {"guardContent": {"text": {"text": "x"}, "raw": b"abc"}}
    assert said_parts((part,), Names(), place="user") == [said]
    assert said_parts((part,), Names(), place="result") == [{"text": "said"}]


def test_names_of_documents_on_bedrock_are_clean_and_differ() -> None:
    """Within 200 characters, with what tells them apart."""
    names = Names()
    assert names.take("a.pdf") == "a-pdf"
    assert names.take("a.pdf") == "a-pdf 2"
    assert names.take("a.pdf") == "a-pdf 3"
    assert names.take("  b   c\n(d) [e]-f ") == "b c-(d) [e]-f"
    assert names.take("") == "document"
    assert names.take("x" * 300) == "x" * 192
    assert names.take("x" * 300) == "x" * 192 + " 2"


def test_a_temperature_over_1_becomes_1_on_bedrock() -> None:
    """And that is reported; 1 itself is sent as it is."""
    for asked, told in ((1.5, True), (1.0, False), (0.2, False)):
        options = {"temperature": asked}
        rendering = adapter_for("bedrock").render(prompt(user("?"), options=options))
        config = rendering.request["inferenceConfig"]
        assert config["temperature"] == min(asked, 1)
        reasons = [mark.reason for mark in rendering.repairs]
        assert ("temperature became 1, the most that is taken" in reasons) is told


def test_thinking_in_pieces_is_counted_by_its_text() -> None:
    """As it is counted in one."""
    text = "x" * 60
    pieces = [{"type": "text", "text": text[:20]}, {"type": "text", "text": text[20:]}]
    said = [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": thinking}]}
        for thinking in (text, pieces)
    ]

    whole, parts = (message_tokens(one, len, ChatFraming(), None) for one in said)
    assert whole == parts >= 60


@pytest.mark.parametrize("effort", [None, "none", "high"])
def test_deepseek_is_switched_and_told_how_hard_to_think(effort: str | None) -> None:
    """`none` is the switch alone: there is no such effort."""
    asked = prompt(user("?"), options={"reasoning_effort": effort})
    request = adapter_for("deepseek").render(asked).request
    states = {None: None, "none": {"type": "disabled"}, "high": {"type": "enabled"}}
    assert request.get("extra_body", {}).get("thinking") == states[effort]
    assert request.get("reasoning_effort") == (effort if effort == "high" else None)


@pytest.mark.parametrize(
    "part",
    [ImagePart(file_id="file_1"), FilePart(url="https://a.test/b.pdf")],
)
def test_what_chat_does_not_take_is_described(part: ImagePart | FilePart) -> None:
    """Pictures by id, files by address."""
    assert say_part(part)["type"] == "text"


def test_a_picture_in_a_result_is_looked_at() -> None:
    """It is too large there as anywhere."""
    answer = {"type": "tool_result", "tool_use_id": "a", "content": [picture(HUGE)]}
    request = body(*ASKED[:2], ("user", [answer]), tools=[TOOL])
    found = [(problem.where, problem.rule) for problem in validate_anthropic(request)]
    where = "messages[2].content[0].content[0]"
    assert found == [(where, "a picture has at most 8,000 pixels on a side")]


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_with_a_state_there_may_be_no_input(field: str) -> None:
    """What went before is there."""
    assert validate_openai_responses({"input": [], field: "x"}) == []
