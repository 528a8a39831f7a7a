"""Small rules of the adapters, each with its other side."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import AdapterError
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    ToolCall,
)
from context_builder.render import adapter_for, adapter_names, validate
from context_builder.render.anthropic_request import starts_with_thought
from context_builder.render.bedrock_blocks import Names, said_parts
from context_builder.render.described import described_part
from context_builder.render.frames import frame
from context_builder.render.registry import _loaded
from context_builder.render.strict import StrictAdapter, strict_dialect
from context_builder.render.xai import XaiAdapter
from tests.render.conversations_chat import TOOLS, assistant, prompt, result, user
from tests.render.options import MODELS

if TYPE_CHECKING:
    from context_builder.items import ContextItem

READY = XaiAdapter()
GROUP = "context_builder.adapters"


def test_an_adapter_of_another_package_is_a_class_or_an_object() -> None:
    """Either does; what cannot be loaded is said by its name and its place."""
    place = "context_builder.render.xai:XaiAdapter"
    assert isinstance(_loaded(EntryPoint("x", place, GROUP)), XaiAdapter)
    ready = EntryPoint("x", f"{__name__}:READY", GROUP)
    assert _loaded(ready) is READY
    for place in ("context_builder.render.xai:Nobody", "context_builder.nowhere:A"):
        words = rf"the adapter 'x' \({place}\) cannot be loaded: "
        with pytest.raises(AdapterError, match=words) as caught:
            _loaded(EntryPoint("x", place, GROUP))
        assert caught.value.adapter == "x"


def test_an_unknown_target_is_told_the_known_ones() -> None:
    """All of them, in order; a known one is always the same object."""
    known = ", ".join(adapter_names())
    with pytest.raises(AdapterError) as caught:
        adapter_for("nobody")
    assert str(caught.value) == f"there is no adapter 'nobody'; known are {known}"
    assert caught.value.adapter == "nobody"
    for name in adapter_names():
        assert adapter_for(name) is adapter_for(name)
        assert adapter_for(name).name == name


def test_a_body_is_checked_as_openais_where_nobody_says_otherwise() -> None:
    """By the rules of Chat Completions."""
    broken = {"messages": [{"role": "user", "content": "a\0"}]}
    assert validate(broken) == validate(broken, "openai") != []
    assert validate(broken) != validate(broken, "anthropic")


THOUGHT = {"type": "thinking", "thinking": "", "signature": "c"}
CALL = {"type": "tool_use", "id": "a", "name": "s", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    ("said", "starts"),
    [
        ([("user", TEXT)], True),
        ([("user", TEXT), ("assistant", THOUGHT, CALL), ("user", ANSWER)], True),
        ([("user", TEXT), ("assistant", CALL), ("user", ANSWER)], False),
        ([("user", TEXT), ("assistant", CALL), ("user", ANSWER, TEXT)], True),
        ([("user", TEXT), ("assistant", TEXT)], False),
        (
            [
                ("user", TEXT),
                ("assistant", THOUGHT, CALL),
                ("user", ANSWER),
                ("assistant", CALL),
                ("user", ANSWER),
            ],
            False,
        ),
        ([("user", ANSWER)], True),
    ],
)
def test_where_a_running_turn_starts_with_a_thought(
    said: list[tuple[Any, ...]], *, starts: bool
) -> None:
    """The assistant's last message, behind which nothing stands but results."""
    messages = [{"role": role, "content": blocks} for role, *blocks in said]
    assert starts_with_thought(messages) is starts


def test_quotes_in_the_name_of_a_frame() -> None:
    """A value stands in the quotes that it does not hold."""
    assert frame("file", "x", name="a") == '<file name="a">x</file>'
    assert frame("file", "x", name='a"b') == "<file name='a\"b'>x</file>"
    both = frame("file", "x", name="a\"b'c#d")
    assert both == '<file name="a&quot;b\'c#d">x</file>'


