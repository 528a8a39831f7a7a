from __future__ import annotations

import base64
import dataclasses
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from context_builder import FilePart, ImagePart, InvalidItemError, TextPart
from context_builder.agent.results import content_of, text_of

if TYPE_CHECKING:
    from context_builder.messages import Part

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


class Place(BaseModel):
    """A place."""

    city: str
    since: date


@dataclasses.dataclass
class Pair:
    """Two numbers."""

    left: int
    right: float


class Drawing:
    """Draws itself, as pictures of Pillow and charts do."""

    def _repr_png_(self) -> bytes:
        return PNG


def parts_of(value: object) -> tuple[Part, ...]:
    """Return content that is no text."""
    content = content_of(value)
    assert not isinstance(content, str)
    return content


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (7, "7"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (Place(city="Z\u00fcrich", since=date(2020, 1, 2)), None),
        (Pair(1, 2.5), '{"left": 1, "right": 2.5}'),
        ([Pair(1, 2.5)], '[{"left": 1, "right": 2.5}]'),
        (b"plain text", "plain text"),
        (bytearray("\u4f60\u597d".encode()), "\u4f60\u597d"),
    ],
)
def test_values_become_text_or_json(value: Any, content: str | None) -> None:
    """Text stays; data is JSON that people can read too."""
    if content is None:
        content = '{"city": "Z\u00fcrich", "since": "2020-01-02"}'
    assert content_of(value) == content


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ],
)
def test_bytes_of_a_picture_are_shown_as_one(head: bytes, media_type: str) -> None:
    """By what they begin with."""
    (part,) = parts_of(head)
    assert isinstance(part, ImagePart)
    assert part.media_type == media_type
    assert base64.b64decode(part.data or "") == head


def test_documents_drawings_and_mixed_lists_are_parts() -> None:
    """A list with a picture in it is what the model shall see, in that order."""
    (document,) = parts_of(b"%PDF-1.7 ...")
    assert isinstance(document, FilePart)
    assert document.media_type == "application/pdf"
    (drawn,) = parts_of(Drawing())
    assert isinstance(drawn, ImagePart)
    mixed = parts_of(["A chart:", Drawing(), {"peak": 3}])
    assert [type(part) for part in mixed] == [TextPart, ImagePart, TextPart]
    assert text_of(mixed) == 'A chart:\n[image]\n{"peak": 3}'


@pytest.mark.parametrize("value", [b"\x80\x81\x82", object(), {"x": object()}])
def test_what_cannot_be_shown_is_refused(value: object) -> None:
    """The model is told so, by the name of the type."""
    with pytest.raises(InvalidItemError):
        content_of(value)


@given(st.binary(max_size=64))
def test_bytes_are_content_or_refused(data: bytes) -> None:
    """Nothing else happens to them."""
    try:
        content = content_of(data)
    except InvalidItemError:
        return
    assert isinstance(content, str) or len(content) == 1
