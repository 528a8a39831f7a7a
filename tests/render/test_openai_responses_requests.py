from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot

from context_builder.render.openai_responses import OpenAIResponsesAdapter
from tests.render.conversations_chat import PIXEL, TOOLS, prompt, user
from tests.render.conversations_openai_responses import TABLE

ADAPTER = OpenAIResponsesAdapter()


def short(value: Any) -> Any:
    """Return a request with names in place of what is long."""
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [short(inner) for inner in value]
    if isinstance(value, str):
        value = value.replace(PIXEL, "PIXEL")
    return value


def test_one_of_everything() -> None:
    """The whole request, word for word."""
    assert short(ADAPTER.render(TABLE["everything"]).request) == snapshot(
        {
            "instructions": "You look.",
            "input": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": "Looking."},
                {
                    "type": "function_call",
                    "call_id": "call_1_aDTFeNhe",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                },
                {
                    "type": "function_call",
                    "call_id": "call:2",
                    "name": "look_at_EOUPSE1A",
                    "arguments": "{}",
                },
                {
                    "type": "function_call_output",
                    "call_id": "call_1_aDTFeNhe",
                    "output": "Error: gone",
                },
                {
                    "type": "function_call_output",
                    "call_id": "call:2",
                    "output": [
                        {"type": "input_text", "text": "seen"},
                        {
                            "type": "input_image",
                            "image_url": "data:image/png;base64,aW1n",
                            "detail": "auto",
                        },
                    ],
                },
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": "<memory>A memory.</memory>"},
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "And this?"},
                        {
                            "type": "input_text",
                            "text": "[audio not shown: audio/wav, 1 KiB]",
                        },
                    ],
                },
            ],
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {
                        "type": "object",
                        "properties": {"at": {"type": "string"}},
                    },
                    "strict": False,
                }
            ],
            "tool_choice": "auto",
            "max_output_tokens": 100,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
    )


def test_a_verbatim_answer() -> None:
    """An answer whose pieces have their ids goes back with them, in order."""
    assert short(ADAPTER.render(TABLE["reasoning in a loop"]).request) == snapshot(
        {
            "model": "gpt-5.4",
            "input": [
                {"role": "user", "content": "Look."},
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [],
                    "encrypted_content": "secret 1",
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "status": "completed",
                    "role": "assistant",
                    "content": [
                        {"type": "output_text", "text": "On it.", "annotations": []}
                    ],
                    "phase": "commentary",
                },
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                    "id": "fc_1",
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "wet"},
            ],
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {
                        "type": "object",
                        "properties": {"at": {"type": "string"}},
                    },
                    "strict": False,
                }
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
    )


