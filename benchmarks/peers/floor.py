"""The floors of `benchmarks.floors`, asked as the peers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.floors import EagerFloor, LazyFloor
from context_builder.tokens import counter_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_KINDS: dict[str, type[EagerFloor | LazyFloor]] = {
    "eager": EagerFloor,
    "lazy": LazyFloor,
}


class _Floor:
    def __init__(self, floor: EagerFloor | LazyFloor) -> None:
        self._floor = floor

    def extend(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._floor.append(message)

    def build(self) -> list[Message]:
        return self._floor.build()

    def shown(self, built: list[Message]) -> list[Message]:
        return built


def open_session(variant: str, budget_tokens: int) -> _Floor:
    """Open a session of the eager or the lazy floor."""
    return _Floor(_KINDS[variant](budget_tokens, counter_for("o200k_base").count))
