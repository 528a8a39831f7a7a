"""What is fuzzed: each target takes bytes, and says by an exception what is wrong.

An error of the library is no fault: that is how input is refused. Any other exception
is one, and so is a broken promise about what was accepted.
"""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    ContextBuilderError,
)
from context_builder.collect.imports import import_formats
from context_builder.decide.shorten import (
    MIN_TOKENS,
    gist,
    shorten_arguments,
    shorten_middle,
    shorten_text,
    truncate_chars,
)
from context_builder.render import adapter_names, validate
from context_builder.sessions import MemoryStore, SessionManager
from context_builder.sessions.codec import DamagedError, RecordCodec
from context_builder.sessions.journal import Journal
from context_builder.sessions.store import StoredRecords
from context_builder.tokens import counter_for
from fuzz.mutate import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["SEEDS", "TARGETS"]

Json = Any

DATA = Path(__file__).parents[1] / "tests" / "data"
FORMATS = import_formats()
BUDGET = 600
CHECKED = adapter_names()
"""Vendors, one of which is asked for the request of what was accepted."""

_COUNT = counter_for("o200k_base").count


# --- extend: every format -------------------------------------------------------------


def extend(data: bytes) -> None:
    """A history in any format is taken whole, or refused whole."""
    given = _document(data)
    if not isinstance(given, dict) or not isinstance(given.get("format"), str):
        return
    ctx = ContextBuilder(max_tokens=BUDGET, clock=lambda: 0.0)
    try:
        ctx.extend(given.get("messages"), format=given["format"])
    except ContextBuilderError:
        return
    check_session(ctx)


def check_session(ctx: ContextBuilder) -> None:
    """Check what a session makes of what it has accepted."""
    text = json.dumps(ctx.dump())
    _check_request(ctx, CHECKED[len(text) % len(CHECKED)])
    stored = json.loads(text)
    again = ContextBuilder.load(stored, max_tokens=BUDGET, clock=lambda: 0.0)
    _require(again.items == ctx.items, "loaded differs")
    _require(_built(again) == _built(ctx), "loaded builds differently")


def _check_request(ctx: ContextBuilder, target: str) -> None:
    try:
        request = ctx.request(target, model="some-model")
    except (AdapterError, BudgetExceededError):
        return
    report = ctx.explain(target, model="some-model")
    _require(report.tokens <= BUDGET, "over the budget")
    problems = validate(request, target)
    _require(not problems, f"{target}: {problems}")
    json.dumps(request, ensure_ascii=False, default=_said_bytes).encode()


def _said_bytes(value: object) -> str:
    """Say the bytes of Converse's pictures; nothing else is no JSON."""
    _require(isinstance(value, bytes), f"{type(value).__name__} in a request")
    return "bytes"


def _built(ctx: ContextBuilder) -> str:
    try:
        return json.dumps(ctx.build())
    except (AdapterError, BudgetExceededError) as error:
        return repr(error)


# --- answers: every vendor, whole and streamed ----------------------------------------


def answers(data: bytes) -> None:
    """An answer or a stream, however broken, is taken in or refused."""
    given = _document(data)
    ctx = ContextBuilder(max_tokens=BUDGET, clock=lambda: 0.0)
    ctx.add_user_message("Look at the sea.")
    try:
        item = ctx.add_response(given)
    except ContextBuilderError:
        return
    for call in item.tool_calls if item is not None else ():
        ctx.add_tool_result(call.name, "calm", tool_call_id=call.id or None)
    ctx.add_user_message("And now?")
    check_session(ctx)


# --- shortening -----------------------------------------------------------------------


def shorten(data: bytes) -> None:
    """Any text is brought to any size, whole where it fits, JSON where it was JSON."""
    if len(data) < 2:
        return
    most = MIN_TOKENS + data[0] * 2
    text = data[1:].decode("utf-8", "surrogateescape")
    for make in (shorten_text, shorten_middle):
        said = make(text, most, _COUNT)
        _require(_COUNT(said) <= most, f"{make.__name__} gives too much")
        _require(make(said, most, _COUNT) == said, f"{make.__name__} goes on")
        if _COUNT(text) <= most:
            _require(said == text, f"{make.__name__} changes what fits")
    arguments = shorten_arguments(text, most, _COUNT)
    _require(isinstance(json.loads(arguments), dict), "arguments are no object")
    _require(_COUNT(arguments) <= most, "arguments are too large")
    notice = 80
    _require(len(truncate_chars(text, most)) <= most + notice, "too many characters")
    gist(text)


# --- sessions: records, journals, imported documents ----------------------------------


def records(data: bytes) -> None:
    """Stored records, however damaged, are read or set aside; nothing is made up."""
    lines = tuple(data.split(b"\n"))
    codec = RecordCodec()
    for position, line in enumerate(lines):
        try:
            codec.decode(line, position=position)
        except (DamagedError, ContextBuilderError):
            continue
    taken: list[object] = []
    journal = Journal(codec)
    try:
        damage = journal.read(
            StoredRecords("x", 0, lines), lambda _, entry: taken.append(entry)
        )
    except ContextBuilderError:
        return
    _require(len(damage) + len(taken) <= len(lines), "records were made up")


