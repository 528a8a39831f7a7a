"""OpenAI Chat Completions read: messages, answers, streams whole and broken, tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.collect.imports import read_messages, read_response, read_tools
from context_builder.collect.imports.reading import Usage
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.messages import ImagePart, ReasoningPart, TextPart, ToolCall
from context_builder.render import adapter_names, validate
from context_builder.testing import tool_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_builder.items import ContextItem


def one(**message: Any) -> ContextItem:
    """Read one message."""
    return read_messages([message])[0]


def completion(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """Return an answer as the API gives it."""
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return {"object": "chat.completion", "model": "gpt-4o", "choices": [choice]}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return a piece of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def piece(index: int, **call: Any) -> dict[str, Any]:
    """Return a piece of a call."""
    return {"index": index, **call}


# --- messages -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "read", "source"),
    [
        ("system", "system", "system_prompt"),
        ("developer", "system", "system_prompt"),
        ("user", "user", "user"),
        ("assistant", "assistant", "assistant"),
    ],
)
def test_roles_are_read(role: str, read: str, source: str) -> None:
    """Each role has its source; `developer` is the system's newer name."""
    item = one(role=role, content="x", name="ann")
    assert (item.role, item.source, item.text, item.name) == (read, source, "x", "ann")


def test_content_may_be_parts() -> None:
    """Text and pictures come in as parts."""
    picture = {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}}
    item = one(role="user", content=[{"type": "text", "text": "see"}, picture])
    assert item.content == (TextPart(text="see"), ImagePart(url="https://a.org/b.png"))


def test_calls_and_results_are_read() -> None:
    """A call keeps its arguments as they were written; a result names its call."""
    asking = one(
        role="assistant", content=None, tool_calls=[tool_call("a", "f", "{ }")]
    )
    answer = one(role="tool", tool_call_id="a", content="r")
    assert asking.tool_calls == (ToolCall(id="a", name="f", arguments="{ }"),)
    assert (answer.tool_call_id, answer.source, answer.text) == (
        "a",
        "tool_result",
        "r",
    )


def test_arguments_may_be_an_object() -> None:
    """Some write arguments as data; they become JSON text, scripts unescaped."""
    call = {"id": "a", "function": {"name": "f", "arguments": {"城市": "北京"}}}
    item = one(role="assistant", tool_calls=[call])
    assert item.tool_calls[0].arguments == '{"城市": "北京"}'


def test_a_custom_call_takes_free_text() -> None:
    """Custom tools have an input, not arguments."""
    call = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    item = one(role="assistant", tool_calls=[call])
    expected = ToolCall(id="a", name="sql", arguments="select 1", type="custom")
    assert item.tool_calls == (expected,)


def test_the_old_function_call_is_a_call_without_an_id() -> None:
    """`function_call` and the role `function` are the same thing, older."""
    asking, answer = read_messages(
        [
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ]
    )
    assert asking.tool_calls == (ToolCall(id="", name="f", arguments="{}"),)
    assert (answer.role, answer.tool_name, answer.tool_call_id) == ("tool", "f", None)


def test_a_refusal_is_what_was_said() -> None:
    """Without content, the refusal is the content."""
    assert one(role="assistant", content=None, refusal="no").text == "no"
    assert one(role="assistant", content="yes", refusal="no").text == "yes"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_of_compatible_vendors_is_kept_apart(key: str) -> None:
    """It is reasoning, not text, and only its vendors get it back."""
    item = one(role="assistant", content="x", **{key: "hm"})
    assert item.reasoning == (ReasoningPart(provider="openai-compatible", text="hm"),)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (5, "messages[1]"),
        ("hello", "messages[1]"),
        ({}, "messages[1].role"),
        ({"role": "narrator"}, "messages[1].role"),
        ({"role": ["user"]}, "messages[1].role"),
        ({"role": "user", "content": 5}, "messages[1].content"),
        ({"role": "user", "content": "x", "name": 5}, "messages[1].name"),
        ({"role": "user", "content": [{"type": "odd"}]}, "messages[1].content[0].type"),
        ({"role": "tool", "content": "x"}, "messages[1].tool_call_id"),
        ({"role": "tool", "tool_call_id": 5}, "messages[1].tool_call_id"),
        ({"role": "assistant", "tool_calls": 5}, "messages[1].tool_calls"),
        ({"role": "assistant", "tool_calls": [5]}, "messages[1].tool_calls[0]"),
        ({"role": "assistant", "function_call": 5}, "messages[1].function_call"),
        ({"role": "assistant", "refusal": 5}, "messages[1].refusal"),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom"}]},
            "messages[1].tool_calls[0].custom",
        ),
    ],
)
def test_a_message_that_is_none_is_refused_by_its_path(
    message: Any, field: str
) -> None:
    """The error says which message and which field of it."""
    with pytest.raises(InvalidItemError) as error:
        read_messages([{"role": "user", "content": "x"}, message])
    assert error.value.field == field


