"""Asks the session's embedder what an incoming message means, before it is built.

An answer is a transaction, as a summary is: what to ask is worked out under the
session's lock, the embedder is asked outside of it, and the answer enters the log only
if the message is still the newest. Who comes in meanwhile goes on with words alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from context_builder.compaction import Compacting

if TYPE_CHECKING:
    from context_builder.embeddings.asking import Answer
    from context_builder.embeddings.desk import EmbeddingDesk, Wish
    from context_builder.targets import TargetKey

__all__ = ["Matching"]


class Matching(Compacting):
    """Recalls by meaning as well as by words, where there is an embedder."""

    def _summarize(self, key: TargetKey, *, is_forced: bool = False) -> None:
        super()._summarize(key, is_forced=is_forced)
        if self._embeddings is not None and not is_forced:
            self._match(self._embeddings, key)

    async def _asummarize(self, key: TargetKey, *, is_forced: bool = False) -> None:
        await super()._asummarize(key, is_forced=is_forced)
        if self._embeddings is not None and not is_forced:
            await self._amatch(self._embeddings, key)

    def _match(self, desk: EmbeddingDesk, key: TargetKey) -> None:
        with desk.flight() as is_ours:
            wish = self._wish_for_meaning(desk, key) if is_ours else None
            if wish is None:
                return
            if desk.is_async_only:
                self._event("embedder_not_asked", level=logging.WARNING, reason="async")
                return
            self._record_matches(desk, key, wish, desk.ask(wish))

    async def _amatch(self, desk: EmbeddingDesk, key: TargetKey) -> None:
        with desk.flight() as is_ours:
            wish = self._wish_for_meaning(desk, key) if is_ours else None
            if wish is not None:
                self._record_matches(desk, key, wish, await desk.aask(wish))

    # --- under the lock -------------------------------------------------------------

    def _wish_for_meaning(self, desk: EmbeddingDesk, key: TargetKey) -> Wish | None:
        with self._lock:
            if not self._is_writable:
                return None
            return desk.wish(key, self._caught_up(key).fold)

    def _record_matches(
        self, desk: EmbeddingDesk, key: TargetKey, wish: Wish, answer: Answer
    ) -> None:
        """Log what was found, unless something came in meanwhile."""
        with self._lock:
            if self._embeddings is not desk or not self._is_writable:
                return
            fold = self._caught_up(key).fold
            newest = fold.shown.live[-1] if fold.shown.live else None
            if newest is None or newest.originals[0].id != wish.item_id:
                return
            entry = desk.entry(key, fold, wish, answer)
            self._append(entry)
        self._event(
            "passages_matched" if entry.error is None else "embedding_failed",
            level=logging.DEBUG if entry.error is None else logging.WARNING,
            target=key.name,
            matches=len(entry.matches),
            texts=len(wish.texts),
            error=entry.error,
        )
