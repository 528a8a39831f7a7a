"""Counting tokens: texts exactly or by estimate, models' limits, OpenAI's framing.

Importing this package reads no file and loads no tokenizer; both happen on first use.
"""

from context_builder.tokens.counter import TokenCounter, counter_for
from context_builder.tokens.estimator import EstimatingCounter
from context_builder.tokens.models import ModelInfo, known_models, resolve_model
from context_builder.tokens.openai_framing import (
    OpenAIFraming,
    framing_for,
    message_tokens,
    messages_tokens,
    request_overhead,
    request_tokens,
    response_format_tokens,
    tools_tokens,
)
from context_builder.tokens.tiktoken_counter import TiktokenCounter

__all__ = [
    "EstimatingCounter",
    "ModelInfo",
    "OpenAIFraming",
    "TiktokenCounter",
    "TokenCounter",
    "counter_for",
    "framing_for",
    "known_models",
    "message_tokens",
    "messages_tokens",
    "request_overhead",
    "request_tokens",
    "resolve_model",
    "response_format_tokens",
    "tools_tokens",
]