def test_what_chat_completions_does_not_take_is_named_with_its_reason() -> None:
    """Each part by itself, in order; and it is said in words."""
    parts: dict[Part, str] = {
        ImagePart(file_id="file-1"): "takes no picture by file id",
        ImagePart(url="gs://a/b"): "takes no picture from there",
        ImagePart(
            data="AAAA", media_type="image/tiff"
        ): "takes no picture of that kind",
        FilePart(url="https://a.test/b"): "takes no file by address",
        FilePart(file_id="file_1"): "takes no file of another vendor",
        FilePart(data="AA", media_type="video/mp4"): "takes documents as files only",
        AudioPart(
            data="AAAA", media_type="audio/ogg"
        ): "takes no sound but WAV and MP3",
    }
    said = {part: f"Chat Completions {why}: described" for part, why in parts.items()}
    said[ImagePart(data="")] = "there is nothing in it: described"
    rendering = adapter_for("openai").render(prompt(*(user((p,)) for p in said)))
    reasons = [mark.reason for mark in rendering.repairs]
    assert reasons == list(said.values())
    assert {mark.action for mark in rendering.repairs} == {"repaired"}
    assert [message["content"] for message in rendering.messages] == [
        [{"type": "text", "text": described_part(part)}] for part in said
    ]


@pytest.mark.parametrize(
    ("target", "filled"),
    [("deepseek", " "), ("kimi", " "), ("glm", None), ("xai", None), ("ollama", None)],
)
def test_reasoning_that_is_not_there(target: str, filled: str | None) -> None:
    """A blank stands for it where a call has to carry some; elsewhere nothing."""
    call = ToolCall("callcall1", "look", "{}")
    asked = prompt(user("?"), assistant("", call), result(call, "a"))
    said = adapter_for(target).render(asked).messages[1]
    assert said.get("reasoning_content") == filled
    assert "thinking" not in said


def test_what_a_template_can_do() -> None:
    """As it is described: its roles, its ids, its pictures."""
    plain = StrictAdapter().capabilities
    assert (plain.system, plain.tool_role, plain.images) == ("message", "tool", False)
    odd = StrictAdapter(
        strict_dialect(
            system_role="fold_into_user", tool_role=False, images=True, name="odd"
        )
    )
    found = odd.capabilities
    assert (found.system, found.tool_role) == ("fold_into_user", "user_text")
    assert found.images
    assert odd.name == "odd"


def test_a_document_on_bedrock_is_named_by_its_file() -> None:
    """Without its ending; without a name it is a document."""
    for filename, name in (
        ("a.b.pdf", "a-b"), ("plain", "document"), (None, "document"),
    ):  # fmt: skip
        part = FilePart(data="JVBERi0=", filename=filename)
        blocks = said_parts((part,), Names())
        assert blocks[-1]["document"]["name"] == name
        assert blocks[0] == {"text": f"[attached: {name}]"}


FIRST = {
    "anthropic": "a user's turn was put before it: the user has to begin",
    "bedrock": "a user's turn was put before it: the user has to begin",
    "gemini": "a user's placeholder stands before it",
    **dict.fromkeys(
        ("glm", "mistral", "openai-compatible", "qwen", "strict"),
        "a placeholder before it: the user has to be first",
    ),
}
"""Who wants the user first, and what is told of an assistant that begins."""
LAST = {
    "cohere": "cohere refuses a conversation that ends with the assistant",
    "gemini": "the model may not have the last word",
    "mistral": "mistral refuses a conversation that ends with the assistant",
}
"""Who wants no assistant last, and what is said then."""
UNNAMED = "the participant's name was left out: there is no place for it"


def _told(target: str, *items: ContextItem) -> list[tuple[str, str]]:
    asked = prompt(*items, model=MODELS[target][0])
    marks = adapter_for(target).render(asked).repairs
    assert {mark.action for mark in marks} <= {"repaired"}
    return [(mark.item_id, mark.reason) for mark in marks]


