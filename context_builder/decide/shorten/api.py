"""Shortens one text to a number of tokens, by its shape.

Decides how a text is shown when it may not be shown whole. Knows neither messages nor
budgets, and counts only through the function it is given.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from context_builder.decide.shorten.cuts import (
    SMALLEST_MARKER,
    keep_around,
    keep_ends,
    left_out,
)
from context_builder.decide.shorten.fit import (
    Counter,
    Renderer,
    chars_per_token_if_over,
    largest_fit,
)
from context_builder.decide.shorten.lines import (
    code_lines,
    json_lines,
    log_lines,
    table_lines,
)
from context_builder.decide.shorten.shapes import Shape, detect_shape
from context_builder.decide.shorten.values import JsonShortener, parse_json, quote

__all__ = ["MIN_TOKENS", "shorten_arguments", "shorten_middle", "shorten_text"]

MIN_TOKENS: Final = 20
"""Every text can be brought down to this by every counter that gives an ASCII
character at most one token; real vocabularies reach about half of it."""

_LONGEST_REQUEST_SHARE: Final = 0.75
_FEW_LINE_ENDS: Final = 3
_LAST_SENTENCE_CHARS: Final = 2_000
_SENTENCE_BREAKS: Final = ("\n", ". ", "! ", "? ", "\u3002", "\uff01", "\uff1f")


def shorten_text(
    text: str, max_tokens: int, count: Counter, *, shape: Shape = "auto"
) -> str:
    """Show `text` in at most `max_tokens`, keeping what tells most.

    Text within the limit is returned as it is. Elsewhere a marker says how much is
    missing wherever something is. JSON stays JSON of the same kind.

    Args:
        text: Any text.
        max_tokens: The limit. From `MIN_TOKENS` on it is always kept; below that the
            shortest marker is returned when nothing fits.
        count: Counts the tokens of a text; called at most 13 times, usually 3 to 6.
        shape: What kind of text it is.
    """
    chars_per_token = chars_per_token_if_over(text, max_tokens, count)
    if chars_per_token is None:
        return text
    render, most_chars, smallest = _renderer(text, shape)
    fitting = largest_fit(
        render, most_chars, max_tokens * chars_per_token, max_tokens, count
    )
    return fitting or _smallest(text, smallest, count)


def shorten_middle(text: str, max_tokens: int, count: Counter) -> str:
    """Show the beginning and the end of what a person wrote, with a marker between.

    The last sentence stays whole where there is room: it often holds the request.
    Limits and guarantees are those of `shorten_text`.
    """
    chars_per_token = chars_per_token_if_over(text, max_tokens, count)
    if chars_per_token is None:
        return text
    request_chars = len(text) - _last_sentence(text)

    def render(room: int) -> str:
        if room // 2 < request_chars <= room * _LONGEST_REQUEST_SHARE:
            return keep_around(text, room - request_chars, len(text) - request_chars)
        return keep_ends(text, room, head_share=0.5)

    fitting = largest_fit(
        render, _most_chars(text), max_tokens * chars_per_token, max_tokens, count
    )
    return fitting or _smallest(text, SMALLEST_MARKER, count)


def shorten_arguments(arguments: str, max_tokens: int, count: Counter) -> str:
    """Show the arguments of a tool call as a JSON object in at most `max_tokens`.

    All top-level keys stay; long values are shortened inside the parsed object. What
    is not a JSON object becomes `{"_raw": ...}`; where not even the keys fit, the
    object only says how much was there. An object within the limit is returned as it
    is; blank arguments are the empty object.
    """
    if not arguments.strip():
        return "{}"
    pairs = parse_json(arguments)
    is_object = isinstance(pairs, tuple)
    if not is_object:
        pairs = (("_raw", arguments),)
    written = arguments if is_object else f'{{"_raw":{quote(arguments)}}}'
    chars_per_token = chars_per_token_if_over(written, max_tokens, count)
    if chars_per_token is None:
        return written
    shortener = JsonShortener(pairs, _string_renderer, keep_keys=True)
    fitting = largest_fit(
        shortener.render,
        shortener.ample_chars,
        max_tokens * chars_per_token,
        max_tokens,
        count,
    )
    if fitting is not None:
        return fitting
    said = f'{{"_shortened":"<{len(arguments):,} characters left out>"}}'
    return said if count(said) <= max_tokens else '{"_shortened":"..."}'


def _smallest(text: str, marker: str, count: Counter) -> str:
    """Return the marker, unless the text itself is even smaller."""
    if len(text) > 2 * MIN_TOKENS or count(marker) < count(text):
        return marker
    return text


def _most_chars(text: str) -> int:
    """Return the longest that is worth cutting: a marker is not free."""
    return len(text) - len(left_out(len(text)))


def _renderer(text: str, shape: Shape) -> tuple[Renderer, int, str]:
    """Return how to show the text, the length that shows all, and the smallest form."""
    if shape == "auto":
        shape = detect_shape(text)
    if shape == "json":
        value = parse_json(text)
        if value is not None:
            shortener = JsonShortener(value, _string_renderer)
            return shortener.render, shortener.ample_chars, shortener.render(0)
        shape = "log"
    return _text_renderer(text, shape), _most_chars(text), SMALLEST_MARKER


def _text_renderer(text: str, shape: Shape) -> Renderer:
    if shape == "prose" or text.count("\n") < _FEW_LINE_ENDS:
        return partial(keep_ends, text)
    if shape == "jsonl":
        return json_lines(text, _shorten_json_line)
    by_shape = {"code": code_lines, "table": table_lines}
    return by_shape.get(shape, log_lines)(text)


def _string_renderer(text: str) -> Renderer:
    """Show a string inside JSON by its own shape; JSON in JSON is read as well."""
    shape = detect_shape(text)
    if shape == "json":
        value = parse_json(text)
        if value is not None and not isinstance(value, str):
            return JsonShortener(value).render
        shape = "prose"
    return _text_renderer(text, shape)


def _shorten_json_line(line: str, room_chars: int) -> str:
    value = parse_json(line)
    if value is None:
        return keep_ends(line, room_chars)
    return JsonShortener(value).render(room_chars)


def _last_sentence(text: str) -> int:
    """Return where the last sentence of `text` begins."""
    end = len(text.rstrip())
    first = max(0, end - _LAST_SENTENCE_CHARS)
    window = text[first : max(end - 2, 0)]
    ends = (
        window.rfind(mark) + len(mark) for mark in _SENTENCE_BREAKS if mark in window
    )
    return first + max(ends, default=0)
