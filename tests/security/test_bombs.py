"""Threat: something small that grows: nesting, numbers, gaps, pictures, archives."""

from __future__ import annotations

import ast
import base64
import contextlib
import json
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import context_builder
from context_builder import ContextBuilder, InvalidItemError, ToolCall
from context_builder.builtin_tools import answer
from context_builder.decide.facts import facts
from context_builder.decide.terms import terms
from context_builder.errors import ContextBuilderError, SessionCorruptedError
from context_builder.messages import ImagePart
from context_builder.render import adapter_names
from context_builder.sessions import SessionManager
from context_builder.sessions.codec import RecordCodec
from context_builder.sessions.journal import MOST_LOST_ITEMS
from context_builder.testing import WordCounter
from context_builder.tokens.images import image_size, image_tokens
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = {"schema": "context_builder.log", "version": 1}
DEEP = 5_000


def deep(levels: int) -> Any:
    """Return data that is nested so deep."""
    data: Any = []
    for _ in range(levels):
        data = [data]
    return data


def chat(result: object, *, max_tokens: int = 150) -> ContextBuilder:
    """Return a session in which old results left, and are told of."""
    ctx = ContextBuilder(max_tokens=max_tokens, counter=WordCounter())
    for number in range(4):
        call_id = f"c{number}"
        ctx.add_user_message(f"Question {number}?")
        ctx.add_assistant_message(tool_calls=[ToolCall(call_id, "f")])
        ctx.add_tool_result("f", result, tool_call_id=call_id)
        ctx.add_assistant_message("Answer. " + "word " * 20)
    ctx.add_user_message("And now?")
    return ctx


# --- nesting --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "enter",
    [
        lambda ctx, data: ctx.add_user_message("x", metadata={"a": data}),
        lambda ctx, data: ctx.add_tool_result("f", data),
        lambda ctx, data: ctx.set_tools([{"name": "f", "parameters": {"x": data}}]),
        lambda ctx, data: ctx.extend([{"role": "user", "content": data}]),
        lambda ctx, data: ctx.extend([data]),
        lambda ctx, data: ctx.add_response({"choices": data}),
        lambda ctx, data: ctx.add_user_message([{"type": "text", "text": data}]),
        lambda ctx, data: ctx.add_assistant_message(
            tool_calls=[{"id": "a", "function": {"name": "f", "arguments": data}}]
        ),
    ],
)
def test_deep_data_is_refused_by_a_typed_error(
    enter: Callable[[ContextBuilder, Any], object],
) -> None:
    """Not by Python's own, and nothing was added."""
    ctx = ContextBuilder(max_tokens=500, counter=WordCounter())
    with pytest.raises(InvalidItemError):
        enter(ctx, deep(DEEP))
    assert len(ctx.items) == 0


@pytest.mark.parametrize("target", adapter_names())
@pytest.mark.parametrize("levels", [150, 300, 900, 100_000])
def test_deep_text_is_text(target: str, levels: int) -> None:
    """A result or arguments that would be nested deep as JSON: the request is made."""
    ctx = chat("[" * levels + "]" * levels, max_tokens=1_000)
    ctx.add_assistant_message(
        tool_calls=[ToolCall("x", "f", '{"a":' + "[" * levels + "]" * levels + "}")]
    )
    ctx.add_tool_result("f", "x", tool_call_id="x")
    assert ctx.request(target, model=MODELS[target])


@pytest.mark.parametrize("levels", [900, DEEP])
@pytest.mark.parametrize("field", ["metadata", "reasoning"])
def test_a_deep_log_is_refused(field: str, levels: int) -> None:
    """By `load`, before anything of it counts."""
    data = {"a": deep(levels)}
    said: Any = data if field == "metadata" else [{"provider": "x", "data": data}]
    item = {"id": "i1", "role": "assistant", "content": "x", field: said}
    with pytest.raises(InvalidItemError, match="deep"):
        ContextBuilder.load([HEAD, {"entry": "item", "item": item}], max_tokens=500)


