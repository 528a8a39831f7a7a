"""The errors of the library.

A class exists only where a caller would catch it apart. Facts are attributes; the
message says what happened, how much, and what to do. No message holds content.

    ContextBuilderError
      InvalidItemError        also ValueError; `field`, `value`
      UnknownModelError       also LookupError; `model`, `close_matches`
      BudgetExceededError     `needed_tokens`, `limit_tokens`, `parts`
      AdapterError            `adapter`, `item_id`
      SummarizerError         recovered by the next rung, but reported
      StoreError
        SessionConflictError    a second writer; `session_id`
        SessionCorruptedError   `session_id`, `position`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AdapterError",
    "BudgetExceededError",
    "ContextBuilderError",
    "InvalidItemError",
    "SessionConflictError",
    "SessionCorruptedError",
    "StoreError",
    "SummarizerError",
    "UnknownModelError",
]


class ContextBuilderError(Exception):
    """The root: catch this to catch every error of the library."""


class InvalidItemError(ContextBuilderError, ValueError):
    """Something that came in is not what it has to be; nothing was added.

    Attributes:
        field: The name of the field or argument, such as `"priority"`.
        value: What was refused. It may hold content: it is never part of the message.
    """

    def __init__(self, message: str, *, field: str, value: object = None) -> None:
        super().__init__(message)
        self.field = field
        self.value = value


class UnknownModelError(ContextBuilderError, LookupError):
    """The table of models does not have this name, and a guess would be dangerous.

    Attributes:
        model: The name that was asked for.
        close_matches: Names in the table that look like it, best first.
    """

    def __init__(self, model: str, *, close_matches: Sequence[str] = ()) -> None:
        hint = (
            f" Did you mean {', '.join(map(repr, close_matches))}?"
            if close_matches
            else ""
        )
        super().__init__(
            f"The context window of model {model!r} is not known.{hint} Pass "
            "context_window=... (tokens), or an explicit budget with max_tokens=..."
        )
        self.model = model
        self.close_matches = tuple(close_matches)


class BudgetExceededError(ContextBuilderError):
    """The part of the request that may not be left out is larger than the budget.

    Attributes:
        needed_tokens: The size of the untouchable part in its cheapest form.
        limit_tokens: The budget.
        parts: Tokens of each part, largest first, such as `{"tools": 4210, ...}`.
    """

    def __init__(
        self,
        *,
        needed_tokens: int,
        limit_tokens: int,
        parts: Mapping[str, int] | None = None,
        message: str | None = None,
    ) -> None:
        self.needed_tokens = needed_tokens
        self.limit_tokens = limit_tokens
        self.parts = dict(sorted((parts or {}).items(), key=lambda part: -part[1]))
        sizes = ", ".join(f"{name} {tokens:,}" for name, tokens in self.parts.items())
        super().__init__(
            message
            or f"What may not be left out needs {needed_tokens:,} tokens; the budget "
            f"is {limit_tokens:,}"
            + (f" ({sizes})" if sizes else "")
            + ". Make the largest part smaller, or raise max_tokens."
        )


class AdapterError(ContextBuilderError):
    """A vendor cannot express what the request would have to say.

    Attributes:
        adapter: The name of the adapter, such as `"anthropic"`.
        item_id: The item in the way, where there is one.
    """

    def __init__(
        self, message: str, *, adapter: str, item_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.adapter = adapter
        self.item_id = item_id


class SummarizerError(ContextBuilderError):
    """A summary could not be had. The next rung of the ladder is taken instead."""


class StoreError(ContextBuilderError):
    """A store could not read or write a session."""


class SessionConflictError(StoreError):
    """Somebody else is writing this session.

    Attributes:
        session_id: The session that is taken.
    """

    def __init__(self, message: str, *, session_id: str) -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionCorruptedError(StoreError):
    """What was stored of a session cannot be read.

    Attributes:
        session_id: The session.
        position: Where the damage begins: the index of the first bad record, from 0.
    """

    def __init__(self, message: str, *, session_id: str, position: int) -> None:
        super().__init__(message)
        self.session_id = session_id
        self.position = position
