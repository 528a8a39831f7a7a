"""Asks the vendor itself how many tokens a request has, with the caller's own client.

Opt-in, and the only counting that uses the network. The client is the vendor's SDK's,
handed in; no SDK is imported. What a vendor counts with is no part of a decision: a
request is counted when it is finished.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, cast

from context_builder.collect import read_request
from context_builder.errors import AdapterError
from context_builder.items import ContextItem
from context_builder.render import Prompt, adapter_for
from context_builder.settings import RequestOptions

__all__ = ["acount_request", "count_request", "countable_targets"]

Request = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """A call of the SDK: where it is, and what it is given."""

    path: str
    arguments: dict[str, Any]

    def method(self, client: Any) -> Callable[..., Any]:
        """Return the SDK's method."""
        return cast(
            "Callable[..., Any]",
            functools.reduce(getattr, self.path.split("."), client),
        )


Flow = Generator[_Question, Any, int]
"""Yields questions, takes the SDK's answers, returns the tokens."""


def countable_targets() -> tuple[str, ...]:
    """Return the targets whose vendor counts requests."""
    return tuple(sorted(_FLOWS))


def count_request(client: Any, request: Request, *, target: str = "openai") -> int:
    """Return the input tokens of a finished request, as its vendor counts them.

    Where a vendor counts less than a whole request, the rest is added by our own count:
    Cohere and xAI count texts alone, Kimi and the Gemini API (not Vertex AI) no tools.
    OpenAI counts Responses; a Chat request is counted as the Responses request that
    says the same.

    Args:
        client: The vendor's SDK's client: `Anthropic()`, `genai.Client()`, `OpenAI()`,
            `boto3.client("bedrock-runtime")`, `cohere.ClientV2()`; for Kimi and xAI
            OpenAI's with the vendor's `base_url`.
        request: What `ContextBuilder.request` returned.
        target: For which target.

    Raises:
        AdapterError: If this vendor counts no requests. The SDK's errors pass through.
    """
    flow = _flow(client, request, target)
    question = next(flow)
    while True:
        answer = question.method(client)(**question.arguments)
        try:
            question = flow.send(answer)
        except StopIteration as stop:
            return cast("int", stop.value)


async def acount_request(
    client: Any, request: Request, *, target: str = "openai"
) -> int:
    """Await what `count_request` returns, with the SDK's async client.

    Raises:
        AdapterError: As `count_request`.
    """
    flow = _flow(client, request, target)
    if target == "gemini":
        client = getattr(client, "aio", client)
    question = next(flow)
    while True:
        asked: Awaitable[Any] = question.method(client)(**question.arguments)
        answer = await asked
        try:
            question = flow.send(answer)
        except StopIteration as stop:
            return cast("int", stop.value)


def _flow(client: object, request: Request, target: str) -> Flow:
    make = _FLOWS.get(target)
    if make is None:
        known = ", ".join(countable_targets())
        message = f"{target} has no endpoint that counts; these have: {known}"
        raise AdapterError(message, adapter=target)
    if target == "gemini":
        return make(request, takes_config=bool(getattr(client, "vertexai", False)))
    return make(request)


def _only(request: Request, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: request[name] for name in names if name in request}


# --- one vendor each ------------------------------------------------------------------

_ANTHROPIC = (
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "extra_headers",
    "extra_body",
)


def _anthropic(request: Request) -> Flow:
    answer = yield _Question("messages.count_tokens", _only(request, _ANTHROPIC))
    return int(answer.input_tokens)


_RESPONSES = (
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "truncation",
    "extra_headers",
    "extra_body",
)


def _responses(request: Request) -> Flow:
    asked = _only(request, _RESPONSES)
    answer = yield _Question("responses.input_tokens.count", asked)
    return int(answer.input_tokens)


