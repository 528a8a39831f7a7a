"""Doors: what a caller hands in is checked before anything is logged."""

from __future__ import annotations

import math
from typing import Any

import pytest

from context_builder.collect.doors import (
    assistant_item,
    check_item,
    edited_item,
    message_item,
    result_item,
)
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import ReasoningPart, ToolCall
from context_builder.testing import tool_call


def item(**fields: Any) -> ContextItem:
    """Return a message that could be in a log."""
    return ContextItem(role="user", content="x", id="i1", **fields)


def test_a_message_has_the_priority_of_its_kind_until_one_is_given() -> None:
    """A given priority is remembered as given."""
    by_kind = message_item("user", "x", source="user")
    given = message_item("user", "x", source="user", priority=90)
    assert by_kind is not None
    assert given is not None
    assert (by_kind.priority, by_kind.has_own_priority) == (90, False)
    assert (given.priority, given.has_own_priority) == (90, True)


@pytest.mark.parametrize(
    "content", [None, "", " \n", [], [{"type": "text", "text": " "}]]
)
def test_a_blank_message_is_no_item(content: object) -> None:
    """Nothing said is nothing added."""
    assert message_item("user", content) is None


@pytest.mark.parametrize("role", ["narrator", "", None, 5, ["user"], "User"])
def test_an_unknown_role_is_refused(role: Any) -> None:
    """There are four roles, spelt as they are."""
    with pytest.raises(InvalidItemError) as error:
        message_item(role, "x")
    assert error.value.field == "role"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 101),
        ("priority", -2),
        ("priority", 50.5),
        ("priority", True),
        ("priority", math.nan),
        ("source", ""),
        ("source", 5),
        ("cache_key", ""),
        ("cache_key", 5),
        ("name", ""),
        ("name", b"x"),
        ("optional", 1),
        ("pinned", "yes"),
        ("metadata", [1]),
        ("metadata", "x"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(field: str, value: object) -> None:
    """Each field is checked at the door; the error names it."""
    with pytest.raises(InvalidItemError) as error:
        message_item("user", "x", **{field: value})
    assert error.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "high"),
        ("priority", b"50"),
        ("priority", [50]),
        pytest.param("priority", 10**5_000, id="huge"),
        ("source", ["user"]),
    ],
)
def test_a_field_that_cannot_even_be_compared_is_refused(
    field: str, value: object
) -> None:
    """Values that raise on the way to the check are typed errors as well."""
    with pytest.raises(InvalidItemError) as error:
        message_item("user", "x", **{field: value})
    assert error.value.field == field


def test_minus_one_is_no_priority() -> None:
    """A priority is from 0 to 100, and the placeholder for none is no exception."""
    with pytest.raises(InvalidItemError):
        message_item("user", "x", priority=-1)


@pytest.mark.parametrize("source", ["repair", "recall", "notice"])
def test_the_librarys_own_sources_are_refused(source: str) -> None:
    """An item that looked like one of them would be told by nobody."""
    with pytest.raises(InvalidItemError) as error:
        message_item("user", "x", source=source)
    assert error.value.field == "source"


# --- the assistant --------------------------------------------------------------------


def assistant(content: object = "", **fields: Any) -> ContextItem | None:
    """Return what the door of the assistant makes of it."""
    given = {"tool_calls": None, "reasoning": None, **fields}
    return assistant_item(content, **given)


def test_an_assistant_that_only_calls_or_only_thinks_is_not_empty() -> None:
    """Calls and reasoning are content enough."""
    assert assistant() is None
    called = assistant(" ", tool_calls=[tool_call("a")])
    thought = assistant(reasoning="hm")
    assert called is not None
    assert called.content == ""
    assert thought is not None
    assert thought.reasoning == (
        ReasoningPart(provider="openai-compatible", text="hm"),
    )


def test_calls_come_as_values_or_in_openais_format() -> None:
    """Both are the same call."""
    value = ToolCall(id="a", name="search", arguments="{}")
    item = assistant(tool_calls=[value, tool_call("a")])
    assert item is not None
    assert item.tool_calls == (value, value)


