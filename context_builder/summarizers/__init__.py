"""Summaries of what was left out: asked for, checked, and accepted or refused.

Whatever a summariser does, no history is lost: a summary is put in only when it was
accepted, and what it covers stays in the log.
"""

from context_builder.summarizers.breaker import Attempt, breaker_state, may_ask
from context_builder.summarizers.drive import adrive, drive
from context_builder.summarizers.flow import (
    SummaryFlow,
    items_tokens,
    request_for,
    summary_flow,
)
from context_builder.summarizers.guard import SummaryGuard
from context_builder.summarizers.openai import OpenAISummarizer
from context_builder.summarizers.prepare import Prepared, Snapshot, aprepare, prepare
from context_builder.summarizers.protocol import (
    AnySummarizer,
    AsyncSummarizer,
    RefusalReason,
    Summarizer,
    SummaryRequest,
    SummaryResult,
    SummaryText,
)
from context_builder.summarizers.rendering import prompt_messages, prompt_text
from context_builder.summarizers.settings import SummaryPolicy

__all__ = [
    "AnySummarizer",
    "AsyncSummarizer",
    "Attempt",
    "OpenAISummarizer",
    "Prepared",
    "RefusalReason",
    "Snapshot",
    "Summarizer",
    "SummaryFlow",
    "SummaryGuard",
    "SummaryPolicy",
    "SummaryRequest",
    "SummaryResult",
    "SummaryText",
    "adrive",
    "aprepare",
    "breaker_state",
    "drive",
    "items_tokens",
    "may_ask",
    "prepare",
    "prompt_messages",
    "prompt_text",
    "request_for",
    "summary_flow",
]