def test_the_table_of_conversations() -> None:
    """What each conversation becomes."""
    said = {name: ADAPTER.render(TABLE[name]).messages for name in TABLE}
    assert short({name: said[name] for name in list(TABLE)[2:]}) == snapshot(
        {
            "reasoning between parallel calls": [
                {"role": "user", "content": "Look."},
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [],
                    "encrypted_content": "secret 1",
                },
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                    "id": "fc_1",
                },
                {
                    "type": "reasoning",
                    "id": "rs_2",
                    "summary": [],
                    "encrypted_content": "secret 2",
                },
                {
                    "type": "function_call",
                    "call_id": "call_2",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                    "id": "fc_2",
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "wet"},
                {"type": "function_call_output", "call_id": "call_2", "output": "dry"},
            ],
            "reasoning of another model": [
                {"role": "user", "content": "Look."},
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "wet"},
            ],
            "reasoning without the ids of what followed": [
                {"role": "user", "content": "Look."},
                {"type": "reasoning", "summary": [], "encrypted_content": "secret 1"},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "And?"},
            ],
            "reasoning alone": [
                {"role": "user", "content": "Look."},
                {"role": "user", "content": "And?"},
            ],
            "reasoning that was never encrypted": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "And?"},
            ],
            "a search of the vendor's": [
                {"role": "user", "content": "Search."},
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [],
                    "encrypted_content": "secret 1",
                },
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "sea"},
                },
                {
                    "type": "message",
                    "id": "msg_2",
                    "status": "completed",
                    "role": "assistant",
                    "content": [
                        {"type": "output_text", "text": "Found.", "annotations": []}
                    ],
                },
                {"role": "user", "content": "Thanks."},
            ],
            "custom call": [
                {"role": "user", "content": "Patch."},
                {
                    "type": "custom_tool_call",
                    "call_id": "call_3",
                    "name": "patch",
                    "input": "*** Begin\n",
                },
                {
                    "type": "custom_tool_call_output",
                    "call_id": "call_3",
                    "output": "done",
                },
            ],
            "media in results": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "See:"},
                        {
                            "type": "input_image",
                            "image_url": "data:image/png;base64,PIXEL",
                            "detail": "auto",
                        },
                    ],
                },
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "look",
                    "arguments": '{"at": "sea"}',
                },
                {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": [
                        {"type": "input_text", "text": "Error: look failed"},
                        {"type": "input_text", "text": "a picture"},
                        {
                            "type": "input_image",
                            "image_url": "https://example.com/a.png",
                            "detail": "low",
                        },
                        {
                            "type": "input_file",
                            "file_data": "data:application/pdf;base64,AAAA",
                            "filename": "file.pdf",
                        },
                        {
                            "type": "input_text",
                            "text": "[audio not shown: audio/wav, 1 KiB]",
                        },
                    ],
                },
            ],
            "assistant first and last": [
                {"role": "assistant", "content": "Welcome."},
                {"role": "assistant", "content": "Well?"},
            ],
            "notes": [
                {"role": "developer", "content": "First."},
                {"role": "user", "content": "Hi."},
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": "Go on."},
            ],
        }
    )


def test_what_was_left_out_is_reported() -> None:
    """Nothing disappears without a mark."""
    marks = {
        name: [(mark.item_id, mark.reason) for mark in found]
        for name in TABLE
        if (found := ADAPTER.render(TABLE[name]).repairs)
    }
    assert marks == snapshot(
        {
            "everything": [
                ("i2", "reasoning left out: of another model, or not whole"),
                ("i7", "[audio not shown: audio/wav, 1 KiB]: there is no place for it"),
                ("i1", "the participant's name was left out: there is no place for it"),
            ],
            "reasoning of another model": [
                ("i2", "reasoning left out: of another model, or not whole")
            ],
            "reasoning alone": [("i2", "nothing this vendor can show")],
            "reasoning that was never encrypted": [
                ("i2", "reasoning left out: of another model, or not whole")
            ],
            "media in results": [
                ("i3", "[audio not shown: audio/wav, 1 KiB]: there is no place for it")
            ],
        }
    )


def test_the_settings_have_the_vendors_names() -> None:
    """Each option goes where this API has it."""
    said = prompt(
        user("Hi."),
        tools=TOOLS,
        model="gpt-4o",
        options={
            "max_output_tokens": 99,
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "parallel_tool_calls": False,
            "reasoning_effort": "low",
            "temperature": 0.5,
            "prompt_cache_key": "k",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {"type": "object"}},
            },
            "extra": {"service_tier": "flex", "store": True},
        },
    )
    request = ADAPTER.render(said).request
    del request["input"], request["tools"]
    assert request == snapshot(
        {
            "model": "gpt-4o",
            "tool_choice": {"type": "function", "name": "look"},
            "parallel_tool_calls": False,
            "max_output_tokens": 99,
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "n",
                    "schema": {"type": "object"},
                }
            },
            "reasoning": {"effort": "low"},
            "temperature": 0.5,
            "prompt_cache_key": "k",
            "store": True,
            "service_tier": "flex",
        }
    )


def test_empty_instructions_cost_what_the_vendor_puts_in_their_place() -> None:
    """Beside tools, of models that do not reason; requests of ours hold none."""
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    request = {"model": "gpt-4o", "input": "Look.", "tools": [tool]}

    def tokens(**change: Any) -> int:
        return ADAPTER.request_tokens(request | change, len)

    empty = {"instructions": ""}
    assert tokens(**empty) - tokens() == 216
    assert tokens(**empty, tools=[]) == tokens(tools=[])
    assert tokens(**empty, model="gpt-5") == tokens(model="gpt-5")
    assert "instructions" not in ADAPTER.render(prompt(user("Look."))).request
