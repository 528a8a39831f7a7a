"""Asks the library, and says its errors in a transcript's words: file, line, field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from context_builder.builder import ContextBuilder
from context_builder.cli.errors import (
    BY_BUDGET,
    CannotDoError,
    InputError,
    unknown_model,
)
from context_builder.cli.losses import losses
from context_builder.cli.read import Transcript
from context_builder.collect import read_request
from context_builder.errors import (
    ContextBuilderError,
    InvalidItemError,
    UnknownModelError,
)
from context_builder.render import Problem, validate
from context_builder.report import Report

__all__ = [
    "Ask",
    "Finding",
    "built",
    "check",
    "converted",
    "explained",
    "in_words_of",
    "opened",
    "request_in",
]

ROOM_FOR_ALL = 10**12
"""A budget, in tokens, that no transcript exceeds."""
SYSTEM_ROLES = {"system", "developer"}
NO_MODEL = "any"
"""Stands for the model while a request is made that shall not name one."""
CONVERSATION = {"gemini": "contents", "openai-responses": "input"}
"""Where a vendor's request has its conversation; elsewhere in `messages`."""
REQUEST_FIELDS = frozenset(
    {
        "additionalModelRequestFields",
        "config",
        "contents",
        "extra_body",
        "format",
        "generationConfig",
        "generation_config",
        "inferenceConfig",
        "input",
        "instructions",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "messages",
        "model",
        "modelId",
        "options",
        "outputConfig",
        "output_config",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning",
        "reasoning_effort",
        "response_format",
        "system",
        "systemInstruction",
        "system_instruction",
        "temperature",
        "text",
        "think",
        "thinking",
        "toolConfig",
        "tool_choice",
        "tool_config",
        "tools",
    }
)
"""What a request may hold; whatever else a record says is about the record."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the options say about the request."""

    target: str = "openai"
    model: str | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    system: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule, and the transcript that breaks it."""

    transcript: Transcript
    problem: Problem

    def __str__(self) -> str:
        return f"{self.transcript.where}: {self.problem}"

    def to_dict(self) -> dict[str, str]:
        """Return it as plain data."""
        return {"id": self.transcript.id, **asdict(self.problem)}


@contextmanager
def in_words_of(transcript: Transcript, *, way_out: str = BY_BUDGET) -> Iterator[None]:
    """Turn the library's errors into the command line's.

    Args:
        transcript: What they are about.
        way_out: What to do where a model is not known.

    Raises:
        InputError: If a field, or the model, cannot be used.
        CannotDoError: If the library cannot do it.
    """
    try:
        yield
    except InvalidItemError as error:
        text = str(error)
        if not text.startswith(error.field):
            text = f"{error.field}: {text}"
        raise InputError(transcript.where, text) from error
    except UnknownModelError as error:
        raise unknown_model(error, transcript.where, way_out=way_out) from error
    except ContextBuilderError as error:
        raise CannotDoError(transcript.where, str(error)) from error


def built(transcript: Transcript, ask: Ask) -> tuple[dict[str, Any], Report]:
    """Return the request that fits the budget, and what became of every item.

    Raises:
        InputError: If no model is named, or something cannot be used.
        CannotDoError: If it cannot be said within the budget, or to that vendor.
    """
    if not (ask.model or transcript.model):
        raise InputError(transcript.where, "a request names a model; use --model")
    session = opened(transcript, ask)
    _refuse_empty(transcript, session)
    with in_words_of(transcript):
        return session.request(ask.target), session.explain(ask.target)


def explained(transcript: Transcript, ask: Ask) -> Report:
    """Return what became of every item.

    Raises:
        InputError: If there is no budget, or something cannot be used.
        CannotDoError: If it cannot be said within the budget, or to that vendor.
    """
    session = opened(transcript, ask)
    with in_words_of(transcript):
        return session.explain(ask.target)


def opened(transcript: Transcript, ask: Ask) -> ContextBuilder:
    """Return a session that has taken a transcript over.

    Raises:
        InputError: If there is no budget, or something cannot be used.
    """
    model = ask.model or transcript.model
    if not (model or ask.max_tokens or ask.context_window):
        raise InputError(
            transcript.where, "no budget; use --model or --max-tokens to set one"
        )
    messages = transcript.messages
    if ask.system is not None and _starts_with_system(messages):
        messages = messages[1:]
    with in_words_of(transcript):
        session = ContextBuilder(
            model=model,
            max_tokens=ask.max_tokens,
            context_window=ask.context_window,
            system_prompt=ask.system,
            tools=transcript.tools,
        )
        session.extend(messages, format="openai")
    return session


def _refuse_empty(transcript: Transcript, session: ContextBuilder) -> None:
    """Refuse to make a request of nothing, as an empty file is refused.

    Raises:
        InputError: If no message of the transcript says anything.
    """
    if not any(item.role != "system" for item in session.items):
        raise InputError(transcript.where, "no message in it says anything")


def _starts_with_system(messages: list[dict[str, Any]]) -> bool:
    return bool(messages) and messages[0].get("role") in SYSTEM_ROLES


def request_in(transcript: Transcript, vendor: str) -> dict[str, Any]:
    """Return what of a transcript is a request, as one to that vendor.

    A bare list has its place by the vendor; facts about the record are left out.
    """
    body = transcript.body
    request = {name: value for name, value in body.items() if name in REQUEST_FIELDS}
    field = CONVERSATION.get(vendor, "messages")
    if field not in request and "messages" in request:
        request[field] = request.pop("messages")
    return request


def check(transcript: Transcript, target: str) -> list[Finding]:
    """List the rules of a vendor that a transcript breaks as it stands."""
    request = request_in(transcript, target)
    with in_words_of(transcript):
        problems = validate(request, target)
    return [Finding(transcript, problem) for problem in problems]


def converted(
    transcript: Transcript, *, origin: str, target: str, model: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the whole transcript as a request to another vendor, and what was lost.

    The model is named if it was asked for; a model of the old vendor says nothing.

    Raises:
        InputError: If something cannot be used.
        CannotDoError: If that vendor cannot be told it.
    """
    body = request_in(transcript, origin)
    with in_words_of(transcript):
        session = ContextBuilder(max_tokens=ROOM_FOR_ALL)
        session.extend(body, format=origin)
        _refuse_empty(transcript, session)
        named = model or NO_MODEL
        request = dict(session.request(target, model=named))
        lost = (
            *read_request(body, format=origin).lost,
            *session.explain(target, model=named).repairs,
            *losses(session.items, read_request(request, format=target).items),
        )
    if model is None:
        request.pop("model", None)
        request.pop("modelId", None)
    return request, lost