def imported(*bodies: bytes) -> SessionManager:
    """Import records that say this, with good checksums: anybody can work them out."""
    codec = RecordCodec()
    head = {"schema": "context_builder.session", "version": 1, "session_id": "s"}
    lines = [json.dumps(head).encode()]
    lines += [codec.encode(body, position=n) for n, body in enumerate(bodies)]
    sessions = SessionManager(max_tokens=500)
    sessions.import_(b"\n".join(lines))
    return sessions


ITEM = {"entry": "item", "item": {"id": "i1", "role": "user", "content": "x"}}


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_deep_record_is_damaged(opening: bytes) -> None:
    """An import is refused by its typed error."""
    with pytest.raises(SessionCorruptedError, match="not JSON"):
        imported(b'{"at":0,"entry":' + opening * 100_000 + b"}")


# --- numbers and gaps -----------------------------------------------------------------


@pytest.mark.parametrize("at", ['"abc"', "1e999", "[0]", "null", "-5", "true"])
def test_a_place_that_is_none_counts_as_none(at: str) -> None:
    """It is no reason to fail."""
    sessions = imported(f'{{"at":{at},"entry":{json.dumps(ITEM)}}}'.encode())
    with sessions.open("s") as ctx:
        assert [item.text for item in ctx.items] == ["x"]


def test_a_record_cannot_make_us_invent_a_billion_items() -> None:
    """Where so many would have been lost, the record itself is damaged."""
    at = MOST_LOST_ITEMS + 1
    item = {"id": f"i{at + 1}", "role": "user", "content": "x"}
    body = json.dumps({"at": at, "entry": {"entry": "item", "item": item}})
    with pytest.raises(SessionCorruptedError, match="no entry"):
        imported(body.encode())
    body = json.dumps({"at": 10**15, "entry": ITEM})
    with pytest.raises(SessionCorruptedError):
        imported(body.encode())


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 4_000, "9" * 5_000]
)
def test_numbers_that_are_none_are_text(number: str) -> None:
    """In what a tool returned: the session goes on, and builds."""
    facts(f"[{number}]")
    ctx = chat(f'[{number}, "{"abc " * 100}"]')
    assert ctx.build()
    assert ctx.recall("abc question")


@pytest.mark.parametrize("text", ["5 \u017fep, may", "may \u017fep 5", "\u0665 may"])
def test_a_month_in_strange_letters_is_a_month(text: str) -> None:
    """Letters that are equal only without case are looked up as such."""
    assert list(terms(text))
    assert chat(f"{text} " * 40).build()


def test_a_huge_bill_is_refused() -> None:
    """A vendor, or who stands between, may say what they like."""
    ctx = ContextBuilder(model="claude-sonnet-4-5", max_tokens=5_000)
    ctx.add_user_message("word " * 200)
    ctx.request("anthropic")
    with pytest.raises(InvalidItemError, match="at most"):
        ctx.record_usage(10**400)
    ctx.record_usage(10**12)
    assert ctx.request("anthropic")
    usage = {"entry": "usage", "model": "x", "estimated_tokens": 100}
    with pytest.raises(InvalidItemError, match="at most"):
        ContextBuilder.load([HEAD, usage | {"billed_tokens": 10**400}], max_tokens=100)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"query": ["x"]}',
        '{"query": {"x": 1}}',
        '{"handle": ["i1"]}',
        '{"handle": "i1", "lines": [1, 1]}',
        '{"handle": "i1", "lines": {"a": 1}}',
        '{"handle": "i1", "lines": "%s-2"}' % ("9" * 5_000),
        "[" * 100_000,
        '{"query": NaN}',
        "null",
        "\ud800",
    ],
)
def test_any_call_of_the_recall_tool_is_answered(arguments: str) -> None:
    """In words that the model can read; nothing is raised."""
    ctx = ContextBuilder(max_tokens=500, counter=WordCounter())
    ctx.add_user_message("one\ntwo")
    said = answer(ctx, ToolCall("a", "recall", arguments))
    assert said is not None
    assert said.startswith("<recalled")


