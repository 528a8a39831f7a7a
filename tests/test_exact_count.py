from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anthropic
import cohere
import openai
import pytest
from google import genai

from context_builder import AdapterError, ContextBuilder
from context_builder.exact_count import (
    acount_request,
    count_request,
    countable_targets,
)
from context_builder.render import adapter_for, adapter_names
from tests.render.answers import COUNTED
from tests.render.clients import KEY, Clients
from tests.render.sdk_types import MODELS
from tests.render.server import VendorServer
from tests.render.test_every_vendor import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@pytest.fixture
def server() -> Iterator[VendorServer]:
    """Give a server that plays every vendor."""
    with VendorServer() as running:
        yield running


def request_for(target: str, *, tools: bool = True) -> dict[str, Any]:
    """Return a request with a bit of everything."""
    ctx = ContextBuilder(
        max_tokens=9_000, system_prompt="Be terse.", tools=TOOLS if tools else None
    )
    ctx.add_user_message("Look at the sea.")
    return ctx.request(target, model=MODELS[target])


COUNT_TEXTS = ("cohere", "xai")
"""Vendors that count texts, not requests."""


@pytest.mark.parametrize("target", countable_targets())
def test_the_vendors_own_endpoint_is_asked(server: VendorServer, target: str) -> None:
    """The SDK's client takes the arguments, and its figure is returned."""
    clients = Clients(server)
    counts_no_tools = {"gemini", "kimi", *COUNT_TEXTS}
    request = request_for(target, tools=target not in counts_no_tools)
    tokens = count_request(clients[target], request, target=target)
    clients.close()
    (_, sent) = server.sent[-1]
    assert "Look at the sea." in str(sent)
    assert "Be terse." in str(sent)
    if target in COUNT_TEXTS:
        words = len(sent["text"].split())
        adapter = adapter_for(target)
        assert tokens == words + adapter.request_tokens(request, lambda _: 0)
    else:
        assert tokens == COUNTED


ASYNC: Mapping[str, Callable[[str], Any]] = {
    "anthropic": lambda url: anthropic.AsyncAnthropic(base_url=url, api_key=KEY),
    "cohere": lambda url: cohere.AsyncClientV2(base_url=url, api_key=KEY),
    "gemini": lambda url: genai.Client(
        api_key=KEY, http_options=genai.types.HttpOptions(base_url=url)
    ),
    **dict.fromkeys(
        ("kimi", "openai", "openai-responses", "xai"),
        lambda url: openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY),
    ),
}


@pytest.mark.parametrize("target", ASYNC)
def test_the_awaitable_twin_asks_the_same(server: VendorServer, target: str) -> None:
    """The async client is awaited; question and figure are the same."""
    clients = Clients(server)
    request = request_for(target)
    expected = count_request(clients[target], request, target=target)
    clients.close()

    async def ask() -> int:
        client = ASYNC[target](server.url(target))
        tokens = await acount_request(client, request, target=target)
        for close in _closers(client):
            await close()
        return tokens

    assert asyncio.run(ask()) == expected
    half = len(server.sent) // 2
    assert server.sent[:half] == server.sent[half:]


def _closers(client: Any) -> list[Callable[[], Any]]:
    if isinstance(client, genai.Client):
        return [client.aio.aclose]
    if isinstance(client, cohere.AsyncClientV2):
        return [client._client_wrapper.httpx_client.httpx_client.aclose]
    return [client.close]


async def test_bedrocks_async_client_is_awaited_as_well() -> None:
    """Any client whose method can be awaited will do."""

    async def count_tokens(**asked: Any) -> dict[str, int]:
        assert set(asked) == {"modelId", "input"}
        return {"inputTokens": 7}

    client = SimpleNamespace(count_tokens=count_tokens)
    assert await acount_request(client, request_for("bedrock"), target="bedrock") == 7


def test_vertex_is_asked_for_the_whole_request() -> None:
    """There the client takes system prompt and tools."""
    asked: dict[str, Any] = {}

    def count_tokens(**given: Any) -> SimpleNamespace:
        asked.update(given)
        return SimpleNamespace(total_tokens=9)

    models = SimpleNamespace(count_tokens=count_tokens)
    client = SimpleNamespace(models=models, vertexai=True)
    assert count_request(client, request_for("gemini"), target="gemini") == 9
    assert set(asked["config"]) == {"system_instruction", "tools"}
    genai.types.CountTokensConfig.model_validate(asked["config"])


@pytest.mark.parametrize("target", ["gemini", "kimi"])
def test_what_a_vendor_does_not_count_is_added(
    server: VendorServer, target: str
) -> None:
    """These endpoints take no tools: our own count stands for them."""
    clients = Clients(server)
    tokens = count_request(clients[target], request_for(target), target=target)
    clients.close()
    assert COUNTED < tokens < COUNTED + 100


@pytest.mark.parametrize(
    "target", sorted(set(adapter_names()) - set(countable_targets()))
)
def test_a_vendor_that_counts_nothing_is_said_so(target: str) -> None:
    """The error names those that do."""
    with pytest.raises(AdapterError, match="anthropic"):
        count_request(object(), {}, target=target)


def test_a_long_text_is_counted_in_pieces() -> None:
    """Cohere's endpoint takes so much at a time."""
    asked: list[str] = []

    def tokenize(*, text: str, model: str, offline: bool) -> SimpleNamespace:
        assert (model, offline) == ("command-a-03-2025", False)
        asked.append(text)
        return SimpleNamespace(tokens=text.split())

    ctx = ContextBuilder(max_tokens=10**6)
    ctx.add_user_message("word " * 30_000)
    request = ctx.request("cohere", model="command-a-03-2025")
    client = SimpleNamespace(tokenize=tokenize)
    assert count_request(client, request, target="cohere") >= 30_000
    assert len(asked) == 3
