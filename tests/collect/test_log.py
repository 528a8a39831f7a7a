"""The session log: append-only, named, and the same again after it was written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_builder.collect.entry_dicts import entry_from_dict, entry_to_dict
from context_builder.collect.log import SessionLog
from context_builder.errors import InvalidItemError
from context_builder.items import (
    Cleared,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LogEntry,
    Rewound,
    SystemSet,
    ToolsSet,
)
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
}
RICH = ContextItem(
    role="user",
    content=(
        TextPart(text="价 \ud83d \0", extra={"gemini": {"a": None}}),
        ImagePart(data="QUJD", media_type="image/png", detail="low"),
        FilePart(url="https://a.org/b.pdf", filename="b.pdf"),
        AudioPart(data="QUJD"),
    ),
    id="i1",
    priority=7,
    source="event",
    timestamp=12.5,
    optional=True,
    cache_key="k",
    pinned=True,
    name="ann",
    metadata={"a": [1, {"b": None}]},
)
CALLING = ContextItem(
    role="assistant",
    id="i2",
    tool_calls=(
        ToolCall(
            id="a", name="search", arguments='{"q": 1}', extra={"gemini": {"s": "t"}}
        ),
        ToolCall(id="b", name="grammar", arguments="free", type="custom"),
    ),
    reasoning=(
        ReasoningPart(provider="anthropic", text="hm", signature="s", data={"t": [1]}),
        ReasoningPart(provider="openai", model="o3"),
    ),
    partial=True,
)
RESULT = ContextItem(
    role="tool",
    content="",
    id="i3",
    tool_call_id="a",
    tool_name="search",
    is_error=True,
)

ENTRIES: list[LogEntry] = [
    ContextItem(role="user", content="x", id="i1"),
    RICH,
    CALLING,
    RESULT,
    ItemsAdded((RICH, CALLING, RESULT)),
    SystemSet(ContextItem(role="system", content="be brief", id="i4")),
    SystemSet(None),
    ToolsSet((TOOL,)),
    ToolsSet(()),
    ItemEdited(RICH),
    ItemRemoved("i1"),
    Rewound("i1"),
    Cleared(),
]


def filled(*texts: str) -> SessionLog:
    """Return a log of messages."""
    log = SessionLog()
    for text in texts:
        log.append(log.name(ContextItem(role="user", content=text)))
    return log


def test_items_are_named_in_the_order_in_which_they_came() -> None:
    """Ids are places in the log."""
    log = filled("a", "b")
    assert [item.id for item in log.items] == ["i1", "i2"]
    assert log.name(ContextItem(role="user"), offset=2).id == "i5"


def test_the_revision_moves_with_every_entry() -> None:
    """Nobody has to mark anything as stale."""
    log = filled("a")
    log.append(ItemRemoved("i1"))
    log.append(Cleared())
    assert (log.revision, len(log)) == (3, 3)


def test_an_edit_is_the_latest_version_and_the_log_keeps_both() -> None:
    """`find` and `items` give the newest; the entries give all."""
    log = filled("a")
    log.append(ItemEdited(ContextItem(role="user", content="b", id="i1")))
    assert log.find("i1").content == "b"
    first, _ = log
    assert isinstance(first, ContextItem)
    assert first.content == "a"


def test_what_was_taken_out_is_still_in_the_log() -> None:
    """Nothing that leaves the conversation leaves the session."""
    log = filled("a")
    log.append(ItemRemoved("i1"))
    log.append(Cleared())
    assert [item.content for item in log.items] == ["a"]


@pytest.mark.parametrize(
    "item_id", ["", "i0", "i3", "1", "x1", "i-1", "i1.1", "i²", "I1"]
)
def test_an_unknown_item_is_a_typed_error(item_id: str) -> None:
    """The error names the id, and nothing is appended."""
    log = filled("a", "b")
    for act in (lambda: log.find(item_id), lambda: log.append(ItemRemoved(item_id))):
        with pytest.raises(InvalidItemError) as error:
            act()
        assert error.value.field == "item_id"
    assert log.revision == 2


@pytest.mark.parametrize("item_id", [None, 5, "i" + "1" * 5_000])
def test_an_id_that_is_none_is_a_typed_error(item_id: Any) -> None:
    """An id of another type, or longer than Python reads, is refused as well."""
    with pytest.raises(InvalidItemError):
        filled("a").find(item_id)


def test_entries_are_read_from_a_position() -> None:
    """A target takes in what it has not seen."""
    log = filled("a", "b", "c")
    said = [entry.content for entry in log.since(1) if isinstance(entry, ContextItem)]
    assert said == ["b", "c"]
    assert log.since(3) == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_every_kind_of_entry_comes_back_equal(entry: LogEntry) -> None:
    """Written as JSON and read again, an entry is the same."""
    written = json.dumps(entry_to_dict(entry))
    assert entry_from_dict(json.loads(written)) == entry


def test_defaults_are_not_written() -> None:
    """A plain message is a short line."""
    written = entry_to_dict(ContextItem(role="user", content="x", id="i1"))["item"]
    assert written == {
        "role": "user",
        "content": "x",
        "id": "i1",
        "priority": 90,
        "has_own_priority": False,
    }


def test_fields_of_a_later_version_are_ignored() -> None:
    """A log that knows more can still be read."""
    data = entry_to_dict(ContextItem(role="user", content="x", id="i1"))
    data["item"]["mood"] = "fine"
    assert entry_from_dict(data) == ContextItem(role="user", content="x", id="i1")


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "item",
        [],
        {},
        {"entry": None},
        {"entry": "dance"},
        {"entry": "item"},
        {"entry": "item", "item": None},
        {"entry": "item", "item": {"role": "narrator"}},
        {"entry": "item", "item": {"role": "user", "priority": 200}},
        {"entry": "item", "item": {"role": "user", "content": [{"type": "odd"}]}},
        {"entry": "items", "items": 5},
        {"entry": "items", "items": [5]},
        {"entry": "remove"},
        {"entry": "tools", "tools": 5},
    ],
)
def test_what_is_no_entry_is_refused(data: Any) -> None:
    """Damage is a typed error, whatever it looks like."""
    with pytest.raises(InvalidItemError):
        entry_from_dict(data)


def test_the_error_of_a_bad_entry_names_the_field_and_not_the_content() -> None:
    """The path is in the error, the value is not."""
    data = {"entry": "item", "item": {"role": "user", "timestamp": "secret 4711"}}
    with pytest.raises(InvalidItemError) as error:
        entry_from_dict(data)
    assert error.value.field == "timestamp"
    assert "4711" not in str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        {"entry": "remove", "item_id": 5},
        {"entry": "rewind", "item_id": None},
        {"entry": "tools", "tools": "search"},
        {"entry": "tools", "tools": [None]},
        {"entry": "tools", "tools": [{"type": "function"}]},
        {"entry": "item", "item": {"role": "user", "content": "x", "id": ""}},
        {"entry": "item", "item": {"role": "user", "content": "x", "id": "one"}},
    ],
)
def test_an_entry_that_nobody_could_use_is_refused(data: dict[str, Any]) -> None:
    """Ids and tools are checked when they are read, not when they are needed."""
    with pytest.raises(InvalidItemError):
        entry_from_dict(data)


def test_an_item_is_appended_under_its_own_place_only() -> None:
    """A log of which the ids do not match the places is refused."""
    with pytest.raises(InvalidItemError):
        SessionLog().append(ContextItem(role="user", content="x", id="i7"))
