"""Finds the most of a text that fits a number of tokens, with few counts.

Decides how much to keep; how it is kept is the renderer's business. Lengths come from
a grid, so that nearly equal limits give the same cut: a cut that jitters would change
the request, and the vendor's prompt cache with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from context_builder.decide.shorten.cuts import cut_before

__all__ = [
    "Counter",
    "Renderer",
    "chars_per_token_if_over",
    "largest_fit",
]

Counter = Callable[[str], int]
"""Counts the tokens of a text."""

Renderer = Callable[[int], str]
"""Shows a text with about so many characters of it; 0 is the marker alone."""

_SAMPLE_CHARS_PER_TOKEN: Final = 8
"""Text that needs fewer tokens than one for 8 characters is counted whole."""

_STEPS: Final = 16
_MOST_CANDIDATES: Final = 8
_GUESSES: Final = 3


def grid_chars(level: int) -> int:
    """Return the characters kept at `level`: 0, then 16 steps to every doubling."""
    if level <= 0:
        return 0
    octave, step = divmod(level - 1, _STEPS)
    return (_STEPS + step) << octave


def grid_level(chars: float) -> int:
    """Return the highest level that keeps at most `chars`."""
    whole = int(chars)
    if whole < _STEPS:
        return 0
    octave = whole.bit_length() - _STEPS.bit_length()
    return octave * _STEPS + (whole >> octave) - _STEPS + 1


def chars_per_token_if_over(text: str, max_tokens: int, count: Counter) -> float | None:
    """Return how long a token is in `text`, or None if `text` is within the limit.

    A text that is far too long is not counted whole: its beginning alone already
    needs more than `max_tokens`.
    """
    sample_chars = _SAMPLE_CHARS_PER_TOKEN * max(max_tokens, 8)
    if len(text) > 2 * sample_chars:
        sample = text[: cut_before(text, sample_chars)]
        tokens = count(sample)
        if tokens > max_tokens:
            return len(sample) / max(tokens, 1)
    tokens = count(text)
    return None if tokens <= max_tokens else len(text) / max(tokens, 1)


def largest_fit(
    render: Renderer,
    most_chars: int,
    guess_chars: float,
    max_tokens: int,
    count: Counter,
) -> str | None:
    """Return the fullest rendering of at most `max_tokens`, or None if none fits.

    Args:
        render: Called with lengths from the grid.
        most_chars: A length at which everything there is to keep is kept.
        guess_chars: The length that is likely to fit.
        max_tokens: The limit.
        count: Called for candidates only, at most 9 times.
    """
    search = _Search(low=-1, high=grid_level(most_chars) + 1)
    level = search.inside(grid_level(guess_chars))
    best: str | None = None
    counted: dict[str, int] = {}
    for attempt in range(_MOST_CANDIDATES):
        candidate = render(grid_chars(level))
        if candidate not in counted:  # neighbouring levels often look the same
            counted[candidate] = count(candidate)
        tokens = counted[candidate]
        if tokens <= max_tokens:
            best, search.low = candidate, level
        else:
            search.high = level
        if search.high - search.low <= 1:
            return best
        level = search.next_level(attempt, level, tokens, max_tokens)
    if best is None and count(smallest := render(0)) <= max_tokens:
        return smallest
    return best


class _Search:
    """The levels still in question: `low` fits, `high` does not."""

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def inside(self, level: int) -> int:
        """Return the level in question that is nearest to `level`."""
        return min(max(level, self.low + 1), self.high - 1)

    def next_level(self, attempt: int, level: int, tokens: int, max_tokens: int) -> int:
        """Guess by proportion at first, then halve: few counts, and never endless."""
        if attempt >= _GUESSES:
            return (self.low + self.high) // 2
        return self.inside(grid_level(grid_chars(level) * max_tokens / max(tokens, 1)))