@pytest.mark.parametrize("messages", ["hello", b"x", {"role": "user"}])
def test_messages_are_a_list(messages: Any) -> None:
    """One message, or text, is no list of messages."""
    with pytest.raises(InvalidItemError) as error:
        read_messages(messages)
    assert error.value.field == "messages"


@pytest.mark.parametrize("messages", [None, 5, object()])
def test_what_cannot_be_iterated_is_no_list(messages: Any) -> None:
    """It is a typed error as well."""
    with pytest.raises(InvalidItemError):
        read_messages(messages)


def test_messages_may_come_from_an_iterator() -> None:
    """Anything that gives messages one by one will do."""
    read = read_messages(iter([{"role": "user", "content": "x"}]))
    assert [item.text for item in read] == ["x"]


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """The error names what there is."""
    with pytest.raises(AdapterError, match="openai"):
        read_messages([], format="morse")


# --- answers --------------------------------------------------------------------------


def test_an_answer_is_read_whole() -> None:
    """Text, calls, why it stopped, which model, and what was billed."""
    answer = completion(
        "tool_calls", content="Let me see.", tool_calls=[tool_call("a")]
    )
    answer["usage"] = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 8},
    }
    reply = read_response(answer)
    assert reply.items[0].text == "Let me see."
    assert [call.id for call in reply.items[0].tool_calls] == ["a"]
    assert (reply.stop_reason, reply.model) == ("tool_calls", "gpt-4o")
    assert reply.usage == Usage(100, 20, cached_tokens=64, reasoning_tokens=8)


def test_an_answer_cut_by_its_length_is_partial() -> None:
    """What was cut off is marked as such."""
    assert read_response(completion("length", content="half")).items[0].partial
    assert not read_response(completion("stop", content="all")).items[0].partial


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": " "}])
def test_an_answer_that_says_nothing_has_no_item(message: dict[str, Any]) -> None:
    """An empty answer adds nothing, and is no error."""
    assert read_response(completion(**message)).items == ()


@pytest.mark.parametrize(
    "answer",
    [None, 5, "text", {}, [], {"choices": []}, {"choices": [{}]}, {"id": "x"}, [5]],
)
def test_what_is_no_answer_is_refused(answer: object) -> None:
    """No known vendor answers like this."""
    with pytest.raises(InvalidItemError):
        read_response(answer)


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"choices": [{"message": 5}]}, "response.choices[0].message"),
        (completion(content=5), "response.choices[0].message.content"),
        (completion(tool_calls=[5]), "response.choices[0].message.tool_calls[0]"),
    ],
)
def test_damage_in_an_answer_is_named_by_its_path(answer: Any, field: str) -> None:
    """The error says where in the answer it is."""
    with pytest.raises(InvalidItemError) as error:
        read_response(answer)
    assert error.value.field == field


def test_a_choice_that_is_none_is_a_typed_error() -> None:
    """No reader stumbles over what is another vendor's, or nobody's."""
    with pytest.raises(InvalidItemError):
        read_response({"choices": [5]})


def test_odd_usage_does_not_lose_the_answer() -> None:
    """What was billed is data beside the answer, not a reason to refuse it."""
    answer = completion(content="x")
    answer["usage"] = {"prompt_tokens": 1, "prompt_tokens_details": "none"}
    assert read_response(answer).items[0].text == "x"


def test_an_answer_that_a_filter_ended_is_partial() -> None:
    """It was cut off, as by the limit of its length."""
    answer = completion(content="x")
    answer["choices"][0]["finish_reason"] = "content_filter"
    assert read_response(answer).items[0].partial


