"""The default summariser: a chat model behind any OpenAI-compatible endpoint.

It asks for five fields as structured output, makes do with less where the endpoint
knows less, and says what was cut off, declined and billed. It holds no session: it sees
the request and nothing else.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from context_builder.errors import SummarizerError
from context_builder.summarizers.protocol import SummaryText
from context_builder.summarizers.rendering import FIELDS, prompt_messages

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI
    from openai.types.chat import ChatCompletion

    from context_builder.summarizers.protocol import SummaryRequest

__all__ = ["OpenAISummarizer"]

AnswerFormat = Literal["json_schema", "json_object", "text"]
_FORMATS: tuple[AnswerFormat, ...] = ("json_schema", "json_object", "text")
"""What is asked for, best first."""

_LEAST_OUTPUT_TOKENS = 2_048
"""Reasoning counts as output with some models: room for it is never cut this close."""
_FORMAT_STATUS = frozenset({400, 404, 415, 422, 501})
"""How endpoints refuse an argument that they do not know."""
_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com")
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)

_ASK_JSON = (
    "\nAnswer with one JSON object and nothing else. Its keys are "
    + ", ".join(name for name, _, _ in FIELDS)
    + "; goal is a string, each other a list of short strings."
)
_ASK_TEXT = (
    "\nAnswer with the record and nothing else: each field under its heading ("
    + ", ".join(heading for _, heading, _ in FIELDS)
    + "), short lines."
)
_LIST = {"type": "array", "items": {"type": "string"}}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        name: {
            **({"type": "string"} if name == "goal" else _LIST),
            "description": what,
        }
        for name, _, what in FIELDS
    },
    "required": [name for name, _, _ in FIELDS],
    "additionalProperties": False,
}

Steps = Generator[dict[str, Any], "ChatCompletion | Exception", SummaryText]


class OpenAISummarizer:
    """Writes summaries with a chat model; one may serve many sessions and threads.

    Args:
        model: The model's name at the endpoint.
        client: An `openai.OpenAI` of your own, for `summarize`.
        async_client: An `openai.AsyncOpenAI` of your own, for `asummarize`; it belongs
            to one event loop. None: one is made for each call.
        base_url: The endpoint, for clients that are made here; None: OpenAI's, or what
            the environment says.
        api_key: For clients that are made here; None: what the environment says.
        timeout_seconds: How long one call may take, where the client is made here.
        max_output_tokens: What the answer may take, reasoning included; None: twice the
            summary, and at least 2,048.
        extra: Further arguments of the call, such as `reasoning_effort`.
    """

    def __init__(
        self,
        *,
        model: str,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        max_output_tokens: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self._client = client
        self._async_client = async_client
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._max_output_tokens = max_output_tokens
        self._extra = dict(extra or {})
        self._lock = threading.Lock()
        self._formats = _FORMATS  # less, once the endpoint has refused the best

    def summarize(self, request: SummaryRequest) -> str:
        """Return the summary, with what the endpoint said of it.

        Raises:
            SummarizerError: If the endpoint failed; `__cause__` is the SDK's error.
            TimeoutError: If it did not answer in time.
        """
        from openai import OpenAIError  # noqa: PLC0415  loaded when it is used

        try:
            client = self._own_client()
            steps = self._steps(request, str(client.base_url))
            arguments = next(steps)
            while True:
                try:
                    answer = client.chat.completions.create(**arguments)
                except OpenAIError as error:
                    arguments = steps.send(error)
                else:
                    arguments = steps.send(answer)
        except StopIteration as stop:
            text: str = stop.value
            return text
        except OpenAIError as error:
            raise _own_error(error) from error

    async def asummarize(self, request: SummaryRequest) -> str:
        """Return the summary, as `summarize`.

        Raises:
            SummarizerError: As `summarize`.
            TimeoutError: As `summarize`.
        """
        from openai import AsyncOpenAI, OpenAIError  # noqa: PLC0415  as above

        try:
            if self._async_client is not None:
                return await self._asked(self._async_client, request)
            async with AsyncOpenAI(**self._client_arguments()) as client:
                return await self._asked(client, request)
        except OpenAIError as error:
            raise _own_error(error) from error

    async def _asked(self, client: AsyncOpenAI, request: SummaryRequest) -> str:
        from openai import OpenAIError  # noqa: PLC0415  as above

        steps = self._steps(request, str(client.base_url))
        try:
            arguments = next(steps)
            while True:
                try:
                    answer = await client.chat.completions.create(**arguments)
                except OpenAIError as error:
                    arguments = steps.send(error)
                else:
                    arguments = steps.send(answer)
        except StopIteration as stop:
            text: str = stop.value
            return text

    def _own_client(self) -> OpenAI:
        from openai import OpenAI  # noqa: PLC0415  as above

        with self._lock:
            if self._client is None:
                self._client = OpenAI(**self._client_arguments())
            return self._client

    def _client_arguments(self) -> dict[str, Any]:
        given = {"base_url": self._base_url, "api_key": self._api_key}
        known = {name: value for name, value in given.items() if value is not None}
        return {"timeout": self._timeout_seconds, "max_retries": 0, **known}

    def _steps(self, request: SummaryRequest, base_url: str) -> Steps:
        """Ask in the best format that the endpoint takes; remember which that is."""
        formats = self._formats
        while True:
            answer = yield self._arguments(request, formats[0], base_url)
            if not isinstance(answer, Exception):
                self._formats = formats
                return _read(answer)
            if len(formats) == 1 or not _may_be_the_format(answer):
                raise answer
            formats = formats[1:]

    def _arguments(
        self, request: SummaryRequest, form: AnswerFormat, base_url: str
    ) -> dict[str, Any]:
        system, data = prompt_messages(request)
        ask = _ASK_TEXT if form == "text" else _ASK_JSON
        is_openai = any(host in base_url for host in _OPENAI_HOSTS)
        limit = "max_completion_tokens" if is_openai else "max_tokens"
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": [{**system, "content": system["content"] + ask}, data],
            limit: self._max_output_tokens
            or max(_LEAST_OUTPUT_TOKENS, 2 * request.max_tokens),
        }
        if form != "text":
            arguments["response_format"] = _response_format(form)
        return {**arguments, **self._extra}


def _response_format(form: AnswerFormat) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    schema = {"name": "record", "strict": True, "schema": dict(_SCHEMA)}
    return {"type": "json_schema", "json_schema": schema}


def _may_be_the_format(error: Exception) -> bool:
    """Say whether the endpoint may have refused for the format's sake."""
    status = getattr(error, "status_code", None)
    is_overflow = getattr(error, "code", None) == "context_length_exceeded"
    return status in _FORMAT_STATUS and not is_overflow


