"""Works out the input budget of a request from the model's limits and the settings."""

from __future__ import annotations

import dataclasses

from context_builder.errors import InvalidItemError, UnknownModelError
from context_builder.settings import MOST_TOKENS, RequestOptions, Settings
from context_builder.tokens import ModelInfo, resolve_model

__all__ = ["Limits", "check_limits", "limits_for"]


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
        return Limits(max_tokens, window, reserved_tokens=0)
    window = context_window or (info.context_window if info else 0)
    if window <= 0:
        message = (
            "nothing says how large the budget is: pass model=, context_window= or "
            "max_tokens= (tokens)"
        )
        raise InvalidItemError(message, field="max_tokens")
    return _from_window(window, info, options, settings)


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
