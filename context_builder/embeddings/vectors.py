"""Keeps vectors by the text that they are of, and says which are nearest.

A text is known by its hash: it is not kept. Vectors are scaled to the length 1, so that
the cosine is a sum of products.
"""

from __future__ import annotations

import importlib
import math
import operator
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from context_builder.embeddings.protocol import Vector

__all__ = ["Vectors"]


class Vectors:
    """All vectors of a session, one for each text."""

    def __init__(self) -> None:
        self._flat: array[float] = array("f")
        self._length = 0
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, text: str) -> int | None:
        """Return the number of a text's vector; None: it has none."""
        return self._rows.get(hash(text))

    def row_of(self, text_hash: int) -> int | None:
        """Return the number of the vector of a text with this hash."""
        return self._rows.get(text_hash)

    def lacking(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector, each once."""
        return [t for t in dict.fromkeys(texts) if hash(t) not in self._rows]

    def put(self, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """Keep the vectors of these texts.

        Raises:
            ValueError: If they are no vectors of one length, one for each text.
        """
        if len(vectors) != len(texts):
            message = f"{len(texts)} texts have {len(vectors)} vectors"
            raise ValueError(message)
        units = [_unit(vector) for vector in vectors]
        lengths = {len(unit) for unit in units} | ({self._length} - {0})
        if len(lengths) > 1:
            message = f"vectors have lengths {sorted(lengths)}"
            raise ValueError(message)
        for text, unit in zip(texts, units, strict=True):
            if hash(text) not in self._rows:
                self._rows[hash(text)] = len(self._rows)
                self._flat.extend(unit)
        self._length = max(lengths, default=0)

    def scores(self, query: Vector) -> Sequence[float]:
        """Return the cosine of each vector with another one, by its number.

        Raises:
            ValueError: If that is no vector of their length.
        """
        unit = _unit(query)
        if not self._rows:
            return ()
        if len(unit) != self._length:
            message = f"a vector has the length {len(unit)}, not {self._length}"
            raise ValueError(message)
        numpy = _numpy()
        if numpy is not None:
            flat = numpy.frombuffer(self._flat, dtype=numpy.float32)
            table = flat.reshape(-1, self._length)
            scored: list[float] = (table @ numpy.asarray(unit)).tolist()
            return scored
        starts = range(0, len(self._flat), self._length)
        pieces = (self._flat[start : start + self._length] for start in starts)
        return [sum(map(operator.mul, piece, unit)) for piece in pieces]


def _unit(vector: Vector) -> array[float]:
    """Return a vector of the length 1.

    Raises:
        ValueError: If it is none, or points nowhere.
    """
    try:
        values = array("f", vector)
    except (TypeError, OverflowError) as error:
        message = f"a vector is a list of numbers, not {type(vector).__name__}"
        raise ValueError(message) from error
    length = math.sqrt(sum(map(operator.mul, values, values)))
    if not values or not math.isfinite(length):
        message = "a vector is empty, or not finite"
        raise ValueError(message)
    return array("f", (value / length for value in values)) if length else values


def _numpy() -> Any:
    """Return numpy, if it is there: it is a hundred times as fast."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