def test_a_forged_excerpt_with_a_huge_number_harms_nothing() -> None:
    """Python reads no number of five thousand digits."""
    ctx = ContextBuilder(max_tokens=30_000, counter=WordCounter())
    ctx.add_user_message("zebra")
    ctx.add_assistant_message(tool_calls=[ToolCall("a", "recall")])
    text = f'<recalled handle="i1" source="x" chars="0-{"9" * 5_000}">x</recalled>'
    ctx.add_tool_result("recall", text, tool_call_id="a")
    ctx.add_user_message("And?")
    assert ctx.build()
    assert "zebra" in ctx.recall("zebra", skip_shown=True)


# --- pictures and archives ------------------------------------------------------------


def png(width: int, height: int) -> str:
    """Return the head of a picture that would take so many pixels."""
    size = struct.pack(">II", width, height)
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + size
    return base64.b64encode(head + b"\x08\x06\x00\x00\x00" + b"\0" * 64).decode()


@pytest.mark.parametrize("family", ["openai", "anthropic", "gemini", "qwen", "x"])
def test_a_picture_bomb_is_never_decoded(family: str) -> None:
    """Sixteen exapixels cost a bounded number of tokens, and no memory."""
    data = png(2**32 - 1, 2**32 - 1)
    assert image_size(data) == (2**32 - 1, 2**32 - 1)
    image_tokens(png(8, 8), family=family)  # what is loaded once is loaded now
    tracemalloc.start()
    try:
        tokens = image_tokens(data, family=family)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < tokens < 200_000
    assert peak_bytes < 4_000_000


@pytest.mark.parametrize("target", adapter_names())
def test_a_broken_picture_is_no_reason_to_fail(target: str) -> None:
    """Whatever its bytes say."""
    for data in ("!!!!", "AAAA", png(0, 0), png(2**32 - 1, 1), "iVBORw0KGgo="):
        ctx = ContextBuilder(max_tokens=200_000, counter=WordCounter())
        part = ImagePart(data=data, media_type="image/png")
        ctx.add_user_message([{"type": "text", "text": "Look."}, part])
        with contextlib.suppress(ContextBuilderError):  # refused, in its own words
            assert ctx.request(target, model=MODELS[target])


def test_nothing_from_outside_is_decompressed() -> None:
    """Only one module does it, with what it compressed itself, in memory."""
    package = Path(context_builder.__file__).parent
    archives = {"zlib", "gzip", "bz2", "lzma", "zipfile", "tarfile", "shutil"}
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and archives & {*(alias.name for alias in node.names), _module(node)}
        and {alias.name for alias in node.names} != {"crc32"}
    }
    assert users == {"packing.py", "tokens/vocabularies.py"}
    with pytest.raises(SessionCorruptedError):
        SessionManager(max_tokens=500).import_(zlib.compress(b"[" * 1_000_000))


def _module(node: ast.Import | ast.ImportFrom) -> str:
    return (node.module or "") if isinstance(node, ast.ImportFrom) else ""


OWN_JSON = {
    "collect/imports/openai_responses_pieces.py",
    "replay/judge.py",
    "sessions/cache.py",
    "sessions/journal.py",
    "tokens/models.py",
}
"""Modules that read back what they, or the package, wrote."""


def test_wherever_json_is_read_depth_is_minded() -> None:
    """Python's parser raises RecursionError, which is no ValueError."""
    package = Path(context_builder.__file__).parent
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        minded = {
            call
            for node in ast.walk(tree)
            if isinstance(node, ast.Try) and _minds_depth(node)
            for one in node.body
            for call in ast.walk(one)
        }
        for call in ast.walk(tree):
            if _reads_json(call) and name not in OWN_JSON:
                assert call in minded, f"{name}:{getattr(call, 'lineno', 0)}"


def _reads_json(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads"


def _minds_depth(node: ast.Try) -> bool:
    caught = [one.type for one in node.handlers if one.type is not None]
    said = " ".join(map(ast.unparse, caught))
    return "RecursionError" in said or "_DAMAGE" in said
