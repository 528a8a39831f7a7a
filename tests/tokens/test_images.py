from __future__ import annotations

import base64
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.messages import ImagePart
from context_builder.tokens.images import (
    UNKNOWN_IMAGE_TOKENS,
    anthropic_image_tokens,
    bedrock_image_tokens,
    gemini_image_tokens,
    image_size,
    image_tokens,
    mistral_image_tokens,
    openai_image_tokens,
    qwen_image_tokens,
)


def png(width: int, height: int) -> bytes:
    """Return the head of a PNG file."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    crc = struct.pack(">I", zlib.crc32(chunk))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + crc


def gif(width: int, height: int) -> bytes:
    """Return the head of a GIF file."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def jpeg(width: int, height: int, *, before: int = 0) -> bytes:
    """Return the head of a JPEG file, with so many bytes before its size."""
    out = b"\xff\xd8"
    while before > 0:
        piece = min(before, 60_000)
        out += b"\xff\xe2" + struct.pack(">H", piece + 2) + b"\x07" * piece
        before -= piece
    frame = struct.pack(">BHHB", 8, height, width, 3)
    return out + b"\xff\xc0" + struct.pack(">H", 17) + frame + b"\x01\x11\x00" * 3


def webp(width: int, height: int) -> bytes:
    """Return the head of a WebP file."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\x00\x00\x00\x00" + size
    return b"RIFF" + struct.pack("<I", len(body)) + body


def b64(data: bytes) -> str:
    """Return base64 as text."""
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("make", [png, gif, jpeg, webp])
@given(width=st.integers(1, 16_000), height=st.integers(1, 16_000))
def test_the_header_tells_the_size(make, width, height) -> None:  # type: ignore[no-untyped-def]
    """Width and height come from the head, in every format the vendors take."""
    assert image_size(b64(make(width, height))) == (width, height)


def test_a_size_behind_a_thumbnail_is_found() -> None:
    """A JPEG may carry a profile before its size; more of it is read then."""
    assert image_size(b64(jpeg(640, 480, before=70_000))) == (640, 480)


def test_only_the_head_is_decoded() -> None:
    """Garbage behind the head is never looked at."""
    assert image_size(b64(png(7, 9)) + "A" * 20_000 + "!!not base64!!") == (7, 9)


def test_a_data_address_and_wrapped_base64_are_read() -> None:
    """Callers hand in what they have."""
    data = b64(png(300, 200))
    assert image_size(f"data:image/png;base64,{data}") == (300, 200)
    wrapped = "\n".join(data[at : at + 10] for at in range(0, len(data), 10))
    assert image_size(wrapped) == (300, 200)


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    """What is no picture has no size; it is never an error."""
    image_size(text)


@given(
    st.sampled_from([png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9), b"II*\x00", b"MM"]),
    st.integers(0, 40),
    st.binary(max_size=60),
)
def test_no_damaged_file_makes_it_fail(head: bytes, cut: int, rest: bytes) -> None:
    """A file that is cut or overwritten anywhere has a size or none."""
    image_size(b64(head[:cut] + rest))


def test_xml_is_not_parsed() -> None:
    """An SVG has no pixels."""
    assert image_size(b64(b'<svg width="10" height="10"/>')) is None


def test_importing_loads_no_library() -> None:
    """The library that reads headers is loaded by the first picture."""
    code = (
        "import sys, context_builder.tokens.images\nprint('imagesize' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("model", "detail", "size", "tokens"),
    [
        ("gpt-4o", "high", (1024, 1024), 765),
        ("gpt-4o", "high", (2048, 4096), 1105),
        ("gpt-4o-2024-08-06", "low", (4096, 8192), 85),
        ("gpt-4o", "high", (100, 100), 255),
        ("gpt-4o", "high", None, 1445),
        ("gpt-4o-mini", "auto", (512, 512), 8500),
        ("gpt-5", None, (512, 512), 210),
        ("gpt-5.1", None, (512, 512), 210),
        ("o3", "high", (1024, 1024), 675),
        ("o4-mini", "high", (1024, 1024), 1762),
        ("o4-mini", "high", (1800, 2400), 2498),  # 33 x 44 patches
        ("gpt-5-mini", None, None, 2489),
        ("gpt-5.4", "high", (4000, 4000), 3000),
        ("gpt-5.5", "low", (4000, 4000), 308),
        ("gpt-5.5", "low", None, 308),
        ("gpt-5.5", "high", None, 3000),
        ("gpt-5.5", None, None, 12_000),
        ("gpt-6-sol", "auto", None, 36_000),
        ("gpt-6-sol", "auto", (320, 320), 120),
        ("openai/gpt-4.1", "high", (1024, 1024), 765),
        ("some-other-model", None, (10, 10), UNKNOWN_IMAGE_TOKENS),
        (None, "high", (1024, 1024), 765),
    ],
)
def test_openai(model, detail, size, tokens) -> None:  # type: ignore[no-untyped-def]
    """Tiles, or patches, by the model's generation."""
    assert openai_image_tokens(size, model=model, detail=detail) == tokens


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("claude-sonnet-4-5", (200, 200), 64),
        ("claude-sonnet-4-5", (1092, 1092), 1521),
        ("claude-sonnet-4-5", (8000, 8000), 1568),
        ("claude-sonnet-4-6", None, 1600),
        ("claude-opus-4-6", (8000, 8000), 1568),
        ("claude-opus-4-7", (8000, 8000), 4784),
        ("claude-opus-4-20250514", None, 1600),
        ("claude-3-5-sonnet-20241022", None, 1600),
        ("us.anthropic.claude-opus-4-8-v1:0", None, 4784),
        ("claude-sonnet-5", None, 4784),
        ("claude-haiku-5-5-20260801", None, 4784),
        ("claude-opus-5.5", (280, 28), 10),
        (None, (1, 1), 1),
    ],
)
def test_anthropic(model, size, tokens) -> None:  # type: ignore[no-untyped-def]
    """28 pixels a patch, up to what the model's resolution allows."""
    assert anthropic_image_tokens(size, model=model) == tokens


