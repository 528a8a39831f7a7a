"""Shortens single texts to a number of tokens or characters; pure functions."""

from __future__ import annotations

from context_builder.decide.shorten.api import (
    MIN_TOKENS,
    shorten_arguments,
    shorten_middle,
    shorten_text,
)
from context_builder.decide.shorten.cuts import cut_before, truncate_chars
from context_builder.decide.shorten.fit import Counter
from context_builder.decide.shorten.gists import gist
from context_builder.decide.shorten.shapes import Shape
from context_builder.unicode import is_well_formed, repair_text

__all__ = [
    "MIN_TOKENS",
    "Counter",
    "Shape",
    "cut_before",
    "gist",
    "is_well_formed",
    "repair_text",
    "shorten_arguments",
    "shorten_middle",
    "shorten_text",
    "truncate_chars",
]
