"""Threat: content in logs, in errors, in tracebacks, in `repr`s and in spans.

These end up in files and with services that nobody thought of when they were told.
"""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, ToolCall
from context_builder.collect import import_formats
from context_builder.collect.imports import read_request, read_response
from context_builder.items import ContextItem
from context_builder.messages import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
)
from context_builder.sessions import SessionManager
from context_builder.testing import WordCounter

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "walnut said: the door code is 4711"  # noqa: S105  what must not leak

ODD: tuple[Any, ...] = (
    SECRET,
    [SECRET],
    (SECRET,),
    {SECRET},
    SECRET.encode(),
    {SECRET: SECRET},
    {"type": SECRET},
    {"role": SECRET, "content": SECRET},
    {"choices": SECRET},
    {"choices": [{"message": {"role": SECRET, "content": [SECRET]}}]},
    {"content": [{"type": SECRET}], "role": "assistant", "type": "message"},
    {"output": [{"type": SECRET}]},
    {"candidates": [{"content": {"parts": [{SECRET: SECRET}]}}]},
    [{"type": SECRET}],
    [{"type": "text", "text": {SECRET: SECRET}}],
    [{"type": "image", "source": {"type": SECRET}}],
    [{"type": "image_url", "image_url": {"url": [SECRET]}}],
    [{"type": "document", "source": {"type": SECRET, "data": SECRET}}],
    [{"type": "input_audio", "input_audio": {SECRET: SECRET}}],
    [{"role": SECRET}],
    [{"role": SECRET, "content": SECRET}],
    [{"role": "user", "content": {SECRET: SECRET}}],
    [{"role": "user", "content": [{"type": SECRET}]}],
    [{"role": "user", "content": [{SECRET: {}}]}],
    [{"role": "user", "content": [{"image": {"format": SECRET}}]}],
    [{"role": "user", "parts": [{SECRET: SECRET}]}],
    [{"role": "assistant", "tool_calls": SECRET}],
    [{"role": "assistant", "tool_calls": [{"id": SECRET, SECRET: SECRET}]}],
    [{"role": "assistant", "tool_calls": [{"function": {"name": [SECRET]}}]}],
    [{"role": "assistant", "content": [{"type": "tool_use", "name": [SECRET]}]}],
    [{"role": "model", "parts": [{"functionCall": {"name": [SECRET]}}]}],
    [{"role": "tool", "tool_call_id": [SECRET], "content": SECRET}],
    [{"type": "function_call", "name": [SECRET], "arguments": {SECRET: SECRET}}],
)
"""What somebody said, where something else was expected: arguments get swapped."""


def session() -> ContextBuilder:
    """Return a session with one item."""
    ctx = ContextBuilder(max_tokens=2_000, counter=WordCounter())
    ctx.add_user_message("x")
    return ctx


DOORS: dict[str, Callable[[ContextBuilder, Any], object]] = {
    "user": lambda ctx, odd: ctx.add_user_message(odd),
    "memory": lambda ctx, odd: ctx.add_memory(odd),
    "role": lambda ctx, odd: ctx.add_message(odd, "x"),
    "assistant": lambda ctx, odd: ctx.add_assistant_message(odd),
    "calls": lambda ctx, odd: ctx.add_assistant_message("x", tool_calls=odd),
    "reasoning": lambda ctx, odd: ctx.add_assistant_message("x", reasoning=odd),
    "result": lambda ctx, odd: ctx.add_tool_result("f", odd),
    "tool": lambda ctx, odd: ctx.add_tool_result(odd, odd, tool_call_id=odd),
    "system": lambda ctx, odd: ctx.add_system_prompt(odd),
    "tools": lambda ctx, odd: ctx.set_tools(odd),
    "turn": lambda ctx, odd: ctx.add_turn(odd),
    "response": lambda ctx, odd: ctx.add_response(odd),
    "usage": lambda ctx, odd: ctx.record_usage(odd),
    "recall": lambda ctx, odd: ctx.recall(handle=odd),
    "remove": lambda ctx, odd: ctx.remove(odd),
    "content": lambda ctx, odd: ctx.edit("i1", content=odd),
    "field": lambda ctx, odd: ctx.edit("i1", **{SECRET: odd}),
    "target": lambda ctx, odd: ctx.build(odd),
    "format": lambda ctx, odd: ctx.extend([], format=odd),
    "load": lambda _, odd: ContextBuilder.load(odd, max_tokens=500),
    "import": lambda _, odd: SessionManager(max_tokens=500).import_(
        odd, session_id="s"
    ),
    "response alone": lambda _, odd: read_response(odd),
}


