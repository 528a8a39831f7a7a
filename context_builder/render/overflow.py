"""Recognises that a request was larger than the model's window, whoever says so.

Structured codes are looked at first, wording second. What only looks like it (a rate
limit, an output limit, too many bytes) is not taken for it: a smaller request would
not help.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from context_builder.render.error_facts import Facts, facts_of, members_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Overflow",
    "answer_overflow",
    "is_context_overflow",
    "overflow_of",
    "was_cut_silently",
]


@dataclass(frozen=True, slots=True)
class Overflow:
    """What a vendor said about a request that was too large. All figures are tokens."""

    limit_tokens: int | None = None
    """What the model can hold, as the vendor states it; None: it names no figure."""
    actual_tokens: int | None = None
    """The input as the vendor counted it, or its sum with the output."""
    output_tokens: int | None = None
    """The output that was asked for, where it counted and is named."""


def is_context_overflow(error: object) -> bool:
    """Say whether an error means that the request was larger than the model's window.

    Args:
        error: An SDK's exception, a body as data or JSON, a stream's event, or a text.
    """
    return overflow_of(error) is not None


def overflow_of(error: object) -> Overflow | None:
    """Return what an error says about an overflow; None: it is another error."""
    facts = facts_of(error)
    if _is_something_else(facts):
        return None
    stated = next((found for text in facts.texts if (found := _stated(text))), None)
    if stated is None and not (_CODES & facts.codes):
        return None
    return _with_figures(stated or Overflow(), facts.figures)


def answer_overflow(answer: object) -> Overflow | None:
    """Return the overflow that an answer tells of: it was cut, or holds an error.

    What the model said is not looked at.
    """
    if isinstance(answer, list | tuple):
        return next((found for one in answer if (found := answer_overflow(one))), None)
    if isinstance(answer, str | bytes):
        return None
    fields = members_of(answer)
    if _is_piece_of_text(fields):
        return None
    if fields.get("error") or members_of(fields.get("response")).get("error"):
        return overflow_of(answer)
    return Overflow() if _CUT_AT_WINDOW in facts_of(answer).codes else None


def _is_piece_of_text(fields: Mapping[str, Any]) -> bool:
    """Say whether it is a chunk of Chat Completions that holds nothing but text.

    Of the pieces of a stream nearly all are: nothing in them names an error or an end.
    """
    choices = fields.get("choices")
    if not (_CHUNK.issuperset(fields) and isinstance(choices, list)):
        return False
    return all(
        isinstance(one, dict)
        and _CHOICE.issuperset(one)
        and isinstance(delta := one.get("delta"), dict)
        and _TEXT.issuperset(delta)
        for one in choices
    )


def was_cut_silently(
    answer: object, *, window_tokens: int, estimated_tokens: int | None = None
) -> bool:
    """Say whether Ollama cut the oldest messages off and answered all the same.

    Args:
        answer: The answer, or the last piece of its stream.
        window_tokens: `num_ctx`, as the request set it.
        estimated_tokens: The request by our own count.
    """
    prompt = members_of(answer).get("prompt_eval_count")
    if not isinstance(prompt, int):
        return False
    if prompt >= window_tokens - max(8, window_tokens // 100):
        return True
    # Fewer than we counted means nothing: older versions leave out what is cached.
    return estimated_tokens is not None and estimated_tokens > window_tokens


_CHUNK = frozenset({"id", "object", "created", "model", "choices"})
_CHOICE = frozenset({"index", "delta"})
_TEXT = frozenset({"role", "content"})


# --- what it is not -------------------------------------------------------------------

_STATUSES = frozenset({200, 400, 413, 422, 500})
"""Overflows come with these; 200: in mid-stream; 500: local servers."""

_OTHER_CODES = frozenset(
    {
        "array_above_max_length",
        "insufficient_quota",
        "rate_limit_error",
        "rate_limit_exceeded",
        "request_too_large",
        "resource_exhausted",
        "string_above_max_length",
        "throttlingexception",
        "tokens",  # the type of OpenAI's limits per minute
    }
)

_OTHER = re.compile(
    r"rate.?limit|tokens? per (?:min|hour|day)|\btpm\b|too many requests|\bquota\b"
    r"|too many tokens, please wait"
    r"|max_tokens is too large: [\d,]+\. this model supports"
    r"|supports at most [\d,]+ completion tokens"
    r"|maximum allowed number of output tokens"
    r"|payload size exceeds|string too long|array too long",
    re.IGNORECASE,
)


def _is_something_else(facts: Facts) -> bool:
    if facts.statuses and not facts.statuses <= _STATUSES:
        return True
    if _OTHER_CODES & facts.codes:
        return True
    return any(_OTHER.search(text) for text in facts.texts)


# --- what it is -----------------------------------------------------------------------

_CUT_AT_WINDOW = "model_context_window_exceeded"
_CODES = frozenset(
    {
        _CUT_AT_WINDOW,
        "1261",  # Z.ai
        "3051",  # Mistral
        "context_length_exceeded",
        "context_overflow",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "exceed_context_size_error",
        "tokens_limit_reached",
    }
)

_NUMBER = r"(?:\d{1,3}(?:[,_\u00a0\u202f]\d{3})+|\d+)"
_PATTERNS = tuple(
    re.compile(
        re.sub("<([LAOS])>", lambda name: f"(?P<{name[1]}>{_NUMBER})", pattern),
        re.IGNORECASE | re.DOTALL,
    )
    # <L> limit, <A> input, <O> output, <S> the sum of both.
    for pattern in (
        r"\(<O> > <L> - <A>\)",
        (
            r"context length is <L> tokens.{0,40}?requested(?: about)? <S> tokens"
            r".{0,200}?<O> in the (?:completion|output)"
        ),
        r"maximum context length is <L> tokens and your request has <A> input tokens",
        (
            r"maximum context length is <L> tokens.{0,200}?requested <O> output tokens"
            r".{0,60}?<A> input tokens"
        ),
        (
            r"maximum context length is <L> tokens.{0,200}?"
            r"(?:resulted in|requested(?: about)?) <A> tokens"
        ),
        r"maximum context length is <L> tokens",
        r"limit of <L> tokens.{0,200}?resulted in <A>",
        r"exceeds? the (?:configured )?limit of <L> tokens",
        r"prompt is too long: <A> tokens > <L> maximum",
        r"context limit: <A> \+ <O> > <L>",
        (
            r"input token count \(?<A>\)? exceeds the maximum number of tokens allowed "
            r"\(?<L>"
        ),
        r"contains <A> tokens.{0,200}?model with <L>",
        r"cannot exceed <L> - received <A>",
        r"range of input length should be \[1, ?<L>\]",
        r"token limit: <L> \(requested: <A>\)",
        r"maximum prompt length is <L> but the request contains <A>",
        r"current length is <A> while limit is <L>",
        r"must be <= <L>\. given: <A> `inputs` tokens and <O>",
        r"must be <= <L>\. given: <A>",
        r"\(<A> tokens\) exceeds the available context size \(<L> tokens\)",
        r"input length <A> exceeds the maximum length <L>",
        r"prompt tokens \(<A>\) exceed model maximum \(<L>\)",
        r"maximum input length is <L>",
        r"request body too large for .{1,60} model\. max size: <L> tokens",
        r"exceeds the available context size",
        r"exceeds the context window",
        r"input is too long",
        r"input too long",
        r"prompt is too long",
        r"prompt too long",
        r"prompt exceeds max length",
        r"input tokens exceed",
        r"too many input tokens",
        r"too many tokens",
        r"expected maxlength: \d{4,}, actual: \d{4,}",
        r"reduce the length of the messages",
        r"tokens in request more than max",
        r"requested token count exceeds",
        r"model's maximum context (?:length|limit)",
        r"is longer than the model's context length",
        r"context[ _-]?overflow",
        (
            r"(?:exceed|too long|too large|longer than|larger than|beyond|greater than)"
            r"[^.\n]{0,60}context[ _-](?:length|window|limit|size)"
        ),
        (
            r"context[ _-](?:length|window|limit|size)[^.\n]{0,60}"
            r"(?:exceed|overflow|too long|too large|too small)"
        ),
    )
)
"""In this order: the first that matches states the figures; plain ones come last."""


def _stated(text: str) -> Overflow | None:
    for pattern in _PATTERNS:
        found = pattern.search(text)
        if found is not None:
            return _read(
                {name: _number(said) for name, said in found.groupdict().items()}
            )
    return None


def _read(figures: Mapping[str, int]) -> Overflow:
    output = figures.get("O")
    actual = figures.get("A")
    if "S" in figures:
        actual = figures["S"] - (output or 0)
    return Overflow(figures.get("L") or None, actual, output)


def _number(said: str) -> int:
    return int(re.sub(r"\D", "", said))


def _with_figures(overflow: Overflow, figures: Mapping[str, int]) -> Overflow:
    """Add what the error has as data: llama.cpp's server does."""
    return replace(
        overflow,
        limit_tokens=overflow.limit_tokens or figures.get("n_ctx"),
        actual_tokens=overflow.actual_tokens or figures.get("n_prompt_tokens"),
    )
