"""Content: text, parts of every usual shape, and what tools return."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from context_builder.collect.content import (
    is_blank,
    read_content,
    read_result,
    split_data_url,
)
from context_builder.errors import InvalidItemError
from context_builder.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)

PICTURE = ImagePart(data="QUJD", media_type="image/png")


@pytest.mark.parametrize("text", ["", "word", " padded ", "\ud83d \0", "x" * 100_000])
def test_text_comes_in_as_it_is(text: str) -> None:
    """Text is not touched, whatever is in it."""
    assert read_content(text) == text


def test_nothing_is_empty_text() -> None:
    """No content, and no parts, are both blank."""
    assert read_content(None) == ""
    assert is_blank(read_content([]))


@pytest.mark.parametrize(
    ("content", "blank"),
    [("", True), (" \n\t", True), ("\u3000", True), ("a", False), ((PICTURE,), False)],
)
def test_blank_is_what_has_nothing_but_white_space(
    content: Content, blank: bool
) -> None:
    """White space of any script is blank; a picture is not."""
    assert is_blank(content) is blank


def test_one_plain_text_part_becomes_text() -> None:
    """A list with one text is that text."""
    assert read_content([{"type": "text", "text": "hello"}]) == "hello"


def test_blank_text_parts_are_left_out() -> None:
    """Parts that say nothing do not reach the model."""
    parts = [{"type": "text", "text": " \n"}, {"type": "text", "text": "hello"}]
    assert read_content(parts) == "hello"
    assert is_blank(read_content([{"type": "text", "text": ""}]))


def test_a_blank_part_that_carries_a_signature_stays() -> None:
    """A vendor wants its marks back, even on an empty part."""
    signed = {
        "type": "text",
        "text": "",
        "extra": {"gemini": {"thoughtSignature": "s"}},
    }
    read = read_content([signed])
    assert read == (TextPart(text="", extra={"gemini": {"thoughtSignature": "s"}}),)


def test_parts_keep_their_order() -> None:
    """The model reads the parts in the order in which they came."""
    read = read_content(["before", PICTURE, {"type": "text", "text": "after"}])
    assert isinstance(read, tuple)
    assert [part.type for part in read] == ["text", "image", "text"]


def test_a_single_part_needs_no_list() -> None:
    """One part alone is content too, as a value or as a mapping."""
    assert read_content(PICTURE) == (PICTURE,)
    assert read_content({"type": "text", "text": "hello"}) == "hello"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}},
            ImagePart(url="https://a.org/b.png"),
        ),
        (
            {"type": "image_url", "image_url": "https://a.org/b.png", "detail": "low"},
            ImagePart(url="https://a.org/b.png", detail="low"),
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            PICTURE,
        ),
        (
            {"type": "input_image", "image_url": "https://a.org/b.png"},
            ImagePart(url="https://a.org/b.png"),
        ),
        ({"type": "input_image", "file_id": "f1"}, ImagePart(file_id="f1")),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
            },
            PICTURE,
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://a.org/b"}},
            ImagePart(url="https://a.org/b"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f1"}},
            FilePart(file_id="f1"),
        ),
        (
            {
                "type": "document",
                "title": "notes",
                "source": {"type": "text", "data": "words"},
            },
            FilePart(text="words", media_type="text/plain", filename="notes"),
        ),
        ({"type": "file", "file": {"file_id": "f1"}}, FilePart(file_id="f1")),
        (
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,QUJD"},
            },
            FilePart(data="QUJD", media_type="application/pdf"),
        ),
        (
            {"type": "input_file", "file_url": "https://a.org/b.pdf"},
            FilePart(url="https://a.org/b.pdf"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
            AudioPart(data="QUJD", media_type="audio/mp3"),
        ),
        ({"type": "image", "url": "https://a.org/b"}, ImagePart(url="https://a.org/b")),
        ({"type": "file", "text": "words"}, FilePart(text="words")),
        ({"type": "audio", "data": "QUJD"}, AudioPart(data="QUJD")),
    ],
)
def test_parts_of_every_usual_shape_are_read(
    part: dict[str, Any], expected: Part
) -> None:
    """OpenAI's shapes, Anthropic's and the library's own mean the same values."""
    assert read_content([part]) == (expected,)


@pytest.mark.parametrize("kind", ["input_text", "output_text"])
def test_text_has_several_names(kind: str) -> None:
    """The Responses API's names for text are read as text."""
    assert read_content([{"type": kind, "text": "hello"}]) == "hello"


def test_a_refusal_is_text() -> None:
    """What a model said while it refused is what it said."""
    assert read_content([{"type": "refusal", "refusal": "no"}]) == "no"