# --- streams --------------------------------------------------------------------------


def test_a_stream_is_the_answer_that_it_makes_up() -> None:
    """Deltas are joined; the last usage and the stop reason count."""
    end = {
        "object": "chat.completion.chunk",
        "choices": [],
        "usage": {"prompt_tokens": 7},
    }
    reply = read_response(
        [
            chunk(role="assistant", content=""),
            chunk(content="he"),
            chunk(content="y"),
            chunk("stop"),
            end,
        ]
    )
    assert reply.items[0].text == "hey"
    assert not reply.items[0].partial
    assert reply.stop_reason == "stop"
    assert reply.usage == Usage(7, 0)


def test_a_stream_may_be_an_iterator() -> None:
    """It is read to its end."""

    def stream() -> Iterator[dict[str, Any]]:
        yield chunk(content="a")
        yield chunk("stop", content="b")

    assert read_response(stream()).items[0].text == "ab"


def test_a_stream_that_broke_off_is_kept_and_marked() -> None:
    """Without a stop reason it is partial."""
    item = read_response([chunk(content="half a sen")]).items[0]
    assert (item.text, item.partial) == ("half a sen", True)


def test_calls_are_joined_by_their_index() -> None:
    """Pieces of several calls may come in turns."""
    reply = read_response(
        [
            chunk(
                tool_calls=[piece(0, id="a", function={"name": "f", "arguments": ""})]
            ),
            chunk(tool_calls=[piece(1, id="b", function={"name": "g"})]),
            chunk(tool_calls=[piece(0, function={"arguments": '{"x"'})]),
            chunk(tool_calls=[piece(1, function={"arguments": "{}"})]),
            chunk(tool_calls=[piece(0, function={"arguments": ": 1}"})]),
            chunk("tool_calls"),
        ]
    )
    assert reply.items[0].tool_calls == (
        ToolCall(id="a", name="f", arguments='{"x": 1}'),
        ToolCall(id="b", name="g", arguments="{}"),
    )


def test_a_call_that_broke_off_is_kept_as_far_as_it_came() -> None:
    """Repairing it is the business of what shows it."""
    half = piece(0, id="a", function={"name": "f", "arguments": '{"x'})
    item = read_response([chunk(tool_calls=[half])]).items[0]
    assert item.partial
    assert item.tool_calls[0].arguments == '{"x'


def test_custom_calls_stream_as_well() -> None:
    """Their input is joined."""
    first = piece(0, id="a", type="custom", custom={"name": "sql", "input": "sel"})
    reply = read_response(
        [
            chunk(tool_calls=[first]),
            chunk(tool_calls=[piece(0, custom={"input": "ect 1"})]),
            chunk("tool_calls"),
        ]
    )
    expected = ToolCall(id="a", name="sql", arguments="select 1", type="custom")
    assert reply.items[0].tool_calls == (expected,)


def test_refusals_and_reasoning_stream_as_well() -> None:
    """Each is joined on its own."""
    refused = read_response([chunk(refusal="n"), chunk("stop", refusal="o")])
    assert refused.items[0].text == "no"
    thought = read_response(
        [chunk(reasoning_content="h"), chunk(reasoning_content="m"), chunk("stop")]
    )
    assert thought.items[0].reasoning[0].text == "hm"


def test_only_the_first_choice_is_read() -> None:
    """Other choices are other answers."""
    other = chunk(content="other")
    other["choices"][0]["index"] = 1
    assert (
        read_response([chunk(content="a"), other, chunk("stop")]).items[0].text == "a"
    )


def test_the_old_function_call_streams_as_well() -> None:
    """A call in the older form is not lost."""
    reply = read_response(
        [
            chunk(function_call={"name": "f", "arguments": ""}),
            chunk(function_call={"arguments": "{}"}),
            chunk("function_call"),
        ]
    )
    assert reply.items[0].tool_calls == (ToolCall(id="", name="f", arguments="{}"),)


