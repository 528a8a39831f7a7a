from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import Any

import pytest
from inline_snapshot import snapshot

from context_builder.errors import AdapterError
from context_builder.messages import FilePart, ImagePart
from tests.render.bedrock_helpers import (
    CLAUDE,
    LLAMA,
    MODELS,
    NEWEST,
    NOVA,
    OTHER,
    render,
    require_accepted,
)
from tests.render.conversations_anthropic import (
    PDF,
    PNG,
    TABLE,
    TOOLS,
    numbered,
    said,
    user,
)

# --- whole requests ------------------------------------------------------------------


def test_a_whole_request() -> None:
    """The keyword arguments of the SDK's call, word for word."""
    rendering = render(TABLE["parallel calls"], max_output_tokens=500, temperature=0.5)
    assert rendering.repairs == ()
    assert rendering.request == snapshot(
        {
            "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "system": [{"text": "You are terse."}],
            "messages": [
                {"role": "user", "content": [{"text": "Look up tea and rope."}]},
                {
                    "role": "assistant",
                    "content": [
                        {"text": "Looking."},
                        {
                            "toolUse": {
                                "toolUseId": "a",
                                "name": "search",
                                "input": {"q": "tea"},
                            }
                        },
                        {
                            "toolUse": {
                                "toolUseId": "b",
                                "name": "search",
                                "input": {"q": "rope"},
                            }
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "toolResult": {
                                "toolUseId": "a",
                                "content": [{"text": "tea: 3"}],
                            }
                        },
                        {
                            "toolResult": {
                                "toolUseId": "b",
                                "content": [{"text": "rope: 8"}],
                                "status": "error",
                            }
                        },
                        {"text": "Thanks. And lamps?"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {
                            "toolUse": {
                                "toolUseId": "a_Mff0EKC5",
                                "name": "search",
                                "input": {"q": "lamps"},
                            }
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "toolResult": {
                                "toolUseId": "a_Mff0EKC5",
                                "content": [{"text": "(no output)"}],
                            }
                        }
                    ],
                },
            ],
            "inferenceConfig": {"maxTokens": 500, "temperature": 0.5},
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "search",
                            "description": "Finds things.",
                            "inputSchema": {
                                "json": {
                                    "type": "object",
                                    "properties": {"q": {"type": "string"}},
                                    "required": ["q"],
                                }
                            },
                        }
                    },
                    {
                        "toolSpec": {
                            "name": "now",
                            "inputSchema": {
                                "json": {"properties": {}, "type": "object"}
                            },
                        }
                    },
                ]
            },
        }
    )


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tools", [TOOLS, ()])
def test_every_conversation_is_accepted(
    name: str, model: str, tools: tuple[Any, ...]
) -> None:
    """Whatever the conversation and the model, the rules and shapes are kept."""
    request = render(TABLE[name], model, tools=tools).request
    require_accepted(request)
    roles = [message["role"] for message in request["messages"]]
    assert all(one != other for one, other in pairwise(roles))


def test_the_assistant_may_not_have_the_last_word() -> None:
    """Only older Claude models go on from their own message."""
    items = numbered(user("Hello."), said("Hi "))
    for model in (NEWEST, NOVA, LLAMA, None):
        with pytest.raises(AdapterError):
            render(items, model)
    assert render(items).messages[-1]["content"] == [{"text": "Hi"}]
    with pytest.raises(AdapterError):
        render(())


# --- what the hosted models differ in ------------------------------------------------


def test_errors_are_flagged_or_said() -> None:
    """Claude and Nova take a status; for others the text says it."""
    items = TABLE["parallel calls"]
    for model, status in ((CLAUDE, "error"), (NOVA, "error"), (OTHER, None)):
        failed = render(items, model).messages[2]["content"][1]["toolResult"]
        assert failed.get("status") == status
        says_so = failed["content"][0]["text"].startswith("Error")
        assert says_so is (status is None)


def test_some_models_want_results_alone() -> None:
    """An assistant's turn is put between results and what follows, and reported."""
    rendering = render(TABLE["parallel calls"], LLAMA)
    roles = [message["role"] for message in rendering.messages]
    assert roles == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert [mark.item_id for mark in rendering.repairs] == ["i4"]
    assert [
        message["role"] for message in render(TABLE["parallel calls"]).messages
    ] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_without_tools_calls_are_said_in_words() -> None:
    """Blocks of calls need a tool configuration; there may be none to send."""
    rendering = render(TABLE["parallel calls"], tools=())
    assert "toolConfig" not in rendering.request
    text = json.dumps(rendering.messages)
    assert "toolUse" not in text
    assert "toolResult" not in text
    assert "rope: 8" in text
    assert "<tool-result" in text
    assert {mark.item_id for mark in rendering.repairs} == {"i1", "i5"}


def test_pictures_in_results_only_where_they_are_taken() -> None:
    """Elsewhere the text names them."""
    items = TABLE["pictures and files"]
    for model, shown in ((CLAUDE, True), (NOVA, True), (LLAMA, False)):
        content = render(items, model).messages[2]["content"][0]["toolResult"][
            "content"
        ]
        assert any("image" in block for block in content) is shown
        assert shown or any("[image not shown" in block["text"] for block in content)


def test_bytes_are_raw() -> None:
    """The SDK encodes them; base64 would be encoded twice."""
    picture = ImagePart(data=PNG, media_type="image/png")
    far = ImagePart(url="s3://bucket/a.png", media_type="image/png")
    web = ImagePart(url="https://example.com/a.png")
    content = render(numbered(user((picture, far, web)))).messages[0]["content"]
    assert content[0]["image"]["source"]["bytes"] == base64.b64decode(PNG)
    assert content[1]["image"]["source"] == {"s3Location": {"uri": "s3://bucket/a.png"}}
    assert "example.com" in content[2]["text"]


def test_documents_have_names_of_their_own_and_a_text_beside_them() -> None:
    """Names are cleaned, and never the same; a text is put before a lone document."""
    file = FilePart(data=PDF, media_type="application/pdf", filename="a  b_c!.pdf")
    plain = FilePart(text="hello", filename="notes.md")
    messages = render(
        numbered(user((file,)), said("Ok."), user((file, plain)))
    ).messages
    names = [
        block["document"]["name"]
        for message in messages
        for block in message["content"]
        if "document" in block
    ]
    assert names == ["a b-c-", "a b-c- 2", "notes"]
    assert messages[0]["content"][0] == {"text": "[attached: a b-c-]"}
