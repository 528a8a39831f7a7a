"""A model without a model: on this machine, without a key, the same answer each time.

It has the interface of OpenAI's client, `chat.completions.create`, so that whatever
speaks to that client can be shown and tested offline.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from typing import TYPE_CHECKING, Any

from context_builder.agent.offline.answering import OfflineReply, Scripted, reply_to
from context_builder.agent.offline.bill import Till, pieces_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from openai.types.chat import ChatCompletion, ChatCompletionChunk

__all__ = ["OfflineModel"]

Json = dict[str, Any]
_PIECE_CHARS = 24


class OfflineModel:
    """Answers from what it is sent: quotes the context, keeps to wishes, calls tools.

    It calls a tool when the user asks for it by name (`use search for rivers`), tells
    what tools returned, and otherwise quotes the sentences of its context that share
    the most with the question. Every answer begins with `[offline]`.

        model = OfflineModel()
        model.chat.completions.create(model="offline", messages=[...])
        await model.aio.chat.completions.create(model="offline", messages=[...])

    Args:
        script: What to answer first, in order: texts, `OfflineReply` values, or errors
            to raise. After that it answers by itself.
        delay_seconds: How long it takes for each piece of an answer. The pace is its
            own: who is slow to take a piece does not put off those that follow.
        tells_wishes: Say in each answer which wishes of the user it keeps to; it keeps
            to them in any case.
    """

    name = "offline"
    """A name that says what it is, where a request has to name a model."""

    def __init__(
        self,
        script: Iterable[Scripted] = (),
        *,
        delay_seconds: float = 0.0,
        tells_wishes: bool = True,
    ) -> None:
        self._script = list(script)
        self._delay_seconds = delay_seconds
        self._tells_wishes = tells_wishes
        self._till = Till()
        self._lock = threading.Lock()
        self.chat = _Chat(_Completions(self))
        self.aio = _Async(_AsyncCompletions(self))

    def close(self) -> None:
        """Do nothing: there is no connection."""

    # --- inside ---------------------------------------------------------------------

    def answer(self, request: Mapping[str, Any]) -> Json:
        """Return the answer as plain data, and what it costs.

        Raises:
            Exception: What the script says.
        """
        with self._lock:
            said = self._script.pop(0) if self._script else None
        if said is None:
            said = reply_to(request, tells_wishes=self._tells_wishes)
        if isinstance(said, Exception):
            raise said
        reply = OfflineReply(said) if isinstance(said, str) else said
        return _completion(request, reply, self._till)

    def pieces(self, request: Mapping[str, Any]) -> Iterator[Json]:
        """Return the answer in pieces, as plain data."""
        return _chunks(self.answer(request), request)

    @property
    def delay_seconds(self) -> float:
        """How long each piece takes."""
        return self._delay_seconds


class _Chat:
    def __init__(self, completions: Any) -> None:
        self.completions = completions


class _Async:
    """The same model for those who await."""

    def __init__(self, completions: _AsyncCompletions) -> None:
        self.chat = _Chat(completions)

    async def __aenter__(self) -> _Async:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: there is no connection."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class _Completions:
    def __init__(self, model: OfflineModel) -> None:
        self._model = model

    def create(
        self, *, stream: bool = False, **request: Any
    ) -> ChatCompletion | Iterator[ChatCompletionChunk]:
        """Answer, as `openai.OpenAI().chat.completions.create`."""
        from openai.types.chat import (  # noqa: PLC0415  loaded when it is used
            ChatCompletion,
            ChatCompletionChunk,
        )

        asked_at = time.monotonic()
        if stream:
            pieces = self._slow(self._model.pieces(request), asked_at)
            return (ChatCompletionChunk.model_validate(one) for one in pieces)
        answer = ChatCompletion.model_validate(self._model.answer(request))
        time.sleep(_left(asked_at + self._model.delay_seconds))
        return answer

    def _slow(self, pieces: Iterator[Json], asked_at: float) -> Iterator[Json]:
        for number, piece in enumerate(pieces, 1):
            time.sleep(_left(asked_at + number * self._model.delay_seconds))
            yield piece


class _AsyncCompletions:
    def __init__(self, model: OfflineModel) -> None:
        self._model = model

    async def create(
        self, *, stream: bool = False, **request: Any
    ) -> ChatCompletion | AsyncIterator[ChatCompletionChunk]:
        """Answer, as `openai.AsyncOpenAI().chat.completions.create`."""
        from openai.types.chat import ChatCompletion  # noqa: PLC0415  as above

        asked_at = time.monotonic()
        if stream:
            return self._streamed(self._model.pieces(request), asked_at)
        answer = ChatCompletion.model_validate(self._model.answer(request))
        await asyncio.sleep(_left(asked_at + self._model.delay_seconds))
        return answer

    async def _streamed(
        self, pieces: Iterator[Json], asked_at: float
    ) -> AsyncIterator[ChatCompletionChunk]:
        from openai.types.chat import ChatCompletionChunk  # noqa: PLC0415  as above

        for number, piece in enumerate(pieces, 1):
            await asyncio.sleep(_left(asked_at + number * self._model.delay_seconds))
            yield ChatCompletionChunk.model_validate(piece)


def _left(due: float) -> float:
    """Return how long it is until a moment of the monotonic clock."""
    return max(0.0, due - time.monotonic())


# --- in OpenAI's form -----------------------------------------------------------------


def _completion(request: Mapping[str, Any], reply: OfflineReply, till: Till) -> Json:
    pieces = pieces_of(request)
    seed = hashlib.sha256(f"[{', '.join(pieces)}]".encode()).hexdigest()
    calls = [
        {
            "id": f"call_{seed[:16]}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(reply.calls)
    ]
    message: Json = {"role": "assistant", "content": reply.text or None}
    if calls:
        message["tool_calls"] = calls
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    said = reply.text + reply.reasoning + "".join(one.arguments for one in reply.calls)
    return {
        "id": f"chatcmpl-{seed[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": str(request.get("model") or OfflineModel.name),
        "choices": [
            {
                "index": 0,
                "finish_reason": reply.finish_reason or _reason(calls),
                "message": message,
            }
        ],
        "usage": till.bill(request, said, pieces=pieces),
    }


def _reason(calls: list[Json]) -> str:
    return "tool_calls" if calls else "stop"


def _chunks(answer: Json, request: Mapping[str, Any]) -> Iterator[Json]:
    choice = answer["choices"][0]
    message = choice["message"]
    head = {**answer, "object": "chat.completion.chunk"}
    del head["usage"]

    def piece(delta: Json, reason: str | None = None) -> Json:
        said = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**head, "choices": [said]}

    yield piece({"role": "assistant", "content": ""})
    for key in ("reasoning_content", "content"):
        text = message.get(key) or ""
        for start in range(0, len(text), _PIECE_CHARS):
            yield piece({key: text[start : start + _PIECE_CHARS]})
    for number, call in enumerate(message.get("tool_calls") or ()):
        yield piece({"tool_calls": [{"index": number, **call}]})
    yield piece({}, choice["finish_reason"])
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": answer["usage"]}
