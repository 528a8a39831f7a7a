"""Asks an embedder: in a thread with a timeout, or as a task with one.

Whoever waits gets an answer in time, whatever the embedder does. Nothing that it raises
gets out; a cancellation passes through.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from context_builder.embeddings.protocol import (
    AnyEmbedder,
    AsyncEmbedder,
    Embedder,
    EmbeddingPolicy,
    Vector,
)
from context_builder.threads import begin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

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
    for some in _batches(texts, policy):
        vectors.extend(await embedder.aembed(some))  # += an array would add its numbers
    return vectors


def _begun(
    embedder: Embedder, texts: Sequence[str], policy: EmbeddingPolicy
) -> Future[Answer]:
    """Start to ask; what is raised is the answer."""

    def embedded() -> Answer:
        vectors: list[Vector] = []
        for some in _batches(texts, policy):
            vectors.extend(embedder.embed(some))
        return vectors

    return begin(embedded, name="embed", caught=_as_exception)


def _batches(texts: Sequence[str], policy: EmbeddingPolicy) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), policy.batch_texts):
        yield texts[start : start + policy.batch_texts]


def _as_exception(error: BaseException) -> Exception:
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"the embedder ended with {type(error).__name__}")