@pytest.mark.parametrize(
    "value", [5, 5.5, True, b"bytes", bytearray(b"x"), object(), iter(["a"]), {1, 2}]
)
def test_what_is_no_content_is_refused(value: object) -> None:
    """Neither text nor a list of parts: a typed error that names the field."""
    with pytest.raises(InvalidItemError) as error:
        read_content(value, field="messages[2].content")
    assert error.value.field == "messages[2].content"


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (None, "content[1]"),
        (5, "content[1]"),
        ([], "content[1]"),
        ({}, "content[1].type"),
        ({"type": "hologram"}, "content[1].type"),
        ({"type": ["text"]}, "content[1].type"),
        ({"type": "text"}, "content[1]"),
        ({"type": "text", "text": None}, "content[1].text"),
        ({"type": "image_url", "image_url": {"url": None}}, "content[1]"),
        ({"type": "image", "source": {"type": "cave painting"}}, "content[1]"),
        ({"type": "image"}, "content[1]"),
        ({"type": "file", "file": {}}, "content[1]"),
        ({"type": "input_audio", "input_audio": {"data": "QUJD"}}, "content[1]"),
    ],
)
def test_a_part_that_is_none_is_refused_by_its_path(part: object, field: str) -> None:
    """Nothing is guessed: the error says which part, and which field of it."""
    with pytest.raises(InvalidItemError) as error:
        read_content(["first", part])
    assert error.value.field.startswith(field)


def test_a_refusal_of_a_part_does_not_say_what_was_in_it() -> None:
    """An error names fields and types, never the content."""
    with pytest.raises(InvalidItemError) as error:
        read_content([{"type": "text", "text": {"secret": "4711"}}])
    assert "4711" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.org/b.png", None),
        ("data:image/png;base64,QUJD", ("image/png", "QUJD")),
        ("data:text/plain;charset=utf-8;base64,QUJD", ("text/plain", "QUJD")),
        ("data:text/plain,hello", None),
        ("data:image/png;base64", None),
    ],
)
def test_data_addresses_are_split(url: str, expected: tuple[str, str] | None) -> None:
    """Only an address that holds base64 is split into type and data."""
    assert split_data_url(url) == expected


# --- results of tools -----------------------------------------------------------------


@dataclasses.dataclass
class Row:
    """A record as a tool might return it."""

    name: str
    count: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("text", "text"),
        (5, "5"),
        (True, "true"),
        ([], "[]"),
        ({"价": "三"}, '{"价": "三"}'),
        ([1, "two", None], '[1, "two", null]'),
        (Row("a", 1), '{"name": "a", "count": 1}'),
        (ValueError("no such file"), "ValueError: no such file"),
    ],
)
def test_a_result_becomes_text(value: object, expected: str) -> None:
    """Text stays, data becomes readable JSON, an exception says its name."""
    assert read_result(value) == expected


def test_a_result_of_parts_stays_parts() -> None:
    """A tool that returns a picture shows a picture."""
    shown = {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}}
    assert read_result([{"type": "text", "text": "see"}, shown]) == (
        TextPart(text="see"),
        ImagePart(url="https://a.org/b.png"),
    )
    assert read_result(PICTURE) == (PICTURE,)


def test_data_that_has_a_type_stays_data() -> None:
    """A list of records with a field `type` is not taken for parts."""
    rows = [{"type": "text", "text": "a", "line": 3}, {"type": "folder", "name": "b"}]
    read = read_result(rows)
    assert isinstance(read, str)
    assert json.loads(read) == rows


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "file", "url": "https://a.org/b", "size": 10}],
        [{"type": "image", "url": "https://a.org/b", "width": 10}],
        [{"type": "text", "text": 5}],
        [{"type": "file", "file": "b.txt"}],
    ],
)
def test_records_that_only_look_like_parts_are_data(rows: list[dict[str, Any]]) -> None:
    """What cannot be read as parts is what the tool returned: data."""
    read = read_result(rows)
    assert isinstance(read, str)
    assert json.loads(read) == rows


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def _loop() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [object(), _nested(5_000), _loop(), {"a": object()}])
def test_a_result_that_json_cannot_say_is_refused(value: object) -> None:
    """Objects, cycles and bottomless nesting are typed errors, not crashes."""
    with pytest.raises(InvalidItemError) as error:
        read_result(value)
    assert error.value.field == "result"


def test_a_number_too_long_to_write_is_refused() -> None:
    """An integer of more digits than Python writes is a typed error as well."""
    with pytest.raises(InvalidItemError):
        read_result({"n": 10**5_000})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_data_is_written_as_strict_json(value: float) -> None:
    """Numbers that JSON does not have become text."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    read = read_result({"ratio": value})
    assert isinstance(read, str)
    json.loads(read, parse_constant=refuse)
