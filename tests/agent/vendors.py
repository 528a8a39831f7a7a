"""A server on this machine that plays vendors by a script, and checks what it is sent.

It is the strict server of `tests.render` with answers of our choice: a request takes
the next step of the script and gets it in its vendor's own form, whole or in pieces.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from typing import TYPE_CHECKING, Any

import anthropic
import openai
from google import genai

from tests.render.answers import sse
from tests.render.server import _KINDS, Json, VendorServer, _Handler, _Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["MODELS", "TARGETS", "Says", "ScriptedServer", "aclient", "aclose", "client"]

KEY = "key"
TARGETS = ("openai", "openai-responses", "anthropic", "gemini")
MODELS: Mapping[str, str] = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.4",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-3.5-flash",
    "openai-compatible": "some-model",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Says:
    """One answer of a model."""

    text: str = ""
    calls: tuple[tuple[str, Json | str], ...] = ()
    """Name and arguments; arguments that are text are sent as they are."""
    stop: str | None = None
    """The vendor's own word for why it stopped; None: as usual."""
    hold: threading.Event | None = None
    """In a stream, wait for this behind the text."""


class ScriptedServer(VendorServer):
    """Answers by its script, and after that with `Done.`."""

    def __init__(self, *script: Says) -> None:
        super().__init__()
        self.script = list(script)
        self.http.RequestHandlerClass = _Scripted
        self._lock = threading.Lock()
        self._calls = 0

    def play(self, *script: Says) -> None:
        """Forget what was, and answer by another script."""
        with self._lock:
            self.script[:] = script
            self._calls = 0
            self.sent.clear()

    def next(self) -> tuple[Says, int]:
        """Return what to answer, and the number of its first call."""
        with self._lock:
            said = self.script.pop(0) if self.script else Says("Done.")
            first = self._calls
            self._calls += len(said.calls)
            return said, first


class _Scripted(_Handler):
    def _answer(
        self, server: VendorServer, path: str, body: Json, arguments: Json
    ) -> None:
        assert isinstance(server, ScriptedServer)
        assert isinstance(self.server, _Server)
        said, first = server.next()
        kind = next(kind for ending, kind in _KINDS.items() if path.endswith(ending))
        model = str(arguments.get("model"))
        if body.get("stream") or "stream" in path.rpartition("/")[2]:
            self._stream(server, _held(_PIECES[kind](said, first, model), said, kind))
        else:
            self._send(200, _WHOLE[kind](said, first, model))


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


_TAILS = {"chat": 3, "responses": 2, "anthropic": 3, "gemini": 1}
"""Pieces that come behind the last of the text."""


def _held(pieces: Iterator[bytes], said: Says, kind: str) -> Iterator[bytes]:
    every = list(pieces)
    for number, piece in enumerate(every):
        if number == len(every) - _TAILS[kind] and said.hold is not None:
            said.hold.wait(10)
        yield piece


def client(target: str, server: VendorServer) -> Any:
    """Return the SDK's client that blocks."""
    url = server.url(target)
    if target == "anthropic":
        return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    if target == "gemini":
        return genai.Client(
            api_key=KEY, http_options=genai.types.HttpOptions(base_url=url)
        )
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def aclient(target: str, server: VendorServer) -> Any:
    """Return the SDK's client that is awaited."""
    url = server.url(target)
    if target == "anthropic":
        return anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)
    if target == "gemini":
        return client(target, server).aio
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


async def aclose(client: Any) -> None:
    """Close a client of either kind; Google's is of both."""
    for opened in (getattr(client, "aio", None), client):
        close = getattr(opened, "aclose", None) or getattr(opened, "close", None)
        closing = None if close is None else close()
        if closing is not None:
            await closing


# --- Chat Completions -----------------------------------------------------------------


def _written(arguments: Json | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _parsed(arguments: Json | str) -> Json:
    return {"text": arguments} if isinstance(arguments, str) else arguments


def _chat_calls(said: Says, first: int) -> list[Json]:
    return [
        {
            "id": f"call_{first + number}",
            "type": "function",
            "function": {"name": name, "arguments": _written(arguments)},
        }
        for number, (name, arguments) in enumerate(said.calls)
    ]


_CHAT_USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 10,
    "total_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 8},
}


def _chat(said: Says, first: int, model: str) -> Json:
    message: Json = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = _chat_calls(said, first)
    reason = said.stop or ("tool_calls" if said.calls else "stop")
    if reason == "refusal":
        message, reason = {**message, "content": None, "refusal": said.text}, "stop"
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": _CHAT_USAGE,
    }


def _chat_pieces(said: Says, first: int, model: str) -> Iterator[bytes]:
    whole = _chat(said, first, model)
    head = {**whole, "object": "chat.completion.chunk"}
    del head["usage"]
    choice = whole["choices"][0]

    def piece(delta: Json, reason: str | None = None) -> bytes:
        one = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**head, "choices": [one]})

    message = choice["message"]
    for key in ("content", "refusal"):
        for word in _words(message.get(key) or ""):
            yield piece({"role": "assistant", key: word})
    for number, call in enumerate(message.get("tool_calls") or ()):
        begun = {**call, "index": number}
        written = call["function"]["arguments"]
        begun["function"] = {**call["function"], "arguments": written[:3]}
        yield piece({"tool_calls": [begun]})
        rest = {"index": number, "function": {"arguments": written[3:]}}
        yield piece({"tool_calls": [rest]})
    yield piece({}, choice["finish_reason"])
    yield sse({**head, "choices": [], "usage": _CHAT_USAGE})
    yield b"data: [DONE]\n\n"


