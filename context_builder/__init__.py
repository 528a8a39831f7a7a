"""Decides what a model sees before each call, and says it the way its vendor wants.

The names below are loaded when they are first asked for: importing the package alone
costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_builder.builder import ContextBuilder
    from context_builder.counting import count, count_messages
    from context_builder.errors import (
        AdapterError,
        BudgetExceededError,
        ContextBuilderError,
        InvalidItemError,
        SessionConflictError,
        SessionCorruptedError,
        StoreError,
        SummarizerError,
        UnknownModelError,
    )
    from context_builder.items import ContextItem
    from context_builder.messages import (
        AudioPart,
        FilePart,
        ImagePart,
        ReasoningPart,
        TextPart,
        ToolCall,
    )
    from context_builder.policy import Policy
    from context_builder.recovery import acall_with_recovery, call_with_recovery
    from context_builder.render.overflow import is_context_overflow
    from context_builder.report import Outcome, Report
    from context_builder.sessions import SessionManager
    from context_builder.settings import RequestOptions, Settings, Shares
    from context_builder.tokens import TokenCounter

__all__ = [
    "AdapterError",
    "AudioPart",
    "BudgetExceededError",
    "ContextBuilder",
    "ContextBuilderError",
    "ContextItem",
    "FilePart",
    "ImagePart",
    "InvalidItemError",
    "Outcome",
    "Policy",
    "ReasoningPart",
    "Report",
    "RequestOptions",
    "SessionConflictError",
    "SessionCorruptedError",
    "SessionManager",
    "Settings",
    "Shares",
    "StoreError",
    "SummarizerError",
    "TextPart",
    "TokenCounter",
    "ToolCall",
    "UnknownModelError",
    "acall_with_recovery",
    "call_with_recovery",
    "count",
    "count_messages",
    "is_context_overflow",
]

_HOMES = {
    "builder": ("ContextBuilder",),
    "counting": ("count", "count_messages"),
    "errors": (
        "AdapterError",
        "BudgetExceededError",
        "ContextBuilderError",
        "InvalidItemError",
        "SessionConflictError",
        "SessionCorruptedError",
        "StoreError",
        "SummarizerError",
        "UnknownModelError",
    ),
    "items": ("ContextItem",),
    "messages": (
        "AudioPart",
        "FilePart",
        "ImagePart",
        "ReasoningPart",
        "TextPart",
        "ToolCall",
    ),
    "policy": ("Policy",),
    "recovery": ("acall_with_recovery", "call_with_recovery"),
    "render.overflow": ("is_context_overflow",),
    "report": ("Outcome", "Report"),
    "sessions": ("SessionManager",),
    "settings": ("RequestOptions", "Settings", "Shares"),
    "tokens": ("TokenCounter",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name from its module, and keep it."""
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = importlib.import_module(f"{__name__}.{home}")
    found: object = getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
