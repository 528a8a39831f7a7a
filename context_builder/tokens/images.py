"""What a picture costs, by each vendor's formula, from the header of its file alone.

A picture is never decoded: the first kilobytes of its base64 tell width and height. A
picture whose size cannot be had (an address, an uploaded file, an unknown format) costs
what the largest picture may cost, so that a budget holds.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from context_builder.messages import ImagePart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "UNKNOWN_IMAGE_TOKENS",
    "Detail",
    "Size",
    "anthropic_image_tokens",
    "bedrock_image_tokens",
    "gemini_image_tokens",
    "image_size",
    "image_tokens",
    "mistral_image_tokens",
    "openai_image_tokens",
    "qwen_image_tokens",
]

Size = tuple[int, int]
"""Width and height in pixels."""

Detail = Literal["auto", "low", "high", "original"]
"""How closely the model looks."""

UNKNOWN_IMAGE_TOKENS = 1_600
"""What a picture counts with a vendor whose formula is not known."""

_HEAD_CHARS = (8_192, 131_072, 1_048_576)
"""How much base64 is read: the first is enough, but for pictures that carry a thumbnail
or a colour profile before their size."""


# --- the size ------------------------------------------------------------------------


def image_size(data: str) -> Size | None:
    """Read width and height from the head of a file in base64; None: not to be had.

    A `data:` address is taken as well. Nothing but the head is decoded.
    """
    start = data.find(",") + 1 if data.startswith("data:") else 0
    for chars in _HEAD_CHARS:
        head = _decoded(data[start : start + chars])
        size = _size_of(head)
        if size is not None or start + chars >= len(data):
            return size
    return None


def _decoded(text: str) -> bytes:
    """Decode base64 that may be cut anywhere, wrapped, or in the URL alphabet."""
    bare = "".join(text.split()).rstrip("=").translate(_URL_ALPHABET)
    whole = bare[: len(bare) - len(bare) % 4] if len(bare) % 4 == 1 else bare
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4))
    except (binascii.Error, ValueError):
        return b""


_URL_ALPHABET = str.maketrans("-_", "+/")


def _size_of(head: bytes) -> Size | None:
    # Only pictures in pixels: reading an SVG would mean to parse XML from strangers.
    if not head or head.lstrip()[:1] == b"<":
        return None
    import imagesize  # type: ignore[import-untyped]  # noqa: PLC0415  first picture

    try:
        width, height = imagesize.get(io.BytesIO(head))
    except (ArithmeticError, LookupError, TypeError, ValueError, struct.error):
        return None
    if width < 1 or height < 1:
        return None
    return int(width), int(height)


def _fitted(size: tuple[float, float], longest: float) -> tuple[float, float]:
    """Scale down, never up, until the longer side is at most `longest`."""
    scale = min(1.0, longest / max(size))
    return size[0] * scale, size[1] * scale


def _grid(size: tuple[float, float], cell: float) -> int:
    """Count the cells that cover a picture; a hair of rounding opens no new row."""
    across, down = (max(1, math.ceil(side / cell - 1e-9)) for side in size)
    return across * down


# --- any vendor ----------------------------------------------------------------------


def image_tokens(
    image: ImagePart | str | None,
    *,
    family: str,
    model: str | None = None,
    detail: Detail | None = None,
) -> int:
    """Return what a picture costs with a family of models.

    Args:
        image: A part, base64, or a `data:` address; anything else is of unknown size.
        family: Whose formula counts: openai, anthropic, bedrock, gemini, mistral or
            qwen. Any other has a flat price.
        model: The model; it decides between the generations of a family.
        detail: How closely the model looks; left out: what the part says.
    """
    if isinstance(image, ImagePart):
        detail = detail or image.detail
        image = image.data
    size = image_size(image) if image and not _is_address(image) else None
    if family == "openai":
        return openai_image_tokens(size, model=model, detail=detail)
    if family == "gemini":
        return gemini_image_tokens(size, model=model, detail=detail)
    price = _BY_SIZE.get(family)
    return price(size, model=model) if price else UNKNOWN_IMAGE_TOKENS


def _is_address(image: str) -> bool:
    return image.startswith(("http://", "https://", "gs://", "s3://"))


# --- OpenAI --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tiles:
    """A base price, and a price for each tile of 512 pixels."""

    base: int
    tile: int

    def tokens(self, size: Size | None, detail: Detail) -> int:
        if detail == "low":
            return self.base
        if size is None:
            return self.base + self.tile * _MOST_TILES
        width, height = _fitted(size, 2_048)
        scale = min(1.0, 768 / min(width, height))
        return self.base + self.tile * _grid((width * scale, height * scale), 512)


_MOST_TILES = 8  # 2048 x 768 pixels

_Limit = tuple[float, int]
"""The longest side in pixels, and how many patches there may be."""


@dataclass(frozen=True, slots=True)
class _Patches:
    """A price for each patch of 32 pixels, once scaled down to what the model takes."""

    multiplier: float
    high: _Limit
    low: _Limit | None = None
    """None: no cheaper way to look."""
    original: _Limit | None = None
    auto_is_original: bool = False

    def tokens(self, size: Size | None, detail: Detail) -> int:
        longest, budget = self._limit(detail)
        if size is None:
            return math.ceil(round(budget * self.multiplier, 6))
        patches = _patches(_fitted(size, longest), budget)
        return math.ceil(round(patches * self.multiplier, 6))

    def _limit(self, detail: Detail) -> _Limit:
        if detail == "auto":
            detail = "original" if self.auto_is_original else "high"
        chosen = {"low": self.low, "high": self.high, "original": self.original}
        return chosen[detail] or self.high


def _patches(size: tuple[float, float], budget: int) -> int:
    patches = _grid(size, 32)
    if patches <= budget:
        return patches
    width, height = size
    scale = math.sqrt(32 * 32 * budget / (width * height))
    across, down = width * scale / 32, height * scale / 32
    scale *= min(max(1, int(across)) / across, max(1, int(down)) / down)
    return min(budget, _grid((width * scale, height * scale), 32))


_ANY = math.inf
_OPENAI: Mapping[str, _Tiles | _Patches] = {
    "chatgpt-4o": _Tiles(85, 170),
    "gpt-4": _Tiles(85, 170),
    "gpt-4o-mini": _Tiles(2_833, 5_667),
    "gpt-4.1-mini": _Patches(1.62, (2_048, 6_144)),
    "gpt-4.1-nano": _Patches(2.46, (_ANY, 1_536)),
    "gpt-5": _Tiles(70, 140),
    "gpt-5-mini": _Patches(1.62, (_ANY, 1_536)),
    "gpt-5-nano": _Patches(2.46, (_ANY, 1_536)),
    "gpt-5.1": _Tiles(70, 140),
    "gpt-5.2": _Patches(1.2, (2_048, 6_144)),
    "gpt-5.3": _Patches(1.2, (2_048, 6_144)),
    "gpt-5.4": _Patches(1.2, (2_048, 2_500), (2_048, 6_144), (6_000, 10_000)),
    "gpt-5.5": _Patches(
        1.2, (2_048, 2_500), (512, 256), (6_000, 10_000), auto_is_original=True
    ),
    "gpt-5.6": _Patches(
        1.2, (2_048, 2_500), (512, 256), (_ANY, 30_000), auto_is_original=True
    ),
    "gpt-6": _Patches(
        1.2, (2_048, 2_500), (512, 256), (_ANY, 30_000), auto_is_original=True
    ),
    "gpt-6-astra": _Patches(
        1.2, (65_535, 2_500), (512, 256), (_ANY, 30_000), auto_is_original=True
    ),
    "o1": _Tiles(75, 150),
    "o3": _Tiles(75, 150),
    "o4-mini": _Patches(1.72, (_ANY, 1_536)),
}
"""By the beginning of the model's name; the longest counts."""


