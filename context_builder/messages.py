"""What a message is made of, as values: parts, tool calls and reasoning.

These are the library's own shapes. `collect` reads every vendor's format into them,
`render` says them in a vendor's format. They know no vendor: what only one vendor
understands travels in `extra`, under that vendor's name, untouched. What was said is in
no `repr`: that ends up in logs and in reports of errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

__all__ = [
    "AudioPart",
    "Content",
    "FilePart",
    "ImagePart",
    "Part",
    "ReasoningPart",
    "Role",
    "TextPart",
    "ToolCall",
]

Role = Literal["system", "user", "assistant", "tool"]
"""Who speaks. `developer` is read as `system`."""

Extra = Mapping[str, Any]
"""Vendor name -> what that vendor put there, as JSON. Sent back to that vendor only."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    extra: Extra | None = Field(default=None, repr=False)
    """Vendor marks on this part, such as Gemini's `thoughtSignature`."""

    def _has_one_of(self, *names: str) -> Self:
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            msg = f"exactly one of {', '.join(names)} is needed; found {found}"
            raise ValueError(msg)
        return self


class TextPart(_Part):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str = Field(repr=False)


class ImagePart(_Part):
    """A picture: exactly one of `url`, `data` and `file_id`."""

    type: Literal["image"] = "image"
    url: str | None = Field(default=None, repr=False)
    """An http(s) address that the vendor fetches; nothing here does. A data: address is
    read into `data`."""
    data: str | None = Field(default=None, repr=False)
    """The file in base64."""
    media_type: str | None = None
    """Such as `image/png`; needed beside `data`."""
    file_id: str | None = None
    """The vendor's name for an uploaded file."""
    detail: Literal["auto", "low", "high", "original"] | None = None
    """How closely the model looks; it decides the price with OpenAI models."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        return self._has_one_of("url", "data", "file_id")


class FilePart(_Part):
    """A document: exactly one of `url`, `data`, `text` and `file_id`."""

    type: Literal["file"] = "file"
    url: str | None = Field(default=None, repr=False)
    data: str | None = Field(default=None, repr=False)
    """The file in base64."""
    text: str | None = Field(default=None, repr=False)
    """A plain-text document."""
    file_id: str | None = None
    media_type: str | None = None
    """Such as `application/pdf`."""
    filename: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        return self._has_one_of("url", "data", "text", "file_id")


class AudioPart(_Part):
    """Sound, in base64."""

    type: Literal["audio"] = "audio"
    data: str = Field(repr=False)
    media_type: str = "audio/wav"


Part = Annotated[
    TextPart | ImagePart | FilePart | AudioPart, Field(discriminator="type")
]
"""One piece of a message."""

Content = str | tuple[Part, ...]
"""Text, or parts in the order in which the model shall read them."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run."""

    id: str
    """Joins the call to its result. Vendors reuse ids: it names this call only until
    it is answered."""
    name: str
    arguments: str = dataclasses.field(default="{}", repr=False)
    """The arguments as JSON text, exactly as the model wrote them."""
    type: Literal["function", "custom"] = "function"
    """`custom`: the arguments are free text (OpenAI custom tools)."""
    extra: Extra | None = dataclasses.field(default=None, repr=False)
    """Vendor marks on this call."""


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """A piece of a model's reasoning. It goes back byte for byte, or not at all."""

    provider: str
    """The adapter family whose model wrote it, such as `"anthropic"`. Others never get
    it."""
    text: str = dataclasses.field(default="", repr=False)
    """The readable text; empty where the vendor keeps it to itself."""
    signature: str | None = dataclasses.field(default=None, repr=False)
    """The vendor's proof that the text is unchanged."""
    model: str | None = None
    """The model that wrote it, where known. Some models refuse another's."""
    data: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The vendor's block as it came, as JSON; what is sent back when present."""
