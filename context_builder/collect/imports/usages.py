"""Reads what was billed where it comes by itself, without the answer that it stood in.

SDKs give it as a field of the answer (`answer.usage`), each in its own names. What the
names mean, and whether cached tokens are in the sum, is the business of each vendor's
reader: a bill is put into the smallest answer that can hold it, and read from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["answer_with"]

Bill = Mapping[str, Any]
_Answer = dict[str, Any]


def _of_chat(bill: Bill) -> _Answer:
    said = {"role": "assistant"}
    return {"choices": [{"message": said, "finish_reason": "stop"}], "usage": bill}


def _of_messages_or_responses(bill: Bill) -> _Answer:
    """Only Anthropic leaves what was cached out of the sum, and names it apart."""
    if {"cache_read_input_tokens", "cache_creation_input_tokens"} & set(bill):
        said = {"type": "message", "role": "assistant", "content": []}
        return {**said, "stop_reason": "end_turn", "usage": bill}
    return {"object": "response", "output": [], "status": "completed", "usage": bill}


def _of_converse(bill: Bill) -> _Answer:
    said = {"message": {"role": "assistant", "content": []}}
    return {"output": said, "stopReason": "end_turn", "usage": bill}


def _of_cohere(bill: Bill) -> _Answer:
    said = {"role": "assistant"}
    return {"message": said, "finish_reason": "COMPLETE", "usage": bill}


def _of_gemini(bill: Bill) -> _Answer:
    return {"usageMetadata": bill}


_HOLDERS: Mapping[str, Callable[[Bill], _Answer]] = {
    "prompt_tokens": _of_chat,
    "input_tokens": _of_messages_or_responses,
    "inputTokens": _of_converse,
    "promptTokenCount": _of_gemini,
    "prompt_token_count": _of_gemini,
    "tokens": _of_cohere,
    "billed_units": _of_cohere,
}
"""What a vendor calls the input, or holds it in -> an answer with such a bill."""


def answer_with(bill: Bill) -> _Answer | None:
    """Return an answer that holds this bill and nothing else; None: it is no bill."""
    for name, holder in _HOLDERS.items():
        if bill.get(name) is not None:
            return holder(bill)
    return None