@pytest.mark.parametrize(
    ("calls", "field"),
    [
        ([5], "tool_calls[0]"),
        ("abc", "tool_calls[0]"),
        ([{"id": "a"}], "tool_calls[0].function"),
        ([{"id": "a", "function": {"name": ""}}], "tool_calls[0].function.name"),
        ([tool_call("a"), {"id": 5, "function": {"name": "x"}}], "tool_calls[1].id"),
        (
            [{"id": "a", "function": {"name": "x", "arguments": [1]}}],
            "tool_calls[0].function.arguments",
        ),
    ],
)
def test_a_call_that_is_none_is_refused_by_its_path(calls: Any, field: str) -> None:
    """A call has a name, an id that is text, and arguments as text or an object."""
    with pytest.raises(InvalidItemError) as error:
        assistant(tool_calls=calls)
    assert error.value.field == field


@pytest.mark.parametrize("reasoning", [[5], ["text"], [{"text": "x"}]])
def test_reasoning_is_text_or_parts(reasoning: Any) -> None:
    """Anything else is refused by its path."""
    with pytest.raises(InvalidItemError) as error:
        assistant(reasoning=reasoning)
    assert error.value.field == "reasoning[0]"


@pytest.mark.parametrize("field", ["tool_calls", "reasoning"])
@pytest.mark.parametrize("value", [5, True, object()])
def test_calls_and_reasoning_that_are_no_lists_are_refused(
    field: str, value: object
) -> None:
    """What cannot be iterated is a typed error."""
    with pytest.raises(InvalidItemError) as error:
        assistant("x", **{field: value})
    assert error.value.field == field


# --- results --------------------------------------------------------------------------


def test_a_result_may_be_empty() -> None:
    """Its call needs an answer, even if the tool returned nothing."""
    made = result_item("search", None)
    assert (made.role, made.content, made.source) == ("tool", "", "tool_result")


def test_an_exception_is_an_error_result() -> None:
    """A tool that raised failed, whatever the caller says."""
    made = result_item("search", KeyError("k"), is_error=False)
    assert made.is_error
    assert made.text == "KeyError: 'k'"


@pytest.mark.parametrize(
    ("field", "value"),
    [("tool_call_id", 5), ("cache_key", 5), ("is_error", "no")],
)
def test_a_result_is_checked_like_any_item(field: str, value: object) -> None:
    """The fields of a result are typed too."""
    with pytest.raises(InvalidItemError) as error:
        result_item("search", "x", **{field: value})
    assert error.value.field == field


# --- edits ----------------------------------------------------------------------------


def test_an_edit_keeps_what_it_does_not_name() -> None:
    """Another version of the item, under the same id."""
    edited = edited_item(item(source="user", pinned=True), {"content": "y"})
    assert (edited.id, edited.content, edited.pinned) == ("i1", "y", True)


def test_an_edited_priority_is_a_given_one() -> None:
    """It does not decay any more."""
    edited = edited_item(item(), {"priority": 40})
    assert (edited.priority, edited.has_own_priority) == (40, True)


@pytest.mark.parametrize(
    "field",
    ["id", "role", "source", "tool_calls", "tool_call_id", "partial", "nonsense"],
)
def test_what_an_item_is_cannot_be_edited(field: str) -> None:
    """Role, calls and ids are facts of the log."""
    with pytest.raises(InvalidItemError) as error:
        edited_item(item(), {field: "x"})
    assert error.value.field == field


@pytest.mark.parametrize("content", ["", " ", None, []])
def test_an_item_cannot_be_edited_blank(content: object) -> None:
    """To take an item out is another wish."""
    with pytest.raises(InvalidItemError, match="remove"):
        edited_item(item(), {"content": content})


def test_a_result_can_be_edited_blank_and_to_data() -> None:
    """A result may be empty, and data becomes JSON as at the door."""
    result = ContextItem(role="tool", content="x", id="i1")
    assert edited_item(result, {"content": ""}).content == ""
    assert edited_item(result, {"content": {"a": 1}}).content == '{"a": 1}'


@pytest.mark.parametrize("value", ["yesterday", [1], b"1"])
def test_a_timestamp_is_a_number(value: object) -> None:
    """An edit that would make the log unreadable is refused."""
    with pytest.raises(InvalidItemError) as error:
        edited_item(item(), {"timestamp": value})
    assert error.value.field == "timestamp"


def test_a_checked_item_is_the_same_object() -> None:
    """Checking copies nothing."""
    checked = item()
    assert check_item(checked) is checked


def test_no_error_says_what_was_refused() -> None:
    """Messages name types; the value itself is an attribute."""
    with pytest.raises(InvalidItemError) as error:
        message_item("user", "x", metadata="secret 4711")
    assert "4711" not in str(error.value)
    assert error.value.value == "secret 4711"
