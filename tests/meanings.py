"""Embedders without a model: words of one meaning have one direction, others none."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from context_builder import ContextBuilder
from context_builder.items import PassagesMatched
from context_builder.testing import WordCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

MEANINGS = (
    {"allergic", "peanuts", "ill", "sick"},
    {"nurse", "hospital", "profession"},
    {"dog", "bello", "pet"},
)


class MeaningEmbedder:
    """Counts the words of each meaning; it keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    @property
    def texts(self) -> list[str]:
        """All texts that it was asked for, in order."""
        return [text for texts in self.asked for text in texts]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors."""
        self.asked.append(list(texts))
        return [_vector(text) for text in texts]


class AsyncMeaningEmbedder:
    """The same, for those who await it."""

    def __init__(self) -> None:
        self.calls = 0

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors."""
        self.calls += 1
        await asyncio.sleep(0)
        return [_vector(text) for text in texts]


class BrokenEmbedder(MeaningEmbedder):
    """Raises, or hangs until it is released, or answers what is no answer."""

    def __init__(self, behaviour: object) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.released = threading.Event()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Do as told."""
        vectors = super().embed(texts)
        match self.behaviour:
            case Exception():
                raise self.behaviour
            case "hang":
                self.released.wait(60)
            case "fewer":
                return vectors[1:]
            case "ragged":
                return [vector[: 1 + n] for n, vector in enumerate(vectors)]
            case "not numbers":
                return [["a"] for _ in vectors]  # type: ignore[list-item]
            case "infinite":
                return [[float("inf")] for _ in vectors]
            case "no vectors":
                return None  # type: ignore[return-value]
        return vectors


def _vector(text: str) -> list[float]:
    words = {word.strip("?.,").lower() for word in text.split()}
    return [float(len(words & meaning)) for meaning in MEANINGS]


FACTS = (
    "I am allergic to peanuts, and to nothing else that I know of so far.",
    "I work as a nurse, mostly nights, on the third floor of the old house.",
    "My dog is called Bello, and hates every thunderstorm that comes along.",
)
QUESTION = "Which snacks make me ill?"


def conversation(embedder: object = None, **settings: object) -> ContextBuilder:
    """Return a session in which what the user said of himself left long ago."""
    ctx = ContextBuilder(
        max_tokens=260,
        counter=WordCounter(),
        embedder=embedder,  # type: ignore[arg-type]
        **settings,  # type: ignore[arg-type]
    )
    for number in range(14):
        said = FACTS[number] if number < len(FACTS) else f"Now to part {number}."
        ctx.add_user_message(said + " So much for the moment, and on we go then." * 3)
        ctx.add_assistant_message(f"Part {number} is done. " + "As agreed. " * 8)
    return ctx


def matched(ctx: ContextBuilder) -> list[PassagesMatched]:
    """Return what the log says of the embedder."""
    return [entry for entry in ctx.log if isinstance(entry, PassagesMatched)]


def recalled(messages: list[dict[str, object]]) -> str:
    """Return what came back for the latest message."""
    return "".join(
        str(one["content"])
        for one in messages
        if str(one["content"]).startswith("<recalled>")
    )
