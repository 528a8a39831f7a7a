"""This library, asked as the peers are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilder, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.peers.session import Message

__all__ = ["open_session"]


class _Ours:
    def __init__(self, settings: Settings, budget_tokens: int) -> None:
        self._ctx = ContextBuilder(
            model="gpt-4o", max_tokens=budget_tokens, settings=settings
        )

    def extend(self, messages: Iterable[Message]) -> None:
        self._ctx.extend(messages)

    def build(self) -> list[Message]:
        return self._ctx.build()

    def view(self) -> Sequence[Mapping[str, Any]]:
        """Return the shared messages, to be read only."""
        return self._ctx.view()

    def shown(self, built: list[Message]) -> list[Message]:
        return built


_SETTINGS = {"": Settings(), "no recall": Settings(recall_share=0)}


def open_session(variant: str, budget_tokens: int) -> _Ours:
    """Open a session with the default settings, or with recall switched off."""
    return _Ours(_SETTINGS[variant], budget_tokens)
