"""Finds by meaning what words do not find: embeddings for recall, optional.

    ctx = ContextBuilder(model="gpt-4o", embedder=LocalEmbedder())

Any object with `embed` or `aembed` will do. What it found enters the log, so that a
session that is played again asks nobody; one that fails costs nothing but the meaning.
"""

from context_builder.embeddings.local import LocalEmbedder
from context_builder.embeddings.protocol import (
    AnyEmbedder,
    AsyncEmbedder,
    Embedder,
    EmbeddingPolicy,
)

__all__ = [
    "AnyEmbedder",
    "AsyncEmbedder",
    "Embedder",
    "EmbeddingPolicy",
    "LocalEmbedder",
]
