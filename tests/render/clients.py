"""The vendors' own clients, each pointed at a server on this machine.

A client takes the arguments that a session's request has, and gives the answer back as
the SDK gives it: an object, or the pieces of a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import boto3  # type: ignore[import-untyped]
import cohere
import ollama
import openai
from botocore.config import Config  # type: ignore[import-untyped]
from google import genai
from mistralai.client import Mistral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tests.render.server import VendorServer

__all__ = ["CLIENTS", "Clients", "call_of", "pieces_of"]

Arguments = dict[str, Any]

KEY = "key"


def _bedrock(url: str) -> Any:
    """Return a client of Bedrock's runtime."""
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )


def _openai(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


CLIENTS: Mapping[str, Callable[[str], Any]] = {
    "openai": _openai,
    "openai-responses": _openai,
    "anthropic": lambda url: anthropic.Anthropic(
        base_url=url, api_key=KEY, max_retries=0
    ),
    "gemini": lambda url: genai.Client(
        api_key=KEY, http_options=genai.types.HttpOptions(base_url=url)
    ),
    "bedrock": _bedrock,
    "mistral": lambda url: Mistral(server_url=url, api_key=KEY),
    "cohere": lambda url: cohere.ClientV2(base_url=url, api_key=KEY),
    "ollama": lambda url: ollama.Client(host=url),
}
"""By target; the others are reached by OpenAI's client."""

_CLOSERS: Mapping[str, Callable[[Any], None]] = {
    "cohere": lambda client: client._client_wrapper.httpx_client.httpx_client.close(),
    "mistral": lambda client: client.__exit__(None, None, None),
    "ollama": lambda client: client._client.close(),
}
"""Where a client has no `close()`."""


def _close(client: Any) -> None:
    client.close()


class Clients:
    """Makes clients for one server, one a target, and closes them in the end."""

    def __init__(self, server: VendorServer) -> None:
        self._server = server
        self._made: dict[str, Any] = {}

    def __getitem__(self, target: str) -> Any:
        if target not in self._made:
            make = CLIENTS.get(target, _openai)
            self._made[target] = make(self._server.url(target))
        return self._made[target]

    def call(self, target: str, request: Arguments) -> Any:
        """Send a request, and return the answer."""
        return call_of(target, self[target])(**request)

    def stream(self, target: str, request: Arguments) -> Iterator[Any]:
        """Send a request, and yield the pieces of the answer."""
        return pieces_of(target, self[target], request)

    def close(self) -> None:
        """Close what was opened."""
        for target, client in self._made.items():
            _CLOSERS.get(target, _close)(client)


_CALLS: Mapping[str, Callable[[Any], Callable[..., Any]]] = {
    "openai-responses": lambda client: client.responses.create,
    "anthropic": lambda client: client.messages.create,
    "gemini": lambda client: client.models.generate_content,
    "bedrock": lambda client: client.converse,
    "mistral": lambda client: client.chat.complete,
    "cohere": lambda client: client.chat,
    "ollama": lambda client: client.chat,
}


def call_of(target: str, client: Any) -> Callable[..., Any]:
    """Return the call that takes a request for a target."""
    own = _CALLS.get(target)
    return own(client) if own else client.chat.completions.create


_STREAMS: Mapping[str, Callable[[Any, Arguments], Iterable[Any]]] = {
    "openai-responses": lambda client, asked: client.responses.create(
        **asked, stream=True
    ),
    "anthropic": lambda client, asked: client.messages.create(**asked, stream=True),
    "gemini": lambda client, asked: client.models.generate_content_stream(**asked),
    "bedrock": lambda client, asked: client.converse_stream(**asked)["stream"],
    "mistral": lambda client, asked: client.chat.stream(**asked),
    "cohere": lambda client, asked: client.chat_stream(**asked),
    "ollama": lambda client, asked: client.chat(**asked, stream=True),
}


def pieces_of(target: str, client: Any, asked: Arguments) -> Iterator[Any]:
    """Yield the pieces of a stream, as the SDK gives them."""
    own = _STREAMS.get(target)
    if own is not None:
        yield from own(client, asked)
    else:
        yield from client.chat.completions.create(**asked, stream=True)
