"""Works out the input budget of a request from the model's limits and the settings."""

from __future__ import annotations

import dataclasses

from context_builder.errors import InvalidItemError, UnknownModelError
from context_builder.settings import MOST_TOKENS, RequestOptions, Settings
from context_builder.tokens import ModelInfo, resolve_model

__all__ = ["Limits", "check_limits", "limits_for", "provider_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What one request may take. All figures are tokens."""

    budget_tokens: int
    """Most input that a request may have: the high-water mark."""
    context_window: int | None
    """None: the budget was given, and the model's window does not matter."""
    reserved_tokens: int
    """Kept free for the output."""
    budget_share: float = 1.0
    """Which share of a window the budget is; 1 where the budget was given."""
    reserve_share: float = 1.0
    """Most of a window that is kept free; 1 where the output was asked for."""
    guessed_from: str | None = None
    """The model whose window stands in, as that of the model itself is not known."""

    def within(self, learned_tokens: int | None) -> int:
        """Return the budget where a vendor said how much the model really takes."""
        if learned_tokens is None:
            return self.budget_tokens
        return max(
            1,
            min(
                self.budget_tokens,
                int(learned_tokens * self.budget_share),
                learned_tokens
                - min(self.reserved_tokens, int(learned_tokens * self.reserve_share)),
            ),
        )


def limits_for(
    *,
    model: str | None,
    max_tokens: int | None,
    context_window: int | None,
    options: RequestOptions,
    settings: Settings,
) -> Limits:
    """Return the limits of a request.

    An explicit `max_tokens` wins. Otherwise the budget is `budget_share` of the window,
    never more than the window less the output that is kept free, and never more than
    the model's own ceiling for input. Kept free is what the caller asked for; unasked,
    the model's largest output, at most `reserve_share` of the window.

    Raises:
        InvalidItemError: If nothing says how large the budget is, or no room is left.
        UnknownModelError: If the window would have to be guessed.
    """
    check_limits(model, max_tokens=max_tokens, context_window=context_window)
    info = _known(model, is_needed=max_tokens is None and context_window is None)
    if max_tokens is not None:
        if max_tokens <= 0:
            message = f"max_tokens must be positive; it is {max_tokens}"
            raise InvalidItemError(message, field="max_tokens", value=max_tokens)
        window = context_window or (info.context_window if info else None)
        guess = _guessed_from(info, context_window)
        return Limits(max_tokens, window, reserved_tokens=0, guessed_from=guess)
    window = context_window or (info.context_window if info else 0)
    if window <= 0:
        message = (
            "nothing says how large the budget is: pass model=, context_window= or "
            "max_tokens= (tokens)"
        )
        raise InvalidItemError(message, field="max_tokens")
    found = _from_window(window, info, options, settings)
    return dataclasses.replace(found, guessed_from=_guessed_from(info, context_window))


def _guessed_from(info: ModelInfo | None, context_window: int | None) -> str | None:
    is_guess = info is not None and info.is_guess and context_window is None
    return info.name if info is not None and is_guess else None


def check_limits(model: object, **tokens: object) -> None:
    """Refuse what is no model and no number of tokens.

    Raises:
        InvalidItemError: For the first that is none.
    """
    if model is not None and not isinstance(model, str):
        message = f"model must be text, not {type(model).__name__}"
        raise InvalidItemError(message, field="model", value=model)
    for field, value in tokens.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            message = f"{field} must be a whole number, not {type(value).__name__}"
            raise InvalidItemError(message, field=field, value=value)
        if abs(value) > MOST_TOKENS:
            message = f"{field} must be at most {MOST_TOKENS:,} tokens"
            raise InvalidItemError(message, field=field, value=value)


def _known(model: str | None, *, is_needed: bool) -> ModelInfo | None:
    if model is None:
        return None
    try:
        return resolve_model(model)
    except UnknownModelError:
        if is_needed:
            raise
        return None


def provider_of(model: str) -> str | None:
    """Return who serves a model, by the table of models; None: it is not known."""
    try:
        info = resolve_model(model)
    except UnknownModelError:
        return None
    return None if info.is_guess else info.provider


def _from_window(
    window: int, info: ModelInfo | None, options: RequestOptions, settings: Settings
) -> Limits:
    reserved = _reserved(window, info, options, settings)
    free = window if info is not None and info.separate_output else window - reserved
    ceilings = [int(window * settings.budget_share), free]
    if info is not None and info.max_input_tokens is not None:
        ceilings.append(info.max_input_tokens)
    budget = min(ceilings)
    if budget <= 0:
        message = (
            f"an output of {reserved:,} tokens leaves no room for input in a window of "
            f"{window:,}"
        )
        raise InvalidItemError(message, field="max_output_tokens", value=reserved)
    is_asked = bool(options.max_output_tokens or options.thinking_budget_tokens)
    share = 1.0 if is_asked else settings.reserve_share
    return Limits(budget, window, reserved, settings.budget_share, share)


def _reserved(
    window: int, info: ModelInfo | None, options: RequestOptions, settings: Settings
) -> int:
    asked = max(options.max_output_tokens or 0, options.thinking_budget_tokens or 0)
    largest = info.max_output_tokens if info else None
    if asked:
        return min(asked, largest) if largest else asked
    unasked = int(window * settings.reserve_share)
    return min(unasked, largest) if largest else unasked