def openai_image_tokens(
    size: Size | None, *, model: str | None = None, detail: Detail | None = None
) -> int:
    """Return what OpenAI bills for a picture.

    Args:
        size: Width and height in pixels; None: the most that `detail` allows counts.
        model: The model; left out: gpt-4o.
        detail: How closely the model looks; left out: `auto`.
    """
    name = (model or "gpt-4o").lower().rpartition("/")[2].removeprefix("ft:")
    known = [begin for begin in _OPENAI if name.startswith(begin)]
    if not known:
        return UNKNOWN_IMAGE_TOKENS
    return _OPENAI[max(known, key=len)].tokens(size, detail or "auto")


# --- Anthropic -----------------------------------------------------------------------

_CLAUDE = re.compile(
    r"claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2}))?(?!\d)"
)
_STANDARD = (1_568, 1_568)
_HIGH_RESOLUTION = (2_576, 4_784)
_UNKNOWN_STANDARD = 1_600


def anthropic_image_tokens(size: Size | None, *, model: str | None = None) -> int:
    """Return what Anthropic bills for a picture.

    Args:
        size: Width and height in pixels; None: the most that the model looks at counts.
        model: The model, under its name with Anthropic or a host; left out: the
            standard resolution.
    """
    is_sharp = _is_high_resolution(model or "")
    longest, most = _HIGH_RESOLUTION if is_sharp else _STANDARD
    if size is None:
        return most if is_sharp else _UNKNOWN_STANDARD
    return min(most, _grid(_fitted(size, longest), 28))


