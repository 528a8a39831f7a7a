"""Brings back what a session holds, by words, by handle, or by lines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from context_builder.collect.plain import need_list, need_tokens, wrong
from context_builder.errors import (
    AdapterError,
    BudgetExceededError,
    InvalidItemError,
)
from context_builder.inspection import Inspecting
from context_builder.passing import RECALLED, Excerpt, excerpts_in, is_echo, is_passing
from context_builder.recalling import (
    ALL_SHOWN,
    LEAST_TOKENS,
    SessionIndex,
    found_text,
    item_text,
    lines_text,
)
from context_builder.render.frames import frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.items import ContextItem

__all__ = ["RECALL_TOKENS", "Recollecting"]

RECALL_TOKENS = 1_000
"""What is recalled at a time, if nobody says otherwise."""
_LINES = 2
_WHOLE_SESSION = "the whole session"
"""Whose passages a search looks through."""


class Recollecting(Inspecting):
    """Finds what the session holds; nothing about it enters the log."""

    def recall(
        self,
        query: str | None = None,
        *,
        handle: str | None = None,
        lines: tuple[int, int] | None = None,
        max_tokens: int = RECALL_TOKENS,
        skip_shown: bool = False,
        target: str = "openai",
        model: str | None = None,
    ) -> str:
        """Return what the session holds, in frames that name their handles.

        The whole session is searched, what is still in the request as well. What was
        taken out, replaced, or only passed is not. Nothing enters the log.

        Args:
            query: Words to look for; with a handle, in that item only.
            handle: The id of an item, such as `"i7"`.
            lines: The first and the last line of it, counted from 1.
            max_tokens: What all that comes back may take; at least 64.
            skip_shown: Whether what an answer of the recall tool says, that is still in
                the request of the target, is left out.
            target: The vendor whose tokens are counted.
            model: For another model than the session's.

        Raises:
            InvalidItemError: If there is no such item or line, or nothing is asked for.
        """
        if need_tokens(max_tokens, "max_tokens") < LEAST_TOKENS:
            message = f"max_tokens must be at least {LEAST_TOKENS}"
            raise InvalidItemError(message, field="max_tokens", value=max_tokens)
        shown = self._shown_excerpts(target, model) if skip_shown else ()
        meant = self._meant(query) if isinstance(query, str) and not lines else ()
        with self._lock:
            count = self._target(target, model, None).count_text
            if query is not None and lines is None:
                if handle is not None:
                    self._item_of(handle)
                if not isinstance(query, str):
                    raise wrong(query, "query", "text")
                hits = self._index().search(
                    self._log, query, handle=handle, meant=meant
                )
                return found_text(hits, max_tokens, count, shown=shown)
            item = self._item_of(handle)
        _check_lines(lines, item)
        text = lines_text(item, lines, max_tokens, count)
        said = excerpts_in(text)
        if said and all(any(s.covers(one) for s in shown) for one in said):
            return frame(RECALLED, ALL_SHOWN)
        return text

    def _meant(self, query: str) -> Sequence[tuple[float, int]]:
        """Return what an embedder finds; nothing where there is none, or it fails."""
        desk = self._embeddings
        if desk is None or desk.is_async_only or not query.strip():
            return ()
        with desk.flight() as is_ours:
            if not is_ours:
                return ()
            with self._lock:
                index = self._index()
                archive = index.archive_of(self._log)
                wish = desk.question(_WHOLE_SESSION, archive, index.text_of, query)
            answer = desk.ask(wish)
            if isinstance(answer, Exception):
                kind = type(answer).__name__
                self._event("embedding_failed", level=logging.WARNING, error=kind)
            with self._lock:
                return desk.best(_WHOLE_SESSION, answer)

    def _index(self) -> SessionIndex:
        if self._hook_state.index is None:
            self._hook_state.index = SessionIndex()
        return self._hook_state.index

    def _item_of(self, handle: str | None) -> ContextItem:
        """Return an item that may be recalled.

        Raises:
            InvalidItemError: If there is none of that name, with a text that helps.
        """
        if handle is None:
            message = "say what to recall: words to look for, or a handle such as i7"
            raise InvalidItemError(message, field="query")
        try:
            item = self._log.find(handle)
        except InvalidItemError as error:
            message = f"{error}; a handle is the id of an item, such as i7"
            raise InvalidItemError(message, field="handle", value=handle) from None
        if not self._log.holds(item.id):
            message = f"item {item.id} was taken out of the conversation"
            raise InvalidItemError(message, field="handle", value=handle)
        if is_passing(item):
            message = f"item {item.id} only passed: recall what it was about instead"
            raise InvalidItemError(message, field="handle", value=handle)
        return item

    def _shown_excerpts(self, target: str, model: str | None) -> tuple[Excerpt, ...]:
        """Return what answers of the recall tool say that the request shows whole."""
        try:
            report = self.explain(target, model=model)
        except (AdapterError, BudgetExceededError):
            return ()
        return tuple(
            excerpt
            for outcome in report.outcomes
            if outcome.is_whole and outcome.role == "tool"
            for item in (self._log.find(outcome.item_id),)
            if is_echo(item)
            for excerpt in excerpts_in(item.text)
        )


def _check_lines(lines: object, item: ContextItem) -> None:
    """Refuse what are no lines of an item.

    Raises:
        InvalidItemError: If they are none.
    """
    if lines is None:
        return
    pair = tuple(need_list(lines, "lines"))
    if len(pair) != _LINES or not all(type(n) is int and n > 0 for n in pair):
        raise wrong(lines, "lines", "the first and the last line, counted from 1")
    total = item_text(item).count("\n") + 1
    if pair[0] > total or pair[1] < pair[0]:
        message = f"lines {pair[0]}-{pair[1]}: {item.id} has lines 1-{total}"
        raise InvalidItemError(message, field="lines", value=lines)
