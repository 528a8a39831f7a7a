"""What SDKs give is taken as they give it: helpers' events, wrapped streams, bills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, InvalidItemError
from context_builder.items import UsageRecorded
from context_builder.render import adapter_names, validate
from tests.render.answers import TEXT
from tests.render.clients import Clients
from tests.render.sdk_types import MODELS
from tests.render.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from context_builder import ContextItem

LOOK = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[VendorServer]:
    """Give a server that plays every vendor."""
    with VendorServer() as running:
        yield running


@pytest.fixture(scope="module")
def clients(server: VendorServer) -> Iterator[Clients]:
    """Give the vendors' clients, which talk to that server."""
    made = Clients(server)
    yield made
    made.close()


def session(target: str) -> tuple[ContextBuilder, dict[str, Any]]:
    """Return a session in which the user asked something, and its request."""
    ctx = ContextBuilder(max_tokens=9_000, tools=[LOOK])
    ctx.add_user_message("Look at the sea.")
    return ctx, ctx.request(target, model=MODELS[target])


def whole(item: ContextItem | None) -> bool:
    """Say whether an answer was taken in with its text and its call, as finished."""
    assert item is not None
    (call,) = item.tool_calls
    said = (item.text, call.name, call.arguments, item.partial)
    return said == (TEXT, "look", '{"at": "sea"}', False)


def bills(ctx: ContextBuilder) -> list[UsageRecorded]:
    """Return the bills that a session took in."""
    return [entry for entry in ctx.log.since(0) if isinstance(entry, UsageRecorded)]


# --- streams by an SDK's helper -------------------------------------------------------


def test_events_of_openais_stream_helper(clients: Clients) -> None:
    """`chat.completions.stream` puts events of its own between the pieces."""
    ctx, request = session("openai")
    with clients["openai"].chat.completions.stream(**request) as stream:
        events = list(stream)
    assert {event.type for event in events} > {"chunk"}
    assert whole(ctx.add_response(events))


def test_events_of_responses_stream_helper(clients: Clients) -> None:
    """`responses.stream` adds what it parsed to the events."""
    ctx, request = session("openai-responses")
    with clients["openai-responses"].responses.stream(**request) as stream:
        assert whole(ctx.add_response(list(stream)))


def test_events_of_anthropics_stream_helper(clients: Clients) -> None:
    """`messages.stream` gives the joined text beside each piece."""
    ctx, request = session("anthropic")
    with clients["anthropic"].messages.stream(**request) as stream:
        assert whole(ctx.add_response(list(stream)))


def test_converses_stream_as_it_is_returned(clients: Clients) -> None:
    """`converse_stream` wraps its stream in an answer: neither has to be unwrapped."""
    ctx, request = session("bedrock")
    assert whole(ctx.add_response(clients["bedrock"].converse_stream(**request)))


def test_a_stream_beside_pings_is_read(clients: Clients) -> None:
    """What a server sends to keep the line open is no piece of the answer."""
    ctx, request = session("openai-responses")
    pieces = [piece.to_dict() for piece in clients.stream("openai-responses", request)]
    assert whole(ctx.add_response([pieces[0], {"type": "keepalive"}, *pieces[1:]]))


class _Breaking:
    """A stream that is no iterator, such as botocore's, and breaks off."""

    def __init__(self, pieces: list[Any], after: int) -> None:
        self._pieces, self._after = pieces, after

    def __iter__(self) -> Iterator[Any]:
        yield from self._pieces[: self._after]
        raise ConnectionError


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_what_came_of_a_stream_that_raises_is_kept(
    clients: Clients, *, is_wrapped: bool
) -> None:
    """The caller learns of the error, and the session has what was said until then."""
    ctx, request = session("bedrock")
    stream = _Breaking(list(clients.stream("bedrock", request)), after=3)
    with pytest.raises(ConnectionError):
        ctx.add_response({"stream": stream} if is_wrapped else stream)
    said = ctx.items[-1]
    assert (said.role, said.partial) == ("assistant", True)
    assert said.text
    assert TEXT.startswith(said.text)