@pytest.mark.parametrize(
    ("model", "detail", "size", "tokens"),
    [
        ("gemini-2.5-flash", None, (384, 384), 258),
        ("gemini-2.5-flash", None, (960, 540), 1548),
        ("gemini-2.5-pro", None, None, UNKNOWN_IMAGE_TOKENS),
        ("gemini-3-flash-preview", None, (4000, 10), 1120),
        ("models/gemini-3.5-flash", "low", None, 280),
        ("gemini-4-argon", "original", None, 2240),
        (None, None, None, 1120),
    ],
)
def test_gemini(model, detail, size, tokens) -> None:  # type: ignore[no-untyped-def]
    """Tiles up to 2.x, a flat price from 3 on."""
    assert gemini_image_tokens(size, model=model, detail=detail) == tokens


def test_mistral_and_qwen() -> None:
    """Patches, and for Mistral a token at the end of each row."""
    assert mistral_image_tokens((280, 280), model="mistral-large-latest") == 110
    assert mistral_image_tokens((160, 160), model="pixtral-12b") == 110
    assert mistral_image_tokens(None) == 55 * 56
    assert qwen_image_tokens((280, 280), model="qwen2.5-vl-72b") == 102
    assert qwen_image_tokens((320, 320), model="qwen3-vl-plus") == 102
    assert qwen_image_tokens(None) == UNKNOWN_IMAGE_TOKENS


def test_bedrock_counts_by_the_hosted_model() -> None:
    """The host has no formula of its own."""
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert bedrock_image_tokens((200, 200), model=model) == 64
    assert bedrock_image_tokens((200, 200), model="amazon.nova-pro-v1:0") == 1700
    pixtral = "mistral.pixtral-large-2502-v1:0"
    assert bedrock_image_tokens((160, 160), model=pixtral) == 110
    assert bedrock_image_tokens((9, 9), model="meta.llama4") == UNKNOWN_IMAGE_TOKENS


def test_a_part_an_address_and_bare_data_are_priced() -> None:
    """One door for whatever a caller holds."""
    data = b64(png(1024, 1024))
    part = ImagePart(data=data, media_type="image/png", detail="low")
    assert image_tokens(part, family="openai", model="gpt-4o") == 85
    assert image_tokens(data, family="openai", model="gpt-4o") == 765
    far = ImagePart(url="https://example.com/a.png")
    assert image_tokens(far, family="anthropic") == 1600
    assert image_tokens("https://example.com/a.png", family="anthropic") == 1600
    assert image_tokens(data, family="anthropic", model="claude-opus-5") == 37 * 37
    for family in ("bedrock", "gemini", "mistral", "qwen", "anything"):
        assert image_tokens(None, family=family) > 0


@given(
    size=st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)),
    model=st.sampled_from(
        ["gpt-4o", "gpt-4.1-mini", "gpt-5-nano", "gpt-5.4", "gpt-5.6-sol", "gpt-6-sol"]
    ),
    detail=st.sampled_from(["auto", "low", "high", "original"]),
)
def test_no_size_costs_more_than_an_unknown_one(size, model, detail) -> None:  # type: ignore[no-untyped-def]
    """The price of an unknown size holds for every size."""
    known = openai_image_tokens(size, model=model, detail=detail)
    assert 0 < known <= openai_image_tokens(None, model=model, detail=detail)
    for claude in ("claude-haiku-4-5", "claude-opus-5-5"):
        sized = anthropic_image_tokens(size, model=claude)
        assert 0 < sized <= anthropic_image_tokens(None, model=claude)
    assert mistral_image_tokens(size) <= mistral_image_tokens(None)
