"""Asks an embedder: in a thread with a timeout, or as a task with one.

Whoever waits gets an answer in time, whatever the embedder does. Nothing that it raises
gets out; a cancellation passes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING

from context_builder.embeddings.protocol import (
    AnyEmbedder,
    AsyncEmbedder,
    Embedder,
    EmbeddingPolicy,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "aask", "ask"]

Answer = list[Vector] | Exception
"""A vector for each text, or what was raised."""


def ask(embedder: Embedder, texts: Sequence[str], policy: EmbeddingPolicy) -> Answer:
    """Return the vectors of texts, or why there are none; wait for them."""
    future = _begun(embedder, texts, policy)
    try:
        return future.result(policy.timeout_seconds)
    except TimeoutError:
        return TimeoutError("the embedder did not answer in time")


async def aask(
    embedder: AnyEmbedder, texts: Sequence[str], policy: EmbeddingPolicy
) -> Answer:
    """Return the vectors of texts, as `ask`; await them.

    One that has only `embed` runs in a thread of its own.

    Raises:
        asyncio.CancelledError: If the caller is cancelled; the embedder is, too.
    """
    try:
        async with asyncio.timeout(policy.timeout_seconds):
            if isinstance(embedder, AsyncEmbedder):
                return await _awaited(embedder, texts, policy)
            return await asyncio.wrap_future(_begun(embedder, texts, policy))
    except Exception as error:
        return error


async def _awaited(
    embedder: AsyncEmbedder, texts: Sequence[str], policy: EmbeddingPolicy
) -> Answer:
    vectors: list[Vector] = []
    for start in range(0, len(texts), policy.batch_texts):
        some = await embedder.aembed(texts[start : start + policy.batch_texts])
        vectors.extend(some)  # to += an array would be to add its numbers
    return vectors


def _begun(
    embedder: Embedder, texts: Sequence[str], policy: EmbeddingPolicy
) -> Future[Answer]:
    """Start to ask in a thread that nobody has to wait for, with the same context."""
    future: Future[Answer] = Future()
    context = contextvars.copy_context()

    def embedded() -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), policy.batch_texts):
            vectors.extend(embedder.embed(texts[start : start + policy.batch_texts]))
        return vectors

    def run() -> None:
        try:
            answer: Answer = context.run(embedded)
        except Exception as error:
            answer = error
        except BaseException as error:  # a thread has nobody else to tell
            answer = RuntimeError(f"the embedder ended with {type(error).__name__}")
        with contextlib.suppress(InvalidStateError):  # given up before it answered
            future.set_result(answer)

    thread = threading.Thread(target=run, name="context-builder-embed", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # no more threads, or the program is ending
        future.set_result(error)
    return future
