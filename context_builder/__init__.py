"""Decides what a model sees before each call, and says it the way its vendor wants."""

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
