"""What pictures, documents and sound cost in a request to an OpenAI model.

Finds them in a message, in OpenAI's or Anthropic's way of writing; pictures are priced
by `images`. Documents and sound are estimated from their size: what they hold is known
to the vendor only.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.tokens.images import Detail

__all__ = ["audio_tokens", "file_tokens", "picture_tokens"]

_PAGE_TOKENS = 1_600
"""A page of a document: its text, and a picture of it."""

_BYTES_PER_PAGE = 50_000
"""A guess at the pages of a document from its size."""

_AUDIO_BYTES_PER_TOKEN = 1_600
"""Ten tokens a second, and at least 16,000 bytes a second."""

_DETAILS = ("auto", "low", "high", "original")


def picture_tokens(part: Mapping[str, Any], model: str) -> int:
    """Price one picture of a message."""
    # Imported here: pictures bring pydantic, which counting text can do without.
    from context_builder.tokens.images import (  # noqa: PLC0415
        image_size,
        openai_image_tokens,
    )

    source = part.get("image_url") or part.get("source") or part
    if not isinstance(source, dict):
        source = {"url": source, "detail": part.get("detail")}
    address = str(source.get("url") or source.get("data") or "")
    is_elsewhere = not address or "://" in address[:20]
    detail = source.get("detail")
    return openai_image_tokens(
        None if is_elsewhere else image_size(address),
        model=model,
        detail=cast("Detail", detail) if detail in _DETAILS else None,
    )


def file_tokens(part: Mapping[str, Any], count: Callable[[str], int]) -> int:
    """Estimate one document of a message.

    Plain text is counted; of anything else the pages are guessed from its size.
    """
    file = part.get("file") or part.get("source") or part
    data = str(file.get("file_data") or file.get("data") or "")
    head, _, body = data.rpartition(",")
    if "text/" in head or str(file.get("media_type", "")).startswith("text/"):
        return count(_plain(body))
    pages = math.ceil(len(body) * 3 / 4 / _BYTES_PER_PAGE)
    return _PAGE_TOKENS * max(pages, 1)


def audio_tokens(part: Mapping[str, Any]) -> int:
    """Estimate one piece of sound of a message from its size."""
    audio = part.get("input_audio") or part
    size_bytes = len(str(audio.get("data") or "")) * 3 / 4
    return math.ceil(size_bytes / _AUDIO_BYTES_PER_TOKEN) + 1


def _plain(body: str) -> str:
    try:
        return base64.b64decode(body, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return body  # it was no base64, but the text itself
