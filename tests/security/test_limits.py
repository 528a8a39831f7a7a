"""Threat: something of any size. Each limit, at each door."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, InvalidItemError, Settings, ToolCall
from context_builder.errors import StoreError
from context_builder.items import ContextItem
from context_builder.messages import ImagePart, ReasoningPart, TextPart
from context_builder.sessions import SessionManager, load_session, save_session
from context_builder.settings import ItemLimits
from context_builder.testing import WordCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SMALL = Settings(
    item_limits=ItemLimits(
        max_text_chars=100,
        max_media_chars=200,
        max_parts=3,
        max_name_chars=20,
        max_data_values=30,
        max_nesting=4,
        max_items=4,
        max_tools=2,
        max_stream_pieces=5,
    )
)
LONG = "x" * 101


def session(settings: Settings = SMALL) -> ContextBuilder:
    """Return a session with small limits."""
    return ContextBuilder(max_tokens=5_000, counter=WordCounter(), settings=settings)


def nested(levels: int) -> Any:
    """Return data that is nested so deep."""
    data: Any = "x"
    for _ in range(levels):
        data = [data]
    return data


def answer(text: str) -> dict[str, Any]:
    """Return a model's answer."""
    message = {"role": "assistant", "content": text}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def tool(name: str, about: str = "") -> dict[str, Any]:
    """Return a tool definition."""
    function = {"name": name, "description": about, "parameters": {"type": "object"}}
    return {"type": "function", "function": function}


