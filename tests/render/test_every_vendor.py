from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.render import adapter_names
from tests.render.answers import TEXT
from tests.render.clients import CLIENTS, Clients
from tests.render.real_chats import (
    TRANSCRIPTS,
    failures_in,
    requests_of,
    wrong_endings,
)
from tests.render.sdk_types import MODELS
from tests.render.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import Iterator

every = pytest.mark.parametrize("target", adapter_names())
with_own_client = pytest.mark.parametrize("target", CLIENTS)

TOOLS = (
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
    },
)

BREAK_AFTER = {"anthropic": 3, "cohere": 3, "openai-responses": 4}
"""Pieces until text came; elsewhere it comes with the second."""


@pytest.fixture
def server() -> Iterator[VendorServer]:
    """Give a server that plays every vendor."""
    with VendorServer() as running:
        yield running


@pytest.fixture
def clients(server: VendorServer) -> Iterator[Clients]:
    """Give the vendors' clients, which talk to that server."""
    made = Clients(server)
    yield made
    made.close()


def session(**settings: Any) -> ContextBuilder:
    """Return a session in which the user asked something."""
    ctx = ContextBuilder(max_tokens=9_000, system_prompt="Be terse.", **settings)
    ctx.add_user_message("Look at the sea.")
    return ctx


# --- what is said ---------------------------------------------------------------------


@every
@pytest.mark.parametrize("record", TRANSCRIPTS, ids=lambda record: record["id"])
def test_real_conversations_are_accepted(target: str, record: dict[str, Any]) -> None:
    """Every request keeps the vendor's rules and types, and what was counted for it."""
    for number, request, ctx in requests_of(record, target):
        assert list(failures_in(request, ctx, target)) == [], number
    assert list(wrong_endings(record, target)) == []


@with_own_client
@pytest.mark.parametrize("record", TRANSCRIPTS, ids=lambda record: record["id"])
def test_the_vendors_own_client_sends_them(
    server: VendorServer, clients: Clients, target: str, record: dict[str, Any]
) -> None:
    """Each request is exactly arguments of the SDK's call, and arrives whole."""
    sent = 0
    for _, request, _ in requests_of(record, target):
        clients.call(target, request)
        sent += 1
    assert server.refused == []
    assert len(server.sent) == sent


@every
def test_families_are_reached_by_openais_client(
    server: VendorServer, clients: Clients, target: str
) -> None:
    """The last request of each conversation goes through, whoever listens."""
    for record in TRANSCRIPTS:
        requests = [request for _, request, _ in requests_of(record, target)]
        for request in requests[-1:]:
            clients.call(target, request)
    assert server.refused == []
    assert server.sent


# --- what is answered -----------------------------------------------------------------


@every
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_answer_is_taken_in_and_gone_on_from(
    server: VendorServer, clients: Clients, target: str, *, streamed: bool
) -> None:
    """Text, call and result of an answer stand in the next request, which is taken."""
    ctx = session(tools=TOOLS)
    send = clients.stream if streamed else clients.call
    for _ in range(2):
        request = ctx.request(target, model=MODELS[target])
        item = ctx.add_response(send(target, request))
        assert item is not None
        assert (item.text, item.partial) == (TEXT, False)
        (call,) = item.tool_calls
        assert (call.name, call.arguments) == ("look", '{"at": "sea"}')
        ctx.add_tool_result(call.name, "calm", tool_call_id=call.id or None)
    clients.call(target, ctx.request(target, model=MODELS[target]))
    assert server.refused == []


@every
def test_an_answer_without_calls_is_taken_in(clients: Clients, target: str) -> None:
    """Text alone is read from a whole answer and from a stream."""
    ctx = session()
    request = ctx.request(target, model=MODELS[target])
    for answer in (
        clients.call(target, request),
        list(clients.stream(target, request)),
    ):
        item = ctx.add_response(answer)
        assert item is not None
        assert (item.text, item.tool_calls, item.partial) == (TEXT, (), False)


@every
def test_a_stream_that_breaks_off_is_kept_as_partial(
    server: VendorServer, clients: Clients, target: str
) -> None:
    """What came in until then is there, and marked."""
    ctx = session()
    server.break_after = BREAK_AFTER.get(target, 2)
    pieces = []
    request = ctx.request(target, model=MODELS[target])
    with contextlib.suppress(Exception):
        for piece in clients.stream(target, request):
            pieces.append(piece)  # noqa: PERF402  what comes before it breaks is kept
    item = ctx.add_response(pieces)
    assert item is not None
    assert item.partial
    assert item.text
    assert TEXT.startswith(item.text)


def test_the_vendor_changes_with_every_request(
    server: VendorServer, clients: Clients
) -> None:
    """One session goes from vendor to vendor, calls and results included."""
    ctx = session(tools=TOOLS)
    for target in (*adapter_names(), *reversed(adapter_names())):
        request = ctx.request(target, model=MODELS[target])
        item = ctx.add_response(clients.call(target, request))
        assert item is not None
        for call in item.tool_calls:
            ctx.add_tool_result(call.name, "calm", tool_call_id=call.id or None)
    assert server.refused == []
    assert len(server.sent) == 2 * len(adapter_names())