def _chat(request: Request) -> Flow:
    """Count a Chat request as the Responses request that says the same."""
    read = read_request(request, format="openai")
    system = read.system and ContextItem(role="system", content=read.system)
    prompt = Prompt(
        items=read.items,
        system=system or None,
        tools=read.tools,
        model=request.get("model"),
        options=RequestOptions(
            tool_choice=request.get("tool_choice"),
            response_format=request.get("response_format"),
        ),
    )
    return _responses(adapter_for("openai-responses").render(prompt).request)


def _gemini(request: Request, *, takes_config: bool) -> Flow:
    """Ask with all of the request where the client can say it, which is Vertex AI's.

    The Gemini API's client takes contents alone: there, the system prompt is counted as
    the text that it is, and the tools by our own count.
    """
    config = request.get("config") or {}
    asked = _only(request, ("model", "contents"))
    if takes_config:
        named = _only(config, ("system_instruction", "tools"))
        answer = yield _Question(
            "models.count_tokens", {**asked, **({"config": named} if named else {})}
        )
        return int(answer.total_tokens)
    system = config.get("system_instruction")
    if system:
        parts = system["parts"] if isinstance(system, Mapping) else [{"text": system}]
        content = {"role": "user", "parts": parts}
        asked["contents"] = [content, *request["contents"]]
    answer = yield _Question("models.count_tokens", asked)
    bare = {key: value for key, value in config.items() if not key.startswith("tool")}
    without = {**request, "config": bare}
    return int(answer.total_tokens) + _difference("gemini", request, without)


def _difference(target: str, request: Request, without: Request) -> int:
    """Return what our own count says that a request takes more than a part of it."""
    adapter = adapter_for(target)
    count = adapter.counter(request.get("model")).count
    return adapter.request_tokens(request, count) - adapter.request_tokens(
        without, count
    )


_CONVERSE = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def _bedrock(request: Request) -> Flow:
    said = {"converse": _only(request, _CONVERSE)}
    asked = {"modelId": request["modelId"], "input": said}
    answer = yield _Question("count_tokens", asked)
    return int(answer["inputTokens"])


MOST_CHARS = 60_000
"""Cohere's endpoint takes a little more at a time."""


def _texts_of(request: Request, target: str) -> tuple[str, int]:
    """Return all texts of a request, and what we count besides: the framing."""
    texts: list[str] = []

    def collect(text: str) -> int:
        texts.append(text)
        return 0

    framing = adapter_for(target).request_tokens(request, collect)
    return "\n".join(text for text in texts if text), framing


def _cohere(request: Request) -> Flow:
    """Have the texts counted by the vendor, and add the framing that we count."""
    said, tokens = _texts_of(request, "cohere")
    for start in range(0, len(said), MOST_CHARS):
        asked = {
            "text": said[start : start + MOST_CHARS],
            "model": request["model"],
            "offline": False,
        }
        answer = yield _Question("tokenize", asked)
        tokens += len(answer.tokens)
    return tokens


def _post(path: str, body: Mapping[str, Any]) -> _Question:
    """Ask what OpenAI's client has no method for."""
    return _Question("post", {"path": path, "body": dict(body), "cast_to": object})


def _kimi(request: Request) -> Flow:
    """Have the messages counted by the vendor; the tools are counted by us."""
    said = _only(request, ("model", "messages"))
    answer = yield _post("/tokenizers/estimate-token-count", said)
    return int(answer["data"]["total_tokens"]) + _difference("kimi", request, said)


def _xai(request: Request) -> Flow:
    """Have the texts counted by the vendor, and add the framing that we count."""
    said, tokens = _texts_of(request, "xai")
    asked = {"text": said, "model": request["model"]}
    answer = yield _post("/tokenize-text", asked)
    return tokens + len(answer["token_ids"])


_FLOWS: Mapping[str, Callable[..., Flow]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "gemini": _gemini,
    "kimi": _kimi,
    "openai": _chat,
    "openai-responses": _responses,
    "xai": _xai,
}
"""By target."""
