"""What the offline model bills: tokens as this library counts them.

What began an earlier request is billed as cached.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from context_builder.render import adapter_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Till", "pieces_of"]

_MOST_KEPT = 50_000


def pieces_of(request: Mapping[str, Any]) -> list[str]:
    """Return each message of a request as JSON."""
    return [json.dumps(message) for message in request["messages"]]


class Till:
    """Counts requests and answers. It keeps sizes and hashes, no text."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, int] = OrderedDict()
        self._prefixes: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.Lock()

    def bill(
        self,
        request: Mapping[str, Any],
        said: str,
        *,
        pieces: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Return what an answer costs, as OpenAI's `usage`.

        Args:
            request: What was asked.
            said: The answer.
            pieces: What `pieces_of` returns, where it is known already.
        """
        if pieces is None:
            pieces = pieces_of(request)
        model = request.get("model")
        counter = adapter_for("openai").counter(model)

        def count(text: str) -> int:
            key = hash((counter.name, text))
            if key not in self._sizes:
                self._sizes[key] = counter.count(text)
                _shorten(self._sizes)
            return self._sizes[key]

        with self._lock:
            prompt = adapter_for("openai").request_tokens(request, count)
            output = count(said)
            cached = int(prompt * self._seen_share(request, pieces))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def _seen_share(self, request: Mapping[str, Any], pieces: Sequence[str]) -> float:
        """Return how much of a request began an earlier one; remember this one."""
        first, *others = pieces
        settings = json.dumps([request.get("model"), request.get("tools")])
        seen_chars = 0
        key = 0
        is_seen = True
        pieces = (f"{settings[:-1]}, {first}]", *others)
        for piece in pieces:
            key = hash((key, piece))
            is_seen = is_seen and key in self._prefixes
            seen_chars += len(piece) if is_seen else 0
            self._prefixes[key] = None
            self._prefixes.move_to_end(key)
        _shorten(self._prefixes)
        return seen_chars / sum(map(len, pieces))


def _shorten(kept: OrderedDict[int, Any]) -> None:
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
