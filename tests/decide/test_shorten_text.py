"""What holds for every shortened text, whatever it is."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from context_builder.decide.shorten import (
    MIN_TOKENS,
    Shape,
    shorten_arguments,
    shorten_middle,
    shorten_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_builder.decide.shorten import Counter

    Shortener = Callable[[str, int, Counter], str]

MARKER = re.compile(r"\[\.\.\. ([\d,]+) characters? left out \.\.\.\]")
ANY_MARKER = re.compile(r"\.\.\.|left out")
SHAPES: tuple[Shape, ...] = ("auto", "json", "jsonl", "log", "code", "table", "prose")


def words(text: str) -> int:
    """Count words, long ones by the piece: cheap for prose, dear for nothing."""
    return sum(1 + len(word) // 6 for word in text.split())


def fake_bpe(text: str) -> int:
    """Count four bytes as a token, as vocabularies do on average."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4)


def per_char(text: str) -> int:
    """Count every character as a token."""
    return len(text)


def per_byte(text: str) -> int:
    """Count every byte: no counter the smallest size is promised for counts more."""
    return len(text.encode("utf-8", "surrogatepass"))


class Meter:
    """Counts, and remembers what it was asked to count."""

    def __init__(self, count: Counter) -> None:
        self.count = count
        self.lengths: list[int] = []

    def __call__(self, text: str) -> int:
        """Count `text`, and note its length."""
        self.lengths.append(len(text))
        return self.count(text)


COUNTERS = st.sampled_from([words, fake_bpe, per_char, per_byte])
PIECES = st.sampled_from(
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # one family
        "\U0001f1e9\U0001f1ea",  # one flag
        "\U0001f1eb",  # half a flag
        "e\u0301",
        "\u0e01\u0e33",
        "\u0915\u094d\u0937\u093f",  # one conjunct
        "\u1112\u1161\u11ab",  # one syllable of three letters
        "\u0600\u0661",  # a sign that joins what follows
        "1\ufe0f\u20e3",  # a keycap
        "\u4e2d\u6587\u53e5\u5b50\u3002",
        "\u304c\u3099\u304e",
        "\ud83d",
        "\ude00",
        "\0",
        "\r\n",
        "\n",
        " ",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\\\",
        "\\n",
        '"',
        "{",
        "]",
        "A sentence of words. ",
        "2024-05-01 ERROR it failed\n",
        "def f(x):\n",
        "a,b,c\n",
        '{"id":1}\n',
    ]
)
WILD = st.lists(PIECES | st.text(max_size=6), max_size=160).map("".join)
LONG_ONE_KIND = st.builds(
    lambda piece, times: piece * times, PIECES, st.integers(1, 900)
)
TEXTS = WILD | LONG_ONE_KIND | st.text(st.characters(), max_size=400)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**60, 10**90)
    | st.floats()
    | st.text(max_size=200)
    | st.text('ab\n"\\ \U0001f468\u200d', max_size=200),
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(st.text(max_size=12) | st.just("..."), inner, max_size=12)
    ),
    max_leaves=60,
)
JSON_OBJECTS = st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=8)
LIMITS = st.integers(MIN_TOKENS, 200)


def boundaries(text: str) -> set[int]:
    """Return every place between two characters of `text`."""
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


def split_at_marker(text: str, shortened: str) -> tuple[str, str] | None:
    """Return the head and the tail that were kept, or None if nothing but that is."""
    for marker in MARKER.finditer(shortened):
        head, tail = shortened[: marker.start()], shortened[marker.end() :]
        missing = int(marker[1].replace(",", ""))
        if (
            text.startswith(head)
            and text.endswith(tail)
            and len(head) + missing + len(tail) == len(text)
        ):
            return head, tail
    return None


@given(text=TEXTS, limit=LIMITS, count=COUNTERS, shape=st.sampled_from(SHAPES))
@example(text="\U00010000" * 6, limit=20, count=per_byte, shape="prose")
@example(text='"' + "\U00010000" * 6 + '"', limit=20, count=per_byte, shape="json")
@example(text='["' + "\U00010000" * 6 + '"]', limit=20, count=per_byte, shape="json")
@example(text='"' + "a" * 22 + '"', limit=20, count=per_char, shape="auto")
def test_a_text_fits_its_limit(
    text: str, limit: int, count: Counter, shape: Shape
) -> None:
    """From `MIN_TOKENS` on, whatever the text and whatever the shape, it fits."""
    assert count(shorten_text(text, limit, count, shape=shape)) <= limit


@given(value=JSON_VALUES, limit=LIMITS, count=COUNTERS, indent=st.none() | st.just(2))
def test_json_fits_its_limit(
    value: object, limit: int, count: Counter, indent: int | None
) -> None:
    """JSON fits as well, as a result and as the arguments of a call."""
    text = json.dumps(value, indent=indent)
    assert count(shorten_text(text, limit, count)) <= limit
    assert count(shorten_arguments(text, limit, count)) <= limit


