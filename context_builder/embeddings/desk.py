"""What a session keeps of its embedder: whom to ask, how, and the vectors it has.

It holds no log and no lock of a session. Whether the embedder may be asked follows from
what was asked before, and that stands in the log.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import heapq
import threading
from typing import TYPE_CHECKING

from context_builder.decide.archive import pieces_of
from context_builder.decide.recall import passage_text
from context_builder.decide.recaller import is_recalled
from context_builder.embeddings.asking import aask, ask
from context_builder.embeddings.protocol import (
    AsyncEmbedder,
    Embedder,
    EmbeddingPolicy,
)
from context_builder.embeddings.vectors import Vectors
from context_builder.entries import maker_name
from context_builder.errors import InvalidItemError
from context_builder.items import PassageMatch, PassagesMatched
from context_builder.passing import is_passing

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from context_builder.decide.archive import Archive, Passage
    from context_builder.decide.fold import Fold
    from context_builder.embeddings.asking import Answer
    from context_builder.embeddings.protocol import AnyEmbedder
    from context_builder.items import Unit

    TextOf = Callable[[Passage], str | None]

__all__ = ["EmbeddingDesk", "Wish", "checked_embedding_policy"]

_MOST_PIECES = 16
"""Of one item, so many pieces from its beginning have vectors: it is clear by then what
it is about, and a huge result takes no minutes."""
_MOST_LIVE = 64
"""So many of the newest units that are shown are compared with."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What to ask an embedder."""

    item_id: str
    """The message; empty where somebody searches."""
    query: str = dataclasses.field(repr=False)
    texts: tuple[str, ...] = dataclasses.field(repr=False)
    """What has no vector yet; the query comes first."""


class EmbeddingDesk:
    """One session's embedder.

    Args:
        embedder: An object with `embed`, `aembed`, or both.
        policy: How it is asked; None: the defaults.

    Raises:
        InvalidItemError: If one of them is something else.
    """

    def __init__(self, embedder: object, policy: object = None) -> None:
        if isinstance(embedder, type) or not isinstance(
            embedder, Embedder | AsyncEmbedder
        ):
            message = "embedder must be an object with embed() or aembed()"
            raise InvalidItemError(message, field="embedder", value=embedder)
        self.embedder: AnyEmbedder = embedder
        self.policy = checked_embedding_policy(policy)
        self._vectors = Vectors()
        self._places: dict[Hashable, _Places] = {}
        self._seen: dict[Hashable, str] = {}
        self._busy = threading.Lock()

    @property
    def is_async_only(self) -> bool:
        """Whether it cannot be asked by a caller that waits."""
        return not isinstance(self.embedder, Embedder)

    @property
    def made_by(self) -> str:
        """The embedder's name, as entries of the log say it."""
        return maker_name(self.embedder)

    def forget(self) -> None:
        """Let go of what was known of decisions: they are made anew."""
        self._places.clear()

    @contextlib.contextmanager
    def flight(self) -> Iterator[bool]:
        """Hold the place of the one who asks; False: it is taken, go on without."""
        if not self._busy.acquire(blocking=False):
            yield False
            return
        try:
            yield True
        finally:
            self._busy.release()

    # --- what to ask for ------------------------------------------------------------

    def wish(self, key: Hashable, fold: Fold) -> Wish | None:
        """Return what to ask about the newest message now; None: nothing.

        Each message is asked about once for a target, at its first build: what was
        sent already stays as it is.

        Args:
            key: The target.
            fold: Its decision. What it holds is read, and nothing of it is changed.
        """
        newest = fold.shown.live[-1] if fold.shown.live else None
        if newest is None or not newest.starts_turn or fold.excess is not None:
            return None
        item_id, asked = newest.originals[0].id, fold.recaller.asked
        is_new = self._seen.get(key) != item_id
        self._seen[key] = item_id
        if not is_new or not fold.recalls or not asked.may_ask(fold.turn):
            return None
        if asked.newest is not None and asked.newest.item_id == item_id:
            return None
        query = newest.originals[0].text
        if not query.strip():
            return None
        return self.question(
            key,
            fold.recaller.archive,
            functools.partial(_text_in, fold),
            query,
            beside=_shown_texts(fold.shown.live[:-1]),
            item_id=item_id,
        )

    def question(
        self,
        key: Hashable,
        archive: Archive,
        text_of: TextOf,
        query: str,
        *,
        beside: Sequence[str] = (),
        item_id: str = "",
    ) -> Wish:
        """Return what to ask so that an archive's passages can be compared with a text.

        Args:
            key: Whose archive it is.
            archive: Its passages.
            text_of: Returns a passage's text; None: it has none any more.
            query: What they are compared with.
            beside: What else is compared with it.
            item_id: The message that the query is.
        """
        places = self._places.get(key)
        if places is None or places.archive is not archive:
            places = self._places[key] = _Places(archive)
        places.catch_up(text_of)
        places.waiting = self._vectors.lacking(places.waiting)
        del places.waiting[: -self.policy.most_passages]
        lacking = self._vectors.lacking([*places.waiting, *beside])
        return Wish(item_id, query, (query, *lacking))

    # --- asking ---------------------------------------------------------------------

    def ask(self, wish: Wish) -> Answer:
        """Ask, and wait for the answer; it never raises for a failure."""
        assert isinstance(self.embedder, Embedder)  # noqa: S101  the caller looked
        return self._checked(wish, ask(self.embedder, wish.texts, self.policy))

    async def aask(self, wish: Wish) -> Answer:
        """Ask, as `ask`, and await the answer."""
        answer = await aask(self.embedder, wish.texts, self.policy)
        return self._checked(wish, answer)

    def _checked(self, wish: Wish, answer: Answer) -> Answer:
        """Keep the vectors that came, if they are some."""
        if isinstance(answer, Exception):
            return answer
        try:
            if len(answer) != len(wish.texts):
                message = f"{len(wish.texts)} texts have {len(answer)} vectors"
                raise ValueError(message)  # noqa: TRY301  one way out for all of them
            kept = 0 if wish.item_id else 1  # what was searched for is no message
            self._vectors.put(wish.texts[kept:], answer[kept:])
            self._vectors.scores(answer[0])
        except (ValueError, TypeError) as error:
            return error
        return answer

    # --- what came of it ------------------------------------------------------------

    def best(self, key: Hashable, answer: Answer) -> list[tuple[float, int]]:
        """Return the passages of an archive that are nearest: (cosine, number)."""
        places = self._places.get(key)
        if isinstance(answer, Exception) or places is None:
            return []
        scores, row_of = self._vectors.scores(answer[0]), self._vectors.row_of
        scored = (
            (scores[row], number)
            for number, text_hash in enumerate(places.hashes)
            if text_hash is not None
            and (row := row_of(text_hash)) is not None
            and not places.archive.is_dead(number)
        )
        best = heapq.nsmallest(self.policy.most_matches, scored, key=_best_first)
        least = best[0][0] * self.policy.least_share if best else 0.0
        return [one for one in best if one[0] > 0 and one[0] >= least]

    def entry(
        self, key: Hashable, fold: Fold, wish: Wish, answer: Answer
    ) -> PassagesMatched:
        """Return the entry that says what was found, or that nothing was."""
        if isinstance(answer, Exception):
            kind = type(answer).__name__
            return PassagesMatched(wish.item_id, (), 0.0, self.made_by, kind)
        passages = fold.recaller.archive.passages
        matches = []
        for score, number in self.best(key, answer):
            passage = passages[number]
            unit = fold.shown.get(passage.unit_id)
            if unit is not None:
                item_id = unit.originals[passage.index].id
                matches.append(PassageMatch(item_id, passage.start, round(score, 4)))
        scores = self._vectors.scores(answer[0])
        shown = map(self._vectors.row, _shown_texts(fold.shown.live[:-1]))
        best_shown = max((scores[row] for row in shown if row is not None), default=0.0)
        return PassagesMatched(
            wish.item_id, tuple(matches), round(best_shown, 4), self.made_by
        )


