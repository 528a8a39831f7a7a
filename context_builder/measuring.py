"""Measures items and texts for one target, each text once a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from context_builder.items import ContextItem, Unit
    from context_builder.render import ProviderAdapter

__all__ = ["KnownSizes", "SessionRuler"]

_MOST_TRIED = 1_024


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
        count_many: Callable[[Sequence[str]], Sequence[int]] | None = None,
        tried: dict[int, int] | None = None,
    ) -> None:
        self._adapter = adapter
        self._model = model
        self._count = count
        self._count_many = count_many
        self._counts = counts
        self._tried = {} if tried is None else tried

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hash(text)  # not the text: what was only tried would be held for ever
        tokens = self._counts.get(key)
        if tokens is None:
            tokens = self._tried.get(key)
        if tokens is None:
            tokens = self._tried[key] = self._count(text)
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
        if len(self._tried) > _MOST_TRIED:
            self._tried.clear()


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