# --- Responses ------------------------------------------------------------------------


def _responses(said: Says, first: int, model: str) -> Json:
    output: list[Json] = []
    if said.text:
        kind = "refusal" if said.stop == "refusal" else "output_text"
        part: Json = {"type": kind, "annotations": []}
        part["refusal" if kind == "refusal" else "text"] = said.text
        message = {"type": "message", "id": "msg_1", "role": "assistant"}
        output.append({**message, "status": "completed", "content": [part]})
    for number, call in enumerate(_chat_calls(said, first)):
        made = {"type": "function_call", "id": f"fc_{first + number}"}
        output.append(
            {**made, "call_id": call["id"], **call["function"], "status": "completed"}
        )
    is_cut = said.stop == "max_output_tokens"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": said.stop} if is_cut else None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 40,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 50,
        },
    }


def _responses_pieces(said: Says, first: int, model: str) -> Iterator[bytes]:
    whole = _responses(said, first, model)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for number, item in enumerate(whole["output"]):
        at: Json = {"output_index": number}
        is_message = item["type"] == "message"
        empty: Json = {"content": []} if is_message else {"arguments": ""}
        events.append(
            {"type": "response.output_item.added", **at, "item": {**item, **empty}}
        )
        inside = {**at, "item_id": item["id"]}
        if is_message and said.stop != "refusal":
            events += [
                {
                    "type": "response.output_text.delta",
                    **inside,
                    "content_index": 0,
                    "delta": word,
                    "logprobs": [],
                }
                for word in _words(said.text)
            ]
        events.append({"type": "response.output_item.done", **at, "item": item})
    ends = "incomplete" if whole["incomplete_details"] else "completed"
    events.append({"type": f"response.{ends}", "response": whole})
    for number, event in enumerate(events):
        yield sse({**event, "sequence_number": number}, event["type"])


# --- Anthropic ------------------------------------------------------------------------


def _anthropic(said: Says, first: int, model: str) -> Json:
    content: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
    content += [
        {
            "type": "tool_use",
            "id": f"toolu_{first + number}",
            "name": name,
            "input": _parsed(arguments),
        }
        for number, (name, arguments) in enumerate(said.calls)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": said.stop or ("tool_use" if said.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": 32,
            "output_tokens": 10,
            "cache_read_input_tokens": 8,
            "cache_creation_input_tokens": 0,
        },
    }


def _anthropic_pieces(said: Says, first: int, model: str) -> Iterator[bytes]:
    whole = _anthropic(said, first, model)
    begun = {**whole, "content": [], "stop_reason": None}
    yield sse({"type": "message_start", "message": begun}, "message_start")
    for number, block in enumerate(whole["content"]):
        at = {"index": number}
        is_text = block["type"] == "text"
        empty: Json = {"text": ""} if is_text else {"input": {}}
        start = {"type": "content_block_start", **at, "content_block": block | empty}
        yield sse(start, "content_block_start")
        deltas: list[Json] = [
            {"type": "text_delta", "text": word} for word in _words(said.text)
        ]
        if not is_text:
            written = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": written}]
        for delta in deltas:
            event = {"type": "content_block_delta", **at, "delta": delta}
            yield sse(event, "content_block_delta")
        yield sse({"type": "content_block_stop", **at}, "content_block_stop")
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    end = {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield sse(end, "message_delta")
    yield sse({"type": "message_stop"}, "message_stop")


# --- Gemini ---------------------------------------------------------------------------


def _gemini(said: Says, first: int, model: str) -> Json:
    del first  # this vendor's calls have no ids
    parts: list[Json] = [{"text": said.text}] if said.text else []
    parts += [
        {"functionCall": {"name": name, "args": _parsed(arguments)}}
        for name, arguments in said.calls
    ]
    return _candidate(parts, model, said.stop or "STOP")


def _candidate(parts: list[Json], model: str, reason: str | None) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if reason:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "usageMetadata": {
            "promptTokenCount": 40,
            "cachedContentTokenCount": 8,
            "candidatesTokenCount": 10,
            "totalTokenCount": 50,
        },
    }


def _gemini_pieces(said: Says, first: int, model: str) -> Iterator[bytes]:
    whole = _gemini(said, first, model)
    for word in _words(said.text):
        yield sse(_candidate([{"text": word}], model, None))
    calls = [
        part
        for part in whole["candidates"][0]["content"]["parts"]
        if "text" not in part
    ]
    yield sse(_candidate(calls or [{"text": ""}], model, said.stop or "STOP"))


_WHOLE: Mapping[str, Callable[[Says, int, str], Json]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
_PIECES: Mapping[str, Callable[[Says, int, str], Iterator[bytes]]] = {
    "chat": _chat_pieces,
    "responses": _responses_pieces,
    "anthropic": _anthropic_pieces,
    "gemini": _gemini_pieces,
}