DOORS: dict[str, Callable[[ContextBuilder], object]] = {
    "message": lambda ctx: ctx.add_message("user", LONG),
    "note": lambda ctx: ctx.add_message("system", LONG),
    "user": lambda ctx: ctx.add_user_message(LONG),
    "parts": lambda ctx: ctx.add_user_message([TextPart(text="y" * 51)] * 2),
    "assistant": lambda ctx: ctx.add_assistant_message(LONG),
    "arguments": lambda ctx: ctx.add_assistant_message(
        tool_calls=[ToolCall("a", "b", json.dumps({"a": LONG}))]
    ),
    "reasoning": lambda ctx: ctx.add_assistant_message("x", reasoning=LONG),
    "signature": lambda ctx: ctx.add_assistant_message(
        "x", reasoning=[ReasoningPart("anthropic", "x", signature=LONG)]
    ),
    "result": lambda ctx: ctx.add_tool_result("f", LONG),
    "data": lambda ctx: ctx.add_tool_result("f", {"a": LONG}),
    "memory": lambda ctx: ctx.add_memory(LONG),
    "metadata": lambda ctx: ctx.add_user_message("x", metadata={"a": LONG}),
    "system": lambda ctx: ctx.add_system_prompt(LONG),
    "called": lambda ctx: ctx.add_system_prompt(lambda: LONG),
    "turn": lambda ctx: ctx.add_turn([ContextItem(role="user", content=LONG)]),
    "extend": lambda ctx: ctx.extend([{"role": "user", "content": LONG}]),
    "request": lambda ctx: ctx.extend(
        {"messages": [{"role": "user", "content": LONG}]}
    ),
    "response": lambda ctx: ctx.add_response(answer(LONG)),
    "tools": lambda ctx: ctx.set_tools([tool("f", LONG)]),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_a_text_that_is_too_long(door: str) -> None:
    """The error names the limit, says nothing of the text, and nothing was added."""
    ctx = session()
    before = ctx.dump()
    with pytest.raises(InvalidItemError, match="max_text_chars") as refused:
        DOORS[door](ctx)
    assert ctx.dump() == before
    assert LONG not in str(refused.value)
    assert "100 characters" in str(refused.value)


@pytest.mark.parametrize("door", DOORS)
def test_the_defaults_take_what_is_merely_long(door: str) -> None:
    """A limit is for what would exhaust the program."""
    DOORS[door](session(Settings()))


def test_what_is_edited_keeps_to_the_limits() -> None:
    """The item stays as it was."""
    ctx = session()
    ctx.add_user_message("short")
    with pytest.raises(InvalidItemError, match="max_text_chars"):
        ctx.edit("i1", content=LONG)
    assert ctx.items[0].content == "short"


@pytest.mark.parametrize(
    ("limit", "enter"),
    [
        ("max_media_chars", lambda c: c.add_user_message(picture(201))),
        ("max_parts", lambda c: c.add_user_message([TextPart(text="x")] * 4)),
        ("max_parts", lambda c: c.add_assistant_message(tool_calls=calls(4))),
        ("max_name_chars", lambda c: c.add_user_message("x", cache_key="k" * 21)),
        ("max_name_chars", lambda c: c.add_message("user", "x", source="s" * 21)),
        ("max_name_chars", lambda c: c.add_tool_result("t" * 21, "x")),
        (
            "max_name_chars",
            lambda c: c.add_assistant_message(tool_calls=[ToolCall("i" * 21, "f")]),
        ),
        ("max_nesting", lambda c: c.add_user_message("x", metadata={"a": nested(5)})),
        (
            "max_nesting",
            lambda c: c.add_assistant_message(
                "x", reasoning=[ReasoningPart("anthropic", data={"a": nested(5)})]
            ),
        ),
        ("max_nesting", lambda c: c.set_tools([tool("f") | {"x": nested(5)}])),
        (
            "max_data_values",
            lambda c: c.add_user_message("x", metadata={"a": list(range(40))}),
        ),
        ("max_items", lambda c: c.extend([{"role": "user", "content": "x"}] * 5)),
        ("max_tools", lambda c: c.set_tools([tool("a"), tool("b"), tool("c")])),
    ],
)
def test_each_limit_is_kept(
    limit: str, enter: Callable[[ContextBuilder], object]
) -> None:
    """It is named with its setting, and nothing was added."""
    ctx = session()
    before = ctx.dump()
    with pytest.raises(InvalidItemError, match=rf"item_limits\.{limit}"):
        enter(ctx)
    assert ctx.dump() == before


def picture(chars: int) -> list[ImagePart]:
    """Return a message of one picture."""
    return [ImagePart(data="A" * chars, media_type="image/png")]


def calls(count: int) -> list[ToolCall]:
    """Return so many calls."""
    return [ToolCall(f"c{number}", "f") for number in range(count)]


def test_a_session_takes_in_only_so_many_items() -> None:
    """What was taken out counts: it is still in the log."""
    ctx = session()
    for _ in range(4):
        ctx.add_user_message("x")
    ctx.clear()
    with pytest.raises(InvalidItemError, match="max_items"):
        ctx.add_user_message("x")
    assert len(ctx.items) == 4


def test_a_history_that_never_ends_is_refused() -> None:
    """Without reading on."""
    taken = itertools.count()

    def messages() -> Iterator[dict[str, str]]:
        while True:
            next(taken)
            yield {"role": "user", "content": "x"}

    with pytest.raises(InvalidItemError, match="max_items"):
        session().extend(messages())
    assert next(taken) <= 6


def test_a_stream_that_never_ends_is_cut_and_kept() -> None:
    """What came until then is in the log, marked as partial."""
    ctx = session()

    def pieces() -> Iterator[dict[str, Any]]:
        while True:
            delta = {"role": "assistant", "content": "a"}
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield {"object": "chat.completion.chunk", "choices": [choice]}

    with pytest.raises(InvalidItemError, match="max_stream_pieces"):
        ctx.add_response(pieces())
    (item,) = ctx.items
    assert (item.text, item.partial) == ("aaaaa", True)


# --- what was kept elsewhere ----------------------------------------------------------


def test_load_keeps_to_the_limits() -> None:
    """A log that was written under higher ones is refused whole."""
    ctx = session(Settings())
    ctx.add_user_message(LONG)
    entries = ctx.dump()
    with pytest.raises(InvalidItemError, match="max_text_chars"):
        ContextBuilder.load(entries, max_tokens=500, settings=SMALL)
    loaded = ContextBuilder.load(entries, max_tokens=500)
    assert loaded.items[0].content == LONG


def test_import_keeps_to_the_limits_of_the_manager() -> None:
    """Nothing is stored."""
    source = SessionManager(max_tokens=500)
    with source.open("s") as ctx:
        ctx.add_user_message(LONG)
    text = source.export("s")
    target = SessionManager(max_tokens=500, settings=SMALL)
    with pytest.raises(InvalidItemError, match="max_text_chars"):
        target.import_(text)
    assert target.list() == ()
    messages = json.dumps({"messages": [{"role": "user", "content": LONG}]})
    with pytest.raises(InvalidItemError, match="max_text_chars"):
        target.import_(messages, session_id="s")
    assert target.list() == ()


def test_a_file_keeps_to_the_limits(tmp_path: Path) -> None:
    """The error says which file, and the file stays."""
    ctx = session(Settings())
    ctx.add_user_message(LONG)
    path = save_session(ctx, tmp_path / "s.jsonl")
    with pytest.raises(StoreError, match="max_text_chars"):
        load_session(path, max_tokens=500, settings=SMALL)
    assert load_session(path, max_tokens=500).items[0].content == LONG


def test_a_stored_session_over_the_limits_loses_nothing(tmp_path: Path) -> None:
    """Lowered limits refuse to open it, rather than to leave something out."""
    url = f"sqlite:///{tmp_path}/s.db"
    with SessionManager(max_tokens=500, store=url) as wide, wide.open("s") as ctx:
        ctx.add_user_message(LONG)
    with (
        SessionManager(max_tokens=500, store=url, settings=SMALL) as narrow,
        pytest.raises(StoreError, match="max_text_chars"),
        narrow.open("s"),
    ):
        pass
    with SessionManager(max_tokens=500, store=url) as wide, wide.open("s") as ctx:
        assert ctx.items[0].content == LONG


def test_limits_can_be_changed() -> None:
    """By `configure`, from then on."""
    ctx = session()
    ctx.configure(settings=Settings())
    ctx.add_user_message(LONG)
    assert ctx.items[0].content == LONG


@pytest.mark.parametrize("name", list(ItemLimits.model_fields))
def test_a_limit_that_makes_no_sense_is_refused(name: str) -> None:
    """None is off, and nesting has a bound that Python sets."""
    with pytest.raises(ValueError, match=name):
        ItemLimits(**{name: 0})
    with pytest.raises(ValueError, match="max_nesting"):
        ItemLimits(max_nesting=201)
