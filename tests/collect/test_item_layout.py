"""An item takes little memory, and is a frozen dataclass like any other."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from typing import Any

import pytest
from pydantic import TypeAdapter

from context_builder.copies import changed
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem

RARE: dict[str, Any] = {
    "cache_key": "k",
    "name": "Ann",
    "metadata": {"a": [1]},
    "priority": 3,
    "pinned": True,
}


def test_items_share_what_they_have_in_common() -> None:
    """Two messages of one kind differ in six fields, and take 88 bytes each."""
    one = ContextItem("tool", "one", id="i1", tool_name="search", timestamp=1.0)
    other = ContextItem("tool", "two", id="i2", tool_name="search", timestamp=2.0)
    rare = ContextItem("tool", "two", id="i2", tool_name="search", **RARE)
    assert sys.getsizeof(one) <= 88
    assert not hasattr(one, "__dict__")
    assert one._traits is other._traits  # type: ignore[attr-defined]
    assert rare.metadata is RARE["metadata"]
    assert (rare.priority, other.priority) == (3, 80)


def test_a_copy_changes_no_other_item() -> None:
    """What two items share stays as it is when one of them gets another value."""
    one, other = ContextItem("user", "one"), ContextItem("user", "two")
    new = changed(one, source="memory", content="three")
    assert (new.source, new.content) == ("memory", "three")
    assert (one.source, other.source) == ("message", "message")
    assert dataclasses.replace(new, pinned=True).source == "memory"


def test_it_is_a_dataclass_like_any_other() -> None:
    """It can be compared, copied, pickled and hashed, and not be changed."""
    item = ContextItem("user", "one", id="i1", **RARE)
    for twin in (
        copy.copy(item),
        copy.deepcopy(item),
        pickle.loads(pickle.dumps(item)),  # noqa: S301  our own
        dataclasses.replace(item),
        TypeAdapter(ContextItem).validate_python(dataclasses.asdict(item)),
    ):
        assert twin == item
        assert type(twin) is ContextItem
    assert len({ContextItem("user", "one"), ContextItem("user", "one")}) == 1
    assert ContextItem("user", "one", pinned=True) != ContextItem("user", "one")
    for name in ("content", "source"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, name, "two")


def test_made_field_by_field_it_is_checked_as_well() -> None:
    """A subclass has the same priority by kind, and the same range."""

    @dataclasses.dataclass(frozen=True)
    class Own(ContextItem):
        mark: str = ""

    own = Own("user", "one", source="memory", mark="m")
    assert (own.priority, own.has_own_priority, own.mark) == (20, False, "m")
    assert dataclasses.replace(own, mark="n").source == "memory"
    with pytest.raises(InvalidItemError, match="from 0 to 100"):
        Own("user", "one", priority=101)


def test_the_arguments_are_the_fields() -> None:
    """In their order, with their defaults."""
    arguments = list(inspect.signature(ContextItem).parameters.values())
    fields = dataclasses.fields(ContextItem)
    assert [one.name for one in arguments] == [one.name for one in fields]
    assert [one.default for one in arguments[1:]] == [one.default for one in fields[1:]]
