from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot

from context_builder.messages import ToolCall
from context_builder.render.strict import StrictAdapter, strict_dialect
from tests.render.conversations_chat import (
    EVERYTHING,
    assistant,
    note,
    prompt,
    result,
    user,
)

ONE, TWO = ToolCall("call_1", "look"), ToolCall("call_2", "look", '{"at": "sea"}')


def said(chat: Any, **template: Any) -> list[dict[str, Any]]:
    """Return the messages for a template."""
    return StrictAdapter(strict_dialect(**template)).render(chat).messages


def test_everything() -> None:
    """The whole request, word for word."""
    assert StrictAdapter().render(EVERYTHING).request == snapshot(
        {
            "messages": [
                {"role": "system", "content": "You look."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "call_1_aDTFeNhe",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": "sea"}'},
                        },
                        {
                            "id": "call_2_uquaoaS0",
                            "type": "function",
                            "function": {"name": "look_at_EOUPSE1A", "arguments": "{}"},
                        },
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "call_1_aDTFeNhe",
                    "content": "Error: gone",
                },
                {
                    "role": "tool",
                    "tool_call_id": "call_2_uquaoaS0",
                    "content": """\
seen
[image not shown: 1 KiB]\
""",
                },
                {
                    "role": "user",
                    "content": """\
<system-note>Be brief.</system-note>

<memory>A memory.</memory>

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
            "tool_choice": "auto",
            "max_tokens": 100,
        }
    )


def test_neighbours_are_joined_and_the_user_comes_first() -> None:
    """A greeting, two users, two assistants and a note in between."""
    chat = prompt(
        assistant("Welcome."),
        user("Hello."),
        user("My fern is brown."),
        assistant("How often is it watered?"),
        assistant("How much light?"),
        note("Be brief."),
        user("Twice a week."),
        system="You help.",
    )
    assert said(chat) == snapshot(
        [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "(the conversation begins with the assistant)"},
            {"role": "assistant", "content": "Welcome."},
            {
                "role": "user",
                "content": """\
Hello.

My fern is brown.\
""",
            },
            {
                "role": "assistant",
                "content": """\
How often is it watered?

How much light?\
""",
            },
            {
                "role": "user",
                "content": """\
<system-note>Be brief.</system-note>

Twice a week.\
""",
            },
        ]
    )


def test_a_template_without_a_system_role() -> None:
    """The system prompt opens the first user message."""
    chat = prompt(user("Hi."), assistant("Hello."), user("?"), system="You help.")
    assert said(chat, system_role="fold_into_user")[0] == {
        "role": "user",
        "content": "You help.\n\nHi.",
    }
    greeted = prompt(assistant("Hello."), user("?"), system="You help.")
    assert said(greeted, system_role="fold_into_user")[0]["content"] == "You help."


CALLING = prompt(
    user("?"), assistant("Hm.", ONE, TWO), result(ONE, "a"), result(TWO, "b"), user("!")
)


def test_a_template_with_single_calls() -> None:
    """Each call gets a message of its own, with its result right behind it."""
    assert said(CALLING, parallel_calls=False) == snapshot(
        [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": "Hm.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "a"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"at": "sea"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_2", "content": "b"},
            {"role": "user", "content": "!"},
        ]
    )


def test_a_template_without_calls() -> None:
    """Calls and results are said as text, in frames that name the tool."""
    assert said(CALLING, tool_role=False) == snapshot(
        [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": """\
Hm.

<tool-call name="look">{}</tool-call>

<tool-call name="look">{"at": "sea"}</tool-call>\
""",
            },
            {
                "role": "user",
                "content": """\
<tool-result name="look">a</tool-result>

<tool-result name="look">b</tool-result>

!\
""",
            },
        ]
    )


def test_a_template_with_short_ids_and_a_bridge() -> None:
    """As Mistral's: nine characters, and the assistant between result and user."""
    assert said(CALLING, nine_char_ids=True, bridge="OK")[1:] == snapshot(
        [
            {
                "role": "assistant",
                "content": "Hm.",
                "tool_calls": [
                    {
                        "id": "RksXkbv4v",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    },
                    {
                        "id": "dTcG4HrQi",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"at": "sea"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "RksXkbv4v", "content": "a"},
            {"role": "tool", "tool_call_id": "dTcG4HrQi", "content": "b"},
            {"role": "assistant", "content": "OK"},
            {"role": "user", "content": "!"},
        ]
    )
