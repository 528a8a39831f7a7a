"""What Claude models differ in, as data: by family and version, whoever hosts them.

A model that is not listed gets the strict side of every rule: what is left out for its
sake is accepted by all.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Claude", "claude_of", "same_model"]

_NEW = re.compile(
    r"claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2}))?(?!\d)"
)
_OLD = re.compile(r"claude-(\d+)(?:[-.](\d{1,2}))?(?:-(opus|sonnet|haiku))?(?!\d)")

_NOTES = frozenset(
    {
        ("opus", 4, 8),
        ("opus", 5, 0),
        ("opus", 5, 5),
        ("sonnet", 5, 5),
        ("haiku", 5, 5),
        ("fable", 5, 0),
        ("fable", 5, 1),
        ("fable", 5, 2),
        ("mythos", 5, 0),
        ("mythos", 5, 1),
        ("mythos", 5, 2),
    }
)
"""Whose conversations may hold messages of the role system."""

_BOUND = frozenset(
    {
        ("fable", 5, 1),
        ("fable", 5, 2),
        ("mythos", 5, 2),
        ("opus", 5, 5),
        ("sonnet", 5, 5),
        ("haiku", 5, 5),
    }
)
"""Whose thinking is bound to the model and to all that stood before it; so is, to be
safe, that of whatever is newer than 5.5."""

_UNFORCED = frozenset({("opus", 5, 5), ("fable", 5, 1), ("fable", 5, 2)})
"""Who always think, and refuse to be told which tool to use."""

_CACHE_MINIMUM: Mapping[tuple[str, int, int], int] = {
    ("haiku", 3, 0): 2_048,
    ("haiku", 3, 5): 2_048,
    ("haiku", 4, 5): 4_096,
    ("opus", 4, 5): 4_096,
    ("opus", 4, 6): 4_096,
    ("opus", 4, 7): 2_048,
    ("opus", 5, 0): 512,
    ("opus", 5, 5): 512,
    ("sonnet", 5, 5): 512,
}
_CACHE_MINIMUM_BY_FAMILY: Mapping[str, int] = {"fable": 512, "mythos": 512}
_CACHE_MINIMUM_OTHERS = 1_024


@dataclasses.dataclass(frozen=True, slots=True)
class Claude:
    """One model, and what it takes. Version 0.0 is a model that is not known."""

    family: str = ""
    major: int = 0
    minor: int = 0

    @property
    def key(self) -> tuple[str, int, int]:
        """Its row in the tables."""
        return self.family, self.major, self.minor

    @property
    def is_known(self) -> bool:
        """Whether the name said which model it is."""
        return self.major > 0

    def _since(self, major: int, minor: int) -> bool:
        return (self.major, self.minor) >= (major, minor)

    @property
    def takes_notes(self) -> bool:
        """Whether a message in mid-conversation may have the role system."""
        return self.key in _NOTES

    @property
    def binds_thinking(self) -> bool:
        """Whether its thinking is bound to the model and to the exact prefix."""
        return self.key in _BOUND or self._since(5, 6)

    @property
    def takes_prefill(self) -> bool:
        """Whether the assistant may have the last word, to be continued."""
        return self.is_known and not self._since(4, 6)

    @property
    def takes_sampling(self) -> bool:
        """Whether it takes a temperature."""
        return not self._is_adaptive_only

    @property
    def _is_adaptive_only(self) -> bool:
        return self._since(5, 0) or (self.family == "opus" and self._since(4, 7))

    @property
    def takes_thinking_budget(self) -> bool:
        """Whether the tokens it may think can be set as a number."""
        return self._since(3, 7) and not self._is_adaptive_only

    @property
    def takes_adaptive_thinking(self) -> bool:
        """Whether it decides for itself how much to think."""
        return self._since(4, 6)

    @property
    def takes_effort(self) -> bool:
        """Whether it takes a word for how hard to try."""
        return self._since(4, 6) or self.key == ("opus", 4, 5)

    @property
    def thinking_can_be_disabled(self) -> bool:
        """Whether a model that thinks unasked can be told not to."""
        ordinary = self.family in {"opus", "sonnet", "haiku"}
        return self._since(5, 0) and ordinary and self.key not in _UNFORCED

    @property
    def takes_forced_tool(self) -> bool:
        """Whether it can be told to use a tool."""
        return self.key not in _UNFORCED

    @property
    def cache_minimum_tokens(self) -> int:
        """The shortest prefix that is cached; a mark on a shorter one does nothing."""
        by_family = _CACHE_MINIMUM_BY_FAMILY.get(self.family, _CACHE_MINIMUM_OTHERS)
        return _CACHE_MINIMUM.get(self.key, by_family)

    @property
    def forgets_thinking(self) -> bool:
        """Whether the thinking of finished turns is dropped by the server, unbilled."""
        keeps = self._since(4, 6) or self.key == ("opus", 4, 5)
        return self.is_known and not keeps

    @property
    def counts_finer(self) -> bool:
        """Whether it has the tokenizer that cuts the same text into more tokens."""
        return self._is_adaptive_only


@functools.lru_cache(maxsize=256)
def claude_of(model: str | None) -> Claude:
    """Read family and version out of a model's name with any host."""
    name = (model or "").lower()
    if found := _NEW.search(name):
        return Claude(found[1], int(found[2]), int(found[3] or 0))
    if found := _OLD.search(name):
        return Claude(found[3] or "", int(found[1]), int(found[2] or 0))
    return Claude()


def same_model(one: str, other: str) -> bool:
    """Say whether two names are names of one model."""
    first, second = claude_of(one), claude_of(other)
    return first == second if first.is_known and second.is_known else one == other
