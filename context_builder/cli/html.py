"""Makes the page of its own of a transcript: `explain --html`."""

from __future__ import annotations

from pathlib import Path

from context_builder.cli.read import Transcript
from context_builder.cli.session import Ask, in_words_of, opened
from context_builder.inspector import Timeline, page, standalone_data

__all__ = ["page_of"]

_VENDORS = ("openai", "openai-responses", "anthropic", "gemini", "mistral", "bedrock")
"""Whose requests the page holds, beside the one that is asked for."""
_MOST_DIFFERENCES = 200


def page_of(transcript: Transcript, ask: Ask) -> str:
    """Return the window into a transcript as one HTML file.

    Raises:
        InputError: If there is no budget, or something cannot be used.
        CannotDoError: If it cannot be said within the budget, or to that vendor.
    """
    session = opened(transcript, ask)
    timeline = Timeline(
        target=ask.target,
        keeps_differences=_MOST_DIFFERENCES,
        model=ask.model or transcript.model,
        max_tokens=ask.max_tokens,
        context_window=ask.context_window,
    )
    with in_words_of(transcript):
        timeline.replay(session)
        data = standalone_data(
            session,
            timeline,
            target=ask.target,
            targets=dict.fromkeys((ask.target, *_VENDORS)),
        )
    return page(data, name=Path(transcript.where).name)
