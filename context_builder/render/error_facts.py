"""Collects what an error says of itself: statuses, codes, messages, figures.

An error may be an SDK's exception, an event of a stream, a body as data or as text, and
bodies nest: gateways put a vendor's JSON into a string of their own. Only fields that
describe an error are read, never what a model said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Facts", "facts_of", "members_of"]

_CODES = frozenset(
    {
        "code",
        "Code",
        "type",
        "__type",
        "status",
        "reason",
        "error_code",
        "errorCode",
        "error_type",
        "errorType",
        "finish_reason",
        "finishReason",
        "stop_reason",
        "stopReason",
    }
)
_STATUSES = frozenset(
    {"code", "status", "status_code", "statusCode", "http_status", "HTTPStatusCode"}
)
_TEXTS = frozenset(
    {
        "body",
        "detail",
        "details",
        "error",
        "Error",
        "error_message",
        "errorMessage",
        "message",
        "Message",
        "msg",
        "raw",
        "title",
    }
)
_NESTED = _TEXTS | {
    "choices",
    "cause",
    "delta",
    "errors",
    "incomplete_details",
    "innererror",
    "internalServerException",
    "messageStop",
    "metadata",
    "modelStreamErrorException",
    "response",
    "ResponseMetadata",
    "validationException",
}
_FIGURES = frozenset({"n_ctx", "n_prompt_tokens"})

_MOST_LEVELS = 8
_MOST_PLACES = 200
"""Nobody's error is larger; a stranger's object may be."""
_STATUS_CODES = range(100, 600)


@dataclass(slots=True)
class Facts:
    """What was found. Codes are in lower case."""

    statuses: set[int] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    places: int = 0
    """How many values were looked at."""


def facts_of(error: object) -> Facts:
    """Collect what an error says. It never raises, and asks nobody."""
    facts = Facts()
    _look_at(error, facts, _MOST_LEVELS)
    return facts


def members_of(value: object) -> Mapping[str, Any]:
    """Return the fields of a mapping or an SDK's object, without running its code."""
    if isinstance(value, Mapping):
        return value
    fields = getattr(value, "__dict__", None)
    return fields if isinstance(fields, dict) else {}


def _look_at(value: object, facts: Facts, levels: int) -> None:
    facts.places += 1
    if levels == 0 or facts.places > _MOST_PLACES or value is None:
        return
    if isinstance(value, str | bytes | bytearray):
        _look_at_text(value, facts, levels)
    elif isinstance(value, BaseException):
        _look_at_exception(value, facts, levels)
    elif isinstance(value, list | tuple):
        for member in value:
            _look_at(member, facts, levels - 1)
    else:
        _look_at_fields(members_of(value), facts, levels)


def _look_at_exception(error: BaseException, facts: Facts, levels: int) -> None:
    facts.codes.add(type(error).__name__.lower())
    known = len(facts.texts)
    if isinstance(error, BaseExceptionGroup):
        _look_at(error.exceptions, facts, levels)
    _look_at_fields(members_of(error), facts, levels)
    if len(facts.texts) == known:  # the body said nothing: what it is called has to do
        _look_at([part for part in error.args if isinstance(part, str)], facts, levels)


def _look_at_fields(fields: Mapping[str, Any], facts: Facts, levels: int) -> None:
    for name, value in list(fields.items()):
        if name in _STATUSES and isinstance(value, int) and value in _STATUS_CODES:
            facts.statuses.add(int(value))
        elif name in _CODES and isinstance(value, str | int):
            facts.codes.add(str(value).lower())
        elif name in _FIGURES and isinstance(value, int):
            facts.figures[name] = value
        elif name in _NESTED and not (isinstance(value, str) and name not in _TEXTS):
            _look_at(value, facts, levels - 1)


def _look_at_text(value: str | bytes | bytearray, facts: Facts, levels: int) -> None:
    """Take a text as a message, unless it is or holds a body that says more."""
    text = value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
    known = len(facts.texts), len(facts.codes)
    body = _body_in(text)
    if body is not None:
        _look_at(body, facts, levels - 1)
    if (len(facts.texts), len(facts.codes)) == known and text.strip():
        facts.texts.append(text)


def _body_in(text: str) -> object:
    """Return the JSON that a text is, or that begins in it; None: there is none."""
    starts = [place for mark in "{[" if (place := text.find(mark)) >= 0]
    for start in sorted(starts):
        try:
            body, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(body, dict | list):
            return body
    return None