@pytest.mark.parametrize("target", MODELS)
def test_what_a_vendor_needs_is_told_of_the_item(target: str) -> None:
    """Who begins, who ends, who has a name, and who has nothing to say."""
    first = _told(target, assistant("a"), user("!"))
    assert first == ([("i1", FIRST[target])] if target in FIRST else [])
    if target in LAST:
        with pytest.raises(AdapterError) as caught:
            _told(target, user("?"), assistant("a"))
        assert str(caught.value) == f"{LAST[target]}; add a user message"
        assert (caught.value.adapter, caught.value.item_id) == (target, "i2")
    else:
        assert _told(target, user("?"), assistant("a")) == []
    named = _told(target, user("?", name="Ann"))
    assert named == ([] if target in {"openai", "xai"} else [("i1", UNNAMED)])
    foreign = (ReasoningPart("nobody", "so"),)
    mute = _told(target, user("?"), assistant("", reasoning=foreign), user("!"))
    assert {item_id for item_id, _ in mute} == {"i2"}
    assert "nothing" in mute[-1][1]


@pytest.mark.parametrize(
    ("model", "said", "texts", "status"),
    [
        ("meta.llama3-3-70b-instruct-v1:0", "gone", ["Error:", "gone"], None),
        ("meta.llama3-3-70b-instruct-v1:0", "ERROR: gone", ["ERROR: gone"], None),
        ("amazon.nova-pro-v1:0", "gone", ["gone"], "error"),
    ],
)
def test_an_error_on_bedrock_has_a_flag_or_says_so(
    model: str, said: str, texts: list[str], status: str | None
) -> None:
    """Once: not before a text that says it already."""
    call = ToolCall("callcall1", "look", "{}")
    chat = (user("?"), assistant("", call), result(call, said, is_error=True))
    asked = prompt(*chat, model=model, tools=TOOLS)
    block = adapter_for("bedrock").render(asked).messages[-1]["content"][0]
    assert [part["text"] for part in block["toolResult"]["content"]] == texts
    assert block["toolResult"].get("status") == status


def test_a_grammar_goes_along_with_a_custom_tool() -> None:
    """Flat with Responses, as all of a tool is."""
    form = {
        "type": "grammar",
        "grammar": {"syntax": "regex", "definition": "a+"},
    }
    tool = {"type": "custom", "custom": {"name": "sql", "format": form}}
    asked = prompt(user("?"), tools=(tool,))
    said = adapter_for("openai-responses").render(asked).request["tools"][0]
    flat = {"type": "grammar", "syntax": "regex", "definition": "a+"}
    assert said == {"type": "custom", "name": "sql", "format": flat}


@pytest.mark.parametrize("signature", [None, "c2ln"])
def test_mistral_gets_its_thoughts_back_as_it_wrote_them(signature: str | None) -> None:
    """With their signature, where they have one."""
    thought = ReasoningPart("mistral", "so", signature=signature)
    asked = prompt(user("?"), assistant("a", reasoning=(thought,)), user("!"))
    chunk = adapter_for("mistral").render(asked).messages[1]["content"][0]
    said = {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}
    assert chunk == said | ({"signature": signature} if signature else {})


def test_converse_gets_a_thought_back_with_its_signature() -> None:
    """Without one it does not go back at all."""
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    for signature, count in (("c2ln", 2), (None, 1)):
        thought = ReasoningPart("bedrock", "so", signature=signature)
        chat = (user("?"), assistant("a", reasoning=(thought,)), user("!"))
        said = adapter_for("bedrock").render(prompt(*chat, model=model)).messages[1]
        assert len(said["content"]) == count
        if signature:
            text = {"text": "so", "signature": signature}
            assert said["content"][0] == {"reasoningContent": {"reasoningText": text}}


@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_the_newest_claude_does_not_go_on_with_its_own_words(target: str) -> None:
    """The error says so, and of which item."""
    chat = (user("?"), assistant("a"))
    words = "the conversation ends with the assistant, and this model does not go on"
    with pytest.raises(AdapterError, match=words) as caught:
        adapter_for(target).render(prompt(*chat, model="anthropic.claude-opus-5-5"))
    assert (caught.value.adapter, caught.value.item_id) == (target, "i2")
