"""What an embedder is, and how it is asked. Values and protocols only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["AnyEmbedder", "AsyncEmbedder", "Embedder", "EmbeddingPolicy", "Vector"]

Vector = Sequence[float]
"""A list of numbers, or a row of an array."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, while its caller waits."""

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector for each text, all of one length, in order.

        Texts of one meaning have vectors of one direction: the cosine counts. Raise
        where that does not work: the session goes on with words alone.
        """


@runtime_checkable
class AsyncEmbedder(Protocol):
    """Turns texts into vectors without holding up the event loop."""

    async def aembed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return the vectors, as `Embedder.embed`."""


AnyEmbedder = Embedder | AsyncEmbedder
"""One of the two, or an object that is both."""


class EmbeddingPolicy(BaseModel):
    """When an embedder is asked, for how much, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    timeout_seconds: float = Field(default=10.0, gt=0)
    """What one question may take; later answers are dropped."""
    most_matches: int = Field(default=64, ge=1, le=1_000)
    """So many of the best passages are told for a message."""
    least_share: float = Field(default=0.3, ge=0, le=1)
    """What is so much less near than the best passage means something else. Models
    differ: of some, even what has nothing in common comes to two thirds of the best."""
    most_passages: int = Field(default=2_048, ge=1)
    """Of passages that have no vector yet, so many of the newest get one at a time; the
    older ones are found by words alone."""
    batch_texts: int = Field(default=256, ge=1)
    """Most texts that are handed over in one call."""