@given(text=TEXTS, limit=LIMITS, count=COUNTERS)
def test_user_text_and_arguments_fit_their_limit(
    text: str, limit: int, count: Counter
) -> None:
    """So do what a person wrote, and arguments that are not JSON at all."""
    assert count(shorten_middle(text, limit, count)) <= limit
    assert count(shorten_arguments(text, limit, count)) <= limit


@pytest.mark.parametrize("shorten", [shorten_text, shorten_middle, shorten_arguments])
@given(text=TEXTS, limit=st.integers(-1, MIN_TOKENS), count=COUNTERS)
@example(text='"' + "\U00010000" * 6 + '"', limit=5, count=per_byte)
def test_a_limit_too_small_for_a_marker_gives_the_smallest_marker(
    shorten: Shortener, text: str, limit: int, count: Counter
) -> None:
    """Below `MIN_TOKENS` nothing raises, and nothing is larger than `MIN_TOKENS`."""
    assert count(shorten(text, limit, count)) <= MIN_TOKENS


@given(
    text=TEXTS,
    spare=st.integers(0, 20),
    count=COUNTERS,
    shape=st.sampled_from(SHAPES),
)
def test_text_within_the_limit_is_the_same_object(
    text: str, spare: int, count: Counter, shape: Shape
) -> None:
    """What fits is not touched, not even copied."""
    limit = count(text) + spare
    assert shorten_text(text, limit, count, shape=shape) is text
    assert shorten_middle(text, limit, count) is text


def test_a_long_text_of_few_tokens_is_not_touched() -> None:
    """A text that is long but cheap is within the limit: it is counted, not guessed."""
    text = "a" * 100_000
    assert shorten_text(text, 10, lambda text: len(text) // 50_000) is text


@given(text=TEXTS, limit=st.integers(0, 200), count=COUNTERS)
def test_shortening_never_makes_a_text_larger(
    text: str, limit: int, count: Counter
) -> None:
    """Even where the limit cannot be kept, the marker costs less than the text."""
    assert count(shorten_text(text, limit, count)) <= count(text)
    assert count(shorten_middle(text, limit, count)) <= count(text)


@given(text=TEXTS, limit=LIMITS, count=COUNTERS)
def test_user_text_keeps_both_ends_and_says_exactly_what_is_missing(
    text: str, limit: int, count: Counter
) -> None:
    """Head, marker, tail: with the number in the marker they add up to the text."""
    shortened = shorten_middle(text, limit, count)
    if shortened in {text, "[...]"}:
        return
    assert split_at_marker(text, shortened) is not None


@given(text=TEXTS, limit=LIMITS, count=COUNTERS)
@example(text="\U0001f1e9\U0001f1ea" * 900, limit=100, count=fake_bpe)
@example(text="a" + "\U0001f1e9\U0001f1ea" * 900, limit=100, count=fake_bpe)
@example(text="\r\n" * 300, limit=50, count=per_char)
def test_a_cut_never_splits_a_character(text: str, limit: int, count: Counter) -> None:
    """A family, a flag, a letter with its accent: whole, or not there."""
    shortened = shorten_middle(text, limit, count)
    if shortened in {text, "[...]"}:
        return
    kept = split_at_marker(text, shortened)
    assert kept is not None
    assert {len(kept[0]), len(text) - len(kept[1])} <= boundaries(text)


@given(
    pieces=st.lists(
        st.sampled_from(["\\u00e9", "\\ud83d\\ude00", "\\\\", "\\n", "a", "\\u4e2d "])
    ).map(lambda pieces: "".join(pieces * 20)),
    limit=LIMITS,
)
@example(pieces="\\\\" * 2_000, limit=100)
@example(pieces="\\ud83d\\ude00" * 500, limit=101)
def test_a_cut_never_splits_an_escape(pieces: str, limit: int) -> None:
    """Both ends of a text full of escapes are still readable as JSON strings."""
    shortened = shorten_text(pieces, limit, per_char, shape="prose")
    kept = split_at_marker(pieces, shortened)
    for end in kept or ():
        text = json.loads(f'"{end}"')
        assert not any("\ud800" <= char <= "\udfff" for char in text)


@given(text=TEXTS, limit=LIMITS, count=COUNTERS, shape=st.sampled_from(SHAPES))
def test_what_was_cut_is_marked(
    text: str, limit: int, count: Counter, shape: Shape
) -> None:
    """Nothing leaves a text without a mark, except white space between JSON values."""
    shortened = shorten_text(text, limit, count, shape=shape)
    if shortened is text or ANY_MARKER.search(shortened):
        return
    assert "".join(shortened.split()) == "".join(text.split())


@given(text=TEXTS, limit=LIMITS, count=COUNTERS, shape=st.sampled_from(SHAPES))
def test_the_same_question_has_the_same_answer(
    text: str, limit: int, count: Counter, shape: Shape
) -> None:
    """Shortening twice gives the same text twice."""
    first = shorten_text(text, limit, count, shape=shape)
    assert first == shorten_text(text, limit, count, shape=shape)


PROSE = "".join(f"Sentence {number} says something. " for number in range(4_000))
LOG = "".join(f"12:00:{n % 60:02d} INFO step {n} done\n" for n in range(4_000))
RECORDS = json.dumps([{"id": n, "note": "some words " * n} for n in range(200)])


@pytest.mark.parametrize("text", [PROSE, LOG, RECORDS], ids=["prose", "log", "json"])
def test_nearly_equal_limits_give_the_same_cut(text: str) -> None:
    """Lengths come from a grid: from 200 to 400 tokens there are few different cuts."""
    cuts = [shorten_text(text, limit, fake_bpe) for limit in range(200, 401)]
    assert 5 <= len(set(cuts)) <= 20
    assert all(fake_bpe(cut) >= 0.85 * limit for limit, cut in enumerate(cuts, 200))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_300_000,
        "START{" + '"pkg":"0.0.1",' * 100_000 + '"quill":"4.2.0"}END exit code 0',
        "{" + '"pkg":"0.0.1",' * 100_000 + '"quill":"4.2.0"}',
        LOG * 10,
        "\n" * 1_300_000,
        "e\u0301" * 650_000,
        "\U0001f1e9\U0001f1ea" * 650_000,
        "\\" * 1_300_000,
        "[" * 650_000 + "]" * 650_000,
        " " * 1_300_000 + "end.",
        "\u4e2d" * 1_300_000,
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_a_huge_text_is_hardly_counted(text: str, shape: Shape) -> None:
    """Few counts, and none of them of more than a few times the result."""
    limit = 500
    meter = Meter(fake_bpe)
    shortened = shorten_text(text, limit, meter, shape=shape)
    assert fake_bpe(shortened) <= limit
    assert len(meter.lengths) <= 12
    assert max(meter.lengths) <= 10 * limit


@given(text=TEXTS, limit=LIMITS, count=COUNTERS, shape=st.sampled_from(SHAPES))
def test_there_are_few_counts(
    text: str, limit: int, count: Counter, shape: Shape
) -> None:
    """No text needs more than 13 counts."""
    meter = Meter(count)
    shorten_text(text, limit, meter, shape=shape)
    assert len(meter.lengths) <= 13


def test_user_text_keeps_what_was_asked() -> None:
    """Minutes with a request at the end: both ends stay, the marker says the rest."""
    text = (
        "HEAD: these are minutes of a meeting. "
        + "someone spoke about the bridge and the budget. " * 900
        + "TAIL: give me exactly two bullet points."
    )
    shortened = shorten_middle(text, 100, fake_bpe)
    assert shortened.startswith("HEAD: these are minutes of a meeting. ")
    assert shortened.endswith("TAIL: give me exactly two bullet points.")
    assert MARKER.search(shortened)


@pytest.mark.parametrize("sentence_end", [". ", "\n", "? ", "\u3002"])
def test_the_last_sentence_stays_whole_when_it_is_more_than_half(
    sentence_end: str,
) -> None:
    """A long request at the end takes its room from the head."""
    request = "Please compare the two proposals by cost and by risk " * 4 + "now."
    text = "Some background" + sentence_end
    shortened = shorten_middle(text * 300 + request, 90, fake_bpe)
    assert shortened.endswith(request)
    assert shortened.startswith("Some background")


@given(
    value=st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=8), limit=LIMITS
)
def test_arguments_stay_an_object_with_all_its_keys(
    value: dict[str, object], limit: int
) -> None:
    """All top-level keys stay; where they do not fit, the object says so."""
    shortened = json.loads(shorten_arguments(json.dumps(value), limit, fake_bpe))
    assert isinstance(shortened, dict)
    assert list(shortened) == list(value) or list(shortened) == ["_shortened"]


