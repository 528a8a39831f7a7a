"""Checks the settings that a session is given: named, typed, and nobody else's.

What vendors are asked for is copied, so that a caller who changes it afterwards changes
no later request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from context_builder.collect.plain import plain_json, repair_json, wrong
from context_builder.errors import InvalidItemError
from context_builder.settings import RequestOptions, Settings

__all__ = [
    "BUDGETS",
    "CONFIGURABLE",
    "NAMED_OPTIONS",
    "changed_options",
    "checked_options",
    "checked_settings",
]

BUDGETS = ("model", "max_tokens", "context_window")
NAMED_OPTIONS = (
    "max_output_tokens",
    "response_format",
    "tool_choice",
    "thinking_budget_tokens",
)
"""Options of requests that a session takes by their own names as well."""
CONFIGURABLE = (
    *BUDGETS,
    "settings",
    "options",
    *NAMED_OPTIONS,
    "summarizer",
    "summary_policy",
    "embedder",
    "embedding_policy",
    "hooks",
)
"""What can be changed in a session, by the names of its arguments."""
_DEFAULTS = Settings()
_NO_OPTIONS = RequestOptions()
"""Nobody can change them: all sessions share one of each."""


def checked_settings(settings: object) -> Settings:
    """Return settings; None: the defaults.

    Raises:
        InvalidItemError: If they are something else.
    """
    if settings is None:
        return _DEFAULTS
    if not isinstance(settings, Settings):
        raise wrong(settings, "settings", "Settings")
    return settings


def checked_options(options: object, **named: Any) -> RequestOptions:
    """Return the options of requests; what is named wins over the options.

    Raises:
        InvalidItemError: If one is not what it has to be.
    """
    given = {name: value for name, value in named.items() if value is not None}
    return changed_options(options, given)


def changed_options(options: object, changes: Mapping[str, Any]) -> RequestOptions:
    """Return the options with changes; None is a value like others.

    Raises:
        InvalidItemError: If one is not what it has to be.
    """
    if options is None and not changes:
        return _NO_OPTIONS
    if options is None:
        options = RequestOptions()
    if not isinstance(options, RequestOptions):
        raise wrong(options, "options", "RequestOptions")
    given = dict(options) | dict(changes)
    try:
        return RequestOptions.model_validate(
            {name: _owned(value, name) for name, value in given.items()}
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = str(first["loc"][0])
        message = f"{field}: {first['msg']}"
        raise InvalidItemError(message, field=field, value=given.get(field)) from None


def _owned(value: object, field: str) -> object:
    """Copy what could be changed afterwards."""
    if isinstance(value, Mapping):
        return repair_json(plain_json(value, field))
    return repair_json(value) if isinstance(value, str) else value