def test_whole_calls_without_an_index_stay_apart() -> None:
    """Some vendors send each call whole, and number none."""
    first = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    second = {"id": "b", "function": {"name": "g", "arguments": "{}"}}
    reply = read_response(
        [chunk(tool_calls=[first]), chunk(tool_calls=[second]), chunk("tool_calls")]
    )
    assert [call.id for call in reply.items[0].tool_calls] == ["a", "b"]


@pytest.mark.parametrize(
    "stream",
    [
        [{"object": "chat.completion.chunk", "choices": None}],
        [{"object": "chat.completion.chunk", "choices": [5]}],
        [{"choices": [{"delta": 5}]}],
        [chunk(tool_calls=5)],
        [chunk(tool_calls=[None])],
        [chunk(tool_calls=[piece(0, function=5)])],
        [chunk(tool_calls=[piece(0, function={"name": 5})])],
    ],
)
def test_damage_in_a_stream_is_a_typed_error(stream: list[Any]) -> None:
    """What is no piece of a stream is refused."""
    with pytest.raises(InvalidItemError):
        read_response(stream)


# --- tools ----------------------------------------------------------------------------


def test_tools_come_wrapped_or_bare() -> None:
    """A bare function is wrapped; both are the same tool."""
    function = {"name": "f", "parameters": {"type": "object"}}
    wrapped = {"type": "function", "function": function}
    assert read_tools([wrapped]) == read_tools([function]) == (wrapped,)


def test_tools_are_the_librarys_own_copy() -> None:
    """Changing them afterwards changes nothing."""
    tool: dict[str, Any] = {"name": "f", "parameters": {"properties": {"a": {}}}}
    read = read_tools([tool])
    tool["parameters"]["properties"]["b"] = {}
    assert list(read[0]["function"]["parameters"]["properties"]) == ["a"]


@pytest.mark.parametrize(
    ("tools", "field"),
    [
        ("search", "tools"),
        ({"name": "f"}, "tools"),
        ([5], "tools[0]"),
        ([{}], "tools[0].function"),
        ([{"type": "function", "function": {}}], "tools[0].function.name"),
        ([{"name": "f"}, {"name": "f"}], "tools[1].function.name"),
        ([{"type": "custom", "custom": {"name": ""}}], "tools[0].custom.name"),
        ([{"name": "\0"}], "tools[0].function.name"),
        ([{"type": "custom", "custom": {"name": "\0"}}], "tools[0].custom.name"),
    ],
)
def test_a_tool_that_is_none_is_refused_by_its_path(tools: Any, field: str) -> None:
    """A tool has a name of its own."""
    with pytest.raises(InvalidItemError) as error:
        read_tools(tools)
    assert error.value.field == field


@pytest.mark.parametrize(
    "parameters",
    [
        5,
        True,
        "text",
        {"properties": 5},
        {"properties": {"a": 5}},
        {"required": 3.5},
        {"required": "a"},
        {"anyOf": {"type": "string"}},
        {"$defs": ["a"]},
        {"items": {"anyOf": [{"properties": []}]}},
        {"properties": {"a": {"type": "array", "items": "text"}}},
        {"properties": {"a": {"items": [{"required": 3}]}}},
        {"properties": {"a": {"enum": 3.5}}},
        {"properties": {"a": {"$ref": ["b"]}}},
        {"type": {"$ref": "b"}, "properties": {"a": {"type": "array", "items": 3}}},
    ],
)
def test_parameters_are_a_schema(parameters: Any) -> None:
    """A definition that cannot be counted is refused at the door."""
    ctx = ContextBuilder(max_tokens=1_000)
    with pytest.raises(InvalidItemError):
        ctx.set_tools([{"name": "f", "parameters": parameters}])
    ctx.build()


@pytest.mark.parametrize("target", adapter_names())
def test_parameters_of_an_older_draft_are_taken(target: str) -> None:
    """`required` was a truth value once, `items` a list; true is a schema now."""
    ctx = ContextBuilder(max_tokens=5_000)
    said = {"type": "string", "required": True}
    pair = {"type": "array", "items": [{"type": "string"}, {"type": "number"}]}
    held = {"a": said, "b": True, "c": pair}
    schema = {"type": "object", "required": True, "properties": held}
    ctx.set_tools([{"name": "f", "parameters": schema}])
    ctx.add_user_message("go")
    request = ctx.request(target, model="some-model")
    assert validate(request, target) == []