@given(text=TEXTS, limit=LIMITS, count=COUNTERS)
def test_arguments_that_are_no_object_become_one(
    text: str, limit: int, count: Counter
) -> None:
    """Whatever the model wrote, the result is a JSON object."""
    assert isinstance(json.loads(shorten_arguments(text, limit, count)), dict)


def test_arguments_are_cut_inside_the_value() -> None:
    """Short arguments stay as they are, the long one keeps both ends."""
    content = "\U0001faad north; " * 2_000
    arguments = json.dumps({"path": "map.txt", "mode": "new", "content": content})
    shortened = json.loads(shorten_arguments(arguments, 60, fake_bpe))
    assert (shortened["path"], shortened["mode"]) == ("map.txt", "new")
    assert split_at_marker(content, shortened["content"]) is not None


def test_arguments_within_the_limit_are_the_same_object() -> None:
    """An object that fits is not rewritten, not even its spaces."""
    arguments = '{ "path" : "a" }'
    assert shorten_arguments(arguments, 50, fake_bpe) is arguments
    assert shorten_arguments(" ", 50, fake_bpe) == "{}"
    assert shorten_arguments("not json", 50, fake_bpe) == '{"_raw":"not json"}'


def test_arguments_say_what_was_there_when_no_key_fits() -> None:
    """Too many keys for the limit: an honest object instead of a silent choice."""
    arguments = json.dumps({f"key_{number}": number for number in range(100)})
    shortened = shorten_arguments(arguments, 20, fake_bpe)
    expected = {"_shortened": f"<{len(arguments):,} characters left out>"}
    assert json.loads(shortened) == expected