class _Places:
    """Which texts the passages of an archive have, as far as they were looked at."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.hashes: list[int | None] = []
        """Of each passage; None: it gets no vector."""
        self.waiting: list[str] = []
        """The texts that have no vector yet."""
        self._pieces: tuple[float, int, int] = (-1.0, 0, 0)

    def catch_up(self, text_of: TextOf) -> None:
        """Look at the passages that came since the last time."""
        passages = self.archive.passages
        for number in range(len(self.hashes), len(passages)):
            passage = passages[number]
            unit_id, index, count = self._pieces
            is_next = (passage.unit_id, passage.index) == (unit_id, index)
            count = count + 1 if is_next else 1
            self._pieces = (passage.unit_id, passage.index, count)
            text = text_of(passage) if count <= _MOST_PIECES else None
            if text is None:
                self.hashes.append(None)
                continue
            self.hashes.append(hash(text))
            self.waiting.append(text)


def _text_in(fold: Fold, passage: Passage) -> str | None:
    unit = fold.shown.get(passage.unit_id)
    return None if unit is None else passage_text(passage, unit)


def _shown_texts(live: Sequence[Unit]) -> list[str]:
    """Return the pieces of what is shown whole, as they would be found."""
    return [
        item.text[start:end]
        for unit in live[-_MOST_LIVE:]
        if not is_recalled(unit)
        for item, original in zip(unit.items, unit.originals, strict=True)
        if item is original and item.source != "repair" and not is_passing(item)
        for start, end in pieces_of(item.text)[:_MOST_PIECES]
    ]


def _best_first(scored: tuple[float, int]) -> tuple[float, int]:
    return -scored[0], -scored[1]


def checked_embedding_policy(policy: object) -> EmbeddingPolicy:
    """Return how an embedder is asked; None: the defaults.

    Raises:
        InvalidItemError: If it is something else.
    """
    if policy is None:
        return EmbeddingPolicy()
    if not isinstance(policy, EmbeddingPolicy):
        message = "embedding_policy must be an EmbeddingPolicy"
        raise InvalidItemError(message, field="embedding_policy", value=policy)
    return policy
