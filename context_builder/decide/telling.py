"""What a request says of what left: how many messages, and a digest of them.

The digest knows of all that left, and tells of what no summary tells.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from context_builder.decide.digest import (
    NOTHING,
    Digest,
    Still,
    digest_of,
    notice_parts,
)
from context_builder.decide.heard import Heard
from context_builder.items import ContextItem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_builder.decide.rules import Rules
    from context_builder.decide.summaries import Summaries
    from context_builder.items import Unit

__all__ = ["Telling"]

_MOST_LEFT_OUT = 999_999
_DIGEST_GROWTH = 1.4
"""What makes room for a digest has to be told of as well."""


class Telling:
    """The notice of a fold, with its digest."""

    __slots__ = (
        "_rules",
        "_sizes",
        "digest",
        "evicted_items",
        "heard",
        "notice",
        "tokens",
    )

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.heard = Heard()
        """What the request says."""
        self._sizes: Mapping[int, int] = {}  # of the parts of the last notice
        self.evicted_items = 0
        self.digest = Digest()
        self.notice: ContextItem | None = None
        self.tokens = 0
        """What the notice takes."""

    def copy(self) -> Telling:
        """Return another one that can change without this one."""
        other = copy.copy(self)
        other.heard = self.heard.copy()
        return other

    @property
    def bare_tokens(self) -> int:
        """What a notice takes that tells only how many messages left."""
        return self._rules.ruler.item(_notice("".join(self._parts(_MOST_LEFT_OUT))))

    @property
    def whole(self) -> frozenset[float]:
        """The units of which the notice says all."""
        return self.digest.whole if self.notice is not None else frozenset()

    def clear(self) -> None:
        """Say nothing."""
        self.notice, self.tokens = None, 0

    def count(self) -> None:
        """Say how many messages left, and nothing else."""
        self._say(self._parts(self.evicted_items))  # what is known of parts stays

    def tell(
        self,
        left: Sequence[Unit],
        room_tokens: int,
        summaries: Summaries,
        still: Still = NOTHING,
    ) -> None:
        """Say what these units held as well, in so many tokens."""
        self.digest = self._digest(left, room_tokens, summaries, still)
        self._sizes = self._say(self._parts(self.evicted_items, self.digest))

    def wanted_tokens(
        self,
        left: Sequence[Unit],
        most_tokens: int,
        summaries: Summaries,
        still: Still = NOTHING,
    ) -> int:
        """Return what a digest would take if these units left as well."""
        if self.digest.tokens * _DIGEST_GROWTH >= most_tokens:
            return most_tokens  # it only ever has more to tell
        draft = self._digest(left, most_tokens, summaries, still)
        return min(most_tokens, int(draft.tokens * _DIGEST_GROWTH))

    def _digest(
        self,
        left: Sequence[Unit],
        room_tokens: int,
        summaries: Summaries,
        still: Still,
    ) -> Digest:
        current = summaries.current
        return digest_of(
            self.digest,
            left,
            self._rules,
            room_tokens,
            heard=self.heard,
            covered=summaries.told,
            still=still,
            summary="" if current is None else current.item.text,
        )

    def _say(self, parts: Sequence[str]) -> Mapping[int, int]:
        """Word the notice, and return what its parts take."""
        self.notice = _notice("".join(parts))
        self.tokens, sizes = self._rules.ruler.composed(self.notice, parts, self._sizes)
        return sizes

    def _parts(self, count: int, digest: Digest | None = None) -> list[str]:
        is_marker = self._rules.settings.keep_first_messages > 0
        return notice_parts(count, digest, is_marker=is_marker)


def _notice(text: str) -> ContextItem:
    return ContextItem(role="user", content=text, id="notice", source="notice")
