"""Measures items and texts for one target, each text once a session."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from context_builder.tokens.joints import counted_in_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from context_builder.items import ContextItem, Unit
    from context_builder.render import ProviderAdapter

__all__ = ["Counted", "KnownSizes", "SessionRuler", "Sizes"]

_MOST_TRIED = 512
"""So many texts that were only tried are remembered. A compaction tries more, and few
of them come again."""
_MOST_SHOWN = 1_024
_LEAST_PACKED = 32
_UNPACKED_SHARE = 0.125
"""So much of what is known may lie unpacked: packing anew costs as much as there is."""


class Sizes:
    """Sizes by key, most of them packed: a tenth of what a dictionary of them takes."""

    __slots__ = ("_fresh", "_keys", "_sizes")

    def __init__(self) -> None:
        self._fresh: dict[int, int] = {}
        self._keys = array("q")
        self._sizes = array("q")

    def __len__(self) -> int:
        return len(self._fresh) + len(self._keys)

    def get(self, key: int) -> int | None:
        """Return a size; None: it is not known."""
        size = self._fresh.get(key)
        if size is not None or not self._keys:
            return size
        place = bisect_left(self._keys, key)
        is_known = place < len(self._keys) and self._keys[place] == key
        return self._sizes[place] if is_known else None

    def put(self, key: int, size: int) -> None:
        """Remember a size."""
        self._fresh[key] = size

    def clear(self) -> None:
        """Forget everything."""
        self._fresh = {}
        del self._keys[:], self._sizes[:]

    def settle(self) -> None:
        """Pack what came in, once that is much."""
        if len(self._fresh) <= max(_LEAST_PACKED, len(self._keys) * _UNPACKED_SHARE):
            return
        packed = zip(self._keys, self._sizes, strict=True)
        ordered = sorted([*packed, *self._fresh.items()])
        self._keys = array("q", [key for key, _ in ordered])
        self._sizes = array("q", [size for _, size in ordered])
        self._fresh = {}


class Counted:
    """What one tokenizer has counted in a session, by the hash of the text.

    Not by the text: what was only tried would be held for as long as its size.
    """

    __slots__ = ("_shown", "_tried", "said")

    def __init__(self) -> None:
        self.said = Sizes()
        """What items say, remembered for the session."""
        self._shown = Sizes()
        self._tried = Sizes()

    def get(self, key: int) -> int | None:
        """Return a size; None: it is not known."""
        size = self.said.get(key)
        return self.passing(key) if size is None else size

    def passing(self, key: int) -> int | None:
        """Return the size of what was tried, or shown; None: it was not."""
        size = self._tried.get(key)
        return self._shown.get(key) if size is None else size

    def tried(self, key: int, size: int) -> None:
        """Remember the size of a text that was only tried, as long as few were."""
        self._tried.put(key, size)

    def shown(self, key: int, size: int) -> None:
        """Remember the size of a text that stands in an item that may be shown."""
        self._shown.put(key, size)

    def take_up(self, other: Counted) -> None:
        """Know what another one knows, instead of what was known."""
        self.said, self._shown, self._tried = other.said, other._shown, other._tried

    def settle(self) -> None:
        """Pack what is kept, and let go of what was only tried where it is much."""
        self.said.settle()
        for sizes, most in ((self._tried, _MOST_TRIED), (self._shown, _MOST_SHOWN)):
            if len(sizes) > most:
                sizes.clear()
            sizes.settle()


class SessionRuler:
    """Measures in one target's tokens, and each text once.

    What items say is remembered for the session, so that another target with the same
    tokenizer need not count it again. So is, for a while, what was shown in its place.
    Texts that were only tried, while something was shortened, are let go of sooner.
    """

    __slots__ = (
        "_adapter",
        "_adds_up",
        "_count",
        "_count_many",
        "_counted",
        "_model",
    )

    def __init__(
        self,
        adapter: ProviderAdapter,
        model: str | None,
        count: Callable[[str], int],
        counted: Counted,
        *,
        count_many: Callable[[Sequence[str]], Sequence[int]] | None = None,
        adds_up: bool = False,
    ) -> None:
        self._adapter = adapter
        self._model = model
        self._count = count
        self._count_many = count_many
        self._counted = counted
        self._adds_up = adds_up  # the counts of parts, cut at joints

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hash(text)
        tokens = self._counted.get(key)
        if tokens is None:
            tokens = self._count(text)
            self._counted.tried(key, tokens)
        return tokens

    def said(self, text: str) -> int:
        """Return the tokens of a text that stays: remembered for the session."""
        key = hash(text)
        tokens = self._counted.said.get(key)
        if tokens is None:
            tokens = self._counted.passing(key)
            tokens = self._count(text) if tokens is None else tokens
            self._counted.said.put(key, tokens)
        return tokens

    def shown(self, text: str) -> int:
        """Return the tokens of a text that may be shown: remembered for a while."""
        key = hash(text)
        tokens = self._counted.get(key)
        if tokens is None:
            tokens = self._count(text)
            self._counted.shown(key, tokens)
        return tokens

    def item(self, item: ContextItem, *, calls: int = 1) -> int:
        """Return what an item costs in a request."""
        return self._adapter.item_tokens(
            item, self.shown, model=self._model, calls=calls
        )

    def composed(
        self, item: ContextItem, parts: Sequence[str], known: Mapping[int, int]
    ) -> tuple[int, Mapping[int, int]]:
        """Return what an item costs that is put together from parts; see `Ruler`."""
        if not self._adds_up:
            return self.item(item), {}
        text, sizes = item.text, {}

        def count(said: str) -> int:
            before, found, after = said.partition(text)
            if not found:  # the frame changed it
                return self.shown(said)
            tokens, counted = counted_in_parts(
                [before, *parts, after], self._count, known
            )
            sizes.update(counted)
            return tokens

        tokens = self._adapter.item_tokens(item, count, model=self._model)
        return tokens, sizes

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
        known = self._counted.said

        def note(text: str) -> int:
            key = hash(text)
            if known.get(key) is None:
                waiting[key] = text
            return 0

        for item, calls in items:
            self._adapter.item_tokens(item, note, model=self._model, calls=calls)
        if waiting:
            tokens = self._count_many(list(waiting.values()))
            for key, size in zip(waiting, tokens, strict=True):
                known.put(key, size)

    def settle(self) -> None:
        """Pack what is remembered, and let go of what was only tried."""
        self._counted.settle()


class KnownSizes:
    """Measures as another ruler, and items that were measured before not again."""

    __slots__ = ("_ruler", "_sizes", "composed", "text")

    def __init__(self, ruler: SessionRuler, units: Iterable[Unit]) -> None:
        self._ruler = ruler
        self._sizes = {
            id(item): size
            for unit in units
            for item, size in zip(unit.originals, unit.whole_sizes, strict=False)
        }  # what left unmeasured has no sizes
        self.composed = ruler.composed
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
