"""Call ids and names as a vendor takes them: always the same way, never two for one.

An id that the vendor takes stays as it is. Another is cleaned, cut, and gets a short
hash of the original, so that two different ids stay different.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from context_builder.items import ContextItem
    from context_builder.render.adapter import Capabilities

__all__ = ["IdMap", "clean_name"]

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH_CHARS = 8
_CLEAN = re.compile(r"[a-zA-Z0-9_-]+")


def _short_hash(text: str, chars: int) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest())
    digits = []
    for _ in range(chars):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def clean_name(name: str, *, max_chars: int = 64) -> str:
    """Return a tool's name as every vendor takes it: letters, digits, `_` and `-`."""
    if len(name) <= max_chars and _CLEAN.fullmatch(name):
        return name
    cleaned = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: max_chars - _HASH_CHARS - 1]
    return f"{cleaned}_{_short_hash(name, _HASH_CHARS)}"


class IdMap:
    """The ids of one request: which call goes by which id with this vendor."""

    def __init__(
        self, items: Iterable[ContextItem], capabilities: Capabilities
    ) -> None:
        self._fits = _rule(capabilities)
        self._capabilities = capabilities
        self._origins: dict[
            str, str
        ] = {}  # the id it was chosen for, by the chosen one
        self._ids: dict[tuple[str, str], str] = {}
        self._asking = ""
        for item in items:
            for call in item.tool_calls:
                self._ids[item.id, call.id] = self._choose(item.id, call.id)

    def _choose(self, item_id: str, call_id: str) -> str:
        chosen = self._valid(call_id, call_id)
        attempt = 0
        while chosen in self._origins and (
            self._capabilities.ids_are_unique or self._origins[chosen] != call_id
        ):
            attempt += 1
            seed = f"{call_id}\n{item_id}" + (f"\n{attempt}" if attempt > 1 else "")
            chosen = self._valid(f"{call_id}\n", seed)
        self._origins[chosen] = call_id
        return chosen

    def _valid(self, call_id: str, seed: str) -> str:
        if self._fits(call_id):
            return call_id
        exact = self._capabilities.id_exact_chars
        if exact is not None:
            return _short_hash(seed, exact)
        cleaned = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id.rstrip("\n"))
        room = self._capabilities.id_chars - _HASH_CHARS - 1
        return f"{cleaned[:room]}_{_short_hash(seed, _HASH_CHARS)}"

    def call(self, item: ContextItem, call_id: str) -> str:
        """Return the id for a call of an assistant's item, and remember who asked."""
        self._asking = item.id
        return self._ids[item.id, call_id]

    def result(self, call_id: str) -> str:
        """Return the id for a result of the message that asked last."""
        return self._ids[self._asking, call_id]


def _rule(capabilities: Capabilities) -> Callable[[str], bool]:
    pattern = re.compile(capabilities.id_pattern)
    longest = capabilities.id_exact_chars or capabilities.id_chars
    shortest = capabilities.id_exact_chars or 1
    return lambda call_id: (
        shortest <= len(call_id) <= longest and pattern.fullmatch(call_id) is not None
    )