def _own_error(error: Exception) -> Exception:
    """Return the library's error for the SDK's, without its text."""
    from openai import APITimeoutError  # noqa: PLC0415  as above

    if isinstance(error, APITimeoutError):
        return TimeoutError("the endpoint did not answer in time")
    status = getattr(error, "status_code", None)
    said = f"answered {status}" if status else f"failed with {type(error).__name__}"
    return SummarizerError(f"the summariser's endpoint {said}")


def _read(answer: ChatCompletion | str) -> SummaryText:
    """Read an answer, and what the endpoint says of it."""
    if isinstance(answer, str):  # what a proxy says in place of the endpoint
        return SummaryText(answer)
    usage = answer.usage
    choice = answer.choices[0] if answer.choices else None
    content = (choice.message.content or "") if choice else ""
    reason = choice.finish_reason if choice else None
    refusal = choice.message.refusal if choice else None
    return SummaryText(
        _as_text(content),
        is_cut_off=reason == "length",
        is_refusal=bool(refusal) or reason == "content_filter",
        input_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
    )


def _as_text(content: str) -> str:
    """Return the five fields as text; what is no such object is returned as it is."""
    said = _THOUGHT.sub("", content).strip()
    fenced = _FENCE.match(said)
    said = fenced.group(1).strip() if fenced else said
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return said
    if not isinstance(value, dict) or not any(name in value for name, _, _ in FIELDS):
        return said
    sections = [(heading, _entries(value.get(name))) for name, heading, _ in FIELDS]
    if not any(entries for _, entries in sections):
        return ""
    return "\n".join(_section(heading, entries) for heading, entries in sections)


def _entries(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    said = [
        entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False)
        for entry in values
        if entry not in (None, "", {}, [])
    ]
    return [" ".join(entry.split()) for entry in said if entry.strip()]


def _section(heading: str, entries: list[str]) -> str:
    if len(entries) < 2:  # noqa: PLR2004  a list begins at two
        return f"{heading}: {entries[0] if entries else 'none'}"
    return "\n".join([f"{heading}:", *(f"- {entry}" for entry in entries)])
