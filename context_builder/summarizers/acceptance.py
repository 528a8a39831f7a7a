"""Decides whether an answer may stand in for history. Pure; sees texts and counts.

A wrong yes loses history from the model's view; a wrong no costs one summary, and the
digest stands in. So doubt refuses, but words alone are no doubt: a summary may tell of
errors and of refusals. Only an answer that is nothing else is taken for one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from context_builder.summarizers.protocol import RefusalReason, SummaryText
from context_builder.unicode import repair_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answer_problem", "size_problem", "tidy_text"]

_SHORT_CHARS = 400
"""Error texts and refusals are short; a long text that begins like one is a summary."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_HAS_WORD = re.compile(r"\w")
_DANGLING = re.compile(r"(?:[,;:(\[{\\]|^[^\S\n]*[-*+])\Z", re.MULTILINE)
_OPENS_JSON = re.compile(r"\{|\[\s*[\[{\"]")
_ERROR_KEYS = frozenset({"error", "errors", "exception", "traceback"})
_MARKUP = re.compile(r"^(?:<!doctype|<html|<\?xml)\b", re.IGNORECASE)


def _one_of(*patterns: str) -> re.Pattern[str]:
    """Match a text that begins with one of these, whatever stands before the word."""
    return re.compile(rf"\W*+(?:{'|'.join(patterns)})", re.IGNORECASE | re.DOTALL)


_ERROR = _one_of(
    r"(?:[\w.]*error|[\w.]*exception|fatal)\s*[:(\[]",
    r"error\s+(?:code|\d{3}|while|during|generating|calling)\b",
    r"traceback \(most recent",
    r"(?:http|status|code)\D{0,12}[45]\d\d\b",
    r"[45]\d\d\s+(?:internal|bad|service|gateway|too many|unauth|forbidden|not found)",
    r"(?:backend|server|upstream|service|gateway)\s+(?:error|[45]\d\d)\b",
    r"internal server error|bad gateway|bad request|gateway time-?out",
    r"service (?:temporarily )?unavailable|too many requests|unauthorized",
    r"rate limit|quota exceeded|request timed out|context length exceeded",
    r"connection (?:error|refused|reset|aborted|timed out)",
    r"(?:failed|unable) to (?:generate|create|produce|summari[sz]e|connect|reach)",
)
_REFUSAL = _one_of(
    r"(?:i'm |i am |we're )?(?:very |so |really )?sorry\b.{0,60}?"
    r"\b(?:can't|cannot|can not|unable|not able|won't|don't)\b",
    r"i (?:can't|cannot|can not|won't|am unable to|am not able to) "
    r"(?:help|assist|comply|summari[sz]e|do that|provide|process|fulfil)",
    r"i'm (?:unable|not able) to\b",
    r"as an? (?:ai|artificial|large)\b",
    r"(?:there is|i see|you (?:have not|haven't|did not|didn't)) "
    r"(?:no|any|provided?|given?|shared?)\b.{0,30}\b(?:conversation|messages?|text)\b",
    r"(?:lo siento|lamento|perdón).{0,40}\bno pued",
    r"(?:je suis )?désolé.{0,60}\bpeux pas\b",
    r"(?:es )?tut mir leid.{0,60}\b(?:kann|nicht)\b",
    r"(?:desculpe|lamento|sinto muito).{0,40}\bnão posso\b",
    r"(?:很?抱歉|对不起|對不起).{0,20}(?:无法|無法|不能)",
    r"申し訳.{0,30}(?:できません|いたしかね)",
)


def tidy_text(answer: str) -> str:
    """Return an answer without what no request can carry: controls, half characters."""
    plain = repair_text(str(answer)).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(" ", plain).strip()


def answer_problem(answer: object) -> RefusalReason | None:
    """Say what is wrong with an answer in itself; None: it reads like a summary."""
    if not isinstance(answer, str):
        return "empty" if answer is None else "not_text"
    said = tidy_text(answer)
    if isinstance(answer, SummaryText) and answer.is_refusal:
        return "refusal"
    if not _HAS_WORD.search(said):
        return "empty"
    if _is_error(said):
        return "error_text"
    if len(said) <= _SHORT_CHARS and _REFUSAL.match(_plain_quotes(said)):
        return "refusal"
    is_cut_off = isinstance(answer, SummaryText) and answer.is_cut_off
    return "cut_off" if is_cut_off or _breaks_off(said) else None


def size_problem(
    text: str, *, max_tokens: int, replaced_tokens: int, count: Callable[[str], int]
) -> RefusalReason | None:
    """Say whether a summary takes too much; None: it is worth its tokens."""
    tokens = count(text)
    if tokens > max_tokens:
        return "too_long"
    return "not_smaller" if tokens >= replaced_tokens else None


def _plain_quotes(said: str) -> str:
    return said.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _is_error(said: str) -> bool:
    if _MARKUP.match(said):
        return True
    if said.startswith("{"):
        return _is_error_object(said)
    return len(said) <= _SHORT_CHARS and _ERROR.match(said) is not None


def _is_error_object(said: str) -> bool:
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not value.keys().isdisjoint(_ERROR_KEYS)


def _breaks_off(said: str) -> bool:
    """Say whether a text ends in the middle of a structure."""
    if said.count("```") % 2:
        return True
    if _OPENS_JSON.match(said):
        return not _is_whole_json(said)
    return _DANGLING.search(said) is not None


def _is_whole_json(said: str) -> bool:
    try:
        json.loads(said)
    except (ValueError, RecursionError):
        return False
    return True