def test_a_stream_that_is_awaited_is_refused_with_what_to_do() -> None:
    """It cannot be read here; nothing is added."""

    async def pieces() -> AsyncIterator[Any]:
        yield {}

    ctx, _ = session("openai")
    with pytest.raises(InvalidItemError, match="pass the pieces as a list"):
        ctx.add_response(pieces())
    assert len(ctx.items) == 1


# --- answers in the making ------------------------------------------------------------


def test_a_snapshot_of_an_unfinished_message_is_partial(clients: Clients) -> None:
    """Anthropic's client closes the arguments of a call that was not whole: it goes."""
    ctx, request = session("anthropic")
    with clients["anthropic"].messages.stream(**request) as stream:
        for event in stream:
            if event.type == "input_json":
                break
        snapshot = stream.current_message_snapshot
    assert snapshot.content[-1].type == "tool_use"
    item = ctx.add_response(snapshot)
    assert item is not None
    assert (item.text, item.tool_calls, item.partial) == (TEXT, (), True)


def test_a_snapshot_of_an_unfinished_completion_is_partial(clients: Clients) -> None:
    """It names no reason to have stopped."""
    ctx, request = session("openai")
    with clients["openai"].chat.completions.stream(**request) as stream:
        next(iter(stream))
        item = ctx.add_response(stream.current_completion_snapshot)
    assert item is not None
    assert item.partial
    assert TEXT.startswith(item.text)


# --- bills ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", adapter_names())
def test_a_bill_by_itself_counts_as_in_its_answer(
    clients: Clients, target: str
) -> None:
    """`record_usage(answer.usage)` says what `record_usage(answer)` says."""
    ctx, request = session(target)
    answer = clients.call(target, request)
    bill = {
        "gemini": lambda: answer.usage_metadata,
        "bedrock": lambda: answer["usage"],
        "ollama": lambda: answer,
    }.get(target, lambda: answer.usage)()
    ctx.record_usage(bill)
    alone = bills(ctx)[-1]
    ctx.add_response(answer)
    assert bills(ctx)[-1] == alone
    assert alone.billed_tokens > 0


def test_what_was_cached_counts_as_input_where_it_is_told_apart() -> None:
    """Anthropic and Bedrock leave it out of their sum."""
    for bill in (
        {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 1},
        {"inputTokens": 3, "cacheReadInputTokens": 40, "outputTokens": 1},
        {"prompt_tokens": 43, "prompt_tokens_details": {"cached_tokens": 40}},
        {"input_tokens": 43, "input_tokens_details": {"cached_tokens": 40}},
        {"promptTokenCount": 43, "cachedContentTokenCount": 40},
    ):
        ctx, _ = session("anthropic")
        ctx.record_usage(bill)
        assert bills(ctx)[-1].billed_tokens == 43, bill


# --- blocks of one vendor alone -------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "block", "goes_back"),
    [
        ("anthropic", {"type": "container_upload", "file_id": "file_1"}, True),
        ("anthropic", {"type": "dream", "of": "sheep"}, False),
        ("bedrock", {"guardContent": {"text": {"text": "Look."}}}, True),
        ("bedrock", {"dream": {"of": "sheep"}}, False),
    ],
)
def test_a_block_goes_back_only_where_the_vendor_takes_it(
    target: str, block: dict[str, Any], *, goes_back: bool
) -> None:
    """One of no known kind would be refused: what it was is said in words."""
    ctx = ContextBuilder(max_tokens=9_000)
    text = {"type": "text"} if target == "anthropic" else {}
    content = [{**text, "text": "Look."}, block]
    ctx.extend([{"role": "user", "content": content}], format=target)
    request = ctx.request(target, model=MODELS[target])
    assert validate(request, target) == []
    told = {**text, "text": "[dream]"}
    said = request["messages"][0]["content"]
    assert [{**one} for one in said][-1] == (block if goes_back else told)