def _field(name: str) -> Callable[[ContextBuilder, Any], object]:
    return lambda ctx, odd: ctx.add_message("user", "x", **{name: odd})


def _entry(kind: str) -> Callable[[ContextBuilder, Any], object]:
    head = {"schema": "context_builder.log", "version": 1}
    names = ("item", "items", "tools", "item_id", "model", "covers")
    return lambda _, odd: ContextBuilder.load(
        [head, {"entry": kind, **dict.fromkeys(names, odd)}], max_tokens=500
    )


def _history(name: str) -> Callable[[ContextBuilder, Any], object]:
    return lambda ctx, odd: ctx.extend(odd, format=name)


def _request(name: str) -> Callable[[ContextBuilder, Any], object]:
    names = ("messages", "input", "contents", "system", "tools")
    return lambda _, odd: read_request(
        {**dict.fromkeys(names, odd), "model": SECRET}, format=name
    )


_FIELDS = ("priority", "source", "cache_key", "pinned", "name", "metadata")
_KINDS = ("item", "items", "system", "tools", "edit", "remove", SECRET)
DOORS |= {f"{name} of a message": _field(name) for name in _FIELDS}
DOORS |= {f"{kind} of a log": _entry(kind) for kind in _KINDS}
DOORS |= {f"extend {name}": _history(name) for name in import_formats()}
DOORS |= {f"request {name}": _request(name) for name in import_formats()}


def failure(work: Callable[[], object]) -> str:
    """Return all that an error says, with all its causes; nothing: there was none."""
    try:
        work()
    except Exception as error:
        return "".join(traceback.format_exception(error)) + repr(error)
    return ""


@pytest.mark.parametrize("door", DOORS)
def test_no_error_says_what_was_said(
    door: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not its message, not its traceback with all its causes, not an event."""
    for odd in ODD:
        ctx = session()
        with caplog.at_level(logging.DEBUG):
            told = failure(lambda c=ctx, o=odd: DOORS[door](c, o))  # type: ignore[misc]
            told += failure(ctx.explain)
        assert SECRET not in told, odd
    for record in caplog.records:
        assert SECRET not in str(record.__dict__)


@pytest.mark.parametrize(
    "value",
    [
        TextPart(text=SECRET, extra={"x": SECRET}),
        ImagePart(url=f"https://example.org/{SECRET}"),
        ImagePart(data=SECRET, media_type="image/png"),
        FilePart(text=SECRET),
        FilePart(data=SECRET),
        AudioPart(data=SECRET),
        ToolCall("c1", "f", SECRET, extra={"x": SECRET}),
        ReasoningPart("anthropic", SECRET, signature=SECRET, data={"x": SECRET}),
        ContextItem(
            role="assistant",
            content=SECRET,
            tool_calls=(ToolCall("c1", "f", SECRET),),
            reasoning=(ReasoningPart("anthropic", SECRET),),
            metadata={"x": SECRET},
        ),
        ContextItem(role="user", content=(TextPart(text=SECRET),)),
    ],
)
def test_no_repr_says_what_was_said(value: object) -> None:
    """Tools that report errors show the variables of each frame."""
    assert SECRET not in repr(value)
    assert SECRET not in f"{value}"
    assert SECRET not in repr([value])


def test_a_whole_life_logs_no_content(caplog: pytest.LogCaptureFixture) -> None:
    """Sessions, compactions, failures, imports: ids, counts and names alone."""
    with caplog.at_level(logging.DEBUG):
        sessions = SessionManager(max_tokens=150, counter=WordCounter())
        with sessions.open("s") as ctx:
            ctx.add_system_prompt(SECRET)
            for number in range(12):
                ctx.add_user_message(f"{SECRET} {number} " + "word " * 10)
                ctx.add_assistant_message(tool_calls=[ToolCall(f"c{number}", "f")])
                ctx.add_tool_result("f", SECRET * 3, tool_call_id=f"c{number}")
            ctx.add_user_message("And now?")
            assert ctx.explain().removed
        text = sessions.export("s")
        sessions.import_(text, session_id="t")
        sessions.fork("s", "u")
        with pytest.raises(ValueError, match="walnut"), sessions.open("s") as ctx:
            raise ValueError(SECRET)
        sessions.delete("s")
    assert {"context_built", "compacted", "session_committed"} <= {
        str(record.msg) for record in caplog.records
    }
    for record in caplog.records:
        assert SECRET not in str(record.__dict__)
        assert record.exc_info is None