def _is_high_resolution(model: str) -> bool:
    found = _CLAUDE.search(model.lower())
    if found is None:
        return False
    version = int(found[2]), int(found[3] or 0)
    return version >= (5, 0) or (found[1] == "opus" and version >= (4, 7))


_NOVA_IMAGE_TOKENS = 1_700


def bedrock_image_tokens(size: Size | None, *, model: str | None = None) -> int:
    """Return what a picture costs on Bedrock: by the formula of the hosted model."""
    name = (model or "").lower()
    if "claude" in name:
        return anthropic_image_tokens(size, model=name)
    if "pixtral" in name or "mistral" in name:
        return mistral_image_tokens(size, model=name)
    if "qwen" in name:
        return qwen_image_tokens(size, model=name)
    return _NOVA_IMAGE_TOKENS if "nova" in name else UNKNOWN_IMAGE_TOKENS


# --- Gemini --------------------------------------------------------------------------

_GEMINI_TILE = 258
_GEMINI_FLAT: Mapping[Detail, int] = {
    "low": 280,
    "auto": 1_120,
    "high": 1_120,
    "original": 2_240,
}


def gemini_image_tokens(
    size: Size | None, *, model: str | None = None, detail: Detail | None = None
) -> int:
    """Return what Gemini bills for a picture.

    Args:
        size: Width and height in pixels. From Gemini 3 on it does not matter.
        model: The model; left out: the newest generation.
        detail: Gemini 3 and later: the media resolution (`original`: ultra high).
    """
    if not re.search(r"gemini-[12](\D|$)", (model or "").lower()):
        return _GEMINI_FLAT[detail or "auto"]
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    if max(size) <= 384:  # noqa: PLR2004  the vendor's figure
        return _GEMINI_TILE
    unit = min(768, max(256, int(min(size) / 1.5)))
    return _GEMINI_TILE * _grid(size, unit)


# --- Mistral and Qwen ----------------------------------------------------------------


def mistral_image_tokens(size: Size | None, *, model: str | None = None) -> int:
    """Return what Mistral bills for a picture; each row of patches ends in a token."""
    longest, patch = (1_024, 16) if "pixtral" in (model or "").lower() else (1_540, 28)
    width, height = _fitted(size or (longest, longest), longest)
    down = max(1, math.ceil(height / patch - 1e-9))
    return _grid((width, height), patch) + down


_QWEN_MOST = 16_384


def qwen_image_tokens(size: Size | None, *, model: str | None = None) -> int:
    """Return what a Qwen model bills for a picture."""
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    older = re.search(r"qwen(-vl|2|-?2\.5)", (model or "").lower()) is not None
    return min(_QWEN_MOST, _grid(size, 28 if older else 32) + 2)


_BY_SIZE: Mapping[str, Callable[..., int]] = {
    "anthropic": anthropic_image_tokens,
    "bedrock": bedrock_image_tokens,
    "mistral": mistral_image_tokens,
    "qwen": qwen_image_tokens,
}
"""The families whose price depends on nothing but the size and the model."""
