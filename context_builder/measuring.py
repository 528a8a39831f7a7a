"""Measures items and texts for one target, each text once a session."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from context_builder.items import ContextItem, Unit
    from context_builder.render import ProviderAdapter

__all__ = ["KnownSizes", "SessionRuler", "Tried"]

_MOST_TRIED = 1_024
_MOST_UNPACKED = 32
"""So many tried texts are kept as they come; more are packed."""


class _Packed:
    """Sizes by key, packed: a tenth of what a dictionary of them takes."""

    __slots__ = ("_keys", "_sizes")

    def __init__(self, sizes: Iterable[tuple[int, int]] = ()) -> None:
        ordered = sorted(sizes)
        self._keys = array("q", [key for key, _ in ordered])
        self._sizes = array("Q", [size for _, size in ordered])

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, key: int) -> int | None:
        """Return a size; None: it is not known."""
        place = bisect_left(self._keys, key)
        is_known = place < len(self._keys) and self._keys[place] == key
        return self._sizes[place] if is_known else None

    def joined(self, sizes: dict[int, int]) -> _Packed:
        """Return these sizes and others."""
        return _Packed([*zip(self._keys, self._sizes, strict=True), *sizes.items()])


class Tried:
    """The sizes of texts that were only tried, for as long as they are not many."""

    __slots__ = ("_packed", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._packed = _Packed()

    def get(self, key: int) -> int | None:
        """Return a size; None: it is not known."""
        size = self._sizes.get(key)
        return self._packed.get(key) if size is None else size

    def put(self, key: int, size: int) -> None:
        """Remember a size for a while."""
        self._sizes[key] = size

    def settle(self) -> None:
        """Pack what was tried, or let go of it once it is too much."""
        if len(self._sizes) + len(self._packed) > _MOST_TRIED:
            self._sizes, self._packed = {}, _Packed()
        elif len(self._sizes) > _MOST_UNPACKED:
            self._packed = self._packed.joined(self._sizes)
            self._sizes = {}


class SessionRuler:
    """Measures in one target's tokens, and each text once.

    What items say is remembered for the session, so that another target with the same
    tokenizer need not count it again. Texts that were only tried, while something was
    shortened, are remembered for a while.
    """

    __slots__ = ("_adapter", "_count", "_count_many", "_counts", "_model", "_tried")

    def __init__(
        self,
        adapter: ProviderAdapter,
        model: str | None,
        count: Callable[[str], int],
        counts: dict[int, int],
        *,
        count_many: Callable[[Sequence[str]], Sequence[int]] | None = None,
        tried: Tried | None = None,
    ) -> None:
        self._adapter = adapter
        self._model = model
        self._count = count
        self._count_many = count_many
        self._counts = counts
        self._tried = Tried() if tried is None else tried

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hash(text)  # not the text: what was only tried would be held for ever
        tokens = self._counts.get(key)
        if tokens is None:
            tokens = self._tried.get(key)
        if tokens is None:
            tokens = self._count(text)
            self._tried.put(key, tokens)
        return tokens

    def said(self, text: str) -> int:
        """Return the tokens of a text that stays: remembered for the session."""
        key = hash(text)
        if key not in self._counts:
            self._counts[key] = self.text(text)
        return self._counts[key]

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs in a request."""
        return self._adapter.item_tokens(
            item, self.text, model=self._model, calls=calls
        )

    def whole(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs as it came in."""
        return self._adapter.item_tokens(
            item, self.said, model=self._model, calls=calls
        )

    def prepare(self, items: Iterable[tuple[ContextItem, int]]) -> None:
        """Count the texts of items at once, each with the number of its calls."""
        if self._count_many is None:
            return
        waiting: dict[int, str] = {}

        def note(text: str) -> int:
            key = hash(text)
            if key not in self._counts:
                waiting[key] = text
            return 0

        for item, calls in items:
            self._adapter.item_tokens(item, note, model=self._model, calls=calls)
        if waiting:
            tokens = self._count_many(list(waiting.values()))
            self._counts.update(zip(waiting, tokens, strict=True))

    def forget_tried(self) -> None:
        """Let go of the sizes of texts that were only tried, once they are many."""
        self._tried.settle()


class KnownSizes:
    """Measures as another ruler, and items that were measured before not again."""

    __slots__ = ("_ruler", "_sizes", "text")

    def __init__(self, ruler: SessionRuler, units: Iterable[Unit]) -> None:
        self._ruler = ruler
        self._sizes = {
            id(item): size
            for unit in units
            for item, size in zip(unit.originals, unit.whole_sizes, strict=False)
        }  # what left unmeasured has no sizes
        self.text = ruler.text

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs in a request."""
        return self._ruler.item(item, calls=calls)

    def whole(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs as it came in."""
        known = self._sizes.get(id(item))
        return self._ruler.whole(item, calls=calls) if known is None else known

    def prepare(self, items: Iterable[tuple[ContextItem, int]]) -> None:
        """Count what will be measured soon, and is not known."""
        self._ruler.prepare(one for one in items if id(one[0]) not in self._sizes)
