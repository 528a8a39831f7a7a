from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.errors import UnknownModelError
from context_builder.tokens import ModelInfo, counter_for, known_models, resolve_model


@pytest.mark.parametrize("name", known_models())
def test_every_listed_model_is_whole(name: str) -> None:
    """A listed name is found as itself, with sane figures and a counter."""
    info = resolve_model(name)
    assert (info.name, info.is_guess) == (name, False)
    assert 0 < (info.max_input_tokens or 1) <= info.context_window
    assert 0 < (info.max_output_tokens or 1) <= info.context_window
    assert counter_for(info.encoding).is_exact == (info.encoding is not None)
    assert info.encoding or info.provider != "openai"


@pytest.mark.parametrize(
    ("name", "same_as", "window"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", 128_000),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini", 1_047_576),
        ("gpt-4-0613", "gpt-4", 8_192),
        ("gpt-4-0125-preview", "gpt-4-0125-preview", 128_000),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo", 128_000),
        ("gpt-4-32k-0613", "gpt-4-32k", 32_768),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo", 16_385),
        ("gpt-3.5-turbo-0613", "gpt-3.5-turbo-0613", 4_096),
        ("gpt-35-turbo", "gpt-3.5-turbo", 16_385),
        ("azure/gpt-35-turbo-16k", "gpt-3.5-turbo-16k", 16_385),
        ("ft:gpt-4o-mini:org::id", "gpt-4o-mini", 128_000),
        ("ft:gpt-4o-mini-2024-07-18:acme:name:id", "gpt-4o-mini", 128_000),
        ("openai/gpt-4o", "gpt-4o", 128_000),
        ("gpt-5.1-chat-latest", "gpt-5.1-chat", 128_000),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", 200_000),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5", 200_000),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5", 200_000),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            200_000,
        ),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet", 200_000),
        ("models/gemini-2.5-flash", "gemini-2.5-flash", 1_048_576),
        ("gemini-2.5-flash-preview-05-20", "gemini-2.5-flash", 1_048_576),
        ("gemini-2.0-flash-001", "gemini-2.0-flash", 1_048_576),
        ("GPT-4o ", "gpt-4o", 128_000),
    ],
)
def test_forms_of_a_name_are_known(name: str, same_as: str, window: int) -> None:
    """Dates, regions, providers and fine-tunes do not make another model."""
    info = resolve_model(name)
    assert (info.name, info.context_window, info.is_guess) == (same_as, window, False)


@pytest.mark.parametrize(
    ("name", "relative"),
    [
        ("gpt-4o-search-preview-2025-03-11", "gpt-4o"),
        ("gpt-5.9", "gpt-5"),
        ("gpt-4.1-huge", "gpt-4.1"),
        ("claude-sonnet-4-7", "claude-sonnet-4"),
        ("mistral-large-2612", "mistral-large-latest"),
        ("ollama/deepseek-chat", "deepseek-chat"),
    ],
)
def test_a_relative_is_a_guess(name: str, relative: str) -> None:
    """Figures that are another model's say so."""
    info = resolve_model(name)
    assert (info.name, info.is_guess) == (relative, True)


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4.1", "gpt-4o-new", "gpt-4.1-new"])
def test_a_name_ends_at_a_boundary(name: str) -> None:
    """gpt-4o and gpt-4.1 are not gpt-4, whose window is a fraction of theirs."""
    assert resolve_model(name).context_window > 100_000


@pytest.mark.parametrize("name", ["harbor-9-mini", "gpt4o", "", "/", "-", "claude"])
def test_what_has_no_relative_is_refused(name: str) -> None:
    """A window is never invented: the error names look-alikes and the way out."""
    with pytest.raises(UnknownModelError, match="context_window") as caught:
        resolve_model(name)
    assert set(caught.value.close_matches) <= set(known_models())


@given(name=st.text(st.sampled_from("gpt-4o.5:/@ftminclaude1207"), max_size=40))
def test_any_name_is_resolved_or_refused(name: str) -> None:
    """A name of any shape gives figures or UnknownModelError, and nothing else."""
    try:
        info = resolve_model(name)
    except UnknownModelError:
        return
    assert isinstance(info, ModelInfo)


def test_output_beside_the_window_is_marked() -> None:
    """With Gemini the window is the input's alone; with OpenAI both share it."""
    assert resolve_model("gemini-2.5-pro").separate_output
    assert not resolve_model("gpt-4o").separate_output