def sealed(data: bytes) -> None:
    """A record whose checksum is right may say anything: it is read, or refused."""
    codec = RecordCodec()
    lines = data.split(b"\n")
    stored = [codec.encode(line, position=at) for at, line in enumerate(lines)]
    store = MemoryStore(clock=lambda: 0.0)
    with _sessions(store) as sessions:
        with sessions.open("s") as ctx:
            ctx.add_user_message("first")
        store._kept[next(iter(store._kept))].records[:] = stored  # noqa: SLF001
    with _sessions(store) as sessions:
        try:
            with sessions.open("s") as ctx:
                _built(ctx)
                ctx.add_user_message("go on")
        except ContextBuilderError:
            return
        with sessions.open("s") as ctx:
            _require(ctx.items[-1].text == "go on", "what came later is lost")


def imported(data: bytes) -> None:
    """A file that is imported is stored whole, or not at all."""
    with _sessions(MemoryStore(clock=lambda: 0.0)) as sessions:
        try:
            sessions.import_(data, session_id="s")
        except ContextBuilderError:
            _require(not [*sessions.list()], "a part was stored")
            return
        with sessions.open("s") as ctx:
            _built(ctx)


def _sessions(store: MemoryStore) -> SessionManager:
    return SessionManager(store=store, max_tokens=BUDGET, clock=lambda: 0.0)


def loaded(data: bytes) -> None:
    """What `load` is given is a log, or is refused."""
    entries = _document(data)
    try:
        ctx = ContextBuilder.load(entries, max_tokens=BUDGET, clock=lambda: 0.0)
    except ContextBuilderError:
        return
    check_session(ctx)


# --- seeds ----------------------------------------------------------------------------


def _histories() -> Iterator[Json]:
    for record in _transcripts(1):
        ctx = ContextBuilder(max_tokens=10**9, tools=record.get("tools"))
        ctx.extend(record["messages"][:6])
        for name in FORMATS:
            try:
                request = ctx.request(name, model="some-model")
            except AdapterError:
                continue
            field = next(f for f in ("messages", "contents", "input") if f in request)
            plain = json.loads(json.dumps(request, default=_plain))
            yield {"format": name, "messages": plain[field]}
            yield {"format": name, "messages": plain}


def _plain(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _answers() -> Iterator[Json]:
    from tests.machine.model import answers as known  # noqa: PLC0415  loads every SDK

    yield from known()


def _transcripts(most: int) -> list[Json]:
    text = (DATA / "transcripts.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()[:most]]


def _texts() -> Iterator[bytes]:
    samples = json.loads((DATA / "shorten_samples.json").read_text("utf-8"))
    for text in _strings(samples):
        yield b"\x10" + text.encode("utf-8", "surrogatepass")[:4_000]


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _strings(member)


def _logs() -> Iterator[ContextBuilder]:
    for record in _transcripts(2):
        ctx = ContextBuilder(max_tokens=900, tools=record.get("tools"), clock=_zero)
        ctx.extend(record["messages"][:6])
        ctx.add_system_prompt("Be terse.")
        ctx.add_memory("Likes tea.", cache_key="tea")
        item = ctx.add_user_message("one")
        if item is not None:
            ctx.edit(item.id, content="two", pinned=True)
            ctx.remove(item.id)
        with contextlib.suppress(BudgetExceededError):
            ctx.compact()
        ctx.learn_limit("some-model", 900)
        ctx.rewind(ctx.items[1].id)
        yield ctx


def _zero() -> float:
    return 0.0


def _files() -> Iterator[bytes]:
    from context_builder.sessions.exchange import write_document  # noqa: PLC0415
    from context_builder.sessions.journal import bodies_of  # noqa: PLC0415

    for ctx in _logs():
        yield write_document(bodies_of(list(ctx.log)), session_id="s")
        yield written(ctx.dump())
    for record in _transcripts(2):
        yield written({"messages": record["messages"][:5]})


def _bodies() -> Iterator[bytes]:
    from context_builder.sessions.journal import bodies_of  # noqa: PLC0415

    for ctx in _logs():
        yield b"\n".join(bodies_of(list(ctx.log)))


def _document(data: bytes) -> Json:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "extend": extend,
    "answers": answers,
    "shorten": shorten,
    "records": records,
    "sealed": sealed,
    "imported": imported,
    "loaded": loaded,
}
"""By name."""

SEEDS: Mapping[str, Callable[[], list[bytes]]] = {
    "extend": lambda: [written(seed) for seed in _histories()],
    "answers": lambda: [written(seed) for seed in _answers()],
    "shorten": lambda: [*_texts()],
    "records": lambda: [file.partition(b"\n")[2] for file in [*_files()][::2]],
    "sealed": lambda: [*_bodies()],
    "imported": lambda: [*_files()],
    "loaded": lambda: [written(ctx.dump()) for ctx in _logs()],
}
"""Real input for each target, to start from."""
