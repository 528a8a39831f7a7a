"""The budget of a request: from the window, from the model, or as given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import ContextBuilder
from context_builder.errors import (
    AdapterError,
    InvalidItemError,
    UnknownModelError,
)
from context_builder.limits import Limits, limits_for
from context_builder.settings import RequestOptions, Settings


def limits(
    model: str | None = None,
    max_tokens: int | None = None,
    context_window: int | None = None,
    *,
    settings: Settings | None = None,
    **options: Any,
) -> Limits:
    """Return the limits of a request."""
    return limits_for(
        model=model,
        max_tokens=max_tokens,
        context_window=context_window,
        options=RequestOptions(**options),
        settings=settings or Settings(),
    )


def test_the_budget_is_seventy_percent_of_the_window() -> None:
    """The rest is for the output and for safety."""
    assert limits(context_window=10_000) == Limits(
        7_000, 10_000, 3_000, budget_share=0.7, reserve_share=0.3
    )


def test_an_explicit_budget_wins() -> None:
    """Whatever the model's window is; the window is only told."""
    assert limits("gpt-4o", 4_096).budget_tokens == 4_096
    assert limits("gpt-4o", 4_096).context_window == 128_000
    assert limits(max_tokens=10**9).context_window is None


def test_an_unknown_model_with_a_budget_is_fine() -> None:
    """Nothing has to be guessed."""
    assert limits("my-own-model", 4_096).budget_tokens == 4_096
    assert limits("my-own-model", None, 10_000).budget_tokens == 7_000


def test_an_unknown_model_without_one_is_an_error() -> None:
    """The window is never 0 and never a silent guess."""
    with pytest.raises(UnknownModelError) as error:
        limits("gpt-4p")
    assert "gpt-4o" in error.value.close_matches


def test_nothing_given_is_an_error_that_says_what_to_give() -> None:
    """A model, a window or a budget."""
    with pytest.raises(InvalidItemError, match="context_window="):
        limits()


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_a_budget_is_positive(max_tokens: int) -> None:
    """Zero tokens are no budget."""
    with pytest.raises(InvalidItemError) as error:
        limits(max_tokens=max_tokens)
    assert error.value.field == "max_tokens"


def test_what_the_output_was_promised_is_kept_free() -> None:
    """A limit that was asked for is never used for input."""
    assert limits(context_window=10_000, max_output_tokens=6_000).budget_tokens == 4_000
    thinking = limits(context_window=10_000, thinking_budget_tokens=8_000)
    assert thinking.budget_tokens == 2_000


def test_an_output_that_takes_the_window_is_an_error() -> None:
    """There would be no room for input."""
    with pytest.raises(InvalidItemError, match="no room"):
        limits(context_window=1_000, max_output_tokens=1_000)


def test_what_nobody_limited_reserves_a_share_at_most() -> None:
    """Many models state a largest output as large as the window."""
    settings = Settings(budget_share=1.0, reserve_share=0.1)
    assert limits(context_window=10_000, settings=settings).budget_tokens == 9_000


@given(
    window=st.integers(10, 10**7),
    share=st.floats(0.01, 1),
    reserve=st.floats(0, 0.99),
    output=st.none() | st.integers(1, 10**7),
)
def test_input_and_promised_output_fit_the_window(
    window: int, share: float, reserve: float, output: int | None
) -> None:
    """For all settings: a budget, or an error that says why there is none."""
    settings = Settings(budget_share=share, reserve_share=reserve)
    try:
        found = limits(None, None, window, settings=settings, max_output_tokens=output)
    except InvalidItemError:
        return
    assert 0 < found.budget_tokens <= window
    assert found.budget_tokens + found.reserved_tokens <= window


@pytest.mark.parametrize("field", ["max_tokens", "context_window"])
@pytest.mark.parametrize("value", ["4096", 4.5, float("nan"), True, [4_096]])
def test_tokens_are_a_whole_number(field: str, value: Any) -> None:
    """Anything else is a typed error."""
    with pytest.raises(InvalidItemError) as error:
        limits(**{field: value})
    assert error.value.field == field


NATIVE = ("anthropic", "bedrock", "gemini", "mistral", "cohere", "kimi", "glm", "xai")


@pytest.mark.parametrize("target", NATIVE)
def test_a_vendor_is_not_asked_for_another_vendors_model(target: str) -> None:
    """The session's model is none of this vendor's: the request has to name one."""
    ctx = ContextBuilder(model="gpt-4o")
    ctx.add_user_message("Hello.")
    with pytest.raises(AdapterError, match="'gpt-4o' is one of openai") as caught:
        ctx.request(target)
    assert caught.value.adapter == target
    assert "pass model=" in str(caught.value)
    assert ctx.build(target)  # messages name no model
    assert "gpt-4o" in str(ctx.request(target, model="gpt-4o"))  # the caller knows


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("openai-compatible", "claude-sonnet-5"),
        ("strict", "gemini-3.5-flash"),
        ("openai", "claude-sonnet-5"),
        ("groq", "gpt-oss-20b"),
        ("ollama", "gemma-3-27b-it"),
        ("anthropic", "us.anthropic.claude-sonnet-4-6"),
        ("bedrock", "claude-sonnet-5"),
        ("qwen", "deepseek-v3.2"),
        ("anthropic", "our-own-model"),
        ("gemini", "gpt-4o-of-tomorrow"),
    ],
)
def test_who_serves_many_or_unknown_models_is_asked_for_them(
    target: str, model: str
) -> None:
    """Gateways serve anybody's models, and a model that is not known may be theirs."""
    ctx = ContextBuilder(model=model, context_window=9_000)
    ctx.add_user_message("Hello.")
    assert model in str(ctx.request(target))
